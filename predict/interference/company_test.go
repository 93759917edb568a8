package interference

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// pretrainedFile returns the embedded model, which this package cannot import.
func pretrainedFile(tb testing.TB) *Predictor {
	tb.Helper()
	m, err := readPretrained()
	if err != nil {
		tb.Fatal(err)
	}
	return m.Clone()
}

var readPretrained = sync.OnceValues(func() (*Predictor, error) {
	data, err := os.ReadFile("../pretrained/interference.json")
	if err != nil {
		return nil, err
	}
	return Load(bytes.NewReader(data))
})

// typesOf returns a task of every type that a model knows anywhere, without use.
func typesOf(m *Predictor) []profile.Spec {
	var out []profile.Spec
	for _, r := range m.load().regimes {
		for _, e := range r.roster.effects {
			if !e.all {
				out = append(out, profile.Spec{
					Model: profile.Model{Name: e.model}, Dataset: profile.Dataset{Name: e.dataset},
					Training: profile.Training{BatchSize: e.batch, Precision: e.precision},
				})
			}
		}
	}
	return out
}

// drawTask draws a task: of a known type, of a known model, of a name never
// seen, without a name or nil; any feature may be missing.
func drawTask(r *rapid.T, types []profile.Spec) *profile.Profile {
	p := &profile.Profile{}
	switch rapid.SampledFrom([]string{"type", "type", "model", "new", "nameless", "nil"}).Draw(r, "task") {
	case "type":
		p.Spec = rapid.SampledFrom(types).Draw(r, "type")
	case "model":
		p.Spec = rapid.SampledFrom(types).Draw(r, "model")
		p.Spec.Training.BatchSize = rapid.IntRange(1, 4096).Draw(r, "batch")
	case "new":
		p.Spec.Model.Name = rapid.SampledFrom([]string{"new", "other"}).Draw(r, "name")
	case "nil":
		return nil
	}
	p.GPU.Memory = 24 * profile.GiB
	use := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.01, 0.5, 1}))
	for _, f := range []profile.Feature{profile.MeanGPUBusy, profile.MeanMemBusy, profile.MeanSMActive, profile.MeanDRAMActive, profile.MedianStepTime, profile.BatchSize, profile.PeakMemory} {
		if !rapid.Bool().Draw(r, "has") {
			continue
		}
		x := use.Draw(r, "use")
		if f == profile.BatchSize {
			x = 1 + math.Round(1000*x)
		}
		if f == profile.PeakMemory {
			x *= float64(p.GPU.Memory)
		}
		if err := p.Vector.Set(f, x); err != nil {
			r.Fatal(err)
		}
	}
	return p
}

// upset lets a model observe co-runs that make no sense, with gains up to four
// times the speed alone, so that effects of either sign are learned.
func upset(tb testing.TB, m *Predictor, gpus []string, seed uint64) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	types := typesOf(m)
	for range 60 {
		o := Observation{GPU: gpus[rng.IntN(len(gpus))], Mechanism: []profile.Mechanism{profile.TimeSlice, profile.MPS}[rng.IntN(2)]}
		for range 2 + rng.IntN(3) {
			p := &profile.Profile{}
			if rng.IntN(8) > 0 {
				p.Spec = types[rng.IntN(len(types))]
			}
			if rng.IntN(2) == 0 {
				if err := p.Vector.Set(profile.MeanGPUBusy, rng.Float64()); err != nil {
					tb.Fatal(err)
				}
			}
			o.Set, o.Speeds = append(o.Set, p), append(o.Speeds, profile.Some(0.01+math.Pow(rng.Float64(), 2)*1.98))
		}
		if err := m.Observe(o); err != nil {
			tb.Fatal(err)
		}
	}
}

// companyGPUs are three with fitted regimes and one without.
var companyGPUs = []string{"RTX3090", "K80", "V100-PCIe-16GB", "A100-40GB"}

// everyModel returns models that know nothing, were fitted, and learned nonsense.
func everyModel(t *testing.T, seed uint64) map[string]*Predictor {
	t.Helper()
	fitted, _, _ := fittedWorld(t)
	learned, pretrained, drifted := fitted.Clone(), pretrainedFile(t), pretrainedFile(t)
	upset(t, learned, companyGPUs[:1], seed)
	upset(t, drifted, companyGPUs, seed+1)
	return map[string]*Predictor{"prior": {}, "fitted": fitted, "learned": learned, "pretrained": pretrained, "drifted": drifted}
}

// TestCompanyOnlyHurts: no task is faster in a set than in any smaller set that
// holds it, whatever was fitted or learned and whoever is a stranger. It asks
// about every subset and takes away one task at a time.
func TestCompanyOnlyHurts(t *testing.T) {
	models := everyModel(t, 1)
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			types := typesOf(m)
			if len(types) == 0 {
				types = typesOf(models["fitted"])
			}
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(r, "mechanism")
			set := make([]*profile.Profile, rapid.IntRange(2, 8).Draw(r, "tasks"))
			for i := range set {
				set[i] = drawTask(r, types)
			}
			checkSubsets(r, m, &gpu, mech, set)
		}))
	}
}

