package pairs

import (
	"slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
	"example.com/colloc/profile"
)

// TestPolishLeavesNothing: skipping slots that did not change misses no exchange.
func TestPolishLeavesNothing(t *testing.T) {
	in := packtest.NewInstance(t, packtest.BenchProblem(packtest.BenchModel(t, "random", 80), 30))
	table, err := newTable(t.Context(), instance.NewEvaluator(in))
	if err != nil {
		t.Fatal(err)
	}
	pl, err := start.Greedy(t.Context(), in, table)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(table, pl)
	l.polish(t.Context())
	for s := range l.tasks {
		for u := range s {
			if l.exchange(u, s) {
				t.Errorf("slots %d and %d could gain by an exchange", u, s)
			}
		}
	}
}

// TestSeatAtHome: a set is seated where its members save most by staying; of two that want
// one GPU the one that saves more has it, and others go first where nobody is at home.
func TestSeatAtHome(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, Limits: packer.Limits{MaxSet: 2}}
	for _, id := range []string{"g0", "g1", "g2", "g3", "g4"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
	}
	p.Tasks = []packer.Task{
		{ID: "a", Home: "g2", MoveCost: 0.2},
		{ID: "b", Home: "g3", MoveCost: 0.3},
		{ID: "c", Home: "g2", MoveCost: 0.4},
		{ID: "d"},
		{ID: "e", Home: "g0", MoveCost: 0.1},
	}
	in := packtest.NewInstance(t, p)
	tab, err := newTable(t.Context(), instance.NewEvaluator(in))
	if err != nil {
		t.Fatal(err)
	}
	l := emptyLayout(tab)
	l.seat([]placed{{a: 3, b: none}, {a: 0, b: 1}, {a: 2, b: none}, {a: 4, b: none}})
	if got, want := l.plan().Gpu, []int32{3, 3, 2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("the tasks are on %v, want %v", got, want)
	}
}
