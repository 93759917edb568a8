package interference

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestWhatEstimatesRestOn: the confidence is what the fit was asked for, and the
// distance the mean of what is not known of a task and of each neighbour.
func TestWhatEstimatesRestOn(t *testing.T) {
	m, tasks, _ := fittedWorld(t)
	known, batch, stranger := tasks[0], fakeTask(t, "m1", 999, 0.5, 0.2, 0.1), fakeTask(t, "new", 8, 0.5, 0.2, 0.1)
	for _, tt := range []struct {
		name string
		set  []*profile.Profile
		want float64
	}{
		{"all known", []*profile.Profile{known, tasks[1]}, 0},
		{"another batch beside it", []*profile.Profile{known, batch}, 0.25},
		{"a stranger beside it", []*profile.Profile{known, stranger}, 0.5},
		{"a stranger", []*profile.Profile{stranger, known}, 0.5},
		{"two strangers", []*profile.Profile{stranger, stranger}, 1},
		{"a stranger among three", []*profile.Profile{known, tasks[1], stranger}, 0.25},
		{"a stranger beside two", []*profile.Profile{stranger, known, tasks[1]}, 0.5},
	} {
		e := mustSpeeds(t, m, rtx3090(t), tt.set...)[0]
		if e.Source.Distance != tt.want || e.Confidence != 0.9 {
			t.Errorf("%s: %+v, want a distance of %v and confidence 0.9", tt.name, e, tt.want)
		}
	}
}

// TestRefitOfFitted: what a fitted model observed since counts after a refit as what
// it was fitted to, and a version taken before still says what it said.
func TestRefitOfFitted(t *testing.T) {
	m, _, _ := fittedWorld(t)
	rng := rand.New(rand.NewPCG(21, 1))
	fresh := madeTasks(t, 2)
	for range 5 {
		if err := m.Observe(made(fresh[0], fresh[2], rng)); err != nil {
			t.Fatal(err)
		}
	}
	old, before := m.Clone(), mustSpeeds(t, m, rtx3090(t), fresh[0], fresh[2])[0]
	if err := m.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := mustSpeeds(t, m, rtx3090(t), fresh[0], fresh[2])[0]
	if before.Source.Distance == 0 || after.Source.Distance != 0 {
		t.Errorf("what was observed is at %v before a refit and %v after it, want 0 after it alone", before.Source.Distance, after.Source.Distance)
	}
	if now := mustSpeeds(t, old, rtx3090(t), fresh[0], fresh[2])[0]; now != before {
		t.Errorf("the version before said %+v and says %+v", before, now)
	}
}

