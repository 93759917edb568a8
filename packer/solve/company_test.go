package solve

import (
	"fmt"
	rand "math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// sociable is a model in which company may help: every set has speeds of its own, up
// to 1.5, and a task may be slow alone.
type sociable struct{ packtest.HashModel }

func (s sociable) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	var ids strings.Builder
	for _, t := range set {
		ids.WriteString(t.ID)
	}
	for i, t := range set {
		dst[i] = 0.05 + 1.5*s.Hash(ids.String(), "|", t.ID, fmt.Sprint(gpu.Total()), mech.String())
	}
	return nil
}

// TestColumnGenWhereCompanyHelps: where sets may be worth more than all their parts,
// repairs find the best plan on vacant GPUs, too.
func TestColumnGenWhereCompanyHelps(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	rounds := race.Fewer(600)
	for range rounds {
		p := &packer.Problem{Model: sociable{packtest.HashModel{Seed: rng.Uint64()}}, Limits: packer.Limits{MaxSet: 3}}
		for i := range 2 {
			p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), MinSpeed: float64(rng.IntN(2)) * 0.5 * rng.Float64()})
		}
		for g := range 2 {
			p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprint("g", g), Memory: profile.Bytes(10+rng.IntN(2)) * profile.GiB})
		}
		s := packtest.Solve(t, ColumnGen{Steps: 20}, p)
		if got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p); got != best {
			t.Fatalf("%d of %d units: %+v", got, best, s.Sets)
		}
	}
}
