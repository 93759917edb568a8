package search

import (
	"context"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
)

// TestQuality: how near a hundred steps of annealing come to the best plans on the mean,
// beginning with Greedy's, and how near three hundred that take GPUs apart do. The bounds
// are those of ColumnGen. Other random numbers move the means by a tenth of a percent.
func TestQuality(t *testing.T) {
	problems := []struct {
		tasks, set int
		gpus       []int
		bound      float64
	}{{60, 3, []int{20}, 50.2699}, {60, 4, []int{8, 7}, 44.8985}, {60, 2, []int{20}, 38.8028}, {40, 3, []int{8, 8}, 35.6418}}
	for _, way := range []struct {
		name    string
		improve func(*Search, context.Context, int) error
		steps   int
		gap     float64
	}{
		{"annealing", (*Search).Anneal, 100, 0.009},
		{"taking apart", (*Search).TakeApart, 300, 0.039},
	} {
		sum, count := 0.0, 0
		for _, p := range problems {
			for seed := range uint64(max(1, race.Fewer(4))) {
				s := fromGreedy(t, p.tasks, p.set, seed, p.gpus...)
				if err := way.improve(s, t.Context(), way.steps); err != nil {
					t.Fatal(err)
				}
				sum += 1 - float64(s.total())/instance.Resolution/p.bound
				count++
			}
		}
		if gap := sum / float64(count); gap > way.gap && !race.Enabled { // fewer seeds are further apart
			t.Errorf("%s: a gap of %.4f, want at most %.4f", way.name, gap, way.gap)
		}
	}
}

// fromGreedy begins a search of a drawn problem with Greedy's plan.
func fromGreedy(t *testing.T, tasks, set int, seed uint64, gpus ...int) *Search {
	t.Helper()
	m := packtest.BenchModel(t, "random", tasks)
	p := packtest.BenchProblem(m, gpus...)
	if len(gpus) > 1 {
		p.Model = packtest.KindModel{MatrixModel: m, Kinds: len(gpus)}
	}
	p.Limits.MaxSet = set
	in := packtest.NewInstance(t, p)
	e := instance.NewEvaluator(in)
	pl, err := start.Greedy(t.Context(), in, e)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(e, pl, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
