package memory

import (
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// TestTermsOfALayeredTask: a convolution of 10 parameters that puts out 6 elements, a
// normalisation, which reads them, dropout, and a dense layer of 7 parameters, which reads
// what dropout puts out, and says 2; five samples of 8 elements with Adam in 32 bits.
func TestTermsOfALayeredTask(t *testing.T) {
	spec := &profile.Spec{
		Model: profile.Model{Layers: []profile.Layer{
			{Name: "conv", Kind: profile.Conv, Params: 10, Activations: 6},
			{Name: "norm", Kind: profile.Norm, Activations: 6},
			{Name: "drop", Kind: profile.Dropout, Activations: 3},
			{Name: "fc", Kind: profile.Linear, Params: 7, Activations: 2},
		}},
		Dataset:  profile.Dataset{SampleElements: profile.Some[int64](8)},
		Training: profile.Training{BatchSize: 5, Optimizer: profile.Adam},
	}
	const weights, state, step, kept, masks, transit = 17 * 4, 17 * 8, 17 * (4 + 4), (6 + 3) * 4 * 5, 3 * 5, 6 * 4 * 5
	var d task
	d.describe(spec)
	want := [termCount]float64{
		termContext: 1, termStep: step, termPeak: kept + masks, termKept: kept, termMasks: masks, termLargest: 6 * 4 * 5,
		termTransit: transit, termBiggest: 10 * 4, termInput: 8 * 4 * 5, termMixed: math.Sqrt(kept * transit),
	}
	if d.terms != want || d.n != termCount || d.fixed != weights+state+2*2*4*5 || d.held() != d.fixed || d.outputs != 17 || d.halved {
		t.Errorf("%+v, want terms %v", d, want)
	}
	spec.Training.BatchSize = 1 // now the optimiser's step is more than what is kept
	if d.describe(spec); d.terms[termPeak] != step {
		t.Errorf("at a batch of 1 the larger of both is %v, want the step's %v", d.terms[termPeak], step)
	}
	coef := []float64{1000, 0, 0, 2}
	if got, want := d.bytes(coef), d.fixed+1000+2*9*4; got != want {
		t.Errorf("a context of 1000 and twice what is kept: %v, want %v", got, want)
	}
}

// TestTermsOfATracedTask: what is live after the forward pass, and what the backward pass
// adds. Where one of both is missing, nothing is known of the growth.
func TestTermsOfATracedTask(t *testing.T) {
	some := profile.Some[profile.Bytes]
	for _, c := range []struct {
		name              string
		forward, backward profile.Opt[profile.Bytes]
		terms             [2]float64
		halved            bool
	}{
		{"both", some(100), some(130), [2]float64{100, 30}, false},
		{"less after the backward pass", some(100), some(70), [2]float64{100, 0}, false},
		{"forward alone", some(100), profile.Opt[profile.Bytes]{}, [2]float64{100, 0}, true},
		{"backward alone", profile.Opt[profile.Bytes]{}, some(130), [2]float64{130, 0}, true},
	} {
		spec := &profile.Spec{Training: profile.Training{BatchSize: 8}, Traced: profile.Traced{AfterForward: c.forward, AfterBackward: c.backward}}
		var d task
		d.describeTraced(spec)
		if got := [2]float64{d.terms[tracedForward], d.terms[tracedGrowth]}; got != c.terms || d.terms[tracedContext] != 1 || d.n != tracedTerms ||
			d.halved != c.halved || d.fixed != 0 || d.held() != c.terms[0] || d.x[d.batchColumn()] != 8 {
			t.Errorf("%s: %+v, want %v", c.name, d, c.terms)
		}
	}
}

// TestSpreadOfAPart: trees say the root or the logarithm of the size of an error; it is at
// least 0.3 of the median, or at most e.
func TestSpreadOfAPart(t *testing.T) {
	var d task
	for _, c := range []struct {
		form         spreadForm
		says, spread float64
	}{
		{rootSpread, 0.5, 0.25},
		{rootSpread, 0.01, 0.03},
		{rootSpread, -0.5, 0.03},
		{logSpread, math.Log(0.2), 0.2},
		{logSpread, math.Log(0.001), 0.001},
		{logSpread, 5, math.E},
	} {
		p := &part{Flat: 0.1, Form: c.form, Spread: &trees.Ensemble{Columns: featureCount, Base: c.says}}
		if got := p.spread(&d); !(math.Abs(got-c.spread) <= 1e-12) {
			t.Errorf("form %d says %v: spread %v, want %v", c.form, c.says, got, c.spread)
		}
	}
	if got := (&part{Flat: 0.1}).spread(&d); got != 0.1 {
		t.Errorf("without trees %v, want the median", got)
	}
}

// TestMeasuredBeyondThePrediction: a task without a name that used more than is predicted
// is said to need that, as measured; one that used less is predicted as before.
func TestMeasuredBeyondThePrediction(t *testing.T) {
	for _, more := range []bool{false, true} {
		m := fitMadeUp(t)
		o := madeUp(1, profile.CNN, 76)[0]
		o.Spec.Model.Name = ""
		before, err := m.Peak(&o.Spec, o.Host)
		if err != nil {
			t.Fatal(err)
		}
		o.Host = predict.Host{} // teaches nothing of the host
		if o.Peak = profile.BytesOf(before.Value / 2); more {
			o.Peak = profile.BytesOf(before.Value * 2)
		}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
		after, err := m.Peak(&o.Spec, predict.Host{Name: "lab"})
		if err != nil {
			t.Fatal(err)
		}
		if more && (after.Value != float64(o.Peak) || after.Source != (predict.Source{Kind: predict.Measured}) || after.Hi < 1.02*after.Value) {
			t.Errorf("after a peak of twice %v: %+v", before.Value, after)
		}
		if !more && (after.Source.Kind == predict.Measured || after.Value <= float64(o.Peak)) {
			t.Errorf("after a peak of half %v: %+v", before.Value, after)
		}
	}
}

// TestEqual: a model is itself alone, whatever another says.
func TestEqual(t *testing.T) {
	m := &Predictor{}
	if !m.Equal(m) || m.Equal(m.Clone()) {
		t.Errorf("itself: %v, a clone: %v", m.Equal(m), m.Equal(m.Clone()))
	}
}
