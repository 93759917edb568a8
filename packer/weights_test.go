package packer

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/profile"
)

var (
	problems = flag.Int("packer.problems", 300, "how many problems of TestWeightsFarApart to solve")
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
		o := drawOptions{tasks: 6, gpus: 5, kinds: 1 + rng.IntN(4), residents: 2, maxSet: 2, gangs: rng.IntN(2) == 0}
		small := rng.IntN(2) == 0
		if !small {
			o.tasks, o.gpus = 14, 9
		}
		p := draw(rng, o)
		scatter(rng, p)
		best := int64(0)
		if small {
			best = slowGangs(p)
		}
		for _, m := range []Method{Matching{}, Auto{}, LocalSearch{Steps: 20}, Greedy{}} {
			s := solve(t, m, p)
			got := units(p, s.Throughput)
			if s.Bound < s.Throughput || small && (got > best || !math.IsInf(s.Bound, 1) && units(p, s.Bound) < best) {
				t.Fatalf("problem %d, %T: %v, bound %v, the best plan has %d units", n, m, s.Throughput, s.Bound, best)
			}
			if m == (Matching{}) && small {
				compared++
				if got == best {
					exact++
				}
			}
		}
		if p.Limits.MaxSet = 3; !o.gangs {
			solve(t, ColumnGen{Steps: 20}, p)
		}
	}
	t.Logf("matching optimal in %d of %d", exact, compared)
}

// scatter draws weights: over 18 orders of magnitude, or two sorts of them so far
// apart.
func scatter(rng *rand.Rand, p *Problem) {
	apart := rng.Float64() * 9
	weigh := func(t *Task) {
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
		weigh = func(t *Task) { t.Weight = math.Pow(10, 18*rng.Float64()-9) }
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

// lightAndHeavy is one heavy task and five of another weight on two kinds of GPU.
func lightAndHeavy(light float64) *Problem {
	p := &Problem{Model: even{1, 0.8}, GPUs: []GPU{{ID: "a", Memory: 40 * profile.GiB}, {ID: "v", Memory: 16 * profile.GiB}}}
	for i := range 6 {
		w := light
		if i == 0 {
			w = 1
		}
		p.Tasks = append(p.Tasks, Task{ID: fmt.Sprint("t", i), Weight: w, Memory: profile.GiB})
	}
	return p
}

// TestLightTasksOnTwoKinds: prices below 64 units are found.
func TestLightTasksOnTwoKinds(t *testing.T) {
	for _, light := range []float64{6e-5, 3e-5, 1.0 / (1 << 16), 1e-6, 1e-9} {
		p := lightAndHeavy(light)
		for _, m := range []Method{Matching{}, Auto{}} {
			s := solve(t, m, p)
			if got, want := units(p, s.Throughput), slowGangs(p); got != want || s.Gap() > 1e-4 {
				t.Errorf("light weight %g, %T: %d of %d units, gap %g", light, m, got, want, s.Gap())
			}
		}
	}
}

// TestPoliciesOnTwoKinds: the weights of the package's own policies make plans.
func TestPoliciesOnTwoKinds(t *testing.T) {
	for _, policy := range []Policy{ShortestFirst{}, AlphaFair{}} {
		accounts := []Account{{Age: 240 * time.Hour}}
		for range 5 {
			accounts = append(accounts, Account{Age: 240 * time.Hour, Attained: 72 * time.Hour, Remaining: profile.Some(72 * time.Hour)})
		}
		p := lightAndHeavy(1)
		for i, w := range Weights(policy, accounts) {
			p.Tasks[i].Weight = w
		}
		if s := solve(t, Auto{}, p); s.Gap() > 1e-4 {
			t.Errorf("%T: gap %g", policy, s.Gap())
		}
	}
}

// TestSessionLightTasks: a burst, and a look at everything, end as well.
func TestSessionLightTasks(t *testing.T) {
	p := lightAndHeavy(1e-6)
	s, err := NewSession(p.GPUs, p.Model, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ArriveAll(t.Context(), p.Tasks); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rebalance(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if running, _ := s.Tasks(); running < 2 {
		t.Errorf("%d run on 2 GPUs", running)
	}
}
