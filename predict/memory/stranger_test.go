package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// families returns made-up dense networks of so many architectures, each of which
// needs its own share more than the terms say.
func families(count int) []Observation { return familiesApart(count, 80, 0.05) }

// familiesApart are so many networks of each, and each architecture needs so much
// more than the one before.
func familiesApart(count, each int, step float64) []Observation {
	rng := rand.New(rand.NewPCG(7, 1))
	var obs []Observation
	for g := range count {
		more := 1 + step*float64(g)
		for range each {
			width := 256 + rng.Int64N(2048)
			spec := profile.Spec{
				Model: profile.Model{Name: "net", Family: profile.MLP, Architecture: fmt.Sprint("kind", g), Layers: []profile.Layer{
					{Name: "in", Kind: profile.Linear, Params: 512 * width, Activations: width},
					{Name: "relu", Kind: profile.Activation, Activations: width},
					{Name: "out", Kind: profile.Linear, Params: width * width, Activations: width},
				}},
				Training: profile.Training{BatchSize: 64 << rng.IntN(6), Optimizer: profile.Adam},
			}
			need := 1.3*float64(profile.GiB) + more*(16*float64(spec.Model.Params())+12*float64(width)*float64(spec.Training.BatchSize))
			obs = append(obs, Observation{Spec: spec, Host: predict.Host{Name: "made up"}, Group: spec.Model.Architecture, Peak: profile.BytesOf(need * math.Exp(0.002*rng.NormFloat64()))})
		}
	}
	return obs
}

// ofFamilies fits a model to so many architectures; that of five once for all tests,
// of which each gets a copy.
func ofFamilies(tb testing.TB, count int) *Predictor {
	tb.Helper()
	fit := fiveFamilies
	if count != 5 {
		fit = func() (*Predictor, error) { return Fit(families(count), nil) }
	}
	m, err := fit()
	if err != nil {
		tb.Fatal(err)
	}
	return m.Clone()
}

var fiveFamilies = sync.OnceValues(func() (*Predictor, error) { return Fit(families(5), nil) })

// TestStranger: an unknown architecture is reserved more than a known one of the
// same layers, on as many groups as there were; on two the answer is a prior.
func TestStranger(t *testing.T) {
	for _, tt := range []struct {
		kinds int
		want  predict.SourceKind
	}{{2, predict.Prior}, {5, predict.Fitted}} {
		obs, m := families(tt.kinds), ofFamilies(t, tt.kinds)
		known, other := obs[100].Spec, obs[100].Spec
		other.Model.Architecture = "another"
		var reserved [2]profile.Bytes
		var source [2]predict.Source
		for i, spec := range []*profile.Spec{&known, &other} {
			var err error
			if reserved[i], err = m.Reserve(spec, predict.Host{Name: "made up"}, 0.01); err != nil {
				t.Fatal(err)
			}
			e, err := m.Peak(spec, predict.Host{Name: "made up"})
			if err != nil {
				t.Fatal(err)
			}
			source[i] = e.Source
		}
		if reserved[1] <= reserved[0] || reserved[0] < obs[100].Peak {
			t.Errorf("%d kinds: reserved %v known, %v unknown, needed %v", tt.kinds, reserved[0], reserved[1], obs[100].Peak)
		}
		if source[0].Kind != predict.Fitted || source[0].Groups != len(obs) {
			t.Errorf("%d kinds: a known one rests on %+v, want fitted on all rows", tt.kinds, source[0])
		}
		if source[1].Kind != tt.want || (tt.want == predict.Fitted && source[1].Groups != tt.kinds) {
			t.Errorf("%d kinds: a stranger rests on %+v, want %v", tt.kinds, source[1], tt.want)
		}
	}
}

// TestHalfTraced: a shape-only run that tells one figure of two is not trusted as
// one that tells both.
func TestHalfTraced(t *testing.T) {
	spec := profile.Spec{Model: profile.Model{Name: "net"}, Training: profile.Training{BatchSize: 8}}
	spec.Traced.AfterForward, spec.Traced.AfterBackward = profile.Some(4*profile.GiB), profile.Some(4*profile.GiB)
	p := part{Coef: []float64{1 << 30, 1, 1}, Flat: 0.01}
	spread := func() float64 {
		var d task
		d.describeTraced(&spec)
		return p.at(&d, false).spread
	}
	both := spread()
	spec.Traced.AfterForward = profile.Opt[profile.Bytes]{}
	if half := spread(); both != 0.01 || half < priorSpread {
		t.Errorf("spread %v with both figures, %v with one; want 0.01 and %v or more", both, half, priorSpread)
	}
}

// TestStrangerLearnsNoScore: what one unknown architecture needed leaves what is
// reserved for another as it was, in both directions.
func TestStrangerLearnsNoScore(t *testing.T) {
	obs := families(5)
	seen, other := obs[100], obs[200].Spec
	seen.Spec.Model.Name, seen.Spec.Model.Architecture = "seen", "one"
	other.Model.Name, other.Model.Architecture = "unseen", "another"
	for _, tt := range []struct {
		name  string
		peak  float64 // of what is predicted
		times int
	}{{"far beyond", 8, 1}, {"as predicted", 1, 300}} {
		t.Run(tt.name, func(t *testing.T) {
			m := ofFamilies(t, 5)
			ask := func() (predict.Estimate, profile.Bytes) {
				e, err := m.Peak(&other, seen.Host)
				if err != nil {
					t.Fatal(err)
				}
				r, err := m.Reserve(&other, seen.Host, 0.01)
				if err != nil {
					t.Fatal(err)
				}
				return e, r
			}
			known := predict.Host{Context: profile.Some(profile.GiB)} // nothing is learned of the host
			before, kept := ask()
			e, err := m.Peak(&seen.Spec, known)
			if err != nil {
				t.Fatal(err)
			}
			for range tt.times {
				o := Observation{Spec: seen.Spec, Host: known, Peak: profile.BytesOf(e.Value * tt.peak)}
				if err := m.Observe(o); err != nil {
					t.Fatal(err)
				}
			}
			if after, reserved := ask(); after != before || reserved != kept {
				t.Errorf("%+v reserves %v, want %+v and %v", after, reserved, before, kept)
			}
			if after, err := m.Peak(&seen.Spec, known); err != nil || after.Value < 0.95*e.Value*tt.peak {
				t.Errorf("predicts %v of what was seen, %v; want %v", after.Value, err, e.Value*tt.peak)
			}
		})
	}
}
