package solve

import (
	"flag"
	"fmt"
	"math"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

var (
	problems = flag.Int("packer.problems", race.Fewer(300), "how many problems of TestWeightsFarApart to solve")
	seed     = flag.Uint64("packer.seed", 1, "where TestWeightsFarApart begins")
)

// TestWeightsFarApart: weights over 18 orders of magnitude, one to four kinds of
// GPU, with gangs. Every method ends, no plan is worth more than its bound, no
// certificate proves less than the best plan has. There is no deadline: what
// hangs shows as the time-out of the test.
func TestWeightsFarApart(t *testing.T) {
	t.Logf("%d problems, seed %d", *problems, *seed)
	compared, exact := 0, 0
	for n := range *problems {
		rng := rand.New(rand.NewPCG(*seed, uint64(n)))
		o := packtest.DrawOptions{Tasks: 6, GPUs: 5, Kinds: 1 + rng.IntN(4), Residents: 2, MaxSet: 2, Gangs: rng.IntN(2) == 0}
		small := rng.IntN(2) == 0
		if !small {
			o.Tasks, o.GPUs = 14, 9
		}
		p := packtest.Draw(rng, o)
		scatter(rng, p)
		best := int64(0)
		if small {
			best = packtest.SlowGangs(p)
		}
		for _, m := range []packer.Method{Matching{}, Auto{}, LocalSearch{Steps: 20}, Greedy{}} {
			s := packtest.Solve(t, m, p)
			got := packtest.Units(p, s.Throughput)
			if s.Bound < s.Throughput || small && (got > best || !math.IsInf(s.Bound, 1) && packtest.Units(p, s.Bound) < best) {
				t.Fatalf("problem %d, %T: %v, bound %v, the best plan has %d units", n, m, s.Throughput, s.Bound, best)
			}
			if m == (Matching{}) && small {
				compared++
				if got == best {
					exact++
				}
			}
		}
		if p.Limits.MaxSet = 3; !o.Gangs {
			packtest.Solve(t, ColumnGen{Steps: 20}, p)
		}
	}
	t.Logf("matching optimal in %d of %d", exact, compared)
}

// scatter draws weights: over 18 orders of magnitude, or two sorts of them so far
// apart.
func scatter(rng *rand.Rand, p *packer.Problem) {
	apart := rng.Float64() * 9
	weigh := func(t *packer.Task) {
		switch rng.IntN(3) {
		case 0:
			t.Weight = 1
		case 1:
			t.Weight = math.Pow(10, -apart)
		default:
			t.Weight = math.Pow(10, 18*rng.Float64()-9)
		}
	}
	if rng.IntN(3) == 0 {
		weigh = func(t *packer.Task) { t.Weight = math.Pow(10, 18*rng.Float64()-9) }
	}
	for i := range p.Tasks {
		weigh(&p.Tasks[i])
	}
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			weigh(&p.GPUs[g].Residents[i])
		}
	}
}

// TestLightTasksOnTwoKinds: prices below 64 units are found.
func TestLightTasksOnTwoKinds(t *testing.T) {
	for _, light := range []float64{6e-5, 3e-5, 1.0 / (1 << 16), 1e-6, 1e-9} {
		p := lightAndHeavy(light)
		for _, m := range []packer.Method{Matching{}, Auto{}} {
			s := packtest.Solve(t, m, p)
			if got, want := packtest.Units(p, s.Throughput), packtest.SlowGangs(p); got != want || s.Gap() > 1e-4 {
				t.Errorf("light weight %g, %T: %d of %d units, gap %g", light, m, got, want, s.Gap())
			}
		}
	}
}

// lightAndHeavy is one heavy task and five of another weight on two kinds of GPU.
func lightAndHeavy(light float64) *packer.Problem {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1, 0.8}, GPUs: []packer.GPU{{ID: "a", Memory: 40 * profile.GiB}, {ID: "v", Memory: 16 * profile.GiB}}}
	for i := range 6 {
		w := light
		if i == 0 {
			w = 1
		}
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), Weight: w, Memory: profile.GiB})
	}
	return p
}
