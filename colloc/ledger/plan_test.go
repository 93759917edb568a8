package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

func TestPlanClaims(t *testing.T) {
	plan := &colloc.Plan{Placements: []colloc.Placement{
		{GPU: "b", Members: []colloc.Member{{Task: "r", Resident: true, Reserved: 1}, {Task: "y", Reserved: 20}}},
		{GPU: "a", Members: []colloc.Member{{Task: "x", Reserved: 10}}},
	}}
	x, y := sized("x", 0), hermit("y", 5)
	got, err := ledger.Claims(plan, []colloc.Task{x, y, sized("waits", 1)})
	if err != nil {
		t.Fatal(err)
	}
	x.Reserved, y.Reserved = 10, 20
	want := []ledger.Claim{{Task: y, GPU: "b"}, {Task: x, GPU: "a"}}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameProfile)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ledger.Claims(plan, []colloc.Task{x}); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}

// What the Planner plans on a snapshot the Ledger grants, to the last byte, with
// foreign memory and overuse in the books; and a second round builds on it.
func TestPlanOnSnapshot(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{card("a"), card("b"), card("c")}})
	old := alone("old", 0.2, 4*profile.GiB)
	old.Reserved = 4 * profile.GiB
	mustCommit(t, l, ledger.Claim{Task: old, GPU: "a"})
	l.Reconcile([]ledger.Usage{
		{GPU: "a", Processes: []ledger.Process{process(1, "old", 6)}},
		{GPU: "b", Processes: []ledger.Process{process(2, "", 15)}},
	})
	planner := priorPlanner(t)
	for round := range 2 {
		var tasks []colloc.Task
		for i := range 4 {
			tasks = append(tasks, alone(fmt.Sprintf("task-%d-%d", round, i), 0.2, profile.Bytes(2+3*i)*profile.GiB))
		}
		s := l.Snapshot()
		plan, err := planner.Plan(context.Background(), tasks, s.GPUs)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := ledger.Claims(plan, tasks)
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 && len(claims) == 0 {
			t.Fatal("nothing was placed")
		}
		if len(claims) == 0 {
			continue
		}
		lease, err := l.Reserve(s.Version, claims...)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(lease); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range l.Snapshot().GPUs {
		free := g.Memory - profile.BytesOf(float64(g.Memory)*0.1)
		for _, r := range g.Residents {
			free -= r.Reserved
		}
		if free < 0 || len(g.Residents) > colloc.DefaultMaxSet {
			t.Errorf("GPU %s: %d tasks, %v over", g.ID, len(g.Residents), -free)
		}
	}
}

// priorPlanner predicts by rules of thumb alone.
func priorPlanner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(colloc.Config{Memory: &memory.Predictor{}, Interference: &interference.Predictor{}})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// card is an RTX 3090.
func card(id string) colloc.GPU {
	gpu, _ := profile.LookupGPU("RTX 3090")
	return colloc.GPU{ID: id, Model: gpu}
}
