package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestPlace: where a task goes, and how each refusal is told apart.
func TestPlace(t *testing.T) {
	p := priorPlanner(t)
	gpus := []colloc.GPU{card("a"), card("b"), card("c")}
	gpus[2].Labels = []string{"big"}
	l, _ := newLedger(t, ledger.Config{GPUs: gpus})
	place := func(task colloc.Task, gpus ...string) (ledger.Placed, error) {
		t.Helper()
		placed, err := l.Place(t.Context(), p, task, gpus...)
		if err == nil {
			err = l.Commit(placed.Lease)
		}
		return placed, err
	}
	on := sized("on", profile.GiB)
	on.On = []string{"big"}
	pair := hermit("pair", profile.GiB)
	pair.GPUs = 2
	for _, tt := range []struct {
		task colloc.Task
		view []string
		want []string
	}{
		{on, nil, []string{"c"}},
		{hermit("alone", profile.GiB), []string{"b", "a"}, []string{"a"}},
		{sized("joins", profile.GiB), []string{"a", "c"}, []string{"c"}},
	} {
		placed, err := place(tt.task, tt.view...)
		if err != nil || !slices.Equal(placed.GPUs, tt.want) || placed.Tries != 1 || !placed.Verdict.Fits {
			t.Errorf("%s: %+v, %v; want %v", tt.task.ID, placed, err, tt.want)
		}
	}
	var no *ledger.UnplacedError
	if _, err := place(pair); !errors.As(err, &no) || !errors.Is(err, ledger.ErrFull) || errors.Is(err, ledger.ErrConflict) || no.Verdict.Code != packer.TooFewGPUs {
		t.Errorf("a gang of two with one card left: %v, %+v", err, no)
	}
	if err := l.AddGPU(card("d")); err != nil {
		t.Fatal(err)
	}
	if placed, err := place(pair); err != nil || !slices.Equal(placed.GPUs, []string{"b", "d"}) {
		t.Errorf("a gang of two: %+v, %v", placed, err)
	}
	if _, err := place(sized("late", profile.GiB), "a", "b"); !errors.Is(err, ledger.ErrFull) || !errors.As(err, &no) || no.Verdict.Code != packer.MustBeAlone || no.Verdict.Other != "alone" {
		t.Errorf("nobody may be joined: %v, %+v", err, no)
	}
	if _, err := place(on); !errors.Is(err, ledger.ErrDuplicate) {
		t.Errorf("a task that is there: %v", err)
	}
	if _, err := place(sized("x", 1), "a", "nowhere"); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("an unknown card: %v", err)
	}
	if _, err := place(sized("x", 1), "a", "a"); !errors.Is(err, ledger.ErrDuplicate) {
		t.Errorf("a card twice: %v", err)
	}
	if _, err := place(colloc.Task{ID: "bad", Reserved: -1}); len(colloc.Faults(err)) != 2 {
		t.Errorf("a faulty task: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Place(done, p, sized("x", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	none, _ := newLedger(t, ledger.Config{})
	if _, err := none.Place(t.Context(), p, sized("x", 1)); !errors.As(err, &no) || !strings.Contains(err.Error(), "there is no GPU") {
		t.Errorf("no cards: %v", err)
	}
	strict, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{{ID: "a", Model: card("a").Model}}, Headroom: profile.Some(0.5)})
	if _, err := strict.Place(t.Context(), p, sized("x", 15*profile.GiB)); !errors.As(err, &no) || no.Tries != 1 || !strings.Contains(err.Error(), "stricter") {
		t.Errorf("books that are stricter: %v", err)
	}
}

// meddler takes a card while a planner thinks, and leaves it before it thinks again.
type meddler struct {
	context.Context
	take, leave func()
	thought     bool
}

// Err is asked before the planner thinks and after.
func (m *meddler) Err() error {
	if m.thought {
		m.take()
	} else {
		m.leave()
	}
	m.thought = !m.thought
	return m.Context.Err()
}

