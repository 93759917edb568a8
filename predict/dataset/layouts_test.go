package dataset

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// memoryOf reads the one row of a memory set.
func memoryOf(t *testing.T, head, row string) MemoryRow {
	t.Helper()
	rows, err := ReadMemory("x.csv", strings.NewReader(head+row))
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// TestMLPUseOfDeadJobs: a job whose last batch was a single sample died of its batch
// normalisation after the first epoch, and tells no use.
func TestMLPUseOfDeadJobs(t *testing.T) {
	for _, c := range []struct {
		batch, norms int
		told         bool
	}{{4095, 2, false}, {4095, 0, true}, {4094, 2, true}, {315, 1, false}, {1, 2, true}} {
		row := strings.Replace(mlpRow, ",32,3,2,", fmt.Sprintf(",%d,3,%d,", c.batch, c.norms), 1)
		if m := memoryOf(t, mlpHeader, row); m.SoloUse.GPUBusy.IsZero() == c.told || m.SoloUse.SMActive.IsZero() == c.told {
			t.Errorf("batch %d with %d normalisations: use %+v, want it told: %v", c.batch, c.norms, m.SoloUse, c.told)
		}
	}
	if use := memoryOf(t, mlpHeader, mlpRow).SoloUse; use.GPUBusy != profile.Some(0.4) || use.SMActive != profile.Some(0.25) {
		t.Errorf("40 %% busy and a quarter of the SMs read as %+v", use)
	}
}

// TestCNNWithSeveralHeads: every parameter is in one layer, and the dense layers at the
// end put out the classes.
func TestCNNWithSeveralHeads(t *testing.T) {
	row := strings.Replace(cnnRow, ",8,4,4,0,1,4,", ",8,4,4,0,3,4,", 1)
	m := memoryOf(t, cnnHeader, row).Observation.Spec.Model
	if tail := memoryOf(t, cnnHeader, strings.Replace(row, ",10,5000,", ",10,3000,", 1)).Observation.Spec.Model.Layers; tail[2].Kind != profile.Activation ||
		tail[3].Activations != 1000 || tail[6].Activations != 0 {
		t.Errorf("convolutions that put out 3000 altogether, 2000 of them first: %+v", tail)
	}
	n, out := outputsOf(&m, profile.Linear)
	if m.Params() != 9000 || n != 3 || out != 10 {
		t.Errorf("%d parameters, %d dense layers with %d outputs, want 9000, 3, 10", m.Params(), n, out)
	}
	for _, l := range m.Layers {
		if (l.Kind == profile.Conv || l.Kind == profile.Linear) != (l.Params > 0) {
			t.Errorf("%s has %d parameters", l.Name, l.Params)
		}
		if l.InPlace {
			t.Errorf("%s is in place", l.Name)
		}
	}
	// The convolutions put out 2000 and, as the largest reads and writes 3000, 1000;
	// the other two share the rest. In a dense network the concatenations repeat them all.
	var convs []int64
	for _, l := range m.Layers {
		if l.Kind == profile.Conv {
			convs = append(convs, l.Activations)
		}
	}
	if fmt.Sprint(convs) != "[2000 1000 1000 1000]" {
		t.Errorf("convolutions put out %v", convs)
	}
	if _, concat := outputsOf(&m, profile.OtherLayer); concat != 5000 {
		t.Errorf("concatenations put out %d, want 5000 outputs × 4 convolutions / 4 blocks", concat)
	}
}

// TestGPUMemNetTasks: what both generated sets tell of a task.
func TestGPUMemNetTasks(t *testing.T) {
	o := memoryOf(t, mlpHeader, mlpRow).Observation
	if o.Spec.Model.Name != "m1" || o.Spec.Model.Architecture != "GPUMemNet pyramid" || o.Group != "pyramid" || o.Host.Name != "GPUMemNet" ||
		o.Spec.Dataset.SampleElements != profile.Some[int64](100) || o.Spec.Training.BatchSize != 32 || o.Spec.Training.Optimizer != profile.Adam {
		t.Errorf("%+v", o)
	}
	for _, column := range []string{"avg_sm_occupancy_frac", "avg_fp32_active_frac"} {
		head := strings.Replace(mlpHeader, "avg_sm_active_frac", column, 1)
		if _, err := ReadMemory("x", strings.NewReader(head+strings.Replace(mlpRow, "0.25", "1.001", 1))); err == nil || !strings.Contains(err.Error(), column) {
			t.Errorf("%s beyond 1: %v", column, err)
		}
	}
	m := memoryOf(t, cnnHeader, strings.Replace(cnnOOM, ",9000,10,", ",9000,,", 1)).Observation.Spec.Model
	if n, out := outputsOf(&m, profile.Linear); n != 1 || out != 0 {
		t.Errorf("%d dense layers put out %d: the set names no classes", n, out)
	}
	if n, _ := outputsOf(&m, profile.OtherLayer); n != 0 {
		t.Errorf("%d concatenations in a network that is not dense", n)
	}
	for i, want := range []string{"conv-1", "norm-1", "Tanh-1", "conv-2", "norm-2", "Tanh-2"} { // PyTorch's class names a non-linearity
		if got := m.Layers[i].Name; got != want {
			t.Errorf("layer %d is %s, want %s", i, got, want)
		}
	}
}

// TestCNNWithTwoConvolutions: their outputs add up, though the larger reads and writes 3000.
func TestCNNWithTwoConvolutions(t *testing.T) {
	m := memoryOf(t, cnnHeader, strings.Replace(cnnOOM, ",8,4,4,0,1,4,", ",8,2,2,0,1,2,", 1)).Observation.Spec.Model
	if n, out := outputsOf(&m, profile.Conv); n != 2 || out != 5000 {
		t.Errorf("%d convolutions put out %d, want 2 and 5000", n, out)
	}
}

// TestCNNWithTooManyLayers: the layers beyond the bound have no parameters of their own.
func TestCNNWithTooManyLayers(t *testing.T) {
	m := memoryOf(t, cnnHeader, strings.Replace(cnnRow, ",8,4,4,0,1,4,9000,", ",8,19999,4,0,3,4,90000,", 1)).Observation.Spec.Model
	if n, _ := outputsOf(&m, profile.Linear); n != 3 || m.Params() != 90000 {
		t.Errorf("%d dense layers, %d parameters, want 3 and 90000", n, m.Params())
	}
}

const timmHeader = "model,family,batch_size,faketensor_after_forward_mib,faketensor_after_backward_mib,faketensor_estimate_mib,peak_mem_mib,drop_reason,valid\n"

func TestReadTIMM(t *testing.T) {
	m := memoryOf(t, timmHeader, "vgg11,vgg,8,100,120,130,2000,,1\n")
	o := m.Observation
	if o.Spec.Traced.AfterForward != profile.Some(100*profile.MiB) || o.Spec.Traced.AfterBackward != profile.Some(120*profile.MiB) ||
		o.Peak != 2000*profile.MiB || o.Group != "vgg" || o.Spec.Training.BatchSize != 8 || o.Spec.Training.Optimizer != profile.Adam ||
		o.Host.Name != "GPUMemNet" || m.Others["faketensor"] != 130*profile.MiB || m.Excluded != "" ||
		o.Spec.Model.Name != "vgg11" || o.Spec.Model.Architecture != "timm vgg" || o.Spec.Model.Params() != 132_863_336 {
		t.Errorf("%+v", m)
	}
	for row, want := range map[string]string{"v,f,8,100,120,130,2000,died,0\n": "died", "v,f,8,100,120,130,2000,,0\n": "marked as not valid"} {
		if m := memoryOf(t, timmHeader, row); m.Excluded != want {
			t.Errorf("%q excluded for %q, want %q", row, m.Excluded, want)
		}
	}
}

const horusHeader = "peak_mem_mib,neurons_per_layer,n_layers,horus_estimate_mib\n"

func TestReadHorus(t *testing.T) {
	o := memoryOf(t, horusHeader, "1500,100,3,20\n").Observation
	m := o.Spec.Model
	if m.Name != "fc" || m.Family != profile.MLP || o.Group != "fc" || o.Host.Name != "Horus" || o.Spec.Dataset.SampleElements != profile.Some[int64](784) ||
		o.Spec.Training.BatchSize != 64 || o.Peak != 1500*profile.MiB {
		t.Errorf("%+v", o)
	}
	if want := int64(785*100 + 2*101*100 + 101*10); m.Params() != want {
		t.Errorf("%d parameters, want %d", m.Params(), want)
	}
	if n, out := outputsOf(&m, profile.Linear); n != 4 || out != 310 {
		t.Errorf("%d dense layers put out %d, want 4 and 310", n, out)
	}
	if n, out := outputsOf(&m, profile.Activation); n != 3 || out != 300 {
		t.Errorf("%d non-linearities put out %d, want 3 and 300", n, out)
	}
	for row, ok := range map[string]bool{
		"1500,1048576,1,20\n": true, "1500,1048577,1,20\n": false, "1500,8,20000,20\n": true, "1500,8,20001,20\n": false,
	} {
		if _, err := ReadMemory("x", strings.NewReader(horusHeader+row)); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), `x:2: column "n_layers"`) {
			t.Errorf("%q: %v", row, err)
		}
	}
}

