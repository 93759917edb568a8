package memory

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/footprint"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// madeUpSpec draws a network whose layers shrink.
func madeUpSpec(rng *rand.Rand, family profile.Family) profile.Spec {
	kind := profile.Linear
	if family == profile.CNN {
		kind = profile.Conv
	}
	var layers []profile.Layer
	out := int64(100 + rng.IntN(40_000))
	for range 1 + rng.IntN(12) {
		layers = append(layers,
			profile.Layer{Name: "l", Kind: kind, Params: int64(1 + rng.IntN(3_000_000)), Activations: out, Neurons: 64},
			profile.Layer{Name: "ReLU", Kind: profile.Activation, Activations: out})
		out = max(1, out*int64(3+rng.IntN(7))/10)
	}
	return profile.Spec{
		Model:    profile.Model{Name: "made up", Family: family, Layers: layers},
		Training: profile.Training{BatchSize: 1 + rng.IntN(256), Optimizer: profile.Adam},
	}
}

func drawSpec(t *rapid.T) profile.Spec {
	kinds := []profile.LayerKind{profile.Conv, profile.Linear, profile.Norm, profile.Activation, profile.Dropout, profile.Pool, profile.Attention, profile.OtherLayer}
	var layers []profile.Layer
	for range rapid.IntRange(0, 8).Draw(t, "layers") {
		layers = append(layers, profile.Layer{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Params: rapid.Int64Range(0, 1e9).Draw(t, "params"),
			Activations: rapid.Int64Range(0, 1e7).Draw(t, "activations"), InPlace: rapid.Bool().Draw(t, "in place"),
		})
	}
	spec := profile.Spec{
		Model: profile.Model{Layers: layers, Family: profile.Family(rapid.IntRange(0, profile.Families-1).Draw(t, "family"))},
		Training: profile.Training{
			BatchSize: rapid.IntRange(1, 4096).Draw(t, "batch"), Optimizer: profile.Adam,
			Precision:     profile.Precision(rapid.IntRange(0, profile.Precisions-1).Draw(t, "precision")),
			Checkpointing: rapid.Bool().Draw(t, "checkpointing"),
			GPUs:          rapid.IntRange(0, 8).Draw(t, "gpus"),
			Parallelism:   profile.Parallelism(rapid.IntRange(0, profile.Parallelisms-1).Draw(t, "parallelism")),
		},
	}
	if rapid.Bool().Draw(t, "traced") {
		spec.Traced.AfterForward = profile.Some(profile.Bytes(rapid.Int64Range(0, 1e12).Draw(t, "forward")))
	}
	return spec
}

// madeUp draws n convolutional or dense networks whose peak follows a known
// law: context + held + temp + 1.2 kept + 2 largest, with 3 % noise.
func madeUp(n int, family profile.Family, seed uint64) []Observation {
	rng := rand.New(rand.NewPCG(seed, 0x6d61646575))
	obs := make([]Observation, n)
	for i := range obs {
		o := &obs[i]
		o.Spec = madeUpSpec(rng, family)
		o.Host.Name = "lab"
		o.Group = string(rune('a' + i%5))
		var f footprint.Footprint
		f.Measure(&o.Spec)
		peak := 1.5e9 + f.Weights + f.Grads + f.State + f.Temp + 1.2*f.Kept + 2*f.Largest
		o.Peak = profile.BytesOf(peak * math.Exp(0.03*rng.NormFloat64()))
	}
	return obs
}