// TestRefitOfLoaded: a refit of what was loaded leaves a version taken before alone,
// and the little that had been learned before the file was written still counts.
func TestRefitOfLoaded(t *testing.T) {
	m, tasks, obs := fittedWorld(t)
	without, one := m.Clone(), obs[3]
	one.Speeds = []profile.Opt[float64]{profile.Some(0.5), {}}
	if err := m.Observe(one); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(bytes.NewReader(saved(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	fresh := madeTasks(t, 2)
	o := made(fresh[0], tasks[0], rand.New(rand.NewPCG(22, 1)))
	for _, p := range []*Predictor{m, loaded, without} {
		if err := p.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	speed := func(p *Predictor) float64 { return mustSpeeds(t, p, rtx3090(t), one.Set...)[0].Value }
	want := speed(loaded)
	old, before := loaded.Clone(), said(t, loaded, append(tasks, fresh...))
	if err := loaded.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, now := range said(t, old, append(tasks, fresh...)) {
		if now != before[i] {
			t.Fatalf("the version before said %+v and says %+v", before[i], now)
		}
	}
	if got, never := speed(loaded), speed(without); !(math.Abs(got-want) <= 0.3*math.Abs(never-want)) {
		t.Errorf("after a refit a pair runs at %v, learned before it was saved: %v; never observed: %v", got, want, never)
	}
}

// TestCloneSavesAlone: what a copy learns is not in the file of the original.
func TestCloneSavesAlone(t *testing.T) {
	m, _, obs := fittedWorld(t)
	c, before := m.Clone(), saved(t, m)
	for _, o := range obs[:10] {
		if err := c.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(saved(t, m), before) || bytes.Equal(saved(t, c), before) {
		t.Error("the original learned, or the copy did not")
	}
}

// TestUnknownStepTime: who keeps the GPU longer is as open where a step time is not
// known as where both are the same.
func TestUnknownStepTime(t *testing.T) {
	load := func(step float64) load { return load{sm: 0.6, dram: 0.3, step: step} }
	same := load(0.5)
	want := turnTerms(&same, &same)
	for _, unknown := range [][2]float64{{math.NaN(), 0.5}, {0.5, math.NaN()}, {math.NaN(), math.NaN()}} {
		a, b := load(unknown[0]), load(unknown[1])
		if got := turnTerms(&a, &b); got != want {
			t.Errorf("steps %v: %v, want %v", unknown, got, want)
		}
	}
	fourfold := load(0.5 + math.Log(4)) // τ = 1/(1 + √¼)
	if got := turnTerms(&same, &fourfold)[turnShare]; !(math.Abs(got-0.6*2/3) <= 1e-12) {
		t.Errorf("beside a step four times as long the turn costs %v, want %v", got, 0.6*2/3)
	}
}

// TestTreesAreToldOfTypes: what a type loses beyond its use, and what it costs others, is
// told to the trees.
func TestTreesAreToldOfTypes(t *testing.T) {
	tasks, obs := fakeWorld(t, 25, 3, 4)
	soft := func(p *profile.Profile) bool { return p.Spec.Model.Name == "m0" }
	for i := range obs {
		o := &obs[i]
		for k, p := range o.Set {
			v := o.Speeds[k].Or(1)
			if soft(p) {
				v -= 0.15
			}
			if soft(o.Set[1-k]) {
				v += 0.1
			}
			o.Speeds[k] = profile.Some(max(0.1, v))
		}
	}
	r, _ := mustFit(t, obs, nil).load().regime("RTX3090", profile.TimeSlice)
	told := func(p *profile.Profile) [2]float64 { m := r.roster.member(p); return m.traits }
	for _, p := range tasks {
		for _, o := range tasks {
			if a, b := told(p), told(o); soft(p) && !soft(o) && !(a[0] > b[0] && a[1] < b[1]) {
				t.Errorf("a type that loses more and costs less is told as %v, another as %v", a, b)
			}
		}
	}
}

// TestLoadWithoutMeans: a file without prior means has means of 0.
func TestLoadWithoutMeans(t *testing.T) {
	m, tasks, _ := fittedWorld(t)
	file := saved(t, m)
	begin := bytes.Index(file, []byte(`"prior_mean":[`))
	if begin < 0 {
		t.Fatal("the file has no means")
	}
	end := begin + bytes.IndexByte(file[begin:], ']') + len("],")
	old, err := Load(bytes.NewReader(append(bytes.Clone(file[:begin]), file[end:]...)))
	if err != nil {
		t.Fatal(err)
	}
	want, got := mustSpeeds(t, m, rtx3090(t), tasks[0], tasks[1])[0], mustSpeeds(t, old, rtx3090(t), tasks[0], tasks[1])[0]
	if !(math.Abs(got.Value-want.Value) <= 0.05) {
		t.Errorf("without means a pair runs at %v, with them at %v", got.Value, want.Value)
	}
}

// TestThinFamiliarities: a familiarity with too few errors takes the widest factor of
// its kind, and where all have too few twice that of a normal error.
func TestThinFamiliarities(t *testing.T) {
	var errs []standardError
	for i := range 2 * leastErrors {
		errs = append(errs, standardError{level: 0, error: 0.1 * float64(i%5)}, standardError{level: knownLevels, group: string(rune('a' + i%8)), error: 0.3 * float64(i%5)})
	}
	s := spreadOf(append(errs, standardError{level: 2, error: 100}), 0.1, 0.1)
	const strange = knownLevels
	if !(s.Factor[0] > 0 && s.Factor[strange] > s.Factor[0]) || s.Factor[2] != s.Factor[0] || s.Factor[strange+1] != s.Factor[strange] ||
		s.Groups[2] != 0 || s.Groups[0] != 2*leastErrors || s.Groups[strange] != 8 {
		t.Errorf("factors %v of %v groups, want one too thin as wide as the widest of known types, of strangers", s.Factor, s.Groups)
	}
	if none := spreadOf(errs[:2], 0.1, 0.1); !(math.Abs(none.Factor[5]-2*1.645) <= 0.01) {
		t.Errorf("without enough of any: %v, want twice the normal quantile", none.Factor)
	}
}

// TestMissingSpeeds: of co-runs of which one task's speed alone is known the fit learns
// that and nothing of the other.
func TestMissingSpeeds(t *testing.T) {
	_, obs := fakeWorld(t, 23, 4, 3)
	var off, width float64
	half := make([]Observation, len(obs))
	for i, o := range obs {
		half[i] = o
		half[i].Speeds = []profile.Opt[float64]{o.Speeds[0], {}}
	}
	m := mustFit(t, half, &Options{NoTrees: true})
	for _, o := range obs {
		e := mustSpeeds(t, m, rtx3090(t), o.Set...)[0]
		off, width = off+math.Abs(e.Value-o.Speeds[0].Or(0))/float64(len(obs)), max(width, e.Hi-e.Lo)
	}
	if off > 0.05 || width > 0.4 {
		t.Errorf("off by %.3f on average, intervals up to %.3f wide", off, width)
	}
}

// TestSlowestSpeed: whatever a model makes of what it saw, no speed and no end of an
// interval falls below the least there is.
func TestSlowestSpeed(t *testing.T) {
	m, tasks, _ := fittedWorld(t)
	r, _ := m.load().regime("RTX3090", profile.TimeSlice)
	next, post := *r, *r.post
	post.Coef = slices.Clone(post.Coef)
	post.Coef[interceptColumn] = 1e3
	next.post = &post
	for _, ratio := range []bool{true, false} {
		w := gather(&next, tasks[:3])
		w.arrange()
		if e := next.estimate(w, 0, ratio); e.Lo != predict.LeastSpeed || e.Value != predict.LeastSpeed || e.Hi < predict.LeastSpeed {
			t.Errorf("%+v, want the least speed", e)
		}
	}
}

// TestPriorOfAMechanism: a GPU of which nothing is known is taken to be between those
// that were fitted under the same mechanism, also for tasks that these know.
func TestPriorOfAMechanism(t *testing.T) {
	_, plain := fakeWorld(t, 24, 3, 3)
	var obs []Observation
	for _, world := range []struct {
		gpu   string
		mech  profile.Mechanism
		speed float64
	}{{"RTX3090", profile.TimeSlice, 0.4}, {"K80", profile.TimeSlice, 0.7}, {"RTX3090", profile.MPS, 0.95}} {
		for _, o := range plain {
			o.GPU, o.Mechanism, o.Speeds = world.gpu, world.mech, []profile.Opt[float64]{profile.Some(world.speed), profile.Some(world.speed)}
			obs = append(obs, o)
		}
	}
	m := mustFit(t, obs, &Options{NoTrees: true})
	h100, _ := profile.LookupGPU("H100")
	mean := func(mech profile.Mechanism) (sum float64) {
		for _, o := range plain {
			e, err := m.Speeds(&h100, mech, o.Set, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum += e[0].Value / float64(len(plain))
		}
		return sum
	}
	if slice, mps := mean(profile.TimeSlice), mean(profile.MPS); slice < 0.4 || slice > 0.75 || mps < 0.8 {
		t.Errorf("speeds of %.3f time-sliced, %.3f under MPS; others had 0.4 and 0.7, and 0.95", slice, mps)
	}
}
