package memo

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// Table remembers answers of a function that never changes: a scheduler asks
// about the same tasks again and again, and walking trees is most of what a
// prediction costs. It is a direct-mapped table; a question that falls on
// another's place replaces it. Safe for concurrent use; a place that is read is
// never half-written. K holds the bits of the question, so that a missing value
// equals itself.
type Table[K comparable, V any] struct {
	slots [Slots]atomic.Pointer[Entry[K, V]]
}

// Slots is a power of two: room for all pairs of some 120 tasks.
const Slots = 1 << 14

// Entry is one answer. It never changes once stored.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
}

// At returns what is remembered in the place of a question, whichever that was;
// nil is nothing.
func (m *Table[K, V]) At(hash uint64) *Entry[K, V] { return m.slots[hash%Slots].Load() }

// Get returns the answer to key, if it is remembered. It does not allocate.
func (m *Table[K, V]) Get(key *K, hash uint64) (V, bool) {
	if e := m.At(hash); e != nil && e.Key == *key {
		return e.Value, true
	}
	var none V
	return none, false
}

// Put remembers the answer to key.
func (m *Table[K, V]) Put(key *K, hash uint64, value V) {
	m.slots[hash%Slots].Store(&Entry[K, V]{*key, value})
}

// Spread is 2^64 over the golden ratio: multiplied by it, bits spread.
const Spread = 0x9E3779B97F4A7C15

// Question fills to with the bits of row and returns their hash; both are of the
// same length.
func Question(to []uint64, row []float64) uint64 {
	hash := uint64(len(row))
	for i, x := range row {
		to[i] = math.Float64bits(x)
		high, low := bits.Mul64(hash^to[i], Spread) // of round numbers only the first bits differ
		hash = high ^ low
	}
	return hash
}
