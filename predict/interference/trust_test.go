package interference

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// worldOff is the mean error on all pairs of tasks of a made world.
func worldOff(t *testing.T, m *Predictor, tasks []*profile.Profile) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(31, 1))
	var sum, n float64
	for i, a := range tasks {
		for _, b := range tasks[:i] {
			o := made(a, b, rng)
			for k, e := range mustSpeeds(t, m, rtx3090(t), a, b) {
				sum, n = sum+math.Abs(e.Value-o.Speeds[k].Or(0)), n+1
			}
		}
	}
	return sum / n
}

// TestOneLie: a false speed of any size beside twenty honest co-runs costs less than a
// twentieth of the error on all pairs, refitted or not; said twice it is believed.
func TestOneLie(t *testing.T) {
	tasks := madeTasks(t, 8)
	var honest Predictor
	observeMade(t, &honest, 20)
	for _, refit := range []bool{false, true} {
		told := honest.Clone()
		if refit {
			if err := told.Refit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		off := worldOff(t, told, tasks)
		for _, lie := range []float64{0.01, 0.2, 0.4, 1.2, predict.MostSpeed} {
			m, o := honest.Clone(), made(tasks[1], tasks[2], rand.New(rand.NewPCG(32, 1)))
			o.Speeds[0] = profile.Some(lie)
			before := mustSpeeds(t, m, rtx3090(t), o.Set...)[0].Value
			first := before
			for k := range 2 {
				if err := m.Observe(o); err != nil {
					t.Fatal(err)
				}
				if refit {
					if err := m.Refit(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				now := mustSpeeds(t, m, rtx3090(t), o.Set...)[0].Value
				if got := worldOff(t, m, tasks); k == 0 && got > 1.05*off {
					t.Errorf("refitted %v: a speed of %v raises the error from %.4f to %.4f", refit, lie, off, got)
				}
				if k == 1 && lie == 0.4 && !refit && before-now < 2*(before-first) {
					t.Errorf("said once it moves %.3f to %.3f, said twice to %.3f", before, first, now)
				}
				first = now
			}
		}
	}
}

// TestMendedDrift: co-runs at a fraction of the speed are forgotten once honest ones follow.
func TestMendedDrift(t *testing.T) {
	var base Predictor
	observeMade(t, &base, 100)
	if err := base.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tasks, rng := madeTasks(t, 8), rand.New(rand.NewPCG(33, 1))
	honest, mended := base.Clone(), base.Clone()
	observe := func(m *Predictor, count int, factor float64) {
		for range count {
			o := made(tasks[rng.IntN(len(tasks))], tasks[rng.IntN(len(tasks))], rng)
			for i, s := range o.Speeds {
				o.Speeds[i] = profile.Some(factor * s.Or(1))
			}
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Refit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	observe(honest, 64, 1)
	observe(mended, 64, 0.7)
	drifted := worldOff(t, mended, tasks)
	for range 4 {
		observe(mended, 16, 1)
	}
	if a, b := worldOff(t, honest, tasks), worldOff(t, mended, tasks); b-a > 0.2*(drifted-a) {
		t.Errorf("after a drift that was mended the error is %.4f, before %.4f, never drifted %.4f", b, drifted, a)
	}
	if kept := mended.Regimes()[0].CoRuns; kept >= 128 {
		t.Errorf("%d co-runs are kept, want fewer", kept)
	}
}

// TestForget: what was observed since the fit is as if it had never been, on that GPU alone;
// one that began with the prior goes back to it.
func TestForget(t *testing.T) {
	fitted, tasks, obs := fittedWorld(t)
	for _, m := range []*Predictor{fitted, {}} {
		never := m.Clone()
		for i := range obs[:20] {
			o := obs[i]
			o.Speeds = []profile.Opt[float64]{profile.Some(0.3), profile.Some(0.3)}
			for _, o.GPU = range []string{o.GPU, "T4"} {
				if err := m.Observe(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := m.Refit(t.Context()); err != nil {
			t.Fatal(err)
		}
		elsewhere, _ := profile.LookupGPU("T4")
		there := mustSpeeds(t, m, &elsewhere, tasks[0], tasks[1])
		if n, err := m.Forget("RTX3090"); err != nil || n == 0 {
			t.Fatalf("%d forgotten, want some; error %v", n, err)
		}
		for i, a := range tasks {
			for _, b := range tasks[:i] {
				now, want := mustSpeeds(t, m, rtx3090(t), a, b), mustSpeeds(t, never, rtx3090(t), a, b)
				if now[0].Value != want[0].Value || now[0].Source != want[0].Source {
					t.Fatalf("got %+v, never observed %+v", now[0], want[0])
				}
			}
		}
		if now := mustSpeeds(t, m, &elsewhere, tasks[0], tasks[1]); !slices.Equal(now, there) {
			t.Errorf("on the T4 %+v, before %+v", now, there)
		}
		if n, err := m.Forget("RTX3090"); err != nil || n != 0 {
			t.Errorf("%d forgotten again, want 0; error %v", n, err)
		}
	}
}

// TestDisturbed: no task is twice as fast beside others as alone.
func TestDisturbed(t *testing.T) {
	m, _, obs := fittedWorld(t)
	o, before := obs[0], saved(t, m)
	o.Speeds = []profile.Opt[float64]{{}, profile.Some(2.01)}
	var disturbed *predict.DisturbedError
	if err := m.Observe(o); !errors.As(err, &disturbed) || disturbed.Speed != 2.01 {
		t.Errorf("error %v, want that the solo run was disturbed", err)
	}
	if !bytes.Equal(before, saved(t, m)) {
		t.Error("it was learned")
	}
}
