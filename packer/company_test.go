package packer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// sociable is a model in which company may help: every set has speeds of its own, up
// to 1.5, and a task may be slow alone.
type sociable struct{ hashModel }

func (s sociable) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	var ids strings.Builder
	for _, t := range set {
		ids.WriteString(t.ID)
	}
	for i, t := range set {
		dst[i] = 0.05 + 1.5*s.hash(ids.String(), "|", t.ID, fmt.Sprint(gpu.memory()), mech.String())
	}
	return nil
}

// TestColumnGenWhereCompanyHelps: where sets may be worth more than all their parts,
// repairs find the best plan on vacant GPUs, too.
func TestColumnGenWhereCompanyHelps(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	const rounds = 600
	for range rounds {
		p := &Problem{Model: sociable{hashModel{seed: rng.Uint64()}}, Limits: Limits{MaxSet: 3}}
		for i := range 2 {
			p.Tasks = append(p.Tasks, Task{ID: fmt.Sprint("t", i), MinSpeed: float64(rng.IntN(2)) * 0.5 * rng.Float64()})
		}
		for g := range 2 {
			p.GPUs = append(p.GPUs, GPU{ID: fmt.Sprint("g", g), Memory: profile.Bytes(10+rng.IntN(2)) * profile.GiB})
		}
		s := solve(t, ColumnGen{Steps: 20}, p)
		if got, best := units(p, s.Throughput), slowBest(p); got != best {
			t.Fatalf("%d of %d units: %+v", got, best, s.Sets)
		}
	}
}
