package colloc_test

import (
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestPairNeedsMoreThanItsSum: on a card of 12 GiB the headroom does not bear what a
// pair needs beyond the sum of its peaks. Fit, Plan and Ledger refuse it alike, take
// it on a larger card, and leave a task alone as much as before.
func TestPairNeedsMoreThanItsSum(t *testing.T) {
	p := shared(t)
	half := 53 * profile.GiB / 10
	a, b := seen(t, "a", 0.2, 0.1, profile.GiB), seen(t, "b", 0.3, 0.1, profile.GiB)
	a.Reserved, b.Reserved = half, half
	for _, tt := range []struct {
		memory profile.Bytes
		fits   bool
	}{{12 * profile.GiB, false}, {16 * profile.GiB, true}} {
		gpu := colloc.GPU{ID: "g", Model: card(t, "g").Model, Memory: tt.memory}
		plan, err := p.Plan(t.Context(), []colloc.Task{a, b}, []colloc.GPU{gpu})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plan.Placements[0].Members) == 2; got != tt.fits {
			t.Errorf("%v: planned together %v, want %v", tt.memory, got, tt.fits)
		}
		books, err := ledger.New(ledger.Config{GPUs: []colloc.GPU{gpu}, Together: p.Together(), Now: func() time.Time { return time.Time{} }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = books.Reserve(books.Snapshot().Version, ledger.Claim{Task: a, GPU: "g"}, ledger.Claim{Task: b, GPU: "g"})
		if got := err == nil; got != tt.fits {
			t.Errorf("%v: the books take both: %v, %v", tt.memory, got, err)
		}
		gpu.Residents = []colloc.Task{a}
		v, err := p.Fit(b, gpu)
		if err != nil || v.Fits != tt.fits || !tt.fits && v.Code != packer.MemoryLimit {
			t.Errorf("%v: Fit = %+v, %v", tt.memory, v, err)
		}
	}
	large := a
	large.Reserved = 107 * profile.GiB / 10
	if v, err := p.Fit(large, colloc.GPU{ID: "g", Model: card(t, "g").Model, Memory: 12 * profile.GiB}); err != nil || !v.Fits {
		t.Errorf("alone: Fit = %+v, %v", v, err)
	}
}
