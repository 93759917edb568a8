package predict

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// memo remembers answers of a function that never changes: a scheduler asks
// about the same tasks again and again, and walking trees is most of what a
// prediction costs. It is a direct-mapped table; a question that falls on
// another's place replaces it. Safe for concurrent use; a place that is read is
// never half-written. K holds the bits of the question, so that a missing value
// equals itself.
type memo[K comparable, V any] struct {
	slots [memoSlots]atomic.Pointer[memoEntry[K, V]]
}

// memoSlots is a power of two: room for all pairs of some 120 tasks.
const memoSlots = 1 << 14

// memoEntry is one answer. It never changes once stored.
type memoEntry[K comparable, V any] struct {
	key   K
	value V
}

// at returns what is remembered in the place of a question, whichever that was;
// nil is nothing.
func (m *memo[K, V]) at(hash uint64) *memoEntry[K, V] { return m.slots[hash%memoSlots].Load() }

// get returns the answer to key, if it is remembered. It does not allocate.
func (m *memo[K, V]) get(key *K, hash uint64) (V, bool) {
	if e := m.at(hash); e != nil && e.key == *key {
		return e.value, true
	}
	var none V
	return none, false
}

// put remembers the answer to key.
func (m *memo[K, V]) put(key *K, hash uint64, value V) {
	m.slots[hash%memoSlots].Store(&memoEntry[K, V]{*key, value})
}

// spread64 is 2^64 over the golden ratio: multiplied by it, bits spread.
const spread64 = 0x9E3779B97F4A7C15

// question fills to with the bits of row and returns their hash; both are of the
// same length.
func question(to []uint64, row []float64) uint64 {
	hash := uint64(len(row))
	for i, x := range row {
		to[i] = math.Float64bits(x)
		hash = (hash ^ to[i]) * spread64
		hash ^= hash >> 29
	}
	return hash
}

// treeMemo remembers what the trees of one regime said of pairs.
type treeMemo struct {
	memo[[2]memberBits, float64]
}

// memberBits are the bits of what the trees are told of one task of a pair.
type memberBits [ownTreeColumns]uint64

// remember notes a member's presence, and its bits and their hash, so that each
// pair it is part of costs one multiplication.
func (m *member) remember() {
	m.present = m.presence()
	row := m.treeColumns()
	m.hash = question(m.bits[:], row[:])
}

// predict returns what t says of a task beside another; both remember their
// bits.
func (m *treeMemo) predict(t *trees, own, other *member) float64 {
	hash := (own.hash ^ bits.RotateLeft64(other.hash, 32)) * spread64
	hash ^= hash >> 29
	if e := m.at(hash); e != nil && e.key[0] == own.bits && e.key[1] == other.bits {
		return e.value
	}
	row := treeRow(own, other)
	value := t.predict(row[:])
	m.put(&[2]memberBits{own.bits, other.bits}, hash, value)
	return value
}

// useMemo remembers what one usePart said of tasks: middle and spread.
type useMemo struct {
	memo[[useFeatures]uint64, [2]float64]
}
