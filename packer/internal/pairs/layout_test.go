package pairs

import (
	"testing"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
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
