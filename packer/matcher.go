package packer

import (
	"context"
	"slices"
)

// matcher finds the best pairs at given prices for GPUs. Its graph has a vertex
// for each task and one for each GPU that holds a resident and takes one task
// more. Values are four times a unit: prices then fall between units, and
// duals stay whole.
type matcher struct {
	*table        // values with what members can save by staying
	plain  *table // values without
	seats  []int  // classes of the vertices n, n+1, ...
	d      *dense
	last   *matching // that d solved
	tol    float64   // relative gap at which a matching is good enough
}

func newMatcher(ctx context.Context, t *table) *matcher {
	m := &matcher{table: t.hopeful(ctx), plain: t}
	for k, gain := range t.gain {
		if gain != nil {
			m.seats = append(m.seats, k)
		}
	}
	return m
}

// matching is the best use of the GPUs at some prices.
type matching struct {
	prices []int64   // of the free classes
	mate   []int32   // of vertices
	class  []int32   // of tasks: where they run, or none; of a seat's mate the seat's class
	counts []int     // GPUs used in each free class
	y      []int64   // duals of vertices
	odd    []oddNode // duals of odd sets
	dual   int64     // what the duals prove, without the price of the GPUs
}

type oddNode struct {
	vertices []int32
	z        int64
}

// single returns the best class for task i alone at the given prices.
func (m *matcher) bestSingle(i int, prices []int64) (int64, int32) {
	best, class := int64(0), int32(none)
	for k, p := range prices {
		p *= int64(m.in.tasks[i].gpus())
		if v := m.single[k][i]; v > 0 && (4*v-p > best || class == none && 4*v-p == best) {
			best, class = 4*v-p, int32(k)
		}
	}
	return best, class
}

// bestPair returns the best class for tasks i and j together.
func (m *matcher) bestPair(i, j int, prices []int64) (int64, int32) {
	best, class := int64(0), int32(none)
	for k, p := range prices {
		if m.pair[k] == nil {
			continue
		}
		p *= int64(m.in.tasks[i].gpus())
		if v := int64(m.pair[k][i*m.n+j]); v > 0 && (v-p > best || class == none) {
			best, class = v-p, int32(k)
		}
	}
	return best, class
}

// graph is the matrix of the matching problem with vertex potentials: the price
// of a GPU is shared between the two tasks of a pair.
//
//	value(i, j) - λ = w(i, j) - shift(i) - shift(j)
//
// With one free class w does not depend on λ, so a change of price changes
// floors alone and the duals of one price are a start for the next.
func (m *matcher) graph(prices []int64, stop func() bool) {
	nv := m.n + len(m.seats)
	one := m.apart()
	if m.d != nil && one {
		return
	}
	if one && len(m.seats) == 0 && m.pair[0] != nil {
		m.d = newDense(nv, m.pair[0])
		return
	}
	switch {
	case m.in.maxSet < 2:
		m.d = newDense(nv, nil)
		return
	case m.d == nil:
		m.d = newDense(nv, make([]int32, nv*nv))
	}
	w := m.d.w
	for i := range m.n {
		if i%rowsPerPoll == 0 && stop() {
			return
		}
		row := w[i*nv : (i+1)*nv]
		m.bestRow(i, row, prices)
		for s, k := range m.seats {
			v := int32(quarters * m.gain[k][i])
			row[m.n+s], w[(m.n+s)*nv+i] = v, v
		}
	}
	for s := range m.seats {
		row := w[(m.n+s)*nv+m.n : (m.n+s+1)*nv]
		for j := range row {
			row[j] = -1 << 30
		}
	}
	if m.d.y != nil {
		if m.last != nil && m.follow(prices) {
			m.d.restart(stop)
		} else {
			m.d.y, m.d.moved = nil, 0
		}
	}
}

// movedBits is how far prices may move for the duals at the old ones to be a
// start, as a power of two below the largest value. Beyond, an auction is faster.
const movedBits = 8

// follow makes the duals of the last matching a start for new prices: those of
// the tasks follow the prices of the kinds of GPU that it gave them, so that its
// pairs stay tight. It reports whether that is of use.
func (m *matcher) follow(prices []int64) bool {
	m.d.moved = 0
	for k, p := range prices {
		m.d.moved = max(m.d.moved, p-m.last.prices[k], m.last.prices[k]-p)
	}
	if m.d.moved > int64(m.d.top>>movedBits) {
		return false
	}
	for i, k := range m.last.class {
		if k == none || int(k) >= m.in.free {
			continue
		}
		rise := (prices[k] - m.last.prices[k]) * int64(m.in.tasks[i].gpus())
		if m.last.mate[i] != none {
			rise /= 2
		}
		m.d.y[i] -= rise
	}
	return true
}

