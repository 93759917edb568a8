package ledger_test

import (
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// TestMemoryWithinLimits: every amount of memory that the books are told is believed up to the most
// that a GPU can have, and refused below the least and beyond the most.
func TestMemoryWithinLimits(t *testing.T) {
	const most profile.Bytes = 1 << 56
	read := func(u ledger.Usage) bool {
		l, _ := newLedger(t, ledger.Config{GPUs: []colloc.GPU{bare("a", 20*profile.GiB)}})
		u.GPU = "a"
		for _, d := range l.Reconcile([]ledger.Usage{u}) {
			if d.Kind == ledger.BadReading {
				return false
			}
		}
		return true
	}
	opened := func(c ledger.Config) bool {
		c.GPUs, c.Now = []colloc.GPU{bare("a", 20*profile.GiB)}, newFakeClock().Now
		_, err := ledger.New(c)
		return err == nil
	}
	for what, told := range map[string]struct {
		least profile.Bytes
		takes func(b profile.Bytes) bool
	}{
		"in use": {0, func(b profile.Bytes) bool { return read(ledger.Usage{Used: profile.Some(b)}) }},
		"a process": {0, func(b profile.Bytes) bool {
			return read(ledger.Usage{Processes: []ledger.Process{{Memory: profile.Some(b)}}})
		}},
		"together": {0, func(b profile.Bytes) bool { return opened(ledger.Config{Together: b}) }},
		"overhead": {0, func(b profile.Bytes) bool { return opened(ledger.Config{Overhead: profile.Some(b)}) }},
		"a resident's": {1, func(b profile.Bytes) bool {
			_, err := ledger.New(ledger.Config{GPUs: []colloc.GPU{bare("a", 20*profile.GiB, sized("r", b))}, Now: newFakeClock().Now})
			return err == nil
		}},
	} {
		for b, want := range map[profile.Bytes]bool{told.least - 1: false, told.least: true, most: true, most + 1: false, memory.Whole: false} {
			if got := told.takes(b); got != want {
				t.Errorf("%s of %d bytes is believed: %v, want %v", what, int64(b), got, want)
			}
		}
	}
}
