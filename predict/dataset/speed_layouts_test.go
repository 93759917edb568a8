package dataset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

const (
	lucidHeader = "gpu,model_a,dataset_a,batch_a,amp_a,norm_speed_a,model_b,dataset_b,batch_b,amp_b,norm_speed_b,job_a," +
		"solo_speed_native_per_s_a,solo_gpu_util_pct_a,solo_mem_util_pct_a,solo_mem_used_mib_a,lucid_share_score_a,speed_is_imputed_a," +
		"job_b,solo_speed_native_per_s_b,solo_gpu_util_pct_b,solo_mem_util_pct_b,solo_mem_used_mib_b,lucid_share_score_b,speed_is_imputed_b\n"
	lucidRow = "RTX3090,m,ImageNet,32,0,1.05,n,CIFAR-10,64,1,0.9,jm,640,45,20,2048,0,0,jn,0,100,30,1024,2,1\n"
)

// TestReadLucid: use in per cent, memory in MiB, a step of so many samples; a speed that
// was filled in is missing, and a task of no speed alone has no step time.
func TestReadLucid(t *testing.T) {
	rows, err := ReadSpeed("x", strings.NewReader(lucidHeader+lucidRow+strings.Replace(lucidRow, "1.05", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	a, b := r.Observation.Set[0], r.Observation.Set[1]
	want := map[profile.Feature][2]float64{
		profile.MeanGPUBusy: {0.45, 1}, profile.MeanMemBusy: {0.2, 0.3}, profile.PeakMemory: {float64(2 * profile.GiB), float64(profile.GiB)},
		profile.MedianStepTime: {32. / 640, -1}, profile.BatchSize: {32, 64},
	}
	for f, v := range want {
		if got := [2]float64{a.Vector.Or(f, -1), b.Vector.Or(f, -1)}; got != v {
			t.Errorf("%v: %v, want %v", f, got, v)
		}
	}
	if a.Spec.Training.Precision != profile.FP32 || b.Spec.Training.Precision != profile.Mixed || b.Spec.Dataset.Name != "CIFAR-10" {
		t.Errorf("tasks %+v, %+v", a.Spec, b.Spec)
	}
	o := r.Observation
	if o.GPU != a.GPU.Name || o.Mechanism != profile.TimeSlice || o.Groups[0] != "m" || o.Groups[1] != "n" ||
		o.Speeds[0] != profile.Some(1.05) || !o.Speeds[1].IsZero() || r.Line != 2 {
		t.Errorf("%+v", r)
	}
	if second := rows[1].Observation; second.Set[0] != a || second.Set[1] != b || !second.Speeds[0].IsZero() {
		t.Errorf("the tasks of another pair: %+v", second)
	}
}

func TestReadLucidFaults(t *testing.T) {
	for old, c := range map[string][2]string{
		"1.05":   {"0", `"norm_speed_a"`},
		",640,":  {",,", `"solo_speed_native_per_s_a"`},
		",45,":   {",145,", `"solo_gpu_util_pct_a"`},
		"32,0,":  {"32,maybe,", `"amp_a"`},
		",32,":   {",9e15,", `"job_a"`},
		"0.9,jm": {"0.9,jn", ""},
	} {
		_, err := ReadSpeed("x", strings.NewReader(lucidHeader+strings.Replace(lucidRow, old, c[0], 1)))
		if (err != nil) != (c[1] != "") || err != nil && !strings.Contains(err.Error(), "x:2: column "+c[1]) {
			t.Errorf("%q in place of %q: %v, want column %s", c[0], old, err, c[1])
		}
	}
}

// TestReadGavel: speeds alone are steps in a second, a reference that is known to be off
// is marked, and so is a pair that did not run.
func TestReadGavel(t *testing.T) {
	const head = "gpu,job_a,model_a,batch_a,job_b,model_b,batch_b,solo_a_steps_per_s,solo_b_steps_per_s,norm_speed_a,norm_speed_b,feasible,solo_reference_suspect\n"
	rows, err := ReadSpeed("x", strings.NewReader(head+"v100,jm,m,8,jn,n,4,10,2,0.7,0.6,1,1\nv100,jm,m,8,jn,n,4,10,2,,,0,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := rows[0].Observation
	if a, b := o.Set[0].Vector, o.Set[1].Vector; a.Or(profile.MedianStepTime, 0) != 0.1 || b.Or(profile.MedianStepTime, 0) != 0.5 || a.Or(profile.MeanGPUBusy, -1) != -1 {
		t.Errorf("steps take %v and %v", a.Or(profile.MedianStepTime, 0), b.Or(profile.MedianStepTime, 0))
	}
	if !rows[0].Suspect || rows[1].Suspect || rows[0].Excluded != "" || rows[1].Excluded == "" {
		t.Errorf("%+v", rows)
	}
}

// TestReadTally: the mean of two runs under MPS, on a GPU without a name; a network that
// only answers is no task of the type of its training.
func TestReadTally(t *testing.T) {
	const head = "model_a,kind_a,batch_a,amp_a,solo_steps_per_s_a,model_b,kind_b,batch_b,amp_b,solo_steps_per_s_b,mps_speed_a,mps_speed_b,mps_speed_a_again,mps_speed_b_again\n"
	rows, err := ReadSpeed("x", strings.NewReader(head+"m,training,8,0,10,m,inference,8,1,2,0.5,0.25,0.75,\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := rows[0].Observation
	if a, b := o.Set[0], o.Set[1]; a.Spec.Type() != "m||bs8|fp32" || b.Spec.Type() != "m inference||bs8|mixed" || a.Vector.Or(profile.MedianStepTime, 0) != 0.1 {
		t.Errorf("tasks %s and %s", a.Spec.Type(), b.Spec.Type())
	}
	if o.GPU != UnnamedGPU || o.Mechanism != profile.MPS || o.Speeds[0] != profile.Some(0.625) || o.Speeds[1] != profile.Some(0.25) || o.Groups[1] != "m" {
		t.Errorf("%+v", o)
	}
	if _, err := ReadSpeed("x", strings.NewReader(head+"m,training,8,0,10,m,inference,8,1,2,0.5,0.25,-1,\n")); err == nil || !strings.Contains(err.Error(), `x:2: column "mps_speed_a_again"`) {
		t.Errorf("a speed below 0 the second time: %v", err)
	}
}

const migHeader = "gpu,model,batch_size,slice,slice_compute_sevenths,norm_speed_median,solo_gpu_util_pct,solo_mem_util_pct,solo_power_w\n"

// TestReadMIG: a slice is the one of the name, with its memory.
func TestReadMIG(t *testing.T) {
	rows, err := ReadMIG("x", strings.NewReader(migHeader+
		"A100-40GB,bert,8,1g.10gb,1,0.25,80,40,250\nA100-40GB,bert,8,3g.20gb,3,0.5,80,40,250\nA100-40GB,deepspeech2,8,7g.40gb,7,1,80,40,\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		slice       string
		memory      profile.Bytes
		speed, watt float64
		good        bool
	}{{"1g.10gb", 10 * profile.GiB, 0.25, 250, true}, {"3g.20gb", 20 * profile.GiB, 0.5, 250, true}, {"7g.40gb", 40 * profile.GiB, 1, -1, false}} {
		r := rows[i]
		o, v := r.Observation, &r.Observation.Profile.Vector
		if o.Slice.Name != want.slice || o.Slice.Memory != want.memory || o.Speed != want.speed || (r.Excluded == "") != want.good || r.Line != 2+i ||
			v.Or(profile.MeanGPUBusy, -1) != 0.8 || v.Or(profile.MeanMemBusy, -1) != 0.4 || v.Or(profile.MeanPowerWatts, -1) != want.watt {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if rows[0].Observation.Profile != rows[1].Observation.Profile || rows[0].Observation.Profile == rows[2].Observation.Profile {
		t.Error("rows of one task, and only those, share a profile")
	}
	for row, want := range map[string]string{
		"A100-40GB,bert,8,3g.20gb,4,0.5,80,40,250\n":     `"slice"`,
		"A100-40GB,bert,8,3g.99gb,3,0.5,80,40,250\n":     `"slice"`,
		"T4,bert,8,1g.5gb,1,0.5,80,40,250\n":             `"slice"`,
		"A100-40GB,bert,8,3g.20gb,3,,80,40,250\n":        `"norm_speed_median"`,
		"A100-40GB,bert,8,3g.20gb,3,0.5,180,40,250\n":    `"solo_gpu_util_pct"`,
		"A100-40GB,bert,9e15,3g.20gb,3,0.5,80,40,250\n":  `"model"`,
		"A100-40GB,bert,8,3g.20gb,three,0.5,80,40,250\n": `"slice_compute_sevenths"`,
	} {
		if _, err := ReadMIG("x", strings.NewReader(migHeader+row)); err == nil || !strings.Contains(err.Error(), "x:2: column "+want) {
			t.Errorf("%q: %v, want %s", row, err, want)
		}
	}
}

// mixes is a file of one mix: every speed is its place in the row, in hundredths.
func mixes(change func(column string, cell *string)) string {
	head, row := []string{"mix"}, []string{"m7"}
	for _, prefix := range []string{"mps100", "mps50", "mps14", "mig_row0", "mig_row1", "mig_row2"} {
		for j := range 7 {
			column, cell := prefix+"_job"+string(rune('0'+j)), "0."+string(rune('1'+(len(row)-1)/7))+string(rune('1'+j))
			change(column, &cell)
			head, row = append(head, column), append(row, cell)
		}
	}
	return strings.Join(head, ",") + "\n" + strings.Join(row, ",") + "\n"
}

// TestReadMixes: the thread percentages fall, the slices grow smaller, and each has a
// speed for each job, in its order.
func TestReadMixes(t *testing.T) {
	rows, err := ReadMixes("x", strings.NewReader(mixes(func(string, *string) {})))
	if err != nil {
		t.Fatal(err)
	}
	want := MixRow{Line: 2, Mix: pace.Mix{}}
	for k := range 6 {
		speeds := make([]float64, 7)
		for j := range speeds {
			speeds[j] = float64(10*(k+1)+j+1) / 100
		}
		if k < 3 {
			want.Mix.Probes = append(want.Mix.Probes, speeds)
		} else {
			want.Mix.Slices = append(want.Mix.Slices, speeds)
		}
	}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadMixes("x", strings.NewReader(strings.Replace(mixes(func(string, *string) {}), "mig_row2_job6", "other", 1))); err == nil || !strings.Contains(err.Error(), `x:1: no column "mig_row2_job6"`) {
		t.Errorf("no column: %v", err)
	}
	for cell, ok := range map[string]bool{"1": true, "0.001": true, "0": false, "1.001": false, "": false, "-1": false} {
		for _, at := range []string{"mps100_job0", "mig_row2_job6"} {
			_, err := ReadMixes("x", strings.NewReader(mixes(func(column string, c *string) {
				if column == at {
					*c = cell
				}
			})))
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), `x:2: column "`+at+`"`) {
				t.Errorf("%s = %q: %v", at, cell, err)
			}
		}
	}
}

const paceHeader = "source,model,family,gpu,precision,batch,throughput,notes\n"

// TestReadPace: two rows measure one task where source, network, width of the numbers and
// batch are the same; in Lambda's tables the batch is the card's.
func TestReadPace(t *testing.T) {
	rows, err := ReadPace("x", strings.NewReader(paceHeader+
		"lambda-1,r50,cnn,T4,fp32,64,100,\n"+
		"lambda-1,r50,cnn,V100,fp32,128,300,\n"+
		"dle-1,r50,rnn,T4,amp,64,100,suspect row\n"+
		"dle-1,r50,recsys,T4,bf16,64,100,host-bound\n"+
		"dle-1,r50,transformer,T4,fp16,64,100,\n"+
		"dle-2,r50,gan,T4,fp32,,100,\n"+
		"dle-1,r50,cnn,T4,fp32,64,0.5,\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		like   int // the first row of the same task
		group  string
		batch  float64
		family profile.Family
		good   bool
	}{
		{0, "lambda r50", -1, profile.CNN, true},
		{0, "lambda r50", -1, profile.CNN, true},
		{2, "dle r50", 64, profile.RNN, false},
		{2, "dle r50", 64, profile.Recommender, false},
		{4, "dle r50", 64, profile.Transformer, true},
		{5, "dle r50", -1, profile.UnknownFamily, true},
		{6, "dle r50", 64, profile.CNN, true},
	} {
		r := rows[i]
		like := 0
		for rows[like].Observation.Task != r.Observation.Task {
			like++
		}
		if like != want.like || r.Observation.Group != want.group || r.Observation.Profile.Vector.Or(profile.BatchSize, -1) != want.batch ||
			r.Observation.Profile.Spec.Model.Family != want.family || (r.Excluded == "") != want.good {
			t.Errorf("row %d: %+v, want %+v", i, r, want)
		}
	}
	if task := rows[4].Observation.Task; task != "dle-1|r50|16, no 32-bit weights|64" {
		t.Errorf("task %q", task)
	}
	if rows[1].Observation.Throughput != 300 || rows[1].Source != "lambda-1" || rows[2].Observation.Profile.Spec.Training.Precision != profile.Mixed {
		t.Errorf("%+v", rows)
	}
	for row, want := range map[string]string{
		"s,m,cnn,T4,fp32,64,0,\n":    `"throughput"`,
		"s,m,cnn,T4,fp32,64,,\n":     `"throughput"`,
		"s,m,cnn,T4,fp99,64,1,\n":    `"precision"`,
		"s,m,cnn,T4,fp32,9e15,1,\n":  `"batch"`,
		"s,m,cnn,T4,fp32,1.5,1,\n":   `"batch"`,
		"s,m,cnn,T4,fp32,64,many,\n": `"throughput"`,
	} {
		if _, err := ReadPace("x", strings.NewReader(paceHeader+row)); err == nil || !strings.Contains(err.Error(), "x:2: column "+want) {
			t.Errorf("%q: %v, want %s", row, err, want)
		}
	}
}

// TestReadTogetherLeavesOut: an amount that is empty or 0 was not measured.
func TestReadTogetherLeavesOut(t *testing.T) {
	const head = "model_a,model_b,solo_mem_used_mib_a,solo_mem_used_mib_b,pair_mem_used_mib\n"
	rows, err := ReadTogether("x", strings.NewReader(head+
		"a,b,,3000,5200\na,b,0,3000,5200\na,b,2000,,5200\na,b,2000,0,5200\na,b,2000,3000,\na,b,2000,3000,0\na,c,1,1,1\n"))
	if err != nil || len(rows) != 1 || rows[0].Groups[1] != "c" || rows[0].Observation.Solo != 2*profile.MiB || rows[0].Observation.Together != profile.MiB {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestReadUtilizationLeavesOut: only rows that ran and tell both shares are of use.
func TestReadUtilizationLeavesOut(t *testing.T) {
	dead := strings.Replace(mlpRow, ",32,3,2,", ",4095,3,2,", 1)
	for row, want := range map[string]int{mlpRow: 1, strings.Replace(mlpRow, ",40,", ",,", 1): 0, strings.Replace(mlpRow, "0.25\n", "\n", 1): 0, dead: 0} {
		seen, err := ReadUtilization("x", strings.NewReader(mlpHeader+row))
		if len(seen) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d rows, %v", row, len(seen), err)
		}
		if want > 0 && (seen[0].Group != "pyramid" || seen[0].GPU.Name != "A100-40GB" || seen[0].Use.SMActive != profile.Some(0.25)) {
			t.Errorf("%+v", seen[0])
		}
	}
	head := strings.Replace(cnnHeader, "layer_list_incomplete\n", "layer_list_incomplete,avg_gpu_util_pct,avg_sm_active_frac\n", 1)
	oom := strings.Replace(cnnOOM, "1,0,0\n", "1,0,0,50,0.5\n", 1)
	ran := strings.Replace(cnnRow, "0,0,1\n", "0,0,1,50,0.5\n", 1)
	if seen, err := ReadUtilization("x", strings.NewReader(head+oom+ran)); err != nil || len(seen) != 1 || seen[0].Spec.Model.Name != "c1" {
		t.Errorf("%+v, %v", seen, err)
	}
}
