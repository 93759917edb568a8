package quota

import (
	"slices"
	"testing"
)

// TestGate: tasks pass up to their user's quota, or that of everyone; those beyond wait by
// priority and then by when they came, and pass as soon as what is left suffices for the first.
func TestGate(t *testing.T) {
	g := NewGate(map[string]int{"ann": 3, Everyone: 1})
	pass := func(user string, task, gpus, priority int, want bool) {
		t.Helper()
		if got := g.Pass(user, task, gpus, priority); got != want {
			t.Errorf("task %d of %s, %d GPUs, priority %d, passes: %t", task, user, gpus, priority, got)
		}
	}
	end := func(user string, gpus, held int, want ...int) {
		t.Helper()
		if got := g.End(user, gpus); !slices.Equal(got, want) || g.Len() != held {
			t.Errorf("as %d GPUs of %s are free %v pass, %d are held; want %v and %d", gpus, user, got, g.Len(), want, held)
		}
	}
	pass("ann", 1, 3, 0, true) // all that she may
	pass("bob", 2, 1, 0, true)
	pass("bob", 3, 1, 0, false)
	pass("eve", 4, 1, 0, true) // everyone has a quota of his own
	pass("eve", 5, 2, 9, false)
	pass("ann", 6, 2, 0, false)
	pass("ann", 7, 1, 0, false)
	pass("ann", 8, 3, 1, false)
	pass("ann", 9, 1, 1, false)
	pass("ann", 10, 1, -1, false)
	end("ann", 1, 7)             // 8 needs three and goes first
	pass("ann", 11, 1, 1, false) // behind 8 and 9, though there is room
	pass("ann", 12, 1, 2, true)  // before all
	end("ann", 1, 8)
	end("ann", 1, 8)
	end("ann", 1, 7, 8)
	end("ann", 3, 5, 9, 11) // 6 needs two, one is left
	end("ann", 1, 4, 6)
	end("ann", 3, 2, 7, 10)
	end("bob", 1, 1, 3)
	end("eve", 1, 1) // more than her quota: it never passes
}

// TestNoLimit: whom no quota names has none, and nothing passes twice.
func TestNoLimit(t *testing.T) {
	g := NewGate(map[string]int{"ann": 1})
	for task := range 5 {
		if !g.Pass("bob", task, 100, 0) {
			t.Error("bob is held back")
		}
	}
	if got := g.End("bob", 100); got != nil || g.Len() != 0 {
		t.Errorf("%v pass as bob's end, %d are held", got, g.Len())
	}
	for range 2 {
		if !NewGate(nil).Pass("", 0, 1<<30, 0) {
			t.Error("held back without quotas")
		}
	}
}