// TestPlaceGivesUp: where others are faster each time, the refusal says so and what came between.
func TestPlaceGivesUp(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{card("a"), card("b")}})
	m := &meddler{Context: t.Context()}
	taken := false
	m.take = func() {
		if !taken {
			mustCommit(t, l, ledger.Claim{GPU: "a", Task: hermit("other", profile.GiB)})
		}
		taken = true
	}
	m.leave = func() {
		if taken && l.Release("other") != nil {
			t.Error("the other was not there")
		}
		taken = false
	}
	p := priorPlanner(t)
	task := sized("gang", profile.GiB)
	task.GPUs = 2
	var no *ledger.UnplacedError
	for range 2 { // who gives up is in nobody's way
		if _, err := l.Place(m, p, task); !errors.As(err, &no) || no.Tries != ledger.MaxTries || !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%+v, want a conflict after %d tries", err, ledger.MaxTries)
		}
	}
}

// TestPlaceGone: where a card leaves while the planner thinks, the next try does without it;
// who named the card is told.
func TestPlaceGone(t *testing.T) {
	for _, named := range [][]string{nil, {"a", "b", "c"}} {
		l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{card("a"), card("b"), card("c")}})
		m := &meddler{Context: t.Context(), leave: func() {}}
		m.take = func() { _, _ = l.RemoveGPU("a") } // the first time
		p := priorPlanner(t)
		task := sized("gang", profile.GiB)
		task.GPUs = 2
		placed, err := l.Place(m, p, task, named...)
		if named == nil && (err != nil || placed.Tries != 2 || !slices.Equal(placed.GPUs, []string{"b", "c"})) || named != nil && !errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("GPUs %q: %+v, %v", named, placed, err)
		}
	}
}

// TestPlaceGangVerdict: the verdict on a gang is that on a card where it goes.
func TestPlaceGangVerdict(t *testing.T) {
	small, large := bare("a", 10*profile.GiB), bare("b", 40*profile.GiB)
	other := bare("c", 40*profile.GiB)
	for _, g := range []*colloc.GPU{&large, &other} {
		g.Labels = []string{"large"}
	}
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{small, large, other}})
	task := sized("gang", profile.GiB)
	task.GPUs, task.On = 2, []string{"large"}
	placed, err := l.Place(t.Context(), priorPlanner(t), task)
	if err != nil || !slices.Equal(placed.GPUs, []string{"b", "c"}) || !placed.Verdict.Fits || placed.Verdict.Free < 30*profile.GiB {
		t.Errorf("%+v, %v, want what is free on a card of 40 GiB", placed, err)
	}
}

// TestPlaceFaultyGang: a Planner that goes on without what is at fault has nothing to
// go on with here.
func TestPlaceFaultyGang(t *testing.T) {
	p, err := colloc.New(colloc.Config{LeaveOutFaulty: true})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{card("a"), card("b")}})
	task := sized("x", profile.GiB)
	task.GPUs, task.MaxSlowdown = 2, 0.5
	var fault *colloc.FaultError
	if _, err := l.Place(t.Context(), p, task); !errors.As(err, &fault) || fault.Task != "x" || fault.Field != "MaxSlowdown" {
		t.Errorf("error is %v, want one about MaxSlowdown of x", err)
	}
}

