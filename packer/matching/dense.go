package matching

import (
	"cmp"
	"slices"
)

// dense solves blossom's problem on a complete graph given as a matrix. It
// starts from auction prices, gives blossom the few edges of each vertex that
// are nearest to being tight, and prices all pairs with the duals it gets;
// pairs that are worth more join the edges, and blossom goes on. When none is,
// the duals prove the matching optimal on the complete graph.
//
// A second call with other floors starts from the duals of the first.
type dense struct {
	n     int
	w     []int32 // n·n, symmetric, even; the diagonal is dense's own; nil: no pairs
	y     []int64 // duals, feasible for all pairs, after the first solve
	floor []int64
	mate  []int32
	edges []edge
	owner []int32  // who owns each object at the end of the auction
	top   int32    // largest weight
	moved int64    // how far weights are from those that y was found for
	known []uint64 // bit set of the pairs in edges
}

// candidates is how many edges of each vertex blossom gets to begin with.
const candidates = 10

func newDense(n int, w []int32) *dense {
	return &dense{n: n, w: w}
}

// terms are when a search may end before it is done.
type terms struct {
	stop func() bool // asked now and then: give up
	// enough says whether a matching is good enough whose value is gap below
	// what the vertex duals, worth dual together, prove. nil: only the best is.
	enough func(gap, dual int64) bool
	tol    float64 // about which relative gap is enough
	anew   bool    // an auction may take the place of a poor start
}

// How precise a search with a tolerance is, as multiples of it: the ε of the
// auction, and the slack of the pairs that count as tight. The gap that comes
// out is far below both.
const (
	tolAuction = 4
	tolTight   = 2.5
)

// Each round of solve adds pairs, of which there are n²/2, or raises the limit,
// which no search reaches once it is above all values, or halves near.
//
// solve returns a solved blossom, one that is good enough with duals of
// vertices alone, or nil if told to stop.
func (d *dense) solve(floor []int64, t terms) *blossom {
	stop := t.stop
	d.floor = floor
	if len(d.w) == 0 {
		b := newBlossom(d.n, floor, slices.Clone(floor))
		b.setEdges(nil)
		return b
	}
	b, near, limit := d.begin(t)
	for {
		if stop() || !b.solve(stop) {
			return nil
		}
		before := slices.Clone(d.y)
		d.adopt(b)
		if t.enough != nil {
			d.raise(before, stop)
			if !stop() && t.enough(d.gap(b)) {
				copy(b.y, d.y)
				clear(b.z)
				return b
			}
		}
		ok := d.price(b, stop)
		switch {
		case stop():
			return nil
		case !ok && t.enough == nil:
			d.raise(before, stop)
		case ok && b.short:
			limit *= 8
		case ok && near == 0:
			return b
		}
		near /= 2
		b = d.ready(near, limit)
	}
}

// poorStart is the part of the vertices that may be left to search where duals
// come from other floors or weights. Where there are more, an auction is faster.
const poorStart = 12

// begin finds duals for the floors: from those of the last call, unless they are
// a poor start, or by an auction. It tries two starts at most. near and limit are the first for ready.
func (d *dense) begin(t terms) (b *blossom, near, limit int64) {
	for warm := d.y != nil; ; warm = false {
		if !warm {
			d.y = d.prices(t)
			d.mate = slices.Repeat([]int32{none}, d.n)
		}
		for v, f := range d.floor {
			d.y[v] = max(d.y[v], f)
		}
		d.choose(t.stop)
		near = int64(tolTight * t.tol * float64(d.top))
		limit = max(1, int64(d.top>>searchBits), near+near/2, d.moved)
		if b = d.ready(near, limit); !warm || !t.anew || b.open() <= d.n/poorStart {
			return b, near, limit
		}
	}
}

