package ledger_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestBook: what runs is booked over every limit, nothing joins it, and a call that
// fails leaves no trace.
func TestBook(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 20*profile.GiB), bare("b", 20*profile.GiB), bare("c", 20*profile.GiB)}})
	pair := claim("b", "pair", profile.GiB)
	pair.Task.GPUs = 2
	other := pair
	other.GPU = "c"
	seen := l.Snapshot().Version
	if err := l.Book(claim("a", "x", 15*profile.GiB), claim("a", "y", 15*profile.GiB), ledger.Claim{GPU: "a", Task: hermit("z", 1)}, pair, other); err != nil {
		t.Fatal(err)
	}
	want := pages(l)
	if got := held(l); !slices.Equal(got["a"], []string{"x", "y", "z"}) || !slices.Equal(got["b"], []string{"pair"}) || !slices.Equal(got["c"], []string{"pair"}) {
		t.Errorf("booked %v", got)
	}
	var refused *ledger.RefusedError
	if _, err := l.Reserve(seen, claim("a", "new", 1)); !errors.As(err, &refused) || !refused.Stale || refused.Code != packer.MemoryLimit {
		t.Errorf("beside what is too much: %v", err)
	}
	if err := l.Book(claim("a", "x", 1), claim("b", "pair", 1)); err != nil || pages(l) != want {
		t.Errorf("booked again: %v", err)
	}
	for _, tt := range []struct {
		claim ledger.Claim
		err   error
	}{{claim("b", "x", 1), ledger.ErrDuplicate}, {claim("nowhere", "w", 1), ledger.ErrUnknown}} {
		if err := l.Book(claim("c", "fine", 1), tt.claim); !errors.Is(err, tt.err) || pages(l) != want {
			t.Errorf("%v: %v, want %v and the books as they were", tt.claim, err, tt.err)
		}
	}
	if err := l.Book(claim("c", "fine", 0)); err == nil {
		t.Error("a task without a reservation is booked")
	}
	if err := l.Release("x", "y", "z", "pair"); err != nil || len(held(l)) > 0 {
		t.Errorf("released: %v, left %v", err, held(l))
	}
}

// TestBookOpenLease: a scheduler that died between start and Commit tells what runs; its
// lease does not lapse while the task runs.
func TestBookOpenLease(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 40*profile.GiB)}, LeaseTime: time.Minute})
	running := claim("a", "x", 30*profile.GiB)
	mustReserve(t, l, running)
	if err := l.Book(running); err != nil {
		t.Fatal(err)
	}
	clock.Step(2 * time.Minute)
	if !slices.Equal(held(l)["a"], []string{"x"}) {
		t.Errorf("the books have %v", held(l))
	}
}

// TestChangeGPU: what runs stays, the old snapshot is out of date, and what the card
// offers from now on decides.
func TestChangeGPU(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 40*profile.GiB), bare("b", 40*profile.GiB)}})
	mustCommit(t, l, claim("a", "x", 20*profile.GiB))
	seen := l.Snapshot().Version
	small := bare("a", 10*profile.GiB)
	small.Labels = []string{"small"}
	if err := l.ChangeGPU(small, bare("b", 80*profile.GiB)); err != nil {
		t.Fatal(err)
	}
	now := l.Snapshot()
	if g := now.GPUs[0]; g.ID != "a" || g.Memory != 10*profile.GiB || !slices.Equal(g.Labels, small.Labels) || len(g.Residents) != 1 {
		t.Errorf("the card is %+v", g)
	}
	var refused *ledger.RefusedError
	if _, err := l.Reserve(seen, claim("b", "y", 60*profile.GiB)); !errors.As(err, &refused) || !refused.Changed || !errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrFull) {
		t.Errorf("on the old snapshot: %v", err)
	}
	if _, err := l.Reserve(now.Version, claim("b", "y", 60*profile.GiB)); err != nil {
		t.Errorf("on the new one: %v", err)
	}
	if _, err := l.Reserve(now.Version, claim("a", "z", 1)); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("on a card that is too full now: %v", err)
	}
	before := pages(l)
	for what, err := range map[string]error{
		"unknown":        l.ChangeGPU(bare("a", 1), bare("nowhere", 1)),
		"with residents": l.ChangeGPU(bare("a", 1), bare("b", 1, sized("x", 1))),
		"faulty":         l.ChangeGPU(bare("a", 1), bare("b", -1)),
	} {
		if err == nil || pages(l) != before || l.Snapshot().GPUs[0].Memory != 10*profile.GiB {
			t.Errorf("%s: %v, or the books changed", what, err)
		}
	}
}

// TestForeignResidents: what nobody registered shows up as a resident that the planner
// leaves alone unless it is told otherwise, and a decision made before it came is out
// of date.
func TestForeignResidents(t *testing.T) {
	c := ledger.Config{GPUs: []colloc.GPU{card("a")}, ForeignResidents: true}
	l, _ := newLedger(t, c)
	seen := l.Snapshot().Version
	if g := l.Snapshot().GPUs[0]; len(g.Residents) != 0 {
		t.Errorf("nobody is there, and the card shows %+v", g.Residents)
	}
	l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{process(1, "", 4)}}})
	var refused *ledger.RefusedError
	if _, err := l.Reserve(seen, claim("a", "early", 1)); !errors.As(err, &refused) || !refused.Changed || !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("decided before the foreigner came: %v", err)
	}
	g := l.Snapshot().GPUs[0]
	if len(g.Residents) != 1 || !g.Residents[0].Foreign || g.Residents[0].Reserved != 4*profile.GiB || g.Memory != c.GPUs[0].Total() {
		t.Fatalf("the card shows %+v", g)
	}
	task := sized("x", profile.GiB)
	if v, err := priorPlanner(t).Fit(task, g); err != nil || v.Code != packer.MustBeAlone || v.Other != "foreign processes on a" {
		t.Errorf("beside a foreigner: %v, %v", v, err)
	}
	open, err := colloc.New(colloc.Config{ShareForeign: true})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := open.Fit(sized("large", 18*profile.GiB), g); err != nil || v.Code != packer.MemoryLimit {
		t.Errorf("more than it leaves: %v, %v", v, err)
	}
	if v, err := open.Fit(task, g); err != nil || v.Code != 0 && v.Code != packer.SpeedLimit {
		t.Errorf("beside a foreigner, as the policy allows: %v, %v", v, err)
	}
	c.ForeignResidents = false
	quiet, _ := newLedger(t, c)
	quiet.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{process(1, "", 4)}}})
	bare := quiet.Snapshot().GPUs[0]
	if len(bare.Residents) != 0 || bare.Memory >= c.GPUs[0].Total() {
		t.Errorf("without residents for foreigners: %+v", bare)
	}
	if v, err := priorPlanner(t).Fit(task, bare); err != nil || !v.Fits {
		t.Errorf("without: %v, %v", v, err)
	}
}
