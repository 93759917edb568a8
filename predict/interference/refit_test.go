package interference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/profile"
)

// made is one co-run of two tasks in a world where only the product of batches
// matters: neither terms nor effects of types can say so, trees can.
func made(a, b *profile.Profile, rng *rand.Rand) Observation {
	speed := func(own, other *profile.Profile) profile.Opt[float64] {
		loss := 0.1
		if own.Spec.Training.BatchSize == other.Spec.Training.BatchSize {
			loss = 0.4
		}
		return profile.Some(1 - loss - 0.01*rng.Float64())
	}
	return Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}, Speeds: []profile.Opt[float64]{speed(a, b), speed(b, a)}}
}

// madeTasks are models of two batches each.
func madeTasks(tb testing.TB, models int) []*profile.Profile {
	tb.Helper()
	var tasks []*profile.Profile
	for i := range models {
		tasks = append(tasks, fakeTask(tb, fmt.Sprint("a", i), 16, 0.5, 0.2, 0.1), fakeTask(tb, fmt.Sprint("a", i), 256, 0.5, 0.2, 0.1))
	}
	return tasks
}

// offOn is the mean error on co-runs of tasks of other names.
func offOn(t *testing.T, m *Predictor) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 1))
	a, b := fakeTask(t, "b1", 16, 0.5, 0.2, 0.1), fakeTask(t, "b2", 16, 0.5, 0.2, 0.1)
	c := fakeTask(t, "b3", 256, 0.5, 0.2, 0.1)
	var sum float64
	for _, pair := range [][2]*profile.Profile{{a, b}, {a, c}, {b, c}} {
		o := made(pair[0], pair[1], rng)
		for i, e := range mustSpeeds(t, m, rtx3090(t), o.Set...) {
			sum += math.Abs(e.Value-o.Speeds[i].Or(0)) / 6
		}
	}
	return sum
}

