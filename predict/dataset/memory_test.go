package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// The rows in these tests are made up.
const (
	mlpHeader = "task_id,optimizer,arch,activation,input_size,batch_size,n_linear,n_batchnorm,n_dropout,n_activation,total_params," +
		"act_linear_elems_per_sample,act_batchnorm_elems_per_sample,act_dropout_elems_per_sample,max_layer_act_elems_per_sample," +
		"max_layer_params,act_nonlin_elems_per_sample,peak_mem_mib,avg_gpu_util_pct,avg_sm_active_frac\n"
	mlpRow    = "m1,Adam,pyramid,ReLU,100,32,3,2,0,2,5000,120,100,0,60,3000,100,1500,40,0.25\n"
	cnnHeader = "task_id,optimizer,arch,activation,batch_size,n_conv2d,n_batchnorm,n_dropout,n_linear,n_activation,total_params,num_classes," +
		"act_conv_elems_per_sample,act_batchnorm_elems_per_sample,act_dropout_elems_per_sample,act_nonlin_elems_per_sample," +
		"max_layer_act_elems_per_sample,max_layer_params,max_conv_inout_elems_per_sample,input_elems_per_sample,peak_mem_mib," +
		"censored_oom,near_capacity,layer_list_incomplete\n"
	cnnRow  = "c1,Adam,dense,GELU,8,4,4,0,1,4,9000,10,5000,5000,0,5000,2000,4000,3000,768,1800,0,0,1\n"
	cnnOOM  = "c2,Adam,uniform,Tanh,8,4,4,0,1,4,9000,10,5000,5000,0,5000,1250,4000,2500,768,39000,1,0,0\n"
	cnnFull = "c3,Adam,uniform,Tanh,8,4,4,0,1,4,9000,10,5000,5000,0,5000,1250,4000,2500,768,39000,0,1,0\n"
)

func TestReadMemoryKeepsAggregates(t *testing.T) {
	rows, err := ReadMemory("c.csv", strings.NewReader(cnnHeader+cnnRow+cnnOOM+cnnFull))
	if err != nil {
		t.Fatal(err)
	}
	m := rows[0].Observation.Spec.Model
	var count [profile.LayerKinds]int
	var sum [profile.LayerKinds]int64
	var largest, biggest int64
	for _, l := range m.Layers {
		count[l.Kind]++
		sum[l.Kind] += l.Activations
		if l.Kind != profile.OtherLayer {
			largest = max(largest, l.Activations)
		}
		biggest = max(biggest, l.Params)
	}
	if m.Params() != 9000 || biggest != 4000 || largest != 2000 {
		t.Errorf("parameters %d, largest layer %d, largest output %d; want 9000, 4000, 2000", m.Params(), biggest, largest)
	}
	if count[profile.Conv] != 4 || count[profile.Norm] != 4 || count[profile.Activation] != 4 || count[profile.Linear] != 1 {
		t.Errorf("layers by kind %v", count)
	}
	if sum[profile.Conv] != 5000 || sum[profile.Norm] != 5000 || sum[profile.Activation] != 5000 || sum[profile.Linear] != 10 {
		t.Errorf("outputs by kind %v", sum)
	}
	if sum[profile.OtherLayer] == 0 {
		t.Error("a dense network has no concatenations")
	}
	if o := rows[0].Observation; o.Group != "dense" || o.Peak != 1800*profile.MiB || o.Spec.Training.BatchSize != 8 {
		t.Errorf("observation %+v", o)
	}
	if !rows[1].Observation.Censored || rows[1].Excluded != "" {
		t.Error("an OOM row must be censored and kept")
	}
	if rows[2].Excluded == "" {
		t.Error("a row near capacity must be excluded")
	}
}

func TestReadMemoryMissingIsNotZero(t *testing.T) {
	row := strings.Replace(mlpRow, "40,0.25", ",0", 1)
	rows, err := ReadMemory("m.csv", strings.NewReader(mlpHeader+row))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := rows[0].SoloUse.GPUBusy.Get(); ok {
		t.Error("an empty cell became a number")
	}
	if v, ok := rows[0].SoloUse.SMActive.Get(); !ok || v != 0 {
		t.Error("a measured zero went missing")
	}
}