// fitMadeUp is a model of its own, fitted once for all tests and read again for
// each.
func fitMadeUp(tb testing.TB) *Predictor {
	tb.Helper()
	file, err := madeUpFile()
	if err != nil {
		tb.Fatal(err)
	}
	m, err := Load(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// madeUpFile is what every test would compute again.
var madeUpFile = sync.OnceValues(func() ([]byte, error) {
	m, err := fitFresh(leastForTrees)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	err = m.Save(&file)
	return file.Bytes(), err
})

// fitFresh fits to so many networks of two families.
func fitFresh(each int) (*Predictor, error) {
	return Fit(append(madeUp(each, profile.MLP, 1), madeUp(each, profile.CNN, 2)...), nil)
}

func TestRecoversALaw(t *testing.T) {
	m := fitMadeUp(t)
	for _, family := range []profile.Family{profile.MLP, profile.CNN} {
		var seen, predicted, upper []float64
		for _, o := range madeUp(400, family, 99) {
			e, err := m.Peak(&o.Spec, o.Host)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Reserve(&o.Spec, o.Host, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if e.Source.Kind != predict.Fitted || e.Lo > e.Value || e.Hi < e.Value {
				t.Fatalf("estimate %+v", e)
			}
			seen, predicted, upper = append(seen, float64(o.Peak)), append(predicted, e.Value), append(upper, float64(r))
		}
		r, err := predict.Score(seen, predicted, upper)
		if err != nil {
			t.Fatal(err)
		}
		if r.MAPE > 0.035 {
			t.Errorf("%v: MAPE on new tasks %.3f, want at most 0.035 (the noise alone gives 0.024)", family, r.MAPE)
		}
		if r.Coverage < 0.92 || r.Coverage > 0.985 || r.Waste > 0.12 {
			t.Errorf("%v: coverage %.3f at 5 %% risk, waste %.3f", family, r.Coverage, r.Waste)
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	var a, b bytes.Buffer
	for _, file := range []*bytes.Buffer{&a, &b} {
		m, err := fitFresh(max(40, race.Fewer(300)))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Save(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Fatal("two fits of the same data differ")
	}
	m, err := Load(bytes.NewReader(a.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := m.Save(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("reading and writing changes the file")
	}
}

func TestAllocatesNothing(t *testing.T) {
	m := fitMadeUp(t)
	o := madeUp(1, profile.CNN, 5)[0]
	if n := testing.AllocsPerRun(100, func() {
		if _, err := m.Peak(&o.Spec, o.Host); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Reserve(&o.Spec, o.Host, 0.01); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Peak and Reserve allocate %v times", n)
	}
}

// TestMonotone: more batch, parameters or optimiser state never lowers
// the estimate, whatever the network.
func TestMonotone(t *testing.T) {
	m := fitMadeUp(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		host := predict.Host{Name: "lab"}
		less, err := m.Peak(&spec, host)
		if err != nil {
			t.Fatal(err)
		}
		more := spec
		more.Model.Layers = append([]profile.Layer(nil), spec.Model.Layers...)
		switch rapid.IntRange(0, 2).Draw(t, "what grows") {
		case 0:
			more.Training.BatchSize += rapid.IntRange(1, 4096).Draw(t, "batch")
		case 1:
			if i := len(more.Model.Layers); i > 0 {
				more.Model.Layers[rapid.IntRange(0, i-1).Draw(t, "layer")].Params += rapid.Int64Range(1, 1e9).Draw(t, "params")
			}
		case 2:
			spec.Training.Optimizer, more.Training.Optimizer = profile.SGD, profile.Adam
			if less, err = m.Peak(&spec, host); err != nil {
				t.Fatal(err)
			}
		}
		grown, err := m.Peak(&more, host)
		if err != nil {
			t.Fatal(err)
		}
		if grown.Value < less.Value*(1-1e-12) {
			t.Fatalf("more of something lowers the peak from %v to %v", less.Value, grown.Value)
		}
	})
}

// TestNeverAbsurd: whatever valid task comes, every number is finite, not
// negative and in order.
func TestNeverAbsurd(t *testing.T) {
	models := []*Predictor{fitMadeUp(t), {}}
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		host := predict.Host{}
		if rapid.Bool().Draw(t, "measured") {
			host.Context = profile.Some(profile.Bytes(rapid.Int64Range(0, 4e9).Draw(t, "context")))
		}
		for _, m := range models {
			e, err := m.Peak(&spec, host)
			if err != nil {
				t.Fatal(err)
			}
			if !num.Finite(e.Value) || !num.Finite(e.Lo) || !num.Finite(e.Hi) || e.Lo < 0 || e.Lo > e.Value || e.Value > e.Hi {
				t.Fatalf("estimate %+v", e)
			}
			tight, err := m.Reserve(&spec, host, 0.2)
			if err != nil {
				t.Fatal(err)
			}
			safe, err := m.Reserve(&spec, host, 0.01)
			if err != nil {
				t.Fatal(err)
			}
			if tight < 0 || safe < tight {
				t.Fatalf("reservations %v at 20 %% risk, %v at 1 %%", tight, safe)
			}
		}
	})
}

func TestBadInput(t *testing.T) {
	m := fitMadeUp(t)
	good := madeUp(1, profile.MLP, 1)[0].Spec
	zeroBatch, huge := good, good
	zeroBatch.Training.BatchSize = 0
	huge.Model.Layers = []profile.Layer{{Kind: profile.Linear, Params: 1e18, Activations: 1}}
	for _, tt := range []struct {
		name string
		spec *profile.Spec
		host predict.Host
		risk float64
		want string
	}{
		{"nil spec", nil, predict.Host{}, 0.01, "nil"},
		{"zero batch", &zeroBatch, predict.Host{}, 0.01, "training.batch_size"},
		{"too many parameters", &huge, predict.Host{}, 0.01, "params"},
		{"negative context", &good, predict.Host{Context: profile.Some[profile.Bytes](-1)}, 0.01, "context"},
		{"huge context", &good, predict.Host{Context: profile.Some(1 << 60 * profile.Bytes(1))}, 0.01, "context"},
		{"risk 0", &good, predict.Host{}, 0, "risk"},
		{"risk NaN", &good, predict.Host{}, math.NaN(), "risk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := m.Reserve(tt.spec, tt.host, tt.risk)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names %q", err, tt.want)
			}
		})
	}
	if _, err := m.Reserve(&good, predict.Host{Context: profile.Some(predict.MaxContext)}, 0.01); err != nil {
		t.Errorf("the largest context: %v", err)
	}
	for _, head := range []string{fmt.Sprintf(`{"format": %q, "version": %d}`, format, version-1), fmt.Sprintf(`{"format": "other", "version": %d}`, version), fmt.Sprintf(`{"format": %q, "version": %d}`, format, version+1)} {
		if _, err := Load(strings.NewReader(head)); err == nil || !strings.Contains(err.Error(), "fit the model again") {
			t.Errorf("%s: %v", head, err)
		}
	}
	for _, obs := range [][]Observation{nil, {{Spec: good, Peak: 0}}, {{Spec: zeroBatch, Peak: 1}}, {{Spec: good, Peak: 1 << 30}}} {
		if _, err := Fit(obs, nil); err == nil {
			t.Errorf("Fit of %d observations: no error", len(obs))
		}
	}
}

func TestPrior(t *testing.T) {
	spec := madeUp(1, profile.CNN, 3)[0].Spec
	e, err := (&Predictor{}).Peak(&spec, predict.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Source.Kind != predict.Prior || e.Hi < 1.3*e.Value {
		t.Errorf("a model without data says %+v, want a prior with a wide interval", e)
	}
}

func TestCensored(t *testing.T) {
	obs := madeUp(200, profile.CNN, 8)
	for i := range obs {
		if i%4 == 0 { // ran out of memory at half of what it needs
			obs[i].Censored = true
			obs[i].Peak /= 2
		}
	}
	m, err := Fit(obs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var off float64
	fresh := madeUp(100, profile.CNN, 9)
	for _, o := range fresh {
		e, err := m.Peak(&o.Spec, o.Host)
		if err != nil {
			t.Fatal(err)
		}
		off += math.Log(e.Value / float64(o.Peak))
	}
	if bias := off / float64(len(fresh)); !(math.Abs(bias) <= 0.02) {
		t.Errorf("censored rows shift the prediction by %.3f in the logarithm", bias)
	}
}

func TestHostContext(t *testing.T) {
	m := fitMadeUp(t)
	obs := madeUp(9, profile.MLP, 12)
	for i := range obs {
		obs[i].Peak -= 900 * profile.MiB // a slimmer software stack
	}
	host, err := m.Calibrate("slim", obs)
	if err != nil {
		t.Fatal(err)
	}
	context, ok := host.Context.Get()
	want := 1.5e9 - 900*float64(profile.MiB)
	if !ok || !(math.Abs(float64(context)-want) <= 0.1e9) {
		t.Errorf("calibrated context %v, want about %v", context, profile.BytesOf(want))
	}
	a, err := m.Peak(&obs[0].Spec, host)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := m.Peak(&obs[0].Spec, predict.Host{Name: "never seen"})
	if err != nil {
		t.Fatal(err)
	}
	if unknown.Hi-unknown.Lo <= a.Hi-a.Lo || unknown.Source.Distance <= 1 {
		t.Errorf("an unknown host must widen the interval and say so: known %+v, unknown %+v", a, unknown)
	}
}

func FuzzLoad(f *testing.F) {
	var whole bytes.Buffer
	m, err := Fit(madeUp(30, profile.MLP, 1), nil)
	if err != nil {
		f.Fatal(err)
	}
	if err := m.Save(&whole); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add([]byte(`{"format":"colloc-memory","version":4,"parts":[{"kind":"cnn","coef":[1]}]}`))
	spec := madeUp(1, profile.MLP, 2)[0].Spec
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Load(bytes.NewReader(data))
		if err != nil {
			return
		}
		e, err := m.Peak(&spec, predict.Host{})
		if err == nil && (math.IsNaN(e.Value) || e.Value < 0) {
			t.Errorf("a loaded model predicts %v", e.Value)
		}
	})
}

func BenchmarkPeak(b *testing.B) {
	m := fitMadeUp(b)
	spec := profile.Spec{Model: profile.Model{Family: profile.CNN}, Training: profile.Training{BatchSize: 32}}
	for range 58 { // as many leaves as a ResNet-50 has
		spec.Model.Layers = append(spec.Model.Layers,
			profile.Layer{Name: "layer1.0.conv1", Kind: profile.Conv, Params: 1e5, Activations: 2e5},
			profile.Layer{Name: "layer1.0.bn1", Kind: profile.Norm, Params: 256, Activations: 2e5},
			profile.Layer{Name: "layer1.0.relu", Kind: profile.Activation, Activations: 2e5, InPlace: true})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Peak(&spec, predict.Host{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHeldBytes: weights, gradients, optimiser state and temporary copies are of
// the size that the precision says: two bytes a parameter in 16 bits, four in 32.
func TestHeldBytes(t *testing.T) {
	for _, tt := range []struct {
		precision            profile.Precision
		optimizer            profile.Optimizer
		weights, grad, state float64 // bytes for each parameter
	}{
		{profile.FP32, profile.Adam, 4, 4, 8},
		{profile.BF16, profile.Adam, 2, 2, 4},
		{profile.FP16, profile.Momentum, 2, 2, 2},
		{profile.Mixed, profile.SGD, 6, 4, 0},
	} {
		spec := &profile.Spec{
			Model:    profile.Model{Layers: []profile.Layer{{Kind: profile.Linear, Params: 1000, Activations: 10}}},
			Training: profile.Training{BatchSize: 3, Precision: tt.precision, Optimizer: tt.optimizer},
		}
		var f footprint.Footprint
		f.Measure(spec)
		if f.Weights != 1000*tt.weights || f.Grads != 1000*tt.grad || f.State != 1000*tt.state || f.Biggest != f.Weights && tt.precision != profile.Mixed {
			t.Errorf("%v, %v: %v weights, %v gradients, %v state", tt.precision, tt.optimizer, f.Weights, f.Grads, f.State)
		}
		var task task
		task.describe(spec)
		if want := f.Weights + f.State + 2*f.Head; task.fixed != want || task.bytes(nil) != want {
			t.Errorf("%v, %v: %v bytes count as they are, want weights, state and the loss: %v", tt.precision, tt.optimizer, task.fixed, want)
		}
	}
}