const carmaHeader = "model,kind,batch_size,n_gpus,peak_mem_mib,hidden,tf_layers,heads,seq_len,vocab,rad_file,est_horus_mib,est_faketensor_mib," +
	"est_gpumemnet_upper_mib,mislabelled_duplicate,dump_is_of_another_model,total_params_dedup,total_params,n_conv2d,act_conv_elems_per_sample," +
	"n_activation,act_nonlin_elems_per_sample,n_linear,input_elems_per_sample\n"

// carmaRow is a row of a model: its kind, FakeTensor's estimate, and the last cells.
func carmaRow(kind, shape, faketensor, params, rest string) string {
	return "m," + kind + ",4,2,9000," + shape + ",f.rad,500," + faketensor + ",700,0,0," + params + "," + rest + "\n"
}

// TestReadCARMATransformer: an encoder two blocks deep, 64 wide, of 4 heads, on 16 tokens
// out of 100.
func TestReadCARMATransformer(t *testing.T) {
	row := memoryOf(t, carmaHeader, carmaRow("transformer", "64,2,4,16,100", "3000", "120000,130000", ",,,,,"))
	m := row.Observation.Spec.Model
	const stream = 64 * 16
	if m.Params() != 120000 || m.Family != profile.Transformer || m.Layers[0].Kind != profile.Embedding || m.Layers[0].Params != 120000-2*12*64*64 {
		t.Errorf("%d parameters, the embedding %+v", m.Params(), m.Layers[0])
	}
	for kind, want := range map[profile.LayerKind][2]int64{
		profile.Embedding:  {1, stream},
		profile.Norm:       {2 * 2, 4 * stream},
		profile.Linear:     {2*6 + 1, 2*(3+1+4+1)*stream + 100*16}, // q, k, v, output, up, down; then the words
		profile.Attention:  {2, 2 * 4 * 16 * 16},
		profile.Dropout:    {2 * 2, 4 * stream},
		profile.Activation: {2, 2 * 4 * stream},
	} {
		if n, out := outputsOf(&m, kind); int64(n) != want[0] || out != want[1] {
			t.Errorf("%v: %d layers put out %d, want %v", kind, n, out, want)
		}
	}
	if tr := row.Observation.Spec.Training; tr.BatchSize != 4 || tr.GPUs != 2 || tr.Parallelism != profile.DataParallel || tr.Optimizer != profile.Adam {
		t.Errorf("training %+v", tr)
	}
	if !row.Observation.Spec.Traced.AfterBackward.IsZero() {
		t.Error("layers are known, and an estimate stands beside them")
	}
	if o := row.Observation; o.Host.Name != "CARMA" || o.Group != "m" || o.Peak != 9000*profile.MiB {
		t.Errorf("%+v", o)
	}
	if o := row.Others; o["horus"] != 500*profile.MiB || o["faketensor"] != 3000*profile.MiB || o["gpumemnet"] != 700*profile.MiB {
		t.Errorf("others %v", o)
	}
}

