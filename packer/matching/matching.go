package matching

import (
	"fmt"
	"slices"
)

// MaxWeight and MinWeight bound the weights of a [Solver].
const (
	MaxWeight = 1 << 28
	MinWeight = -1 << 30
)

// maxVertices keeps a matrix below 4 GiB.
const maxVertices = 1 << 15

// SizeError says that there are not as many weights or floors as the vertices need,
// or too many vertices.
type SizeError struct {
	What      string // "weights", "floors" or "vertices"
	Got, Want int
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("matching: %d %s; want %d", e.Got, e.What, e.Want)
}

// WeightError says that a weight, or a floor, is out of range, or odd in a [Solver].
// It also says that one differs from that of the same pair the other way round.
type WeightError struct {
	I, J   int // the pair; equal for a floor
	Weight int64
}

// Error implements error.
func (e *WeightError) Error() string {
	if e.I == e.J {
		return fmt.Sprintf("matching: the floor of vertex %d is %d; want %d to %d", e.I, e.Weight, -MaxWeight, MaxWeight)
	}
	return fmt.Sprintf("matching: the weight of %d and %d is %d; want the same both ways, in a Solver an even number from %d to %d, for Maximum a number from %d to %d",
		e.I, e.J, e.Weight, MinWeight, MaxWeight, -MaxWeight/2, MaxWeight/2)
}

// Matching is a matching with what proves that none has more weight.
type Matching struct {
	// Mate is the partner of each vertex, -1 for one that is single.
	Mate []int32
	// Duals are the prices of the vertices, in the unit of the weights; for [Maximum]
	// in halves of it.
	Duals []int64
	// Odd are prices of odd sets of vertices, in the same unit.
	Odd []OddSet

	parts int64 // of a unit of weight in which prices count
}

// OddSet is the price of an odd set of 2k+1 vertices, among which there are at most k
// pairs.
type OddSet struct {
	Vertices []int32 // ascending
	Price    int64
}

// Bound returns what the prices prove, Σ duals + Σ price·⌊vertices/2⌋, in their unit.
func (m *Matching) Bound() int64 {
	sum := int64(0)
	for _, y := range m.Duals {
		sum += y
	}
	for _, odd := range m.Odd {
		sum += odd.Price * int64(len(odd.Vertices)/2)
	}
	return sum
}

// Maximum returns a matching of the largest weight in the graph on n vertices, at most
// 32768, whose pairs have the weights w[i*n+j] = w[j*n+i], from -MaxWeight/2 to
// MaxWeight/2. A pair of weight 0 or less is never in it, so such a weight says that
// there is no edge; the diagonal does not count. Among matchings of the same weight it
// takes one by a rule that depends on the input alone.
//
// The errors are *[SizeError] and *[WeightError]. O(n²) memory; about O(n²) time on
// dense graphs whose weights are not tied, O(n³ log n) at worst.
func Maximum(n int, w []int32) (*Matching, error) {
	if n < 0 || n > maxVertices {
		return nil, &SizeError{"vertices", n, maxVertices}
	}
	if len(w) != n*n {
		return nil, &SizeError{"weights", len(w), n * n}
	}
	twice := make([]int32, len(w))
	for at, v := range w {
		if i, j := at/n, at%n; i != j && (v < -MaxWeight/2 || v > MaxWeight/2) {
			return nil, &WeightError{i, j, int64(v)}
		} else if i != j {
			twice[at] = 2 * v
		}
	}
	s, err := NewSolver(n, twice)
	if err != nil {
		return nil, err
	}
	m, err := s.Solve(make([]int64, n), nil)
	if err != nil {
		return nil, err
	}
	m.parts = 2
	return m, nil
}