func observeMade(t *testing.T, m *Predictor, count int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 1))
	tasks := madeTasks(t, 8)
	for range count {
		if err := m.Observe(made(tasks[rng.IntN(len(tasks))], tasks[rng.IntN(len(tasks))], rng)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefitReachesOthers: what trees can learn of co-runs holds for tasks of other
// names after a refit, not after Observe; a version taken before stays as it was,
// and the same observations give the same bytes.
func TestRefitReachesOthers(t *testing.T) {
	var files [2]bytes.Buffer
	count := 150
	if race.Enabled {
		count = 80 // of 64 pairs of types
	}
	for k := range files {
		var m Predictor
		observeMade(t, &m, count)
		before, old := offOn(t, &m), m.Clone()
		if err := m.Refit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := offOn(t, &m); after > 0.7*before {
			t.Errorf("error on other names is %.3f after the refit and was %.3f", after, before)
		}
		if now := offOn(t, old); now != before {
			t.Errorf("the version before errs by %v now and by %v then", now, before)
		}
		if err := m.Refit(t.Context()); err != nil { // nothing new: nothing lost
			t.Fatal(err)
		}
		if err := m.Save(&files[k]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("the same observations give two models")
	}
}

// TestRefitAfterLoad: sums of what was learned before a file was written still count
// after a refit of what was loaded.
func TestRefitAfterLoad(t *testing.T) {
	var m Predictor
	observeMade(t, &m, 150)
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	tasks := madeTasks(t, 8)
	one := made(tasks[0], tasks[2], rand.New(rand.NewPCG(6, 1)))
	for i, e := range mustSpeeds(t, &m, rtx3090(t), one.Set...) { // as expected: a refit judges again what is not
		one.Speeds[i] = profile.Some(e.Value)
	}
	for _, p := range []*Predictor{&m, loaded} {
		if err := p.Observe(one); err != nil {
			t.Fatal(err)
		}
	}
	want := mustSpeeds(t, &m, rtx3090(t), tasks[4], tasks[5])
	if err := loaded.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := mustSpeeds(t, loaded, rtx3090(t), tasks[4], tasks[5])
	if !(math.Abs(got[0].Value-want[0].Value) <= 1e-6) {
		t.Errorf("after a refit of what was loaded a known pair runs at %v, learned was %v", got[0].Value, want[0].Value)
	}
}

// TestRefitCancelled changes nothing.
func TestRefitCancelled(t *testing.T) {
	var m Predictor
	observeMade(t, &m, 20)
	before := offOn(t, &m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Refit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one that wraps context.Canceled", err)
	}
	if now := offOn(t, &m); now != before {
		t.Errorf("a cancelled refit changes the error from %v to %v", before, now)
	}
}

// TestObservedMeanwhile: a co-run that arrives while a refit is at work is not lost.
func TestObservedMeanwhile(t *testing.T) {
	var m Predictor
	observeMade(t, &m, 150)
	done := make(chan error)
	go func() { done <- m.Refit(t.Context()) }()
	slow := fakeTask(t, "slow", 64, 0.5, 0.2, 0.1)
	for range 20 {
		o := Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{slow, slow}, Speeds: []profile.Opt[float64]{profile.Some(0.2), profile.Some(0.2)}}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := mustSpeeds(t, &m, rtx3090(t), slow, slow); got[0].Value > 0.35 {
		t.Errorf("a task that ran at 0.2 for 20 times is said to run at %v", got[0].Value)
	}
	if r, _ := m.load().regime("RTX3090", profile.TimeSlice); r.observed != 170 || len(r.runs) != 170 {
		t.Errorf("%d observed, %d kept, want 170", r.observed, len(r.runs))
	}
}

// meddler calls meanwhile as often as somebody asks it for an error.
type meddler struct {
	context.Context
	meanwhile func() error
}

func (c meddler) Err() error { return c.meanwhile() }

// TestRefitIsBounded: a refit fits so often and no more, of however many families and
// types, and one that is cancelled between two fits gives no new version.
func TestRefitIsBounded(t *testing.T) {
	var m Predictor
	rng := rand.New(rand.NewPCG(10, 1))
	tasks := madeNames(t, 150)
	var all []*Observation
	for i := range 600 {
		o := made(tasks[rng.IntN(len(tasks))], tasks[rng.IntN(len(tasks))], rng)
		if all = append(all, &o); i < leastRuns {
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	types := make(map[taskType]bool)
	for _, o := range calibrated(all) {
		for _, p := range o.Set {
			k, _ := typeOf(p)
			types[k] = true
		}
	}
	if len(types) != calibrationTypes {
		t.Errorf("calibrated on %d types, want %d", len(types), calibrationTypes)
	}
	before := offOn(t, &m)
	for _, most := range []int{12, math.MaxInt} {
		asked := 0
		err := m.Refit(meddler{t.Context(), func() error {
			if asked++; asked >= most {
				return context.Canceled
			}
			return nil
		}})
		now := offOn(t, &m)
		switch {
		case most == math.MaxInt && (err != nil || now == before || asked != 1+2*calibrationFolds+calibrationHoldout):
			t.Errorf("%d fits, error %v, off by %v before and %v now", asked, err, before, now)
		case most != math.MaxInt && (!errors.Is(err, context.Canceled) || now != before || asked != most):
			t.Errorf("cancelled after %d fits: error %v, off by %v before and %v now, asked %d times", most, err, before, now, asked)
		}
	}
}

// TestCalibratesOnAndOn: intervals are calibrated anew where twice as many were
// observed, also once no more are kept.
func TestCalibratesOnAndOn(t *testing.T) {
	var m Predictor
	observeMade(t, &m, leastRuns)
	r, _ := m.load().regime("RTX3090", profile.TimeSlice)
	for observed, want := range map[int]int{3*mostRuns - 1: 3 * mostRuns / 2, 3 * mostRuns: 3 * mostRuns} {
		r.observed, r.calibrated = observed, 3*mostRuns/2
		next, err := r.refit(t.Context(), m.load().options)
		if err != nil || next.calibrated != want {
			t.Errorf("of %d observed: calibrated at %d, error %v; want %d", observed, next.calibrated, err, want)
		}
	}
}

// TestRefitRace: while a refit is at work on a model that was loaded and has learned
// nothing since, a co-run of new types is observed. The race detector judges; it is
// kept either way.
func TestRefitRace(t *testing.T) {
	var m Predictor
	observeMade(t, &m, 20)
	var file bytes.Buffer
	if err := m.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	fresh := fakeTask(t, "fresh", 64, 0.5, 0.2, 0.1)
	one := made(fresh, fresh, rand.New(rand.NewPCG(9, 1)))
	done := make(chan error, 1)
	ctx := meddler{t.Context(), sync.OnceValue(func() error {
		go func() { done <- loaded.Observe(one) }()
		return nil
	})}
	if err := loaded.Refit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r, _ := loaded.load().regime("RTX3090", profile.TimeSlice); len(r.runs) != 1 || r.roster.find(taskType{model: "fresh", all: true}) == noEffect {
		t.Errorf("%d co-runs kept, want that of the new type", len(r.runs))
	}
}

// TestKeepsTheTelling: of more co-runs than are kept those of types seen often go
// first, and the oldest of them.
func TestKeepsTheTelling(t *testing.T) {
	tasks := madeTasks(t, 2)
	rng := rand.New(rand.NewPCG(7, 1))
	var r regime
	rare := made(tasks[0], tasks[1], rng)
	r.keep(&rare)
	for range mostRuns + mostRuns/4 {
		o := made(tasks[2], tasks[3], rng)
		r.keep(&o)
	}
	if len(r.runs) > mostRuns || !slices.ContainsFunc(r.runs, func(o *Observation) bool { return o.Set[0].Spec.Model.Name == "a0" }) {
		t.Errorf("%d kept, the rare one among them: %v", len(r.runs), len(r.runs) > 0 && r.runs[0].Set[0].Spec.Model.Name == "a0")
	}
}

// BenchmarkRefit is of 5000 co-runs, each of two of so many names: the first refit,
// which calibrates, too.
func BenchmarkRefit(b *testing.B) {
	for _, names := range []int{50, 200} {
		b.Run(fmt.Sprint("names=", names), func(b *testing.B) {
			var m Predictor
			rng := rand.New(rand.NewPCG(8, 1))
			tasks := madeNames(b, names)
			for range mostRuns {
				if err := m.Observe(made(tasks[rng.IntN(names)], tasks[rng.IntN(names)], rng)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				c := m.Clone()
				if err := c.Refit(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// madeNames are tasks of so many models, one each.
func madeNames(tb testing.TB, names int) []*profile.Profile {
	tb.Helper()
	rng := rand.New(rand.NewPCG(8, 2))
	var tasks []*profile.Profile
	for i := range names {
		tasks = append(tasks, fakeTask(tb, fmt.Sprint("m", i), 16<<(i%3), rng.Float64(), rng.Float64()/2, rng.Float64()))
	}
	return tasks
}

// TestRefitSolvesForAll: trees that a file brought are told of types seen since. What was
// learned of these is what the trees leave then: the solution for all co-runs at once.
func TestRefitSolvesForAll(t *testing.T) {
	fitted, tasks, _ := fittedWorld(t)
	loaded, err := Load(bytes.NewReader(saved(t, fitted)))
	if err != nil {
		t.Fatal(err)
	}
	slow := fakeTask(t, "slow", 64, 0.5, 0.2, 0.1)
	for i := range 30 {
		if err := loaded.Observe(Observation{
			GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{slow, tasks[i%6]}, Speeds: []profile.Opt[float64]{profile.Some(0.15), profile.Some(0.95)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := loaded.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, _ := loaded.load().regime("RTX3090", profile.TimeSlice)
	want, err := lsq.Coef(r.lambda, r.mu, slopes(), r.base, r.learned)
	if err != nil {
		t.Fatal(err)
	}
	for j := range want {
		if got := r.post.Coef[j]; !(math.Abs(got-want[j]) <= 1e-7) {
			t.Fatalf("column %d is %v, the solution of all rows %v", j, got, want[j])
		}
	}
}

// TestWith: own rows are learned beside a model, which stays as it is; GPUs that it
// alone knows answer as before, and a file says the same.
func TestWith(t *testing.T) {
	_, world := fakeWorld(t, 3, 4, 2)
	base := mustFit(t, world, nil)
	rng := rand.New(rand.NewPCG(4, 2))
	tasks := madeTasks(t, 4)
	var own []Observation
	for i := range 40 {
		o := made(tasks[i%len(tasks)], tasks[rng.IntN(len(tasks))], rng)
		if i%2 == 0 {
			o.GPU = "A100-40GB"
		}
		own = append(own, o)
	}
	before := mustSpeeds(t, base, rtx3090(t), tasks[0], tasks[1])
	both, err := base.With(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustSpeeds(t, base, rtx3090(t), tasks[0], tasks[1]); !slices.Equal(got, before) {
		t.Errorf("the model beside which was fitted says %v, it said %v", got, before)
	}
	a100, _ := profile.LookupGPU("A100-40GB")
	for _, gpu := range []*profile.GPUModel{rtx3090(t), &a100} {
		var off, was float64
		for _, o := range own {
			if o.GPU != gpu.Canonical() {
				continue
			}
			for i, e := range mustSpeeds(t, both, gpu, o.Set...) {
				off += math.Abs(e.Value - o.Speeds[i].Or(0))
			}
			for i, e := range mustSpeeds(t, base, gpu, o.Set...) {
				was += math.Abs(e.Value - o.Speeds[i].Or(0))
			}
		}
		if !(off < 0.8*was) {
			t.Errorf("%s: off by %.3f in sum with own rows, %.3f without: nothing was learned", gpu.Name, off, was)
		}
	}
	var file bytes.Buffer
	if err := both.Save(&file); err != nil {
		t.Fatal(err)
	}
	again, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	k80, _ := profile.LookupGPU("K80")
	for _, gpu := range []*profile.GPUModel{rtx3090(t), &a100, &k80} {
		if got, want := mustSpeeds(t, again, gpu, tasks[0], tasks[3]), mustSpeeds(t, both, gpu, tasks[0], tasks[3]); !slices.Equal(got, want) {
			t.Errorf("%s: loaded %v, saved %v", gpu.Name, got, want)
		}
	}
}

// TestIntervalsHoldWhileLearning: of a model that was left out, intervals of 90 % hold as
// many speeds after some co-runs and a refit as they promise, and grow narrower.
func TestIntervalsHoldWhileLearning(t *testing.T) {
	after := [...]int{0, 2, 4, 8, 16, 32}
	var in, n, width [len(after)]float64
	for seed := range uint64(4) {
		_, obs := fakeWorld(t, 40+seed, 6, 3)
		var known, fresh []Observation
		for _, o := range obs {
			if o.Set[0].Spec.Model.Name == "m5" || o.Set[1].Spec.Model.Name == "m5" {
				fresh = append(fresh, o)
			} else {
				known = append(known, o)
			}
		}
		rand.New(rand.NewPCG(seed, 6)).Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
		m := mustFit(t, known, &Options{NoTrees: true})
		for at, k := range after {
			for _, o := range fresh[max(0, after[max(0, at-1)]):k] {
				if err := m.Observe(o); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Refit(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, o := range fresh[k:] {
				for i, e := range mustSpeeds(t, m, rtx3090(t), o.Set...) {
					seen := o.Speeds[i].Or(0)
					if n[at]++; e.Lo <= min(1, seen) && min(1, seen) <= e.Hi {
						in[at]++
					}
					width[at] += e.Hi - e.Lo
				}
			}
		}
	}
	for at, k := range after {
		t.Logf("after %d co-runs: %.2f of %v in intervals %.3f wide", k, in[at]/n[at], n[at], width[at]/n[at])
		if in[at]/n[at] < 0.85 {
			t.Errorf("after %d co-runs intervals of 90 %% hold %.0f %%", k, 100*in[at]/n[at])
		}
	}
	if last := len(after) - 1; !(width[last]/n[last] < 0.6*width[0]/n[0]) {
		t.Errorf("intervals are %.3f wide after %d co-runs, %.3f before any", width[last]/n[last], after[last], width[0]/n[0])
	}
}
