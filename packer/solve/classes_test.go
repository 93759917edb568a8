package solve

import (
	"math"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestClassesInOrder: what the highest class gets is the best that it could have if
// there were nobody else, by a search of all plans, and Check accepts the whole. One
// class gets what the Method gives it.
func TestClassesInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	joined := 0
	for range race.Fewer(400) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 4, Kinds: 1, Residents: 2, MaxSet: 2})
		high := make(map[string]bool)
		alone := *p
		alone.Tasks = nil
		for i := range p.Tasks {
			if rng.IntN(2) == 0 {
				high[p.Tasks[i].ID] = true
				alone.Tasks = append(alone.Tasks, p.Tasks[i])
			}
		}
		s := packtest.Solve(t, Classes{Class: func(task *packer.Task) int {
			if high[task.ID] {
				return 3
			}
			return -1
		}}, p)
		if !math.IsInf(s.Bound, 1) {
			t.Fatalf("bound %v of a plan of which nothing is proven", s.Bound)
		}
		for k := range s.Sets {
			mixed := 0
			for _, i := range s.Sets[k].Tasks {
				if high[p.Tasks[i].ID] {
					mixed |= 1
				} else {
					mixed |= 2
				}
			}
			if mixed == 3 {
				joined++
			}
		}
		if got, want := highValue(t, p, s, high), float64(packtest.SlowBest(&alone))*alone.Unit(); math.Abs(got-want) > 1e-4 {
			t.Fatalf("the highest class gets %v, could have %v", got, want)
		}
		if one, m := packtest.Solve(t, Classes{Class: func(*packer.Task) int { return 7 }}, p), packtest.Solve(t, Auto{}, p); one.Throughput != m.Throughput {
			t.Fatalf("one class gets %v, without classes %v", one.Throughput, m.Throughput)
		}
	}
	if joined == 0 {
		t.Error("no task of the lower class joined one of the higher")
	}
}

// highValue is what the plan is worth without the tasks of the lower class.
func highValue(t *testing.T, p *packer.Problem, s *packer.Solution, high map[string]bool) float64 {
	t.Helper()
	sum := int64(0)
	where := make(map[int][]*packer.Task)
	for k := range s.Sets {
		g := s.Sets[k].GPU
		for i := range p.GPUs[g].Residents {
			where[g] = append(where[g], &p.GPUs[g].Residents[i])
		}
		for _, i := range s.Sets[k].Tasks {
			if high[p.Tasks[i].ID] {
				where[g] = append(where[g], &p.Tasks[i])
			}
		}
	}
	for g := range p.GPUs {
		v, ok := packtest.SlowValue(p, &p.GPUs[g], where[g])
		if !ok {
			t.Fatalf("without the lower class GPU %d is not allowed", g)
		}
		sum += v
	}
	return float64(sum) * p.Unit()
}

// TestClassesWithHomesAndGangs: Check accepts every plan, also where GPUs differ in pace.
func TestClassesWithHomesAndGangs(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for n := range race.Fewer(300) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 9, GPUs: 6, Kinds: 2, Residents: 2, MaxSet: 1 + n%3, Homes: n%2 == 0, Gangs: n%2 == 1})
		if n%4 == 0 { // a gang of a higher class may take the home of one of a lower
			for i := range p.Tasks {
				if p.Tasks[i].Home == "" {
					p.Tasks[i].GPUs = rng.IntN(4)
				}
			}
		}
		if n%5 < 2 {
			p = packtest.Paced(rng, p)
		}
		packtest.Solve(t, Classes{Class: func(task *packer.Task) int { return int(task.ID[len(task.ID)-1]) % 3 }}, p)
	}
}

func TestClassesNeedsClass(t *testing.T) {
	if s, err := (Classes{}).Pack(t.Context(), &packer.Problem{Limits: packer.Limits{MaxSet: 2}}); s != nil || err == nil {
		t.Errorf("got %v, %v", s, err)
	}
}

// paceOf is a model of paces by task, in which two share at a speed of 0.8 each.
type paceOf map[string]float64

func (paceOf) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = []float64{0, 1, 0.8}[len(set)]
	}
	return nil
}

func (m paceOf) Pace(t *packer.Task, _ *packer.GPU) float64 { return m[t.ID] }

// TestClassesCountThePace: whether a task joins one of a higher class depends on what both
// are worth on that GPU.
func TestClassesCountThePace(t *testing.T) {
	for _, test := range []struct {
		name   string
		weight float64 // of the task of the higher class; the other's is 1
		pace   paceOf
		want   int // tasks that run
	}{
		{"as much as each other", 1, paceOf{"high": 1, "low": 1}, 2},
		{"as much, for it is slow and heavy", 4, paceOf{"high": 0.25, "low": 1}, 2},
		{"much less than the other alone", 1, paceOf{"high": 0.05, "low": 1}, 1},
		{"much more than the other", 1, paceOf{"high": 1, "low": 0.05}, 1},
	} {
		p := &packer.Problem{
			Limits: packer.Limits{MaxSet: 2},
			Model:  test.pace, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}},
			Tasks: []packer.Task{{ID: "high", Weight: test.weight}, {ID: "low"}},
		}
		s := packtest.Solve(t, Classes{Class: func(task *packer.Task) int { return len(task.ID) }}, p)
		if len(s.Sets) != 1 || len(s.Sets[0].Tasks) != test.want {
			t.Errorf("%s: %+v, want %d tasks", test.name, s.Sets, test.want)
		}
	}
}
