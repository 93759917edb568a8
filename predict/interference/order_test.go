package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestOrderChangesNoBit: speeds, ratios, values and capped speeds of a set, with
// intervals and sources, are those of any permutation of it to the last bit.
func TestOrderChangesNoBit(t *testing.T) {
	models := everyModel(t, 11)
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			types := typesOf(m)
			if len(types) == 0 {
				types = typesOf(models["fitted"])
			}
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			n := rapid.IntRange(2, 8).Draw(r, "tasks")
			set, caps := make([]*profile.Profile, n), make([]float64, n)
			for i := range set {
				set[i], caps[i] = drawTask(r, types), rapid.SampledFrom([]float64{0.3, 0.7, 1}).Draw(r, "cap")
				if i > 0 && rapid.IntRange(0, 3).Draw(r, "twin") == 0 {
					set[i] = set[i-1]
				}
			}
			order := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "order"), 1)).Perm(n)
			moved, movedCaps := make([]*profile.Profile, n), make([]float64, n)
			for to, from := range order {
				moved[to], movedCaps[to] = set[from], caps[from]
			}
			first, second := answers(r, m, &gpu, set, caps), answers(r, m, &gpu, moved, movedCaps)
			for k := range first {
				for to, from := range order {
					if a, b := first[k][from], second[k][to]; a != b {
						r.Fatalf("answer %d, task %d: %+v; at place %d: %+v", k, from, a, to, b)
					}
				}
			}
		}))
	}
}

// answers asks a model everything about a set that has an order. Each appends to
// what is there.
func answers(r *rapid.T, m *Predictor, gpu *profile.GPUModel, set []*profile.Profile, caps []float64) [][]predict.Estimate {
	var out [][]predict.Estimate
	there := []predict.Estimate{{Value: 7}}
	keep := func(e []predict.Estimate, err error) {
		if err != nil || len(e) != 1+len(set) || e[0].Value != 7 {
			r.Fatalf("got %v, %v", e, err)
		}
		out = append(out, e[1:])
	}
	for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		keep(m.Speeds(gpu, mech, set, there))
		keep(m.Ratios(gpu, mech, set, there))
		values, err := m.Values(gpu, mech, set, []float64{7})
		var e []predict.Estimate
		for _, v := range values {
			e = append(e, predict.Estimate{Value: v})
		}
		keep(e, err)
	}
	keep(m.Capped(gpu, set, caps, there))
	return out
}

// TestExplainSumsToLoss: whatever the set, the parts of an explanation sum to what the task
// loses, also where the set exceeds the GPU and no pair of it does.
func TestExplainSumsToLoss(t *testing.T) {
	models := everyModel(t, 13)
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			types := typesOf(m)
			if len(types) == 0 {
				types = typesOf(models["fitted"])
			}
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(r, "mechanism")
			set := make([]*profile.Profile, rapid.IntRange(2, 6).Draw(r, "tasks"))
			for i := range set {
				set[i] = drawTask(r, types)
			}
			checkExplained(r, m, &gpu, mech, set)
		}))
	}
}

func checkExplained(t rapid.TB, m *Predictor, gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile) {
	ratios, err := m.Ratios(gpu, mech, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set {
		parts, err := m.Explain(gpu, mech, set, i)
		if err != nil {
			t.Fatal(err)
		}
		var sum, size float64
		for _, p := range parts {
			sum, size = sum+p.Loss, size+math.Abs(p.Loss)
		}
		if want := 1 - ratios[i].Value; !(math.Abs(sum-want) <= 1e-12*(1+size)) {
			t.Fatalf("task %d: parts %v sum to %v, want %v", i, parts, sum, want)
		}
	}
}

// TestExplainExcess: three tasks of which no two are short of anything together
// exceed the GPU; the two neighbours share what the third loses by what they want.
func TestExplainExcess(t *testing.T) {
	var m Predictor
	gpu := rtx3090(t)
	set := []*profile.Profile{
		fakeTask(t, "a", 8, 0.2, 0, 1), fakeTask(t, "b", 8, 0.8, 0, 1), fakeTask(t, "c", 8, 0.4, 0, 1),
	}
	r, _ := m.load().regime(gpuName(gpu), profile.TimeSlice)
	post := *r.post
	post.Coef = make([]float64, len(r.post.Coef))
	post.Coef[termColumns+smOverflow] = 0.5 // nothing else costs anything
	*r = regime{regimeKey: r.regimeKey, roster: r.roster, post: &post}
	parts, err := m.Explain(gpu, profile.TimeSlice, set, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 0.2 + 0.8 + 0.4 is 0.4 more than there is; the neighbours want 0.8 and 0.4.
	slower := excessCost * 0.5 * 0.4
	lost := slower / (1 + slower)
	want := []Attribution{{1, SMTime, lost * 2 / 3}, {2, SMTime, lost / 3}}
	if len(parts) != len(want) {
		t.Fatalf("got %v, want %v", parts, want)
	}
	for k, p := range parts {
		if p.Neighbour != want[k].Neighbour || p.Resource != want[k].Resource || !(math.Abs(p.Loss-want[k].Loss) <= 1e-12) {
			t.Errorf("part %d is %v, want %v", k, p, want[k])
		}
	}
}

// TestOrderOfTypesAlike: types that differ in nothing but what was observed of
// them are told apart, so that their order changes no bit either.
func TestOrderOfTypesAlike(t *testing.T) {
	var m Predictor
	gpu, rng := rtx3090(t), rand.New(rand.NewPCG(1, 1))
	set := make([]*profile.Profile, 6)
	for i := range set {
		set[i] = fakeTask(t, "alike", 8, 0.3, 0.1, 1)
		set[i].Spec.Training.BatchSize = 8 + i // the type, not the features
	}
	for range 40 {
		a, b := set[rng.IntN(len(set))], set[rng.IntN(len(set))]
		speeds := []profile.Opt[float64]{profile.Some(rng.Float64()), profile.Some(rng.Float64())}
		if err := m.Observe(Observation{GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}, Speeds: speeds}); err != nil {
			t.Fatal(err)
		}
	}
	want := mustSpeeds(t, &m, gpu, set...)
	for range 50 {
		moved := make([]*profile.Profile, len(set))
		order := rng.Perm(len(set))
		for to, from := range order {
			moved[to] = set[from]
		}
		for to, e := range mustSpeeds(t, &m, gpu, moved...) {
			if e != want[order[to]] {
				t.Fatalf("task %d has %+v, in another order %+v", order[to], want[order[to]], e)
			}
		}
	}
}
