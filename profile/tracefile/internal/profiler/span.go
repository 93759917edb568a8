package profiler

import (
	"cmp"
	"slices"
)

// span is a time from start to end in nanoseconds.
type span struct{ start, end int64 }

// cover makes a span hold another one; the zero span holds nothing.
func (s *span) cover(other span) {
	if *s == (span{}) {
		*s = other
		return
	}
	s.start, s.end = min(s.start, other.start), max(s.end, other.end)
}

// union is the time within a window that at least one span covers. It sorts the
// spans. O(n log n).
func union(spans []span, window span) int64 {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var sum int64
	covered := window.start
	for _, s := range spans {
		from, to := max(s.start, covered), min(s.end, window.end)
		if to > from {
			sum += to - from
			covered = to
		}
	}
	return sum
}