// Verify reports why m is not a matching of the largest weight in the graph with the
// weights w, in which a single vertex v is worth floor[v]; nil floors are zero. It uses
// the prices alone and shares nothing with what found them. What a [Solver] was told
// is good enough does not pass. O(n²) and the squares of the odd sets' sizes.
func (m *Matching) Verify(w []int32, floor []int64) error {
	n := len(m.Mate)
	if floor == nil {
		floor = make([]int64, n)
	}
	switch {
	case len(w) != n*n && len(w) > 0:
		return &SizeError{"weights", len(w), n * n}
	case len(floor) != n:
		return &SizeError{"floors", len(floor), n}
	case len(m.Duals) != n:
		return &SizeError{"prices", len(m.Duals), n}
	}
	in, err := m.oddSets()
	if err != nil {
		return err
	}
	parts, value, joint := max(1, m.parts), int64(0), make([]int64, n)
	for i := range n {
		worth, err := m.worth(i, w, floor)
		if err != nil {
			return err
		}
		value += parts * worth
		if m.Duals[i] < parts*floor[i] {
			return fmt.Errorf("matching: the price of %d is %d, below its floor", i, m.Duals[i])
		}
		clear(joint)
		for _, k := range in[i] {
			for _, v := range m.Odd[k].Vertices {
				joint[v] += m.Odd[k].Price
			}
		}
		for j := i + 1; j < n && len(w) > 0; j++ {
			if price := m.Duals[i] + m.Duals[j] + joint[j]; price < parts*int64(w[i*n+j]) {
				return fmt.Errorf("matching: %d and %d cost %d and are worth %d", i, j, price, parts*int64(w[i*n+j]))
			}
		}
	}
	if bound := m.Bound(); bound != value {
		return fmt.Errorf("matching: it is worth %d; the prices prove %d", value, bound)
	}
	return nil
}

// oddSets returns the odd sets of each vertex.
func (m *Matching) oddSets() ([][]int32, error) {
	in := make([][]int32, len(m.Mate))
	for k, odd := range m.Odd {
		for p, v := range odd.Vertices {
			if v < 0 || int(v) >= len(in) || p > 0 && v <= odd.Vertices[p-1] || odd.Price < 0 {
				return nil, fmt.Errorf("matching: Odd[%d]: vertices %v, price %d; want ascending vertices below %d and a price from 0", k, odd.Vertices, odd.Price, len(in))
			}
			in[v] = append(in[v], int32(k))
		}
	}
	return in, nil
}

// worth returns the weight of vertex i's pair, if it comes first in that, or its floor.
func (m *Matching) worth(i int, w []int32, floor []int64) (int64, error) {
	j := int(m.Mate[i])
	switch {
	case j == none:
		return floor[i], nil
	case j < 0 || j >= len(m.Mate) || j == i || int(m.Mate[j]) != i || len(w) == 0:
		return 0, fmt.Errorf("matching: the mate of %d is %d; want -1, or a vertex whose mate it is", i, j)
	case j > i:
		return int64(w[i*len(m.Mate)+j]), nil
	}
	return 0, nil
}

// Solver finds matchings in one graph again and again, with other floors or other
// weights, and starts each time from the prices of the last.
type Solver struct {
	d       *dense
	changed bool // weights have, since the prices at hand were found
}

// NewSolver prepares for a graph of n vertices whose pairs have the weights
// w[i*n+j] = w[j*n+i]: even numbers in [MinWeight, MaxWeight]. The solver keeps w and
// uses its diagonal. A nil w is a graph without edges. The errors are *[SizeError] and
// *[WeightError]. O(n²).
func NewSolver(n int, w []int32) (*Solver, error) {
	switch {
	case n < 0 || n > maxVertices:
		return nil, &SizeError{"vertices", n, maxVertices}
	case len(w) > 0 && len(w) != n*n:
		return nil, &SizeError{"weights", len(w), n * n}
	}
	s := &Solver{d: newDense(n, w)}
	return s, s.check()
}