// bestRow fills in the value of task i beside all others on the kind of GPU
// where that is worth most at the prices; with one kind, before its price.
func (m *matcher) bestRow(i int, row []int32, prices []int64) {
	clear(row)
	for k, p := range prices {
		if m.pair[k] == nil {
			continue
		}
		p *= int64(m.in.tasks[i].gpus())
		if m.apart() {
			p = 0
		}
		for j, v := range m.pair[k][i*m.n : (i+1)*m.n] {
			if x := int64(v) - p; x > int64(row[j]) {
				row[j] = int32(x)
			}
		}
	}
}

// apart reports whether the price can be kept out of the matrix: with one kind
// of GPU, of which every set takes one.
func (m *matcher) apart() bool { return m.in.free == 1 && !m.in.gangs }

// shift returns the potentials of tasks and of seats.
func (m *matcher) shift(prices []int64) (task, seat int64) {
	if m.apart() {
		return prices[0] / 2, -prices[0] / 2
	}
	return 0, 0
}

// at solves the problem with prices instead of a number of GPUs. It returns nil
// when cancelled.
func (m *matcher) at(ctx context.Context, prices []int64) *matching {
	stop := func() bool { return ctx.Err() != nil }
	m.graph(prices, stop)
	if stop() {
		return nil
	}
	task, seat := m.shift(prices)
	floor := make([]int64, m.n+len(m.seats))
	for i := range floor {
		if i < m.n {
			floor[i], _ = m.bestSingle(i, prices)
			floor[i] += task
		} else {
			floor[i] = seat
		}
	}
	t := terms{stop: stop, anew: m.apart()}
	if m.tol > 0 {
		rest := m.constant(prices) - int64(m.n)*task - int64(len(m.seats))*seat
		t.tol = m.tol
		t.enough = func(gap, dual int64) bool { return float64(gap) <= m.tol*float64(dual+rest) }
	}
	b := m.d.solve(floor, t)
	if b == nil {
		return nil
	}
	r := m.read(b, prices)
	for i := range r.y {
		if i < m.n {
			r.y[i] -= task
		} else {
			r.y[i] -= seat
		}
		r.dual += r.y[i]
	}
	m.last = r
	return r
}

// read turns the state of a solved blossom into a matching.
func (m *matcher) read(b *blossom, prices []int64) *matching {
	r := &matching{prices: slices.Clone(prices), mate: b.mate, y: b.y, counts: make([]int, m.in.free), class: make([]int32, m.n)}
	for i := range m.n {
		switch mate := int(b.mate[i]); {
		case mate == none:
			_, r.class[i] = m.bestSingle(i, prices)
		case mate >= m.n:
			r.class[i] = int32(m.seats[mate-m.n])
			continue
		default:
			_, r.class[i] = m.bestPair(min(i, mate), max(i, mate), prices)
			if mate < i {
				continue
			}
		}
		if k := r.class[i]; k != none {
			r.counts[k] += m.in.tasks[i].gpus()
		}
	}
	for node := b.n; node < len(b.z); node++ {
		if b.z[node] == 0 {
			continue
		}
		odd := oddNode{z: b.z[node]}
		b.eachVertex(int32(node), func(v int32) { odd.vertices = append(odd.vertices, v) })
		slices.Sort(odd.vertices)
		r.odd = append(r.odd, odd)
		r.dual += odd.z * int64(len(odd.vertices)/2)
	}
	return r
}

// bound returns what r proves about the value of every plan, in quarters.
func (m *matcher) bound(r *matching) int64 { return r.dual + m.constant(r.prices) }

// constant is the part of a bound that depends on the prices alone: the price
// of all GPUs, and the residents.
func (m *matcher) constant(prices []int64) int64 {
	total := int64(0)
	for k := range m.in.classes {
		c := &m.in.classes[k]
		if k < m.in.free {
			total += prices[k] * int64(len(c.members))
		} else {
			total += quarters * c.base
		}
	}
	return total
}

// proof writes r as a certificate.
func (m *matcher) proof(r *matching) proof {
	in := m.in
	scale := in.unit / quarters
	c := &Certificate{U: make([]float64, m.n), Lambda: make([]float64, len(in.p.GPUs))}
	for i, o := range in.origin {
		c.U[o] = float64(r.y[i]) * scale
	}
	for k := range in.classes {
		price := quarters * in.classes[k].base
		if k < in.free {
			price = r.prices[k]
		} else if s := slices.Index(m.seats, k); s >= 0 {
			price += r.y[m.n+s]
		}
		for _, g := range in.classes[k].members {
			c.Lambda[g] = float64(price) * scale
		}
	}
	for _, odd := range r.odd {
		set := OddSet{Z: float64(odd.z) * scale}
		for _, v := range odd.vertices {
			if int(v) < m.n {
				set.Tasks = append(set.Tasks, in.origin[v])
			} else {
				set.GPUs = append(set.GPUs, in.classes[m.seats[int(v)-m.n]].members[0])
			}
		}
		slices.Sort(set.Tasks)
		slices.Sort(set.GPUs)
		c.Odd = append(c.Odd, set)
	}
	return proof{bound: float64(m.bound(r)) * scale, cert: c}
}