// TestPlaceAtOnce: many schedulers place and release tasks of three tenants at once,
// each with a name of its own; some look at a part of the cards. Nothing is lost, no
// card is over its limits, and no two tenants meet. Whoever is refused for good found
// every place taken.
func TestPlaceAtOnce(t *testing.T) {
	p := priorPlanner(t)
	const schedulers, rounds = 8, 30
	var gpus []colloc.GPU
	for i := range 6 {
		gpus = append(gpus, card(fmt.Sprintf("gpu-%d", i)))
	}
	l, _ := newLedger(t, ledger.Config{GPUs: gpus})
	var wg sync.WaitGroup
	counts := make([]int, schedulers)
	for s := range schedulers {
		wg.Go(func() {
			var held []string
			for n := range rounds {
				task := sized(fmt.Sprintf("%d-%d", s, n), 7*profile.GiB)
				tenant := fmt.Sprint("tenant-", s%3)
				task.Labels, task.Only = []string{tenant}, []string{tenant}
				var view []string
				if n%3 == 0 {
					view = []string{"gpu-1", "gpu-4"}
				}
				placed, err := l.Place(t.Context(), p, task, view...)
				switch {
				case err == nil:
					counts[s]++
					held = append(held, task.ID)
					err = l.Commit(placed.Lease)
				case errors.Is(err, ledger.ErrFull):
					err = nil
				}
				checkTenants(t, l)
				if n%4 == 3 || err != nil {
					err = errors.Join(err, l.Release(held...))
					held = held[:0]
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			if err := l.Release(held...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if sum < rounds {
		t.Errorf("%d placed", sum)
	}
	if left := held(l); len(left) > 0 {
		t.Errorf("left in the books: %v", left)
	}
}

// checkTenants reports cards on which different tenants meet or too many tasks run.
func checkTenants(tb testing.TB, l *ledger.Ledger) {
	tb.Helper()
	for _, g := range l.Snapshot().GPUs {
		if len(g.Residents) > colloc.DefaultMaxSet {
			tb.Errorf("%s has %d tasks", g.ID, len(g.Residents))
		}
		for i := range g.Residents {
			if a, b := g.Residents[0].Labels[0], g.Residents[i].Labels[0]; a != b {
				tb.Errorf("%s: %s shares with %s", g.ID, a, b)
			}
		}
	}
}

// TestReserveLabels: the books keep tenants apart, whatever a scheduler decided, and
// say who is in the way.
func TestReserveLabels(t *testing.T) {
	gpu := card("a")
	gpu.Labels = []string{"node-1"}
	c := ledger.Config{GPUs: []colloc.GPU{gpu}}
	books, _ := newLedger(t, c)
	red := sized("red", profile.GiB)
	red.Labels, red.Only, red.On = []string{"red"}, []string{"red"}, []string{"node-1", "RTX3090"}
	red.Home, red.MoveCost, red.Kind, red.Priority = "a", 2, "net", 3
	red.Elsewhere = []*profile.Profile{{}}
	mustCommit(t, books, ledger.Claim{Task: red, GPU: "a"})
	if r := books.Snapshot().GPUs[0].Residents[0]; r.Home != "a" || r.MoveCost != 2 || r.Kind != "net" || r.Priority != 3 || len(r.Elsewhere) != 1 || !slices.Equal(r.On, red.On) {
		t.Errorf("the books have %+v", r)
	}
	blue, lost := sized("blue", profile.GiB), sized("lost", profile.GiB)
	blue.Labels, lost.Labels, lost.On = []string{"blue"}, []string{"red"}, []string{"node-2"}
	var refused *ledger.RefusedError
	_, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: blue, GPU: "a"})
	if !errors.As(err, &refused) || !errors.Is(err, ledger.ErrFull) || refused.Code != packer.Incompatible || refused.Other != "red" || !strings.Contains(err.Error(), `"red" do not go together`) {
		t.Errorf("another tenant: %v", err)
	}
	_, err = books.Reserve(books.Snapshot().Version, ledger.Claim{Task: lost, GPU: "a"})
	if !errors.As(err, &refused) || refused.Code != packer.WrongGPU || refused.Label != "node-2" || !strings.Contains(err.Error(), `label "node-2"`) {
		t.Errorf("another node: %v", err)
	}
	lost.On = nil
	if _, err := books.Reserve(books.Snapshot().Version, ledger.Claim{Task: lost, GPU: "a"}); err != nil {
		t.Errorf("the same tenant: %v", err)
	}
}
