package solve

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// fleet is a model of kinds of GPU that differ in pace by task, and in what company
// costs: the larger ones suffer less. Costs add up.
type fleet struct {
	*packtest.MatrixModel
	Paces [][]float64 // by kind and job
	Mild  []float64   // what company costs on each kind, as a part of the table
}

func kindOf(gpu *packer.GPU) int { return int(gpu.Total()/(8*profile.GiB)) - 1 }

// Speeds implements packer.Model.
func (m *fleet) Speeds(set []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, dst []float64) error {
	mild := m.Mild[kindOf(gpu)]
	for i, t := range set {
		row := m.Table[packtest.JobOf(t)*m.N : (packtest.JobOf(t)+1)*m.N]
		slowdown := 1.0
		for j, o := range set {
			if j != i {
				slowdown += mild * (1/row[packtest.JobOf(o)] - 1)
			}
		}
		dst[i] = 1 / slowdown
	}
	return nil
}

// PairSpeeds implements packer.BatchModel.
func (m *fleet) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, own, other []float64) error {
	i, mild := packtest.JobOf(task), m.Mild[kindOf(gpu)]
	for k, o := range partners {
		j := packtest.JobOf(o)
		own[k] = 1 / (1 + mild*(1/m.Table[i*m.N+j]-1))
		other[k] = 1 / (1 + mild*(1/m.Table[j*m.N+i]-1))
	}
	return nil
}

// Pace implements packer.PaceModel.
func (m *fleet) Pace(task *packer.Task, gpu *packer.GPU) float64 {
	return m.Paces[kindOf(gpu)][packtest.JobOf(task)]
}

// fleetProblem has n tasks of the given number of types, or each like no other if
// that is n, on gpus of as many kinds as equally many, whose paces go from 1 down to
// 1/20 or so.
func fleetProblem(tb testing.TB, weights string, n, types, gpus, kinds, maxSet int) *packer.Problem {
	tb.Helper()
	rng := rand.New(rand.NewPCG(17, uint64(n)))
	m := &fleet{MatrixModel: packtest.BenchModel(tb, weights, types)}
	bound := make([]float64, types) // by arithmetic rather than memory
	for i := range bound {
		bound[i] = rng.Float64()
	}
	for k := range kinds {
		depth := float64(kinds-1-k) / float64(max(1, kinds-1))
		row := make([]float64, types)
		for i := range row {
			row[i] = math.Exp(-depth * (1 + 2*bound[i]) * (0.8 + 0.4*rng.Float64()))
		}
		m.Paces, m.Mild = append(m.Paces, row), append(m.Mild, 1+0.3*depth)
	}
	p := &packer.Problem{Model: m, Limits: packer.Limits{MaxSet: maxSet}}
	profiles, memory := make([]*profile.Profile, types), make([]profile.Bytes, types)
	for i := range profiles {
		profiles[i] = &profile.Profile{}
		profiles[i].Spec.Training.BatchSize = i
		memory[i] = profile.Bytes(1+rng.IntN(6)) * profile.GiB
	}
	for i := range n {
		k := i
		if types < n {
			k = rng.IntN(types)
		}
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprintf("t%06d", i), Profile: profiles[k], Memory: memory[k]})
	}
	for g := range gpus {
		p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprintf("g%05d", g), Memory: profile.Bytes(8*(1+g%kinds)) * profile.GiB})
	}
	return p
}
