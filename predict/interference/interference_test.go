package interference

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/lsq"
	"example.com/colloc/profile"
)

// fakeTask is a task with the given use; NaN leaves a feature missing.
func fakeTask(tb testing.TB, model string, batch int, sm, dram, step float64) *profile.Profile {
	tb.Helper()
	p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: model}, Training: profile.Training{BatchSize: batch}}}
	for f, v := range map[profile.Feature]float64{profile.MeanGPUBusy: sm, profile.MeanMemBusy: dram, profile.MedianStepTime: step, profile.BatchSize: float64(batch)} {
		if math.IsNaN(v) {
			continue
		}
		if err := p.Vector.Set(f, v); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

// fakeWorld is a made-up GPU: losses follow one term, types have effects.
func fakeWorld(tb testing.TB, seed uint64, models, batches int) ([]*profile.Profile, []Observation) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var tasks []*profile.Profile
	offset := map[*profile.Profile]float64{}
	for m := range models {
		for b := range batches {
			p := fakeTask(tb, fmt.Sprintf("m%d", m), 16<<b, rng.Float64(), rng.Float64()/2, 0.01+rng.Float64())
			tasks = append(tasks, p)
			offset[p] = 0.05 * rng.NormFloat64()
		}
	}
	var obs []Observation
	for i, a := range tasks {
		for _, b := range tasks[i:] {
			o := Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}}
			for _, own := range []*profile.Profile{a, b} {
				other := b
				if own == b {
					other = a
				}
				u, v := own.Vector.Or(profile.MeanGPUBusy, 0), other.Vector.Or(profile.MeanGPUBusy, 0)
				loss := 0.4*max(0, u+v-1) + 0.2*u*other.Vector.Or(profile.MeanMemBusy, 0) + offset[own] + 0.02*rng.NormFloat64()
				o.Speeds = append(o.Speeds, profile.Some(1-loss))
			}
			obs = append(obs, o)
		}
	}
	return tasks, obs
}

// fittedOnce is the fit of fittedWorld, which takes seconds.
var (
	fitOnce    sync.Once
	fittedOnce *Predictor
)

// fittedWorld is a fit to a made-up GPU of five models in three batches, made once for
// all tests: each gets a copy.
func fittedWorld(tb testing.TB) (*Predictor, []*profile.Profile, []Observation) {
	tb.Helper()
	tasks, obs := fakeWorld(tb, 1, 5, 3)
	fitOnce.Do(func() { fittedOnce = mustFit(tb, obs, nil) })
	return fittedOnce.Clone(), tasks, obs
}

