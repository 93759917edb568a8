package predict

import (
	"math"
	"sync/atomic"
)

// treeMemo remembers what an ensemble said of pairs that were asked before: a
// scheduler asks about the same residents again and again, and walking the
// trees is most of what a prediction costs. It is a direct-mapped table; a pair
// that falls on another's place replaces it. The trees it is for never change.
// Safe for concurrent use; a place that is read is never half-written.
type treeMemo struct {
	slots [memoSlots]atomic.Pointer[memoEntry]
}

// memoSlots is a power of two: room for all pairs of some sixty tasks.
const memoSlots = 1 << 12

// memoEntry is one answer. It never changes once stored.
type memoEntry struct {
	row   [treeColumns]uint64 // bits, so that a missing value equals itself
	value float64
}

// predict returns what t says of row, from memory if it was asked before; then
// it does not allocate.
func (m *treeMemo) predict(t *trees, row *[treeColumns]float64) float64 {
	var bits [treeColumns]uint64
	hash := uint64(treeColumns)
	for i, x := range row {
		bits[i] = math.Float64bits(x)
		hash = (hash ^ bits[i]) * 0x9E3779B97F4A7C15 // 2^64 / golden ratio: spreads the bits
		hash ^= hash >> 29
	}
	slot := &m.slots[hash%memoSlots]
	if e := slot.Load(); e != nil && e.row == bits {
		return e.value
	}
	e := &memoEntry{row: bits, value: t.predict(row[:])}
	slot.Store(e)
	return e.value
}
