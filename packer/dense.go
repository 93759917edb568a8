package packer

import (
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
	w     []int32 // n·n, symmetric, even; the diagonal is dense's own
	y     []int64 // duals, feasible for all pairs, after the first solve
	floor []int64
	mate  []int32
	edges []edge
	known []uint64 // bit set of the pairs in edges
}

// candidates is how many edges of each vertex blossom gets to begin with.
const candidates = 10

func newDense(n int, w []int32) *dense {
	return &dense{n: n, w: w}
}

// solve returns a solved blossom, or nil if stop said so.
func (d *dense) solve(floor []int64, stop func() bool) *blossom {
	d.floor = floor
	if d.y == nil {
		d.y = d.prices(stop)
		d.mate = make([]int32, d.n)
		for v := range d.mate {
			d.mate[v] = none
		}
	}
	for v, f := range floor {
		d.y[v] = max(d.y[v], f)
	}
	d.choose()
	for {
		if stop() {
			return nil
		}
		b := newBlossom(d.n, floor, slices.Clone(d.y))
		d.keep(b)
		if !b.solve(stop) {
			return nil
		}
		if d.price(b) {
			return b
		}
	}
}

// restart makes the duals feasible after the matrix has changed.
func (d *dense) restart() {
	for i := range d.n {
		row := d.w[i*d.n : (i+1)*d.n]
		for j, w := range row[:i] {
			d.y[i] = max(d.y[i], int64(w)-d.y[j])
		}
	}
}

// prices runs the auction.
func (d *dense) prices(stop func() bool) []int64 {
	top := int32(1)
	for v, f := range d.floor {
		d.w[v*d.n+v] = int32(2 * f)
	}
	for _, w := range d.w {
		top = max(top, w)
	}
	a := newAuction(d.n, d.w)
	a.run(int64(top)/8, max(1, int64(top)>>auctionBits), stop)
	return a.duals()
}

// auctionBits is the precision of the auction: the last ε is 2^-auctionBits of
// the largest weight. Finer prices leave less to blossom and cost more bids.
const auctionBits = 12

// choose lowers each dual as far as the others allow and picks the candidate
// edges: for each vertex the ones with the least slack.
func (d *dense) choose() {
	d.edges = d.edges[:0]
	d.known = make([]uint64, (d.n*d.n+63)/64)
	var slack [candidates]int64
	var to [candidates]int32
	for i := range d.n {
		row := d.w[i*d.n : (i+1)*d.n]
		y := d.y[:len(row)]
		need := d.floor[i]
		count := 0
		least := int64(1) << 60 // slack of the worst candidate kept
		for j, w := range row {
			s := y[j] - int64(w)
			if s >= least || j == i {
				continue
			}
			need = max(need, -s)
			if int64(w) <= d.floor[i]+d.floor[j] {
				continue
			}
			k := min(count, candidates-1)
			for ; k > 0 && slack[k-1] > s; k-- {
				slack[k], to[k] = slack[k-1], to[k-1]
			}
			slack[k], to[k] = s, int32(j)
			if count++; count >= candidates {
				least = slack[candidates-1]
			}
		}
		d.y[i] = need
		for _, j := range to[:min(count, candidates)] {
			d.add(int32(i), j)
		}
	}
}

// add puts a pair into edges unless it is there.
func (d *dense) add(i, j int32) bool {
	if i > j {
		i, j = j, i
	}
	bit := int(i)*d.n + int(j)
	if d.known[bit/64]>>(bit%64)&1 == 1 {
		return false
	}
	d.known[bit/64] |= 1 << (bit % 64)
	d.edges = append(d.edges, edge{i, j, int64(d.w[bit])})
	return true
}

// keep hands blossom the edges, and the pairs of the last matching that are
// still tight.
func (d *dense) keep(b *blossom) {
	for v, u := range d.mate {
		if int(u) > v && b.y[v]+b.y[u] == int64(d.w[v*d.n+int(u)]) {
			d.add(int32(v), u)
			b.mate[v], b.mate[u] = u, int32(v)
		}
	}
	b.setEdges(d.edges)
}

// price looks for pairs that are worth more than b's duals. If there are none
// it returns true. Otherwise it adds them to the edges and leaves in d.y duals
// that are feasible for all pairs and near to b's.
func (d *dense) price(b *blossom) bool {
	copy(d.mate, b.mate)
	fine := true
	for i := range d.n {
		row := d.w[i*d.n : (i+1)*d.n]
		y, yi := b.y[:len(row)], b.y[i]
		for j := i + 1; j < len(row); j++ {
			if yi+y[j] < int64(row[j]) && !b.covers(int32(i), int32(j), int64(row[j])) && d.add(int32(i), int32(j)) {
				fine = false
			}
		}
	}
	copy(d.y, b.y)
	for node := b.n; node < len(b.z); node++ {
		if b.z[node] > 0 {
			b.eachVertex(int32(node), func(v int32) { d.y[v] += b.z[node] / 2 })
		}
	}
	if fine {
		return true
	}
	for i := range d.n {
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
	return false
}

// covers reports whether the odd sets around both u and v make up for what the
// vertices' duals lack.
func (b *blossom) covers(u, v int32, w int64) bool {
	have := b.y[u] + b.y[v]
	for p := b.parent[u]; p != none; p = b.parent[p] {
		for q := b.parent[v]; q != none; q = b.parent[q] {
			if p == q {
				have += b.z[p]
			}
		}
	}
	return have >= w
}