// checkSubsets asks m about every subset of set. In one order of tasks the
// promise holds to the last bit.
func checkSubsets(r *rapid.T, m *Predictor, gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile) {
	speeds := make([][]float64, 1<<len(set)) // by the bits of a subset, one entry per task of set
	var chosen []*profile.Profile
	for s := 1; s < len(speeds); s++ {
		chosen = chosen[:0]
		for i, p := range set {
			if s>>i&1 == 1 {
				chosen = append(chosen, p)
			}
		}
		values, err := m.Values(gpu, mech, chosen, nil)
		if err != nil {
			r.Fatal(err)
		}
		speeds[s] = make([]float64, len(set))
		for i := range set {
			if s>>i&1 == 1 {
				speeds[s][i], values = values[0], values[1:]
			}
		}
		for gone := range set {
			smaller := speeds[s&^(1<<gone)]
			for i := range set {
				if s>>gone&1 == 1 && s>>i&1 == 1 && i != gone && speeds[s][i] > smaller[i] {
					r.Fatalf("tasks %b: task %d runs at %v, without task %d at %v", s, i, speeds[s][i], gone, smaller[i])
				}
			}
		}
	}
}

// TestSlowdownsAddUp: what pairs cost bounds the speed in every larger set.
func TestSlowdownsAddUp(t *testing.T) {
	models := everyModel(t, 3)
	types := typesOf(models["pretrained"])
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(r, "mechanism")
			set := make([]*profile.Profile, rapid.IntRange(3, 8).Draw(r, "tasks"))
			for i := range set {
				set[i] = drawTask(r, types)
			}
			values, err := m.Values(&gpu, mech, set, nil)
			if err != nil {
				r.Fatal(err)
			}
			for i, p := range set {
				load := 1 - float64(len(set)-2)*m.ownCost(&gpu, mech, p)
				for j, o := range set {
					if j == i {
						continue
					}
					pair, err := m.Values(&gpu, mech, []*profile.Profile{p, o}, nil)
					if err != nil {
						r.Fatal(err)
					}
					load += 1/pair[0] - 1
				}
				if load <= 0 {
					continue // the own part is nearly all: nothing is promised
				}
				if most := max(predict.LeastSpeed, 1/load); values[i] > most*(1+1e-9) {
					r.Fatalf("task %d runs at %v, its pairs allow %v", i, values[i], most)
				}
			}
		}))
	}
}

// TestNoMoreThanSlowdowns: beside tasks that leave each other room a set costs what its
// pairs add to the time of a step and nothing else, the task's own part once.
func TestNoMoreThanSlowdowns(t *testing.T) {
	var m Predictor
	gpu := rtx3090(t)
	a := fakeTask(t, "a", 8, 0.3, 0.2, 1)
	for range 20 { // its measurements alone were too fast: it has a part of its own
		o := Observation{GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, fakeTask(t, "x", 8, 0.1, 0, 1)}}
		o.Speeds = []profile.Opt[float64]{profile.Some(0.8), profile.Some(0.95)}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	own := m.ownCost(gpu, profile.TimeSlice, a)
	if own < 0.05 {
		t.Fatalf("own part %v, want one that counts", own)
	}
	set := []*profile.Profile{a, fakeTask(t, "b", 8, 0.3, 0.2, 1), fakeTask(t, "c", 8, 0.2, 0.3, 1), fakeTask(t, "d", 8, 0.1, 0.1, 1)}
	want := own
	for _, p := range set[1:] {
		want += 1/mustSpeeds(t, &m, gpu, a, p)[0].Value - 1 - own
	}
	if got := 1/mustSpeeds(t, &m, gpu, set...)[0].Value - 1; !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("the set adds %v to a step, its pairs and the own part %v", got, want)
	}
}

// TestSetsTeachLess: a co-run of more tasks teaches the same direction, and less.
func TestSetsTeachLess(t *testing.T) {
	gpu := rtx3090(t)
	var after []float64
	for k := 2; k <= 4; k++ {
		var m Predictor
		var set []*profile.Profile
		for i := range k {
			set = append(set, fakeTask(t, string(rune('a'+i)), 8, 0.2, 0.1, 1))
		}
		before := mustSpeeds(t, &m, gpu, set...)
		o := Observation{GPU: gpu.Name, Mechanism: profile.TimeSlice, Set: set, Speeds: make([]profile.Opt[float64], k)}
		o.Speeds[0] = profile.Some(before[0].Value - 0.2)
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
		after = append(after, before[0].Value-mustSpeeds(t, &m, gpu, set...)[0].Value)
	}
	if !(after[0] > after[1] && after[1] > after[2] && after[2] > 0.01) {
		t.Errorf("0.2 slower than predicted moves pairs, threes and fours by %.3v, want ever less", after)
	}
}