// ready hands blossom the edges and the duals at hand, for searches up to limit.
// Pairs that lack at most near count as tight, at the weight that makes them so.
func (d *dense) ready(near, limit int64) *blossom {
	if near > 0 {
		for v := range d.y {
			d.y[v] += d.y[v] & 1 // weights must be even
		}
	}
	b := newBlossom(d.n, d.floor, slices.Clone(d.y))
	b.limit = limit
	d.keep(b, near)
	if near > 0 {
		b.slacken(near)
	}
	b.pairUp()
	return b
}

// gap returns how far b's matching is below what the duals in d.y prove, and
// what they prove.
func (d *dense) gap(b *blossom) (gap, dual int64) {
	for v, y := range d.y {
		dual += y
		gap += 2 * y
		if u := b.mate[v]; u == none {
			gap -= 2 * d.floor[v]
		} else {
			gap -= int64(d.w[v*d.n+int(u)])
		}
	}
	return gap / 2, dual
}

// searchBits bounds how far one search may change duals before all pairs are
// priced, as a power of two below the largest value: a vertex that finds no
// partner among the candidates would otherwise pull the duals of all others
// along until it reaches its floor. The bound grows from round to round.
const searchBits = 11

// restart makes the duals feasible after the matrix has changed.
func (d *dense) restart(stop func() bool) {
	for i := range d.n {
		if i%rowsPerPoll == 0 && stop() {
			return
		}
		row := d.w[i*d.n : (i+1)*d.n]
		for j, w := range row[:i] {
			d.y[i] = max(d.y[i], int64(w)-d.y[j])
		}
	}
}

// prices runs the auction.
func (d *dense) prices(t terms) []int64 {
	for v, f := range d.floor {
		d.w[v*d.n+v] = int32(2 * f)
	}
	a := newAuction(d.n, d.w, t.stop)
	d.top = a.top
	last := a.top >> auctionLast
	if t.tol > 0 {
		last = max(last, int32(min(1, tolAuction*t.tol)*float64(a.top)))
	}
	a.run(max(1, last), t.stop)
	d.owner = a.owner
	return a.duals(t.stop)
}

// choose lowers each dual as far as the others allow and picks the candidate
// edges: for each vertex the ones with the least slack. Rows are read from the
// diagonal on: where many pairs are tied, everybody would otherwise get the
// same few partners.
func (d *dense) choose(stop func() bool) {
	d.edges = d.edges[:0]
	if d.known == nil {
		d.known = make([]uint64, (d.n*d.n+63)/64)
	}
	clear(d.known)
	var near shortlist
	for j, i := range d.owner {
		if i != none && int(i) != j && int64(d.w[j*d.n+int(i)]) > d.floor[i]+d.floor[j] {
			d.add(i, int32(j))
		}
	}
	for i := range d.n {
		if i%rowsPerPoll == 0 && stop() {
			return
		}
		row := d.w[i*d.n : (i+1)*d.n]
		need := d.floor[i]
		near.clear()
		for _, part := range [2][2]int{{i + 1, d.n}, {0, i}} {
			y := d.y[part[0]:part[1]]
			floor := d.floor[part[0]:part[1]]
			for k, w := range row[part[0]:part[1]] {
				s := y[k] - int64(w)
				if s >= near.least {
					continue
				}
				need = max(need, -s)
				if int64(w) > d.floor[i]+floor[k] {
					near.add(s, int32(part[0]+k))
				}
			}
		}
		d.y[i] = need
		for _, j := range near.to[:near.count] {
			d.add(int32(i), j)
		}
	}
}

// shortlist keeps the vertices with the smallest keys, the earlier on ties.
type shortlist struct {
	key   [candidates]int64
	to    [candidates]int32
	count int
	least int64 // keys from here on are not taken
}

func (l *shortlist) clear() { l.count, l.least = 0, 1<<60 }