// TestReadCARMAWithoutShape: a transformer of which the shape is missing, or is none, has
// its parameters alone.
func TestReadCARMAWithoutShape(t *testing.T) {
	for shape, built := range map[string]bool{
		"64,1000,4,16,100": true, "1048576,1,4,16,100": true, "64,2,4,1048576,100": true, "64,2,1024,16,100": true, "64,2,4,16,16777216": true, "1,1,0,0,0": true,
		"64,1001,4,16,100": false, "1048577,1,4,16,100": false, "64,2,4,1048577,100": false, "64,2,1025,16,100": false, "64,2,4,16,16777217": false,
		",2,4,16,100": false, "64,,4,16,100": false, "0,2,4,16,100": false, "64,0,4,16,100": false,
	} {
		m := memoryOf(t, carmaHeader, carmaRow("transformer", shape, "", "100000000000000,", ",,,,,")).Observation.Spec.Model
		if (len(m.Layers) > 1) != built || m.Params() != 100000000000000 || m.Family != profile.Transformer {
			t.Errorf("%s: %d layers with %d parameters, want layers: %v", shape, len(m.Layers), m.Params(), built)
		}
	}
}

// TestReadCARMAOthers: convolutional networks have layers, which work in place, and others
// what FakeTensor says, where it says something. 40000 MiB is how the set writes nothing.
func TestReadCARMAOthers(t *testing.T) {
	row := memoryOf(t, carmaHeader, carmaRow("cnn", ",,,,", "3000", ",130000", "3,900,2,700,1,3072"))
	m := row.Observation.Spec.Model
	n, out := outputsOf(&m, profile.Conv)
	if m.Params() != 130000 || m.Family != profile.CNN || n != 3 || out != 900 || row.Observation.Spec.Dataset.SampleElements != profile.Some[int64](3072) {
		t.Errorf("%d parameters, %d convolutions put out %d: %+v", m.Params(), n, out, row.Observation.Spec)
	}
	for _, l := range m.Layers {
		if l.InPlace != (l.Kind == profile.Activation) {
			t.Errorf("%s in place: %v", l.Name, l.InPlace)
		}
	}
	bare := memoryOf(t, carmaHeader, carmaRow("cnn", ",,,,", "", "5,", ",,,,1,")).Observation.Spec.Model
	if len(bare.Layers) != 1 || bare.Layers[0].Kind != profile.Linear || bare.Params() != 5 {
		t.Errorf("a dump of one dense layer gives %+v", bare.Layers)
	}
	for cell, want := range map[string]profile.Opt[profile.Bytes]{"39999": profile.Some(39999 * profile.MiB), "40000": {}, "": {}} {
		spec := memoryOf(t, carmaHeader, carmaRow("gan", ",,,,", cell, "130000,", ",,,,,")).Observation.Spec
		if spec.Traced.AfterBackward != want || len(spec.Model.Layers) != 1 || spec.Model.Params() != 130000 || !spec.Dataset.SampleElements.IsZero() {
			t.Errorf("%q MiB: %+v", cell, spec)
		}
	}
	one := memoryOf(t, carmaHeader, "m,gan,,,9000,,,,,,f.rad,,,,1,0,5,,,,,,,\n")
	if tr := one.Observation.Spec.Training; tr.BatchSize != 1 || tr.GPUs != 1 || tr.Parallelism == profile.DataParallel || one.Excluded == "" || one.Others != nil {
		t.Errorf("%+v", one)
	}
	for cell, want := range map[string]profile.Opt[int64]{"0": {}, "": {}, "1": profile.Some[int64](1)} {
		spec := memoryOf(t, carmaHeader, carmaRow("gan", ",,,,", "", ",", ",,,,,"+cell)).Observation.Spec
		if spec.Dataset.SampleElements != want || spec.Model.Params() != 0 {
			t.Errorf("a sample of %q elements: %+v", cell, spec)
		}
	}
	if _, err := ReadMemory("x", strings.NewReader(carmaHeader+carmaRow("gan", ",,,,", "", "-1,", ",,,,,"))); err == nil || !strings.Contains(err.Error(), "total_params_dedup") {
		t.Errorf("parameters below 0: %v", err)
	}
}

// TestCellLimits: the last value that a cell may hold, and one beyond.
func TestCellLimits(t *testing.T) {
	for old, cells := range map[string][2]string{
		",1500,":    {",1099511627776,", ",1099511627777,"}, // MiB
		",40,0.25":  {",100,0.25", ",100.001,0.25"},         // per cent
		"40,0.25\n": {"40,1\n", "40,1.001\n"},               // a fraction
		",0.25\n":   {",0\n", ",-0.001\n"},                  // a fraction
		",40,":      {",0,", ",-1,"},                        // per cent
		"m1,":       {"m1,", "m1,m2,"},                      // cells of a row
	} {
		for k, cell := range cells {
			if _, err := ReadMemory("x", strings.NewReader(mlpHeader+strings.Replace(mlpRow, old, cell, 1))); (err == nil) != (k == 0) {
				t.Errorf("%q in place of %q: %v", cell, old, err)
			}
		}
	}
}