// check looks at all weights, in blocks that stay in the cache, and adds up what is
// wrong without a branch.
func (s *Solver) check() error {
	const block = 32
	n, w := s.d.n, s.d.w
	if len(w) == 0 {
		return nil
	}
	for i0 := 0; i0 < n; i0 += block {
		for j0 := i0; j0 < n; j0 += block {
			wrong, end := int64(0), min(j0+block, n)
			for i := i0; i < min(i0+block, n); i++ {
				from := min(max(j0, i+1), end)
				at := from*n + i
				for _, v := range w[i*n+from : i*n+end] {
					wrong |= int64(v^w[at]) | int64(v&1) | (int64(v)-MinWeight|MaxWeight-int64(v))>>63
					at += n
				}
			}
			if wrong != 0 {
				return s.wrong(i0, j0, end)
			}
		}
	}
	return nil
}

// wrong names the first pair of a block that is.
func (s *Solver) wrong(i0, j0, end int) error {
	n, w := s.d.n, s.d.w
	for i := i0; i < end; i++ {
		for j := max(j0, i+1); j < end; j++ {
			if v := w[i*n+j]; v != w[j*n+i] || v&1 != 0 || v < MinWeight || v > MaxWeight {
				return &WeightError{i, j, int64(v)}
			}
		}
	}
	return nil
}

// movedBits is how far weights may move for the prices at the old ones to be a
// start, as a power of two below the largest weight. Beyond, an auction is faster.
const movedBits = 8

// Reweigh lets fill write new weights to the matrix. Those of pairs have moved by
// at most moved; shift is what to add to the price of each vertex for a good start
// with them, nil to start afresh. When stop says so the weights are of no use, but
// for the next reweigh. O(n²).
func (s *Solver) Reweigh(fill func(w []int32), moved int64, shift []int64, stop func() bool) error {
	if len(s.d.w) == 0 {
		return nil
	}
	if fill(s.d.w); stop() {
		s.d.y = nil
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	if s.d.y == nil || len(shift) != len(s.d.y) || moved > int64(s.d.top>>movedBits) {
		s.d.y, s.d.moved, s.changed = nil, 0, false
		return nil
	}
	s.d.moved, s.changed = moved, true
	for v, d := range shift {
		s.d.y[v] += d
	}
	s.d.restart(stop)
	return nil
}

// Options are when a search may end before it is done; nil is the zero value.
type Options struct {
	// Stop is asked now and then, every few milliseconds; if it says so the search
	// gives up. nil: never.
	Stop func() bool
	// Enough says whether a matching is good enough whose value is gap below what
	// the duals of vertices, worth dual together, prove. nil: only the best is.
	Enough func(gap, dual int64) bool
	// Tol is about which relative gap is enough.
	Tol float64
}

// Solve returns a matching of the largest value
//
//	Σ weights of its pairs + Σ floors of the single vertices
//
// with the prices that prove it, or one that is good enough with prices that prove
// how good; nil if it was told to stop. Floors are from -MaxWeight to MaxWeight.
func (s *Solver) Solve(floor []int64, o *Options) (*Matching, error) {
	if o == nil {
		o = &Options{}
	}
	if len(floor) != s.d.n {
		return nil, &SizeError{"floors", len(floor), s.d.n}
	}
	for v, f := range floor {
		if f < -MaxWeight || f > MaxWeight {
			return nil, &WeightError{v, v, f}
		}
	}
	t := terms{stop: o.Stop, enough: o.Enough, tol: o.Tol, anew: !s.changed}
	if t.stop == nil {
		t.stop = func() bool { return false }
	}
	b := s.d.solve(floor, t)
	if b == nil {
		return nil, nil
	}
	m := &Matching{Mate: b.mate, Duals: b.y}
	for node := b.n; node < len(b.z); node++ {
		if b.z[node] == 0 {
			continue
		}
		odd := OddSet{Price: b.z[node]}
		b.eachVertex(int32(node), func(v int32) { odd.Vertices = append(odd.Vertices, v) })
		slices.Sort(odd.Vertices)
		m.Odd = append(m.Odd, odd)
	}
	return m, nil
}
