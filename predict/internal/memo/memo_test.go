package memo

import (
	"math"
	"testing"
)

// TestTable: an answer is given to its question alone, also to one with a missing value, and
// a question that falls on the same place takes it.
func TestTable(t *testing.T) {
	var table Table[[2]uint64, string]
	ask := func(row ...float64) (key [2]uint64, hash uint64) {
		hash = Question(key[:], row)
		return key, hash
	}
	a, hashA := ask(1, math.NaN())
	b, hashB := ask(math.NaN(), 1)
	if _, ok := table.Get(&a, hashA); ok || hashA == hashB {
		t.Errorf("an empty table answers: %v; rows in another order have one hash: %v", ok, hashA == hashB)
	}
	table.Put(&a, hashA, "a")
	if got, ok := table.Get(&a, hashA); !ok || got != "a" {
		t.Errorf("%q, %v, want a", got, ok)
	}
	if got, ok := table.Get(&b, hashA); ok || got != "" {
		t.Errorf("another question in the same place: %q", got)
	}
	table.Put(&b, hashA+Slots, "b")
	if got, ok := table.Get(&b, hashA); !ok || got != "b" {
		t.Errorf("the place's new question: %q, %v", got, ok)
	}
	if _, ok := table.Get(&a, hashA); ok {
		t.Error("the place's old question is answered")
	}
}

// TestSpread: rows that differ little fall on many places.
func TestSpread(t *testing.T) {
	places := make(map[uint64]bool)
	var key [3]uint64
	for i := range 4000 {
		places[Question(key[:], []float64{float64(i % 20), 0.5, float64(i / 20)})%Slots] = true
	}
	if len(places) < 3300 { // of 4000 thrown at random 3550 differ
		t.Errorf("4000 rows fall on %d places", len(places))
	}
}
