package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// benchCase is one row of the table.
type benchCase struct {
	name    string
	problem func() *packer.Problem
	method  packer.Method
	large   bool // left out by -quick
	pairs   bool // LEMON can solve it
	// bound proves a gap where the method does not.
	bound packer.Method
	must  limits
}

// limits are the most that a case may need. Without a time there are none.
type limits struct {
	time   time.Duration
	gap    float64       // per cent
	memory profile.Bytes // allocated in all; 0: any
}

// cases returns all rows for tables drawn from the sources. scale divides the
// numbers of tasks, for tests.
func cases(from []source, scale int) []benchCase {
	var out []benchCase
	for i := range from {
		out = append(append(out, pairCases(&from[i], scale)...), setCases(&from[i], scale)...)
	}
	return out
}

// pairCases have at most two tasks on a GPU.
func pairCases(s *source, scale int) []benchCase {
	var out []benchCase
	for _, exact := range []struct {
		n    int
		most time.Duration
	}{{100, 1500 * time.Microsecond}, {1000, 60 * time.Millisecond}, {2000, 400 * time.Millisecond}} {
		n := exact.n / scale
		out = append(out, benchCase{
			name: fmt.Sprintf("exact pairs/%s/n=%d", s.name, exact.n), method: solve.Matching{}, must: limits{time: exact.most},
			problem: func() *packer.Problem { return packProblem(drawn(s, n), 2, n/2) }, large: exact.n > 1000, pairs: true,
		})
	}
	return append(out, benchCase{
		name: fmt.Sprintf("pairs within 0.15%%/%s/n=5000", s.name), method: solve.Matching{Tol: 0.0015}, large: true,
		problem: func() *packer.Problem { return packProblem(drawn(s, 5000/scale), 2, 2500/scale) },
		must:    limits{time: 1500 * time.Millisecond, gap: 0.15},
	}, benchCase{
		name: fmt.Sprintf("pairs, 3 kinds of GPU/%s/n=600", s.name), method: solve.Matching{},
		problem: func() *packer.Problem { return packProblem(drawn(s, 600/scale), 2, 100/scale, 100/scale, 100/scale) },
		must:    limits{time: time.Second, gap: 0.05},
	})
}

// setCases have more.
func setCases(s *source, scale int) []benchCase {
	var out []benchCase
	for k := 3; k <= 4; k++ {
		problem := func() *packer.Problem { return packProblem(drawn(s, 100/scale), k, (100/scale+k-1)/k) }
		search := benchCase{
			name: fmt.Sprintf("sets of %d, search/%s/n=100", k, s.name), method: solve.LocalSearch{},
			problem: problem, bound: solve.ColumnGen{Tol: 0.01}, must: limits{time: 20 * time.Millisecond, gap: 1},
		}
		proved := benchCase{name: fmt.Sprintf("sets of %d, proved/%s/n=100", k, s.name), method: solve.ColumnGen{}, problem: problem}
		if k == 3 {
			proved.must = limits{time: 2 * time.Second, gap: 1}
		}
		out = append(out, search, proved)
	}
	return append(out, benchCase{
		name: fmt.Sprintf("sets of 4, 56 types/%s/n=10000", s.name), method: solve.ColumnGen{},
		problem: func() *packer.Problem { return typedProblem(s, 10_000/scale, 2_000/scale) },
		must:    limits{time: 3 * time.Second, gap: 0.1, memory: profile.GiB},
	})
}

// packProblem has the jobs of m as tasks on so many GPUs of each kind.
func packProblem(m *table, maxSet int, gpus ...int) *packer.Problem {
	p := &packer.Problem{Model: m, Limits: packer.Limits{MaxSet: maxSet}}
	for i := range m.n {
		prof := &profile.Profile{}
		prof.Spec.Training.BatchSize = i
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprintf("t%05d", i), Profile: prof})
	}
	for k, n := range gpus {
		for i := range max(1, n) {
			p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprintf("g%d-%05d", k, i), Memory: profile.Bytes(k+1) * smallGPU})
		}
	}
	return p
}

// typedProblem has n tasks of 56 types, with memory, on GPUs with sets of four.
func typedProblem(s *source, n, gpus int) *packer.Problem {
	const types = 56
	types56 := packProblem(drawn(s, types), 4, gpus)
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range types56.Tasks {
		types56.Tasks[i].Memory = profile.Bytes(1+rng.IntN(9)) * smallGPU / 26
	}
	p := *types56
	p.Tasks = nil
	for i := range n {
		t := types56.Tasks[rng.IntN(types)]
		t.ID = fmt.Sprintf("t%06d", i)
		p.Tasks = append(p.Tasks, t)
	}
	return &p
}