func TestReadMemoryErrors(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"empty", "", []string{"f.csv", "empty"}},
		{"no rows", mlpHeader, []string{"f.csv", "no rows"}},
		{"unknown columns", "a,b\n1,2\n", []string{"f.csv:1", "no memory set"}},
		{"missing column", strings.Replace(mlpHeader, "batch_size", "batch", 1) + mlpRow, []string{"f.csv:1", `"batch_size"`}},
		{"column twice", strings.Replace(mlpHeader, "arch", "task_id", 1) + mlpRow, []string{"f.csv:1", "twice"}},
		{"ragged", mlpHeader + "m1,Adam\n", []string{"f.csv", "line 2"}},
		{"not a number", mlpHeader + mlpRow + strings.Replace(mlpRow, ",32,", ",many,", 1), []string{"f.csv:3", `"batch_size"`, "many"}},
		{"NaN", mlpHeader + strings.Replace(mlpRow, ",1500,", ",NaN,", 1), []string{"f.csv:2", `"peak_mem_mib"`}},
		{"empty cell", mlpHeader + strings.Replace(mlpRow, ",5000,", ",,", 1), []string{"f.csv:2", `"total_params"`, "empty"}},
		{"no peak", mlpHeader + strings.Replace(mlpRow, ",1500,", ",,", 1), []string{"f.csv:2", `"peak_mem_mib"`, "empty"}},
		{"negative", mlpHeader + strings.Replace(mlpRow, ",5000,", ",-1,", 1), []string{"f.csv:2", `"total_params"`}},
		{"half a layer", mlpHeader + strings.Replace(mlpRow, ",32,3,", ",32,2.5,", 1), []string{"f.csv:2", `"n_linear"`}},
		{"zero batch", mlpHeader + strings.Replace(mlpRow, ",32,", ",0,", 1), []string{"f.csv:2", "batch_size"}},
		{"busy beyond 100", mlpHeader + strings.Replace(mlpRow, ",40,", ",140,", 1), []string{"f.csv:2", `"avg_gpu_util_pct"`}},
		{"bad flag", cnnHeader + strings.Replace(cnnRow, ",0,0,1", ",maybe,0,1", 1), []string{"f.csv:2", `"censored_oom"`}},
		{"bad optimizer", mlpHeader + strings.Replace(mlpRow, "Adam", "magic", 1), []string{"f.csv:2", `"optimizer"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadMemory("f.csv", strings.NewReader(tt.file))
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("one fault is told twice: %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
		})
	}
}

func TestGeometricAndSpread(t *testing.T) {
	for _, tt := range []struct{ total, n, first int64 }{
		{100, 4, 60}, {100, 4, 25}, {100, 4, 10}, {7, 3, 7}, {0, 3, 5}, {1, 1, 1}, {1 << 50, 7, 1 << 49}, {10, 0, 5},
	} {
		parts := geometric(tt.total, tt.n, tt.first)
		var sum int64
		for i, p := range parts {
			sum += p
			if p < 0 || (i > 0 && p > parts[i-1]+1) {
				t.Errorf("geometric%v = %v rises", tt, parts)
			}
		}
		if tt.first <= tt.total && tt.first*tt.n > tt.total && (parts[0] < tt.first || parts[0] > tt.first+tt.n) {
			t.Errorf("geometric%v = %v does not begin with the largest", tt, parts)
		}
		if tt.first*tt.n <= tt.total && tt.n > 0 && parts[0]-parts[tt.n-1] > 1 {
			t.Errorf("geometric%v = %v is not even", tt, parts)
		}
		if len(parts) != int(tt.n) || (tt.n > 0 && sum != tt.total) {
			t.Errorf("geometric%v = %v sums to %d", tt, parts, sum)
		}
	}
	parts := geometric(1_000_000, 4, 600_000)
	for i := range parts[2:] {
		if a, b, c := float64(parts[i]), float64(parts[i+1]), float64(parts[i+2]); b*b < 0.999*a*c || b*b > 1.001*a*c {
			t.Errorf("%v do not fall by one ratio", parts)
		}
	}
	if got, want := spread(10, 4, 7), []int64{7, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("spread = %v, want %v", got, want)
	}
}

func TestReadMemoryOfTheSets(t *testing.T) {
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		t.Skip("COLLOC_DATA is not set: set it to the folder with the measurement files to run this test")
	}
	for _, name := range []string{"memory_mlp", "memory_cnn", "memory_timm", "memory_carma_real", "memory_horus_fc_mnist", "memory_transformer", "mig_migperf"} {
		f, err := os.Open(filepath.Join(dir, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ReadMemory(name+".csv", f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(rows) == 0 {
			t.Errorf("%s: no rows", name)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzReadMemory(f *testing.F) {
	f.Add(mlpHeader + mlpRow)
	f.Add(cnnHeader + cnnRow + cnnOOM)
	f.Add("model,family,batch_size,faketensor_after_forward_mib,faketensor_after_backward_mib,faketensor_estimate_mib,peak_mem_mib,drop_reason,valid\n" +
		"vit,vit,8,100,120,130,2000,,1\n")
	f.Add("peak_mem_mib,neurons_per_layer,n_layers,horus_estimate_mib\n1500,100,3,20\n")
	f.Add(encoderHeader + encoderRow)
	f.Add(sliceHeader + sliceRows)
	f.Fuzz(func(t *testing.T, data string) {
		rows, err := ReadMemory("fuzz.csv", strings.NewReader(data))
		if err != nil {
			return
		}
		for _, r := range rows {
			if err := r.Observation.Spec.Validate(); err != nil {
				t.Errorf("line %d: %v", r.Line, err)
			}
		}
	})
}
