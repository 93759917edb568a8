package main

import (
	"fmt"
	"math/rand/v2"

	"example.com/colloc/packer"
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
}

const smallGPU = profile.GiB

// cases returns all rows for tables drawn from the sources. scale divides the
// numbers of tasks, for tests.
func cases(from []source, scale int) []benchCase {
	var out []benchCase
	for i := range from {
		s := &from[i]
		for _, n := range []int{100, 1000, 2000} {
			out = append(out, benchCase{
				name: fmt.Sprintf("exact pairs/%s/n=%d", s.name, n), method: packer.Matching{}, large: n > 1000, pairs: true,
				problem: func() *packer.Problem { return packProblem(drawn(s, n/scale), 2, n/scale/2) },
			})
		}
		out = append(out, benchCase{
			name: fmt.Sprintf("pairs within 0.15%%/%s/n=5000", s.name), method: packer.Matching{Tol: 0.0015}, large: true,
			problem: func() *packer.Problem { return packProblem(drawn(s, 5000/scale), 2, 2500/scale) },
		}, benchCase{
			name: fmt.Sprintf("pairs, 3 kinds of GPU/%s/n=600", s.name), method: packer.Matching{},
			problem: func() *packer.Problem { return packProblem(drawn(s, 600/scale), 2, 100/scale, 100/scale, 100/scale) },
		})
		for k := 3; k <= 4; k++ {
			problem := func() *packer.Problem { return packProblem(drawn(s, 100/scale), k, (100/scale+k-1)/k) }
			out = append(out, benchCase{
				name: fmt.Sprintf("sets of %d, search/%s/n=100", k, s.name), method: packer.LocalSearch{},
				problem: problem, bound: packer.ColumnGen{Tol: 0.01},
			}, benchCase{
				name: fmt.Sprintf("sets of %d, proved/%s/n=100", k, s.name), method: packer.ColumnGen{}, problem: problem,
			})
		}
		out = append(out, benchCase{
			name: fmt.Sprintf("sets of 4, 56 types/%s/n=10000", s.name), method: packer.ColumnGen{},
			problem: func() *packer.Problem { return typedProblem(s, 10_000/scale, 2_000/scale) },
		})
	}
	return out
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
