package interference

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// said is what a model says of some pairs and a set of three on GPUs and
// mechanisms that it was fitted to, that it learned, and that it never saw.
func said(t *testing.T, m *Predictor, tasks []*profile.Profile) (all []predict.Estimate) {
	t.Helper()
	for _, name := range []string{"RTX3090", "T4", "H100"} {
		gpu, _ := profile.LookupGPU(name)
		for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
			for i := range tasks {
				for _, set := range [][]*profile.Profile{{tasks[i], tasks[0]}, {tasks[i], tasks[1], tasks[2]}} {
					var err error
					if all, err = m.Speeds(&gpu, mech, set, all); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return all
}

// TestLoadedSaysTheSame: whatever was observed and fitted anew, a loaded model says
// what the saved one says, bit by bit and of every GPU: what was learned of one is no
// prior of another after a restart either.
func TestLoadedSaysTheSame(t *testing.T) {
	tasks, obs := fakeWorld(t, 6, 4, 2)
	m := mustFit(t, obs[20:], nil)
	rng := rand.New(rand.NewPCG(8, 1))
	h100 := said(t, m, tasks)[2*len(said(t, m, tasks))/3:]
	observe := func() {
		for range 30 {
			o := made(tasks[rng.IntN(len(tasks))], tasks[rng.IntN(len(tasks))], rng)
			o.GPU = "T4"
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Observe(obs[rng.IntN(20)]); err != nil {
			t.Fatal(err)
		}
	}
	refit := func() {
		if err := m.Refit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
	}{{"fitted", func() {}}, {"observed", observe}, {"fitted anew", refit}, {"observed after that", observe}, {"fitted anew twice", refit}} {
		step.do()
		file := saved(t, m)
		loaded, err := Load(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		want, got := said(t, m, tasks), said(t, loaded, tasks)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the loaded model says otherwise: first %+v, was %+v", step.name, got[0], want[0])
		}
		if !reflect.DeepEqual(want[2*len(want)/3:], h100) {
			t.Errorf("%s: what was observed on other GPUs changed the prior", step.name)
		}
		if !bytes.Equal(saved(t, loaded), file) {
			t.Errorf("%s: saving a loaded model gives other bytes", step.name)
		}
		m = loaded
	}
}

// TestLoadRefusesLearned: priors and solutions that no model can have saved.
func TestLoadRefusesLearned(t *testing.T) {
	var m Predictor
	observeMade(t, &m, 3)
	text := string(saved(t, &m))
	for _, bad := range [][2]string{
		{`"priors":[{`, `"priors":[{},{`},
		{`"priors":[{"mechanism":"exclusive"`, `"priors":[{"mechanism":"mps"`},
		{`"prior_mean":[`, `"prior_mean":[0,`},
		{`"posterior":{"mean":"`, `"posterior":{"mean":"AAAA`},
		{`"covariance":"`, `"covariance":"` + strings.Repeat("A", 32)},
	} {
		changed := strings.Replace(text, bad[0], bad[1], 1)
		if changed == text {
			t.Fatalf("no %q in %.300q", bad[0], text)
		}
		if _, err := Load(strings.NewReader(changed)); err == nil {
			t.Errorf("loaded with %s", bad[1])
		}
	}
}

// TestArchive: a model that was loaded with its co-runs goes on as the saved one,
// through refits that calibrate anew too, and a file without them holds none.
func TestArchive(t *testing.T) {
	tasks, obs := fakeWorld(t, 6, 4, 2)
	m := mustFit(t, obs[20:], nil)
	rng := rand.New(rand.NewPCG(9, 1))
	if bytes.Contains(saved(t, m), []byte("kept")) {
		t.Error("Save writes rows of the fit")
	}
	for round := range max(2, race.Fewer(3)) {
		for range 40 {
			o := made(tasks[rng.IntN(len(tasks))], tasks[rng.IntN(len(tasks))], rng)
			o.GPU = "T4"
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Observe(obs[round]); err != nil { // of a GPU that was fitted
			t.Fatal(err)
		}
		var file, again bytes.Buffer
		if err := m.Archive(&file); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := loaded.Archive(&again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
			t.Errorf("round %d: the archive of a loaded model has other bytes (%v)", round, err)
		}
		for name, p := range map[string]*Predictor{"saved": m, "loaded": loaded} {
			if err := p.Refit(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got, want := said(t, loaded, tasks), said(t, m, tasks); !reflect.DeepEqual(got, want) {
			t.Errorf("round %d: fitted anew the loaded model says otherwise: first %+v, want %+v", round, got[0], want[0])
		}
		if got := loaded.Regimes(); !reflect.DeepEqual(got, m.Regimes()) || len(got) != 2 {
			t.Errorf("round %d: regimes %+v, want %+v", round, got, m.Regimes())
		}
		if got := loaded.Seen(tasks[0]); !reflect.DeepEqual(got, m.Seen(tasks[0])) || len(got) != 2 || got[1].CoRuns == 0 {
			t.Errorf("round %d: seen of a task %+v, want %+v of two GPUs", round, got, m.Seen(tasks[0]))
		}
	}
}

// TestLoadRefusesKept: co-runs that nobody observed.
func TestLoadRefusesKept(t *testing.T) {
	tasks, _ := fakeWorld(t, 3, 2, 1)
	rng := rand.New(rand.NewPCG(9, 2))
	var m Predictor
	for range 3 {
		if err := m.Observe(made(tasks[0], tasks[1], rng)); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := m.Archive(&file); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a task that is not there": {`"set":[0,1]`, `"set":[0,2]`},
		"a negative task":          {`"set":[0,1]`, `"set":[0,-2]`},
		"a speed too few":          {`"speeds":[`, `"speeds":[],"none":[`},
		"a negative speed":         {`"speeds":[`, `"speeds":[-`},
		"an impossible use":        {`"use":[0,`, `"use":[0,-`},
		"fewer than are kept":      {`"count":3`, `"count":2`},
		"calibrated later":         {`"count":3`, `"count":3,"calibrated":4`},
	} {
		text := strings.Replace(file.String(), change[0], change[1], 1)
		if text == file.String() {
			t.Errorf("%s: nothing to change in %s", name, text)
		}
		if _, err := Load(strings.NewReader(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestEffectsAreBounded: types beyond the bound are judged by what they use.
func TestEffectsAreBounded(t *testing.T) {
	r := &roster{}
	for i := range mostEffects {
		r = r.with(taskType{model: strings.Repeat("x", i+1)}, true)
	}
	if len(r.effects) != mostEffects || r.find(taskType{model: "x"}) == noEffect {
		t.Errorf("%d effects, want %d with the first", len(r.effects), mostEffects)
	}
	last := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "new"}}}
	if own := r.trainedOn([]*Observation{{Set: []*profile.Profile{last}}}); len(own.effects) != mostEffects {
		t.Errorf("%d effects after a fit, want %d", len(own.effects), mostEffects)
	}
}
