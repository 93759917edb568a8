package ledger_test

import (
	"errors"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// A task that runs needs less, and another one may join; then more than is left, which the
// books refuse, and all stays as it was.
func TestAmend(t *testing.T) {
	const gib = profile.GiB
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 20*gib), bare("b", 20*gib)}})
	mustCommit(t, l, claim("a", "t", 16*gib))
	if err := l.Amend(sized("t", 4*gib)); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, l, claim("a", "joins", 12*gib))
	err := l.Amend(sized("t", 7*gib))
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, ledger.ErrFull) || refused.Code != packer.MemoryLimit || refused.Free != 6*gib {
		t.Errorf("amended to 7 of 6 GiB: %v", err)
	}
	if err := l.Amend(hermit("t", 4*gib)); !errors.As(err, &refused) || refused.Code != packer.MustBeAlone || refused.Other != "joins" {
		t.Errorf("amended to be alone: %v", err)
	}
	if r := l.Snapshot().GPUs[0].Residents[0]; r.Reserved != 4*gib || r.Alone {
		t.Errorf("after refusals the books have %+v", r)
	}
	old := l.Snapshot().Version
	if err := l.Amend(sized("t", 6*gib)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(old, claim("a", "late", gib)); !errors.Is(err, ledger.ErrFull) || !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a decision from before the task grew: %v, want full and out of date", err)
	}
}

// What a task was seen to use counts: to reserve that much takes no room, and less frees none.
func TestAmendUsed(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100)}})
	mustCommit(t, l, claim("a", "t", 10))
	mustCommit(t, l, claim("a", "other", 60))
	l.Reconcile([]ledger.Usage{{GPU: "a", Processes: []ledger.Process{{PID: 1, Task: "t", Memory: profile.Some[profile.Bytes](40)}}}})
	for _, reserved := range []profile.Bytes{40, 5} {
		if err := l.Amend(sized("t", reserved)); err != nil {
			t.Errorf("amended to %d: %v", reserved, err)
		}
		if r := l.Snapshot().GPUs[0].Residents[0]; r.Reserved != 40 {
			t.Errorf("it counts for %d, want what it uses", r.Reserved)
		}
	}
}

// A gang changes on all its GPUs, or on none.
func TestAmendGang(t *testing.T) {
	l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 100), bare("b", 50)}})
	gang := sized("g", 40)
	gang.GPUs = 2
	mustCommit(t, l, ledger.Claim{GPU: "a", Task: gang}, ledger.Claim{GPU: "b", Task: gang})
	gang.Reserved = 60
	if err := l.Amend(gang); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("amended to more than one of its GPUs has: %v", err)
	}
	if s := l.Snapshot(); s.GPUs[0].Residents[0].Reserved != 40 || s.GPUs[1].Residents[0].Reserved != 40 {
		t.Errorf("after the refusal: %+v", s.GPUs)
	}
	gang.Reserved = 45
	if err := l.Amend(gang); err != nil {
		t.Fatal(err)
	}
	if s := l.Snapshot(); s.GPUs[0].Residents[0].Reserved != 45 || s.GPUs[1].Residents[0].Reserved != 45 {
		t.Errorf("after the change: %+v", s.GPUs)
	}
}
