package dataset_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/profile"
)

const besideHeader = "gpu,training,training_batch,training_gpu_busy,training_mem_util,training_mem_mib,inference,inference_load,inference_gpu_busy," +
	"inference_mem_util,inference_mem_mib,mechanism,training_speed,inference_served,solo_avg_ms,avg_ms,solo_p99_ms,p99_ms\n"

const besideRow = "A100-40GB,bert,32,0.9,0.2,9000,bert,0.5,0.4,0.1,1500,mps,0.8,0.9,4,10,5,12\n"

func ExampleReadBeside() {
	rows, err := dataset.ReadBeside("beside.csv", strings.NewReader(besideHeader+besideRow))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := rows[0]
	fmt.Println(r.Mechanism, r.Training.Spec.Type(), r.Speed, r.Server.Spec.Model.Name, r.Alone, r.Latency)
	// Output:
	// mps BERT||bs32|fp32 0.8 BERT inference 4ms 10ms
}

func TestReadBeside(t *testing.T) {
	rows, err := dataset.ReadBeside("x.csv", strings.NewReader(besideHeader+besideRow+strings.Replace(besideRow, ",mps,", ",tgs,", 1)))
	if err != nil {
		t.Fatal(err)
	}
	r := rows[0]
	if r.Training.Vector.Or(profile.MeanGPUBusy, 0) != 0.9 || r.Server.Vector.Or(profile.MeanGPUBusy, 0) != 0.4 || r.Server.Spec.Server.Rate != 0.5*r.Server.Spec.Server.Capacity || r.Excluded != "" {
		t.Errorf("%+v", r)
	}
	if rows[1].Excluded != "tgs" || rows[1].Training != r.Training {
		t.Errorf("another way of sharing: %+v", rows[1])
	}
	for old, c := range map[string][2]string{
		",0.8,":  {",0,", "training_speed"},
		",0.5,":  {",1.5,", "inference_load"},
		",4,":    {",-4,", "solo_avg_ms"},
		",10,":   {",1e300,", "avg_ms"},
		",9000,": {",9e15,", "training_mem_mib"},
		",32,":   {",0,", "training"},
	} {
		_, err := dataset.ReadBeside("x.csv", strings.NewReader(besideHeader+strings.Replace(besideRow, old, c[0], 1)))
		if err == nil || !strings.Contains(err.Error(), "x.csv:2: column \""+c[1]) {
			t.Errorf("%q in place of %q: %v, want column %s", c[0], old, err, c[1])
		}
	}
}

func FuzzReadBeside(f *testing.F) {
	f.Add(besideHeader + besideRow)
	f.Fuzz(func(t *testing.T, file string) {
		rows, err := dataset.ReadBeside("x.csv", strings.NewReader(file))
		for _, r := range rows {
			if err == nil && (r.Training == nil || r.Server == nil || r.Latency <= 0 || !(r.Speed > 0)) {
				t.Errorf("read %+v", r)
			}
		}
	})
}

const (
	soloHeader  = "workload,gpus,batch_size,end_to_end_s,peak_memory_mib,sm_active,sm_occupancy,dram_active,gpu_busy\n"
	soloRows    = "resnet50_imagenet_bs64,1,64,1951.05,7118,.685,.347,.47,\nmobilenet_cifar100_bs32_20e,1,32,903,592,.07,.03,.001,.25\nunet_voc,1,,10,,,,,\n"
	trialHeader = "trial,jobs_in_order_of_start,solo_s,wall_s,throughput_gain,mean_slowdown,max_slowdown\n"
	trialRow    = "two,resnet50_imagenet_bs64 mobilenet_cifar100_bs32_20e,100 50.5,120,1.25,1.2,1.4\n"
)

func ExampleReadTrials() {
	solo, err := dataset.ReadSolo("solo.csv", strings.NewReader(soloHeader+soloRows))
	if err != nil {
		fmt.Println(err)
		return
	}
	trials, err := dataset.ReadTrials("sets.csv", strings.NewReader(trialHeader+trialRow))
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := trials[0].Set(solo)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, p := range set {
		fmt.Println(p.Spec.Type(), trials[0].Solo[i])
	}
	fmt.Println("gain", trials[0].Gain)
	// Output:
	// resnet50|imagenet|bs64|fp32 1m40s
	// mobilenet|cifar100|bs32|fp32 50.5s
	// gain 1.25
}

func TestReadTrialsFaults(t *testing.T) {
	solo, err := dataset.ReadSolo("x.csv", strings.NewReader(soloHeader+soloRows))
	if err != nil {
		t.Fatal(err)
	}
	if v := &solo[0].Profile.Vector; v.Or(profile.MeanSMActive, 0) != .685 || v.Or(profile.MeanGPUBusy, -1) != -1 || v.Or(profile.PeakMemory, 0) != float64(7118*profile.MiB) {
		t.Errorf("%v", v)
	}
	for _, c := range []struct{ file, want string }{
		{strings.Replace(trialRow, "100 50.5", "100", 1), `x.csv:2: column "solo_s"`},
		{strings.Replace(trialRow, "50.5", "soon", 1), `x.csv:2: column "solo_s"`},
		{strings.Replace(trialRow, "1.25", "0", 1), `x.csv:2: column "throughput_gain"`},
	} {
		if _, err := dataset.ReadTrials("x.csv", strings.NewReader(trialHeader+c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, c := range []struct{ file, want string }{
		{soloRows + "unet_voc,1,,10,,,,,\n", `x.csv:5: column "workload"`},
		{strings.Replace(soloRows, ".685", "68.5", 1), `x.csv:2: column "sm_active"`},
	} {
		if _, err := dataset.ReadSolo("x.csv", strings.NewReader(soloHeader+c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	trials, err := dataset.ReadTrials("x.csv", strings.NewReader(trialHeader+strings.Replace(trialRow, "resnet50", "unknown", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trials[0].Set(solo); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("a training that nobody measured alone: %v", err)
	}
}

func FuzzReadTrials(f *testing.F) {
	f.Add(trialHeader+trialRow, soloHeader+soloRows)
	f.Fuzz(func(t *testing.T, trials, solo string) {
		alone, err := dataset.ReadSolo("x.csv", strings.NewReader(solo))
		if err != nil {
			alone = nil
		}
		rows, err := dataset.ReadTrials("x.csv", strings.NewReader(trials))
		for i := range rows {
			if set, missing := rows[i].Set(alone); err == nil && missing == nil && (len(set) == 0 || len(set) != len(rows[i].Solo)) {
				t.Errorf("read %+v with %d profiles", rows[i], len(set))
			}
		}
	})
}
