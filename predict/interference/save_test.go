package interference

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

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
		{`"posterior":{"mean":[`, `"posterior":{"mean":[0,`},
		{`"covariance":[`, `"covariance":[-`},
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
