package interference

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/profile"
)

// TestShiftTwin: shift and likelihood are those of two least squares fits, one mean a type
// with and without a shift, found by descent along one parameter after the other.
func TestShiftTwin(t *testing.T) {
	type speed struct {
		typ, side int
		off       float64
	}
	fit := func(all []speed, types int, shifted bool) (shift, left float64) {
		mean := make([]float64, types)
		for range 5000 {
			sum, n := make([]float64, types), make([]float64, types)
			var after, afters float64
			for _, s := range all {
				n[s.typ]++
				sum[s.typ] += s.off - shift*float64(s.side)
				if s.side == 1 {
					after, afters = after+s.off-mean[s.typ], afters+1
				}
			}
			for i := range mean {
				mean[i] = sum[i] / max(1, n[i])
			}
			if shifted {
				shift = after / afters
			}
		}
		for _, s := range all {
			off := s.off - mean[s.typ] - shift*float64(s.side)
			left += off * off
		}
		return shift, left
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 40))
		const types = 4
		var all []speed
		compare := make([]compared, types+1) // the last is of one side alone
		compare[types] = compared{n: [2]float64{3, 0}, sum: [2]float64{9, 0}, squares: 30}
		for i := range 2 * types {
			for range 1 + rng.IntN(4) {
				s := speed{i / 2, i % 2, rng.NormFloat64() + float64(i/2) + 0.5*float64(i%2)}
				all = append(all, s)
				c := &compare[s.typ]
				c.n[s.side]++
				c.sum[s.side] += s.off
				c.squares += s.off * s.off
			}
		}
		_, without := fit(all, types, false)
		want, with := fit(all, types, true)
		shift, likely := shiftOf(compare)
		if likelier := float64(len(all)-types-1) / 4 * math.Log(without/with); math.Abs(shift-want) > 1e-6 || math.Abs(likely-likelier) > 1e-6 {
			t.Errorf("seed %d: shift %.4f, likelier by %.4f; want %.4f and %.4f", seed, shift, likely, want, likelier)
		}
	}
	if shift, likely := shiftOf([]compared{{n: [2]float64{4, 4}, sum: [2]float64{0, 4}, squares: 4}}); shift != 1 || math.IsInf(likely, 0) || likely < leastLikely {
		t.Errorf("without noise: shift %v, likelier by %v", shift, likely)
	}
}

// TestChanged: a world that changes is told from one that does not, whether tasks come mixed
// or one after the other, and from tasks that are slow and were not there before.
func TestChanged(t *testing.T) {
	base, _, obs := fittedWorld(t)
	const at, all = 30, 60
	slow := fakeTask(t, "slow", 64, 0.5, 0.2, 0.1)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 41))
		mixed := rng.Perm(len(obs))[:all]
		for _, w := range []struct {
			name string
			run  func(k int) Observation
			at   int
		}{
			{"mixed", func(k int) Observation { return obs[mixed[k]] }, 0},
			{"in turn", func(k int) Observation { return obs[k%len(obs)] }, 0},
			{"a new task", func(k int) Observation {
				o := obs[mixed[k]]
				if k >= at {
					o.Set = []*profile.Profile{slow, o.Set[1]}
					o.Speeds = []profile.Opt[float64]{profile.Some(0.2), o.Speeds[1]}
				}
				return o
			}, 0},
			{"a slower world", func(k int) Observation {
				o := obs[mixed[k]]
				if k < at {
					o.Speeds = []profile.Opt[float64]{profile.Some(0.6 * o.Speeds[0].Or(1)), profile.Some(0.6 * o.Speeds[1].Or(1))}
				}
				return o
			}, at},
		} {
			m := base.Clone()
			for k := range all {
				if err := m.Observe(w.run(k)); err != nil {
					t.Fatal(err)
				}
			}
			r, _ := m.load().regime("RTX3090", profile.TimeSlice)
			next, err := r.refitWhole(m.load().options)
			if err != nil {
				t.Fatal(err)
			}
			next.memory = r.memory
			if got := next.changed(); got < w.at-2 || got > w.at+2 {
				t.Errorf("seed %d, %s: changed at co-run %d, want %d", seed, w.name, got, w.at)
			}
		}
	}
}
