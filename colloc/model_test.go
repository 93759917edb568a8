package colloc_test

import (
	"context"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// recorder keeps the first problem that a Planner packs, and its solution.
type recorder struct {
	problem  packer.Problem
	solution *packer.Solution
}

func (r *recorder) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	s, err := solve.ColumnGen{}.Pack(ctx, p)
	if r.solution == nil {
		r.problem, r.solution = *p, s
	}
	return s, err
}

// TestBatchedSpeeds asks a plan's model for a row of pairs that is long enough to be
// divided, and for each pair by itself.
func TestBatchedSpeeds(t *testing.T) {
	rec := &recorder{}
	p := newPlanner(t, colloc.Config{Method: rec, MaxSet: 2})
	v100 := colloc.GPU{ID: "v", Model: gpuModel(t, "V100")}
	if _, err := p.Plan(t.Context(), crowd(t, race.Fewer(350)), []colloc.GPU{card(t, "g"), v100}); err != nil {
		t.Fatal(err)
	}
	batch, ok := rec.problem.Model.(packer.BatchModel)
	if !ok {
		t.Fatal("the model of a plan asks for one pair at a time")
	}
	var all []*packer.Task
	for i := range rec.problem.Tasks {
		all = append(all, &rec.problem.Tasks[i])
	}
	own, other, want := make([]float64, len(all)), make([]float64, len(all)), make([]float64, 2)
	for g := range rec.problem.GPUs {
		gpu := &rec.problem.GPUs[g]
		if err := batch.PairSpeeds(all[3], all, gpu, profile.TimeSlice, own, other); err != nil {
			t.Fatal(err)
		}
		for i, partner := range all {
			if err := batch.Speeds([]*packer.Task{all[3], partner}, gpu, profile.TimeSlice, want); err != nil {
				t.Fatal(err)
			}
			if own[i] != want[0] || other[i] != want[1] {
				t.Fatalf("%s beside %s on %s: %v and %v in a row, %v by themselves", all[3].ID, partner.ID, gpu.ID, own[i], other[i], want)
			}
		}
		if err := batch.PairSpeeds(all[3], all, gpu, profile.Exclusive, own, other); err == nil {
			t.Error("pairs by a mechanism that shares nothing are no error")
		}
	}
}
