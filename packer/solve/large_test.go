package solve

import (
	"context"
	"fmt"
	rand "math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// tied makes a problem in which groups of tasks are alike, so that whole blocks
// of pairs are worth the same: what measured speeds look like.
func tied(rng *rand.Rand, n, gpus, residents int) *packer.Problem {
	const kinds = 5
	m := &packtest.MatrixModel{N: n + residents, Table: make([]float64, (n+residents)*(n+residents))}
	var speed [kinds][kinds]float64
	for a := range speed {
		for b := range speed[a] {
			speed[a][b] = min(1, 0.4+0.1*float64(rng.IntN(9)))
		}
	}
	for i := range m.N {
		for j := range m.N {
			m.Table[i*m.N+j] = speed[i%kinds][j%kinds]
		}
	}
	p := packtest.BenchProblem(m, gpus)
	for r, t := range p.Tasks[n:] {
		p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprintf("r%03d", r), Memory: profile.GiB, Residents: []packer.Task{t}})
	}
	p.Tasks = p.Tasks[:n]
	return p
}

// TestMatchingProvesItself solves problems too large for brute force, some with
// many ties: the certificate must prove each exactly.
func TestMatchingProvesItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for round := range max(6, race.Fewer(40)) {
		n := 20 + rng.IntN(130)
		gpus, residents := rng.IntN(n), 0
		if round%3 == 0 {
			residents = rng.IntN(20)
		}
		p := tied(rng, n, gpus, residents)
		if round%2 == 0 {
			p = packtest.BenchProblem(packtest.BenchModel(t, "random", n), gpus)
		}
		for i := range p.Tasks {
			if round%5 == 0 {
				p.Tasks[i].Weight = float64(1 + rng.IntN(3))
			}
		}
		s := packtest.Solve(t, Matching{}, p)
		bound, err := s.Certificate.Verify(context.Background(), p)
		if err != nil || bound != s.Throughput || s.Bound != s.Throughput {
			t.Fatalf("round %d: %d tasks, %d GPUs: throughput %v, bound %v, verified %v, %v", round, n, gpus, s.Throughput, s.Bound, bound, err)
		}
	}
}

func TestMatchingOnMeasuredSpeeds(t *testing.T) {
	for _, w := range []string{"lucid", "gavel"} {
		t.Run(w, func(t *testing.T) {
			for _, gpus := range []int{60, 100, 150} {
				p := packtest.BenchProblem(packtest.BenchModel(t, w, 200), gpus)
				s := packtest.Solve(t, Matching{}, p)
				if bound, err := s.Certificate.Verify(context.Background(), p); err != nil || bound != s.Throughput {
					t.Errorf("%d GPUs: throughput %v, verified %v, %v", gpus, s.Throughput, bound, err)
				}
			}
		})
	}
}

func TestMatchingStopsAtTolerance(t *testing.T) {
	for _, tol := range []float64{1e-1, 1e-2, 1e-4} {
		for _, gpus := range []int{50, 100, 130} {
			p := packtest.BenchProblem(packtest.BenchModel(t, "random", 200), gpus)
			if s := packtest.Solve(t, Matching{Tol: tol}, p); s.Gap() > tol {
				t.Errorf("tolerance %v, %d GPUs: gap %v", tol, gpus, s.Gap())
			}
		}
	}
}

func TestToleranceAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range race.Fewer(600) {
		kinds := 1 + rng.IntN(2)
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 4, Kinds: kinds, Residents: 3 * rng.IntN(2), MaxSet: 2})
		tol := []float64{0.3, 0.03, 0.003}[rng.IntN(3)]
		s := packtest.Solve(t, Matching{Tol: tol}, p)
		if best := packtest.SlowBest(p); packtest.Units(p, s.Bound) < best || packtest.Units(p, s.Throughput) > best {
			t.Fatalf("throughput %v, bound %v, the best plan has %v", s.Throughput, s.Bound, float64(best)*p.Unit())
		}
		if kinds == 1 && s.Gap() > tol {
			t.Fatalf("%d tasks, %d GPUs: tolerance %v, gap %v", len(p.Tasks), len(p.GPUs), tol, s.Gap())
		}
		if g := packtest.Solve(t, Greedy{}, p); g.Throughput > s.Throughput {
			t.Fatalf("greedy %v beats matching %v", g.Throughput, s.Throughput)
		}
	}
}

func TestKindsCertifySmallGap(t *testing.T) {
	m := packtest.KindModel{MatrixModel: packtest.BenchModel(t, "random", 120), Kinds: 3}
	p := packtest.BenchProblem(m.MatrixModel, 20, 20, 20)
	p.Model = m
	if s := packtest.Solve(t, Matching{}, p); s.Gap() > 0.0005 {
		t.Errorf("gap %v", s.Gap())
	}
}

func TestVeryManyTasks(t *testing.T) {
	if race.Enabled {
		t.Skip("plans tens of thousands of tasks in one goroutine")
	}
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1, 0.8}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB}}}
	for i := range 100_000 {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i)})
	}
	s, err := Auto{}.Pack(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
	if len(s.Reasons) != len(p.Tasks)-4 {
		t.Errorf("%d reasons", len(s.Reasons))
	}
	if _, err := (Matching{}).Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), fmt.Sprint(len(p.Tasks), " tasks")) {
		t.Errorf("matching of %d tasks: %v", len(p.Tasks), err)
	}
}
