package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// names lists claims as task@GPU.
func names(claims []ledger.Claim) []string {
	var list []string
	for _, c := range claims {
		list = append(list, c.Task.ID+"@"+c.GPU)
	}
	return list
}

// TestRemoveGPUAfterLease: a lease whose time was over when a card left is not returned with
// the card.
func TestRemoveGPUAfterLease(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100)}, LeaseTime: time.Second})
	mustReserve(t, l, claim("a", "late", 10))
	clock.Step(2 * time.Second)
	if gone, err := l.RemoveGPU("a"); err != nil || len(gone) > 0 {
		t.Errorf("gone %v, %v, want nothing", gone, err)
	}
}

// TestComesAfterLease: a task whose lease is over may run elsewhere, on a card that comes or one
// that is there.
func TestComesAfterLease(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100)}, LeaseTime: time.Second})
	mustReserve(t, l, claim("a", "first", 10))
	clock.Step(2 * time.Second)
	if err := l.AddGPU(bare("b", 100, sized("first", 10))); err != nil {
		t.Error(err)
	}
	mustReserve(t, l, claim("a", "second", 10))
	clock.Step(2 * time.Second)
	if err := l.Book(claim("b", "second", 10)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string][]string{"b": {"first", "second"}}, held(l)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
}

func TestRemoveGPU(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100)}, MaxSet: 4})
	mustCommit(t, l, claim("b", "half", 10), claim("a", "other half", 10))
	open := mustReserve(t, l, claim("a", "worker 0", 10), claim("b", "worker 1", 10))
	elsewhere := mustReserve(t, l, claim("a", "elsewhere", 10))
	old := l.Snapshot().Version
	gone, err := l.RemoveGPU("b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"half@b", "worker 0@a", "worker 1@b"}, names(gone)); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"other half", "elsewhere"}}, held(l)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
	if err := l.Commit(open); !errors.Is(err, ledger.ErrLeaseOver) {
		t.Errorf("a lease that lost a worker: %v, want ErrLeaseOver", err)
	}
	if err := l.Commit(elsewhere); err != nil {
		t.Error(err)
	}
	if _, err := l.Reserve(old, claim("b", "late", 10)); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("a claim on the card that is gone: %v, want ErrUnknown", err)
	}
	if _, err := l.RemoveGPU("b"); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("removed twice: %v, want ErrUnknown", err)
	}
	if err := l.Release("half"); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("a task that is gone: %v, want ErrUnknown", err)
	}
}

func TestAddGPU(t *testing.T) {
	l, clock := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100, sized("resident", 10))}})
	clock.Step(time.Hour)
	old := l.Snapshot()
	for _, tt := range []struct {
		name string
		gpu  colloc.GPU
		want error
		says string
	}{
		{"known", bare("a", 100), ledger.ErrDuplicate, `GPU "a"`},
		{"a task that runs elsewhere", bare("b", 100, sized("new", 10), sized("resident", 10)), ledger.ErrDuplicate, `"resident"`},
		{"a task twice", bare("b", 100, sized("new", 10), sized("new", 10)), ledger.ErrDuplicate, `"new"`},
		{"no memory", colloc.GPU{ID: "b"}, nil, "Memory is not known"},
		{"no reservation", bare("b", 100, sized("new", 0)), nil, "Reserved is 0 B"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := l.AddGPU(tt.gpu)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v that says %s", err, tt.want, tt.says)
			}
			if diff := cmp.Diff(map[string][]string{"a": {"resident"}}, held(l)); diff != "" || l.Snapshot().Version != old.Version {
				t.Errorf("the books have changed from version %d to %d (-want +got):\n%s", old.Version, l.Snapshot().Version, diff)
			}
		})
	}
	if err := l.AddGPU(bare("b", 100, sized("new", 10))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"resident"}, "b": {"new"}}, held(l)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
	if found := l.Reconcile([]ledger.Usage{{GPU: "b"}}); len(found) != 0 {
		t.Errorf("%v: the resident has had no time to show up", found)
	}
	if _, err := l.Reserve(old.Version, claim("b", "late", 10)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a claim that does not know the resident: %v, want ErrConflict", err)
	}
	mustCommit(t, l, claim("b", "next", 10))
	if err := l.Release("new", "next"); err != nil {
		t.Error(err)
	}
}

// TestGPUsComeAndGoAtOnce: schedulers place and release while a card leaves and
// returns; nobody is promised what is not there, and nothing stays behind.
func TestGPUsComeAndGoAtOnce(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 100)}, MaxSet: 4})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 200 {
				id := fmt.Sprint(i, "-", k)
				lease, err := l.Reserve(l.Snapshot().Version, claim("b", id, 30))
				if err == nil {
					err = l.Commit(lease)
				}
				if err == nil {
					err = l.Release(id)
				}
				for _, expected := range []error{nil, ledger.ErrConflict, ledger.ErrFull, ledger.ErrUnknown, ledger.ErrLeaseOver} {
					if errors.Is(err, expected) {
						err = nil
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		gone, err := l.RemoveGPU("b")
		var sum profile.Bytes
		for _, c := range gone {
			sum += c.Task.Reserved
		}
		if err != nil || sum > 90 {
			t.Errorf("%v: %v were promised of 90", err, sum)
		}
		if err := l.AddGPU(bare("b", 100)); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if books := held(l); len(books) != 0 {
		t.Errorf("left in the books: %v", books)
	}
}