// TestRowsAreSlopes: the row of a larger set is what its loss changes by for a little
// more of each coefficient.
func TestRowsAreSlopes(t *testing.T) {
	m, _, obs := fittedWorld(t)
	r, _ := m.load().regime("RTX3090", profile.TimeSlice)
	rng := rand.New(rand.NewPCG(4, 4))
	const step = 1e-6
	for range 30 {
		var set []*profile.Profile
		for range 3 + rng.IntN(2) {
			set = append(set, obs[rng.IntN(len(obs))].Set[0])
		}
		members := r.members(set)
		var x lsq.Row
		r.fillRow(&x, members, 0)
		for _, column := range x.At {
			moved := func(by float64) float64 {
				next, post := *r, *r.post
				post.Coef = slices.Clone(post.Coef)
				post.Coef[column] += by
				next.post = &post
				return next.unboundedLoss(members, 0)
			}
			one := make([]float64, len(r.post.Coef))
			one[column] = 1
			if got, want := x.Dot(one), (moved(step)-moved(-step))/(2*step); !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
				t.Fatalf("%d tasks, column %d: the row says %v, the loss changes by %v", len(set), column, got, want)
			}
		}
	}
}

// TestTreesNeedUseOrModel: trees are asked about a pair if both models are known,
// in part if both uses are seen, and not at all otherwise: a stranger's loss is
// that of the terms.
func TestTreesNeedUseOrModel(t *testing.T) {
	r := &regime{trees: &trees.Ensemble{}}
	task := func(model int32, seen bool) *member {
		return &member{load: load{seen: seen}, model: model, typ: noEffect}
	}
	for _, tt := range []struct {
		name       string
		own, other *member
		want       float64
	}{
		{"both models", task(1, false), task(2, false), 1},
		{"both seen", task(noEffect, true), task(noEffect, true), strangerShare},
		{"one model, both seen", task(1, true), task(noEffect, true), strangerShare},
		{"neighbour unseen", task(1, true), task(noEffect, false), 0},
		{"task unseen", task(noEffect, false), task(1, true), 0},
		{"neither", task(noEffect, false), task(noEffect, false), 0},
	} {
		if got := r.treeShare(tt.own, tt.other); got != tt.want {
			t.Errorf("%s: trees count for %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestBesideIsSpeeds: a task beside many has the speeds of each pair by itself, bit by
// bit, and its partners have theirs.
func TestBesideIsSpeeds(t *testing.T) {
	models := everyModel(t, 5)
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			types := typesOf(m)
			if len(types) == 0 {
				types = typesOf(models["fitted"])
			}
			gpu, _ := profile.LookupGPU(rapid.SampledFrom(companyGPUs).Draw(r, "gpu"))
			mech := rapid.SampledFrom([]profile.Mechanism{profile.TimeSlice, profile.MPS}).Draw(r, "mechanism")
			partners := make([]*profile.Profile, rapid.IntRange(0, 9).Draw(r, "partners"))
			for i := range partners {
				partners[i] = drawTask(r, types)
			}
			task := drawTask(r, types)
			own, other := make([]float64, len(partners)), make([]float64, len(partners))
			if err := m.Beside(&gpu, mech, task, partners, own, other); err != nil {
				r.Fatal(err)
			}
			for j, p := range partners {
				want, err := m.Values(&gpu, mech, []*profile.Profile{task, p}, nil)
				if err != nil || own[j] != want[0] || other[j] != want[1] {
					r.Fatalf("partner %d: %v and %v, as a pair %v, %v", j, own[j], other[j], want, err)
				}
			}
		}))
	}
	var m Predictor
	if m.Beside(rtx3090(t), profile.TimeSlice, nil, make([]*profile.Profile, 2), make([]float64, 2), make([]float64, 1)) == nil {
		t.Error("one entry for two partners is no error")
	}
	if m.Beside(rtx3090(t), profile.Exclusive, nil, nil, nil, nil) == nil {
		t.Error("a mechanism that shares nothing is no error")
	}
}

// ownCost returns the part of a task's slowdown beside any company that does not
// depend on who that is: at most so much is added to the time of a step, as a part
// of a step alone, however many neighbours there are. Slowdowns add up otherwise:
// for every set S of two and more that holds task i, the values of
// [Predictor.Speeds] satisfy, to rounding,
//
//	speed(i, S) <= max(LeastSpeed, 1/(1 + Σ cost(i, j) - (|S| - 2)·ownCost(i)))   for j ∈ S \ i
//	cost(i, j)   = 1/speed(i, {i, j}) - 1
//
// because what pairs add to the time of a step is added up, the own part once, and
// 1/speed - 1 is a convex function of the loss; nothing is said where the denominator is not
// positive. It is 0 for a mechanism without interference.
func (m *Predictor) ownCost(gpu *profile.GPUModel, mech profile.Mechanism, task *profile.Profile) float64 {
	if checkSharing(mech) != nil {
		return 0
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	own := r.roster.member(task)
	loss := r.ownLoss(&own, 1)
	return r.curve().slowdown(max(0, loss))
}
