package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// gang claims so many bytes of each GPU for one task.
func gang(id string, reserved profile.Bytes, gpus ...string) []ledger.Claim {
	var claims []ledger.Claim
	for _, g := range gpus {
		c := claim(g, id, reserved)
		c.Task.GPUs = len(gpus)
		claims = append(claims, c)
	}
	return claims
}

// TestGang: a gang is on all its GPUs or none, under one ID, until it is
// released, and shares each as any other task does.
func TestGang(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100), bare("c", 100)}, MaxSet: 3})
	part := gang("train", 10, "a", "b", "c")[:2]
	if _, err := l.Reserve(l.Snapshot().Version, part...); err == nil || !strings.Contains(err.Error(), "2 claims for 3 GPUs") {
		t.Errorf("two claims of three: %v", err)
	}
	if _, err := l.Reserve(l.Snapshot().Version, gang("two", 10, "a", "b")[:1]...); err == nil || !strings.Contains(err.Error(), "1 claims for 2 GPUs") {
		t.Errorf("one claim of two: %v", err)
	}
	twice := gang("train", 10, "a", "b", "b")
	if _, err := l.Reserve(l.Snapshot().Version, twice...); !errors.Is(err, ledger.ErrDuplicate) {
		t.Errorf("a GPU twice: %v", err)
	}
	if _, err := l.Reserve(l.Snapshot().Version, gang("train", 91, "a", "b", "c")...); !errors.Is(err, ledger.ErrFull) || len(held(l)) != 0 {
		t.Errorf("too large: %v, books %v", err, held(l))
	}
	lease := mustReserve(t, l, append(gang("train", 10, "a", "b"), gang("twin", 20, "a", "b")...)...)
	clock.Step(2 * ledger.DefaultLeaseTime)
	if err := l.Commit(lease); !errors.Is(err, ledger.ErrLeaseOver) || len(held(l)) != 0 {
		t.Errorf("an old lease: %v, books %v", err, held(l))
	}
	mustCommit(t, l, gang("train", 10, "a", "b")...)
	mustCommit(t, l, claim("a", "one", 1))
	mustCommit(t, l, gang("late", 1, "b", "c")...)
	want := map[string][]string{"a": {"train", "one"}, "b": {"train", "late"}, "c": {"late"}}
	var refused *ledger.RefusedError
	hermit := gang("hermit", 1, "c", "a")
	hermit[0].Task.Alone, hermit[1].Task.Alone = true, true
	for code, claims := range map[packer.ReasonCode][]ledger.Claim{packer.MemoryLimit: gang("large", 85, "b", "c"), packer.MustBeAlone: hermit} {
		if _, err := l.Reserve(l.Snapshot().Version, claims...); !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("joining a gang: %v", err)
		}
	}
	if _, err := l.Reserve(l.Snapshot().Version, gang("train", 1, "c", "a")...); !errors.Is(err, ledger.ErrDuplicate) {
		t.Errorf("the same gang again: %v", err)
	}
	if diff := cmp.Diff(want, held(l)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
	again, _ := newLedger(t, ledger.Config{GPUs: l.Snapshot().GPUs})
	for _, books := range []*ledger.Ledger{l, again} {
		if err := errors.Join(books.Release("train"), books.Release("late"), books.Release("one")); err != nil || len(held(books)) != 0 {
			t.Errorf("released: %v, books %v", err, held(books))
		}
	}
}

// TestPlanOfGang: what is planned can be claimed as it is.
func TestPlanOfGang(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{card("a"), card("b"), card("c")}})
	train, one := alone("train", 0.5, profile.GiB), alone("one", 0.5, profile.GiB)
	train.GPUs, train.Alone = 2, true
	tasks := []colloc.Task{train, one}
	s := l.Snapshot()
	plan, err := priorPlanner(t).Plan(context.Background(), tasks, s.GPUs)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := ledger.Claims(plan, tasks)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := l.Reserve(s.Version, claims...)
	if err != nil || len(claims) != 3 {
		t.Fatal(len(claims), err)
	}
	if err := l.Commit(lease); err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, list := range held(l) {
		for _, id := range list {
			count[id]++
		}
	}
	if count["train"] != 2 || count["one"] != 1 {
		t.Errorf("books %v", held(l))
	}
}

// TestRemoveGPUs: a machine's cards leave together or not at all.
func TestRemoveGPUs(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100), bare("c", 100)}})
	mustCommit(t, l, claim("a", "x", 10), claim("b", "y", 10), claim("c", "z", 10))
	open := mustReserve(t, l, claim("b", "worker 0", 10), claim("c", "worker 1", 10))
	before := held(l)
	if _, err := l.RemoveGPU("a", "nowhere", "b"); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("one that is not there: %v", err)
	}
	if diff := cmp.Diff(before, held(l)); diff != "" {
		t.Errorf("an error changed the books (-want +got):\n%s", diff)
	}
	gone, err := l.RemoveGPU("b", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"y@b", "worker 0@b", "worker 1@c", "x@a"}, names(gone)); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"c": {"z"}}, held(l)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
	if err := l.Commit(open); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("a lease that lost a worker: %v", err)
	}
	version := l.Snapshot().Version
	if gone, err := l.RemoveGPU(); gone != nil || err != nil || l.Snapshot().Version != version {
		t.Errorf("none: %v, %v", gone, err)
	}
}

// TestZeroLedger: books that were never opened refuse and do not panic.
func TestZeroLedger(t *testing.T) {
	var l ledger.Ledger
	_, reserve := l.Reserve(ledger.Version{}, claim("a", "t", 1))
	_, remove := l.RemoveGPU("a")
	for i, err := range []error{reserve, remove, l.AddGPU(bare("a", 100)), l.Commit(ledger.Lease{Number: 1}), l.Rollback(ledger.Lease{Number: 1}), l.Release("t"), l.Book(claim("a", "t", 1))} {
		if err == nil {
			t.Errorf("call %d: no error", i)
		}
	}
	if s := l.Snapshot(); len(s.GPUs) != 0 || len(l.Reconcile([]ledger.Usage{{GPU: "a"}})) != 1 {
		t.Errorf("snapshot %+v", s)
	}
}