func mustFit(tb testing.TB, obs []Observation, o *Options) *Predictor {
	tb.Helper()
	m, err := Fit(obs, o)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func rtx3090(tb testing.TB) *profile.GPUModel {
	tb.Helper()
	g, ok := profile.LookupGPU("RTX3090")
	if !ok {
		tb.Fatal("RTX3090 is not in the catalogue")
	}
	return &g
}

func mustSpeeds(t interface{ Fatal(args ...any) }, m *Predictor, g *profile.GPUModel, set ...*profile.Profile) []predict.Estimate {
	e, err := m.Speeds(g, profile.TimeSlice, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestProperties holds a fitted model to what its comment promises.
func TestProperties(t *testing.T) {
	fitted, tasks, _ := fittedWorld(t)
	models := map[string]*Predictor{"fitted": fitted, "prior": {}}
	gpu := rtx3090(t)
	for name, m := range models {
		t.Run(name, rapid.MakeCheck(func(r *rapid.T) {
			draw := func(label string) *profile.Profile {
				if rapid.Bool().Draw(r, label+" known") {
					return rapid.SampledFrom(tasks).Draw(r, label)
				}
				u := rapid.Float64Range(0, 1)
				return fakeTask(t, rapid.SampledFrom([]string{"", "m1", "new"}).Draw(r, label+" model"), 1+rapid.IntRange(0, 64).Draw(r, label+" batch"),
					u.Draw(r, label+" sm"), u.Draw(r, label+" dram"), 0.001+u.Draw(r, label+" step"))
			}
			own, other := draw("own"), draw("other")
			pair := mustSpeeds(r, m, gpu, own, other)
			for _, e := range pair {
				if !(e.Value > 0 && e.Value <= 1 && e.Lo <= e.Value && e.Value <= e.Hi && e.Lo > 0 && e.Hi <= 1) {
					r.Fatalf("estimate %+v", e)
				}
			}
			swapped := mustSpeeds(r, m, gpu, other, own)
			if pair[0] != swapped[1] || pair[1] != swapped[0] {
				r.Fatalf("order matters: %v and %v", pair, swapped)
			}
			busier := *other
			more := rapid.Float64Range(0, 1).Draw(r, "more")
			for _, f := range []profile.Feature{profile.MeanGPUBusy, profile.MeanMemBusy} {
				v := busier.Vector.Or(f, 0)
				if err := busier.Vector.Set(f, min(1, v+(1-v)*more)); err != nil {
					r.Fatal(err)
				}
			}
			if after := mustSpeeds(r, m, gpu, own, &busier); after[0].Value > pair[0].Value+1e-12 {
				r.Fatalf("a busier neighbour raised the speed from %v to %v", pair[0].Value, after[0].Value)
			}
			idle := fakeTask(t, rapid.SampledFrom([]string{"", "m1", "new"}).Draw(r, "idle"), 32, 0, 0, 0.1)
			if e := mustSpeeds(r, m, gpu, own, idle)[0]; e.Value != 1 {
				r.Fatalf("an idle neighbour costs: %+v", e)
			}
			third := mustSpeeds(r, m, gpu, own, other, draw("third"))
			if third[0].Value > pair[0].Value+1e-12 {
				r.Fatalf("a third task raised the speed from %v to %v", pair[0].Value, third[0].Value)
			}
			if e := mustSpeeds(r, m, gpu, own); e[0].Value != 1 || e[0].Lo != 1 {
				r.Fatalf("alone: %+v", e)
			}
		}))
	}
}

// TestObserveIsFit checks that learning one by one ends where a ridge over all
// rows would: the slow twin solves the normal equations anew.
func TestObserveIsFit(t *testing.T) {
	_, obs := fakeWorld(t, 2, 4, 3)
	half := len(obs) / 2
	m := mustFit(t, obs[:half], nil)
	for _, o := range obs[half:] {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	r := m.load().regimes[0]
	slow, err := lsq.Solve(r.lambda, r.mu, slopes(), r.base, r.learned)
	if err != nil {
		t.Fatal(err)
	}
	for j := range slow.Coef {
		if d := math.Abs(slow.Coef[j] - r.post.Coef[j]); d > 1e-9 {
			t.Errorf("column %d: %v by rank-one updates, %v solved anew", j, r.post.Coef[j], slow.Coef[j])
		}
	}
	if r.learned.N == 0 {
		t.Error("nothing was learned")
	}
}

func TestObserveImproves(t *testing.T) {
	tasks, obs := fakeWorld(t, 3, 6, 3)
	var old, fresh []Observation
	for _, o := range obs {
		if o.Set[0].Spec.Model.Name == "m5" || o.Set[1].Spec.Model.Name == "m5" {
			fresh = append(fresh, o)
		} else {
			old = append(old, o)
		}
	}
	m, gpu := mustFit(t, old, nil), rtx3090(t)
	target := tasks[len(tasks)-1]
	before := mustSpeeds(t, m, gpu, target, tasks[0])[0]
	for _, o := range fresh {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	after := mustSpeeds(t, m, gpu, target, tasks[0])[0]
	if !(after.Hi-after.Lo < before.Hi-before.Lo) && after.Hi < 1 {
		t.Errorf("the interval did not shrink: %+v, then %+v", before, after)
	}
	if d := m.Drift("RTX3090", profile.TimeSlice); d.Observations != 2*len(fresh) || d.Alarm {
		t.Errorf("drift %+v after %d pairs", d, len(fresh))
	}
}

func TestDriftAlarm(t *testing.T) {
	tasks, obs := fakeWorld(t, 4, 4, 3)
	m := mustFit(t, obs, nil)
	for _, o := range obs[:20] {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if d := m.Drift("RTX3090", profile.TimeSlice); d.Alarm || d.Observations != 40 {
		t.Errorf("the same world raised an alarm: %+v", d)
	}
	for i := range 20 {
		a, b := tasks[i%len(tasks)], tasks[(i*5+1)%len(tasks)]
		o := Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}, Speeds: []profile.Opt[float64]{profile.Some(0.2), profile.Some(0.2)}}
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
		if i == 8 {
			if d := m.Drift("RTX3090", profile.TimeSlice); !d.Alarm || d.Bias <= 0 {
				t.Errorf("another world raised no alarm: %+v", d)
			}
		}
	}
}

// TestObserveNothing learns from a co-run in which nothing was measured.
func TestObserveNothing(t *testing.T) {
	tasks, obs := fakeWorld(t, 13, 4, 2)
	m, gpu := mustFit(t, obs, nil), rtx3090(t)
	before := mustSpeeds(t, m, gpu, tasks[0], tasks[1])
	set := []*profile.Profile{tasks[0], fakeTask(t, "new", 4, 0.5, 0.1, 1)}
	if err := m.Observe(Observation{GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: set, Speeds: make([]profile.Opt[float64], 2)}); err != nil {
		t.Fatal(err)
	}
	if after := mustSpeeds(t, m, gpu, tasks[0], tasks[1]); after[0] != before[0] || after[1] != before[1] {
		t.Errorf("speeds were %v, are %v", before, after)
	}
}

func TestSaveLoad(t *testing.T) {
	tasks, obs := fakeWorld(t, 6, 4, 3)
	m, gpu := mustFit(t, obs[20:], &Options{Provenance: "made up"}), rtx3090(t)
	for _, o := range obs[:20] {
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	var first, second bytes.Buffer
	if err := m.Save(&first); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Save(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("saving a loaded model gives other bytes")
	}
	x, y := mustSpeeds(t, m, gpu, tasks[0], tasks[1]), mustSpeeds(t, loaded, gpu, tasks[0], tasks[1])
	if !(math.Abs(x[0].Value-y[0].Value) <= 1e-9) {
		t.Errorf("the loaded model says %v, the saved one %v", y[0].Value, x[0].Value)
	}
	text := first.String()
	for _, bad := range []string{"", "{}", strings.Replace(text, `"version":4`, `"version":9`, 1), strings.Replace(text, `"sums":[`, `"sums":[1,`, 1)} {
		if _, err := Load(strings.NewReader(bad)); err == nil {
			t.Errorf("loaded %.60q", bad)
		}
	}
}

func TestExplainSums(t *testing.T) {
	m, tasks, _ := fittedWorld(t)
	gpu := rtx3090(t)
	for i := range len(tasks) - 3 {
		set := tasks[i : i+3]
		e, err := m.Ratios(gpu, profile.TimeSlice, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range set {
			parts, err := m.Explain(gpu, profile.TimeSlice, set, k)
			if err != nil {
				t.Fatal(err)
			}
			var sum float64
			for _, p := range parts {
				sum += p.Loss
			}
			if !(math.Abs(sum-(1-e[k].Value)) <= 1e-9) {
				t.Errorf("set %d, task %d: parts sum to %v, lost %v", i, k, sum, 1-e[k].Value)
			}
		}
	}
}

func TestSpeedsDoesNotAllocate(t *testing.T) {
	if race.Enabled { // it makes sync.Pool drop items at random
		t.Skip("the race detector makes sync.Pool drop items at random: run without -race")
	}
	tasks, obs := fakeWorld(t, 10, 4, 3)
	m, gpu := mustFit(t, obs, nil), rtx3090(t)
	set, dst := tasks[:2], make([]predict.Estimate, 0, 2)
	if n := testing.AllocsPerRun(100, func() { dst, _ = m.Speeds(gpu, profile.TimeSlice, set, dst[:0]) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestObserveWhileReading(t *testing.T) {
	tasks, obs := fakeWorld(t, 11, 4, 3)
	m, gpu := mustFit(t, obs[:40], nil), rtx3090(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 200 {
				e, err := m.Speeds(gpu, profile.TimeSlice, []*profile.Profile{tasks[i%len(tasks)], tasks[(i+1)%len(tasks)]}, nil)
				if err != nil || !(e[0].Value > 0) {
					t.Errorf("%v, %v", e, err)
				}
			}
		})
	}
	for _, o := range obs[40:] {
		if err := m.Observe(o); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
}

func TestRejects(t *testing.T) {
	a := fakeTask(t, "a", 1, 0.5, 0.5, 1)
	good := func() Observation {
		return Observation{GPU: "A100", Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, a}, Speeds: []profile.Opt[float64]{profile.Some(0.5), {}}}
	}
	for _, c := range []struct {
		name string
		edit func(*Observation)
	}{
		{"lengths", func(o *Observation) { o.Speeds = o.Speeds[:1] }},
		{"NaN", func(o *Observation) { o.Speeds[0] = profile.Some(math.NaN()) }},
		{"zero", func(o *Observation) { o.Speeds[0] = profile.Some(0.0) }},
		{"infinite", func(o *Observation) { o.Speeds[0] = profile.Some(math.Inf(1)) }},
		{"exclusive", func(o *Observation) { o.Mechanism = profile.Exclusive }},
		{"mechanism", func(o *Observation) { o.Mechanism = 99 }},
	} {
		o := good()
		c.edit(&o)
		if _, err := Fit([]Observation{o}, nil); err == nil {
			t.Errorf("%s: Fit accepted it", c.name)
		}
		if err := new(Predictor).Observe(o); err == nil {
			t.Errorf("%s: Observe accepted it", c.name)
		}
	}
	if err := new(Predictor).Observe(good()); err != nil {
		t.Errorf("a good observation: %v", err)
	}
	for _, mech := range []profile.Mechanism{profile.Exclusive, profile.MIG, 42, -1} {
		if _, err := new(Predictor).Speeds(nil, mech, []*profile.Profile{a, a}, nil); !errors.Is(err, ErrMechanism) {
			t.Errorf("%v: %v", mech, err)
		}
	}
}

// TestValuesAndSpeedAgreeWithSpeeds asks the three forms the same.
func TestValuesAndSpeedAgreeWithSpeeds(t *testing.T) {
	tasks, obs := fakeWorld(t, 5, 3, 2)
	m, gpu := mustFit(t, obs, nil), rtx3090(t)
	for n := range 5 {
		set := tasks[:n]
		for _, mech := range []profile.Mechanism{profile.Exclusive, profile.TimeSlice, profile.MPS, profile.MIG} {
			want, err := m.Speeds(gpu, mech, set, nil)
			values, valuesErr := m.Values(gpu, mech, set, nil)
			if (err == nil) != (valuesErr == nil) || len(values) != len(want) {
				t.Fatalf("%d tasks, %v: Values says %v, %v; Speeds %v, %v", n, mech, values, valuesErr, want, err)
			}
			for i := range want {
				both, got, err := m.ValuesAndSpeed(gpu, mech, set, i, nil)
				if err != nil || got != want[i] || values[i] != want[i].Value || !slices.Equal(both, values) {
					t.Errorf("%d tasks, %v, task %d: ValuesAndSpeed says %v, %v, %v; Values %v; Speeds %v", n, mech, i, both, got, err, values, want[i])
				}
			}
		}
	}
	if _, _, err := m.ValuesAndSpeed(gpu, profile.MPS, tasks, len(tasks), nil); !errors.Is(err, errIndex) {
		t.Errorf("speed of a task beyond the set: %v, want %v", err, errIndex)
	}
}