func (l *shortlist) add(key int64, v int32) {
	if l.count < candidates {
		l.count++
	}
	k := l.count - 1
	for ; k > 0 && l.key[k-1] > key; k-- {
		l.key[k], l.to[k] = l.key[k-1], l.to[k-1]
	}
	l.key[k], l.to[k] = key, v
	if l.count == candidates {
		l.least = l.key[candidates-1]
	}
}

// add puts a pair into edges unless it is there.
func (d *dense) add(i, j int32) {
	if i > j {
		i, j = j, i
	}
	bit := int(i)*d.n + int(j)
	if d.known[bit/64]>>(bit%64)&1 == 1 {
		return
	}
	d.known[bit/64] |= 1 << (bit % 64)
	d.edges = append(d.edges, edge{i, j, int64(d.w[bit])})
}

// keep hands blossom the edges, and the pairs of the last matching that are
// still tight, or nearly.
func (d *dense) keep(b *blossom, near int64) {
	for v, u := range d.mate {
		if int(u) > v && b.y[v]+b.y[u] <= int64(d.w[v*d.n+int(u)])+near {
			d.add(int32(v), u)
			b.mate[v], b.mate[u] = u, int32(v)
		}
	}
	b.setEdges(d.edges)
}

// price looks for pairs that are worth more than b's duals. If there are none
// it returns true. Otherwise it adds them to the edges and leaves in d.y duals
// that are feasible for all pairs and near to b's.
func (d *dense) price(b *blossom, stop func() bool) bool {
	have := len(d.edges)
	y := slices.Clone(b.y)
	for v, node := range b.top {
		if b.base[node] == int32(v) {
			d.priceNode(b, node, y, stop)
		}
	}
	return len(d.edges) == have
}

// priceNode adds the pairs of each vertex in node that lack most. y holds the
// duals of all vertices and, on top of that, those of the blossoms that hold
// them and node.
func (d *dense) priceNode(b *blossom, node int32, y []int64, stop func() bool) {
	if node >= int32(b.n) {
		b.eachVertex(node, func(v int32) { y[v] += b.z[node] })
		for _, kid := range b.kids[node] {
			d.priceNode(b, kid, y, stop)
		}
		b.eachVertex(node, func(v int32) { y[v] -= b.z[node] })
		return
	}
	i := int(node)
	if i%rowsPerPoll == 0 && stop() {
		return
	}
	row := d.w[i*d.n : (i+1)*d.n]
	var worst shortlist
	worst.least = -b.y[i]
	for _, part := range [2][2]int{{i + 1, d.n}, {0, i}} {
		y := y[part[0]:part[1]]
		for k, w := range row[part[0]:part[1]] {
			if s := y[k] - int64(w); s < worst.least {
				worst.add(s, int32(part[0]+k))
			}
		}
	}
	for _, j := range worst.to[:worst.count] {
		d.add(node, j)
	}
}

// adopt takes over b's duals, those of odd sets shared out among their vertices.
func (d *dense) adopt(b *blossom) {
	copy(d.mate, b.mate)
	copy(d.y, b.y)
	for node := b.n; node < len(b.z); node++ {
		if b.z[node] > 0 {
			b.eachVertex(int32(node), func(v int32) { d.y[v] += b.z[node] / 2 })
		}
	}
}

// raise makes d.y feasible for all pairs. The vertices whose duals fell most
// since before, when they were feasible, go first: they are the ones that
// lacked a candidate, and must not push all others up.
func (d *dense) raise(before []int64, stop func() bool) {
	order := make([]int, d.n)
	for i := range order {
		order[i] = i
		before[i] -= d.y[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(before[b], before[a]) })
	for n, i := range order {
		if n%rowsPerPoll == 0 && stop() {
			return
		}
		row := d.w[i*d.n : (i+1)*d.n]
		y := d.y[:len(row)]
		need := d.y[i]
		for j, w := range row {
			if s := int64(w) - y[j]; s > need && j != i {
				need = s
			}
		}
		d.y[i] = need
	}
}
