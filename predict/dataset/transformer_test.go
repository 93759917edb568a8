package dataset

import (
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// The rows in these tests are made up.
const (
	encoderHeader = "num_classes,embed,layers,heads,ff_hidden,seq_len,vocab,batch_size,peak_mem_mib,status\n"
	encoderRow    = "10,64,2,4,100,16,1000,8,1700,SUCCESSFUL\n"
	sliceHeader   = "gpu,model,batch_size,seq_len,slice,slice_compute_sevenths,status,norm_speed,gr_active,mem_used_mib\n"
	sliceRows     = "A100-40GB,vit-b16,8,,3g.20gb,3,ok,0.6,0.9,4000\nA100-40GB,vit-b16,8,,7g.40gb,7,ok,1,0.7,4300\n" +
		"A100-40GB,vit-b16,8,,1g.5gb,1,did_not_run,,,\nA100-40GB,other,8,,3g.20gb,3,ok,0.5,0.9,3000\n" +
		"A100-40GB,bert-base,8,128,3g.20gb,3,ok,0.45,0.9,5000\nA100-40GB,resnet50,8,,3g.20gb,3,ok,0.7,0.8,2500\n"
)

// TestReadEncoder: parameters as PyTorch counts those of nn.TransformerEncoder, scores
// that are not stored, and a run that ended for lack of memory.
func TestReadEncoder(t *testing.T) {
	m := memoryOf(t, encoderHeader, encoderRow)
	o := &m.Observation
	const e, f = 64, 100
	if want := int64(1000*e + 2*(4*e*e+9*e+2*e*f+f) + e*10 + 10); o.Spec.Model.Params() != want {
		t.Errorf("%d parameters, want %d", o.Spec.Model.Params(), want)
	}
	n, scores := outputsOf(&o.Spec.Model, profile.Attention)
	if n != 2 || scores != 2*4*16*16 || o.Group != "encoder of width 64" || o.Peak != 1700*profile.MiB || o.Censored ||
		o.Spec.Training.BatchSize != 8 || o.Spec.Dataset.SampleElements != profile.Some[int64](16) {
		t.Errorf("%d scores of %d layers: %+v", scores, n, o)
	}
	for _, l := range o.Spec.Model.Layers {
		if l.Kind == profile.Attention && !l.InPlace {
			t.Error("the scores are stored")
		}
	}
	if !memoryOf(t, encoderHeader, strings.Replace(encoderRow, "SUCCESSFUL", "OOM_CRASH", 1)).Observation.Censored {
		t.Error("a crash is not censored")
	}
	for old, want := range map[string][2]string{
		"SUCCESSFUL": {"SLOW", `x:2: column "status"`}, ",2,4,": {",0,4,", `x:2: column "layers"`}, "64": {"-1", `x:2: column "embed"`}, ",1000,": {",,", `x:2: column "vocab"`},
	} {
		if _, err := ReadMemory("x", strings.NewReader(encoderHeader+strings.Replace(encoderRow, old, want[0], 1))); err == nil || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%q in place of %q: %v, want %s", want[0], old, err, want[1])
		}
	}
}

// TestReadSlices: one file tells speeds and peaks. A task's use is that on the whole card;
// what did not run and what nobody wrote down is no observation.
func TestReadSlices(t *testing.T) {
	peaks, err := ReadMemory("x", strings.NewReader(sliceHeader+sliceRows))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		params   int64
		excluded bool
	}{{86_567_656, false}, {86_567_656, false}, {86_567_656, true}, {0, true}, {109_483_778, false}, {25_557_032, false}} {
		if m := peaks[i].Observation.Spec.Model; m.Params() != want.params || (peaks[i].Excluded != "") != want.excluded {
			t.Errorf("row %d: %d parameters, excluded %q; want %+v", i, m.Params(), peaks[i].Excluded, want)
		}
	}
	if a, b := peaks[0].Observation, peaks[1].Observation; a.Host.Name != b.Host.Name || a.Peak != 4000*profile.MiB {
		t.Errorf("slices of two sizes are two hosts: %+v", a)
	}
	speeds, err := ReadMIG("x", strings.NewReader(sliceHeader+sliceRows))
	if err != nil {
		t.Fatal(err)
	}
	o := speeds[0].Observation
	if busy, _ := o.Profile.Vector.Get(profile.MeanGPUBusy); busy != 0.7 || o.Speed != 0.6 || o.Slice.Name != "3g.20gb" || o.Profile != speeds[1].Observation.Profile {
		t.Errorf("%+v, busy %v", o, busy)
	}
	if _, ok := speeds[3].Observation.Profile.Vector.Get(profile.MeanGPUBusy); ok || speeds[2].Excluded == "" || speeds[3].Excluded != "" {
		t.Error("a use that was not measured on the whole card, or a run that was none")
	}
	for old, want := range map[string]string{"did_not_run": "status", ",0.6,": "norm_speed", ",0.7,4300": "gr_active"} {
		if _, err := ReadMIG("x", strings.NewReader(sliceHeader+strings.Replace(sliceRows, old, ",many,1", 1))); err == nil || !strings.Contains(err.Error(), "x:") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestReadCARMABuilt: networks whose dumps are another's or tell no sums.
func TestReadCARMABuilt(t *testing.T) {
	small := memoryOf(t, carmaHeader, strings.Replace(carmaRow("cnn", ",,,,", "15", ",", ",,,,,3072"), "m,cnn", "mobilenet_cifar100,cnn", 1))
	if m := small.Observation.Spec.Model; m.Params() != 2_351_972 || small.Observation.Group != "mobilenet" || m.Family != profile.CNN {
		t.Errorf("MobileNetV2 of 100 classes has %d parameters in group %q", m.Params(), small.Observation.Group)
	}
	tables := memoryOf(t, carmaHeader, carmaRow("recommender", ",,,,", "", "909313,", ",,,,,")).Observation.Spec.Model
	if out, known := tables.Activations(); tables.Params() != 909313 || tables.Family != profile.Recommender || !known || out != 5768 {
		t.Errorf("DLRM has %d parameters and puts out %d", tables.Params(), out)
	}
	swish := memoryOf(t, carmaHeader, strings.Replace(carmaRow("cnn", ",,,,", "", ",130000", "3,900,2,700,1,3072"), "m,cnn", "efficientNet,cnn", 1))
	for _, l := range swish.Observation.Spec.Model.Layers {
		if l.Kind == profile.Activation && !strings.HasPrefix(l.Name, "SiLU") {
			t.Errorf("a non-linearity %s", l.Name)
		}
	}
}

func FuzzReadMIG(f *testing.F) {
	f.Add(sliceHeader + sliceRows)
	f.Add(migHeader + "A100-40GB,bert,8,3g.20gb,3,0.5,90,60,230\n")
	f.Fuzz(func(t *testing.T, data string) {
		rows, err := ReadMIG("fuzz.csv", strings.NewReader(data))
		if err != nil {
			return
		}
		for _, r := range rows {
			if o := r.Observation; o.Profile == nil || o.Slice.Compute < 1 || o.GPU.Name == "" {
				t.Errorf("line %d: %+v", r.Line, o)
			}
		}
	})
}
