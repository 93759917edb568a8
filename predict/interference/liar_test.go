package interference

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestLiar: what somebody can bring about whose own tasks tell false speeds, hundreds of them, of tasks that look like everybody's.
// Of types that were measured honestly hardly anything. Types that nobody measured go by what is known of all tasks: by speeds of 1
// they are taken for a little faster than they are, by speeds near 0 for slow, so that they stay alone until somebody measures them.
func TestLiar(t *testing.T) {
	measured := madeTasks(t, 8)
	var honest Predictor
	observeMade(t, &honest, 100)
	if err := honest.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	named := func(p *profile.Profile, name string) *profile.Profile {
		q := *p
		q.Spec.Model.Name = name
		return &q
	}
	var others []*profile.Profile
	for _, p := range measured[:6] {
		others = append(others, named(p, "new-"+p.Spec.Model.Name))
	}
	mean := func(m *Predictor) (sum float64) {
		for _, a := range others {
			for _, b := range others {
				sum += mustSpeeds(t, m, rtx3090(t), a, b)[0].Value / float64(len(others)*len(others))
			}
		}
		return sum
	}
	off, was := worldOff(t, &honest, measured), mean(&honest)
	for _, lie := range []float64{1, 0.01} {
		m, rng := honest.Clone(), rand.New(rand.NewPCG(33, 1))
		for i := range 200 {
			o := made(measured[rng.IntN(8)], measured[rng.IntN(8)], rng)
			for k := range o.Set {
				o.Set[k], o.Speeds[k] = named(o.Set[k], fmt.Sprintf("liar-%d", (i+k)%8)), profile.Some(lie)
			}
			if err := m.Observe(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Refit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := worldOff(t, m, measured); got > off+0.01 {
			t.Errorf("lies of %v: the error on what was measured goes from %.4f to %.4f", lie, off, got)
		}
		if got := mean(m); got > was+0.1 || got < was-0.4 {
			t.Errorf("lies of %v: what nobody measured goes from %.3f to %.3f", lie, was, got)
		} else {
			t.Logf("lies of %v: what was measured is off by %.4f, was %.4f; what nobody measured is %.3f, was %.3f", lie, worldOff(t, m, measured), off, got, was)
		}
	}
}
