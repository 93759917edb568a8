package pairs

import (
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/matching"
)

// rowsPerPoll is how many rows of a table are read between two looks at the
// context.
const rowsPerPoll = 64

// matcher finds the best pairs at given prices for GPUs. Its graph has a vertex
// for each task and one for each GPU that holds a resident and takes one task
// more. Values are four times a unit: prices then fall between units, and
// duals stay whole.
type matcher struct {
	*table        // values with what members can save by staying
	plain  *table // values without
	seats  []int  // classes of the vertices n, n+1, ...
	d      *matching.Solver
	last   *priced // that d solved
	rounds int     // updates of prices at most
	tol    float64 // relative gap at which a matching is good enough
	err    error   // why at returned nil, if not because it was cancelled
}

func newMatcher(ctx context.Context, t *table) *matcher {
	m := &matcher{table: t.hopeful(ctx), plain: t, rounds: maxRounds}
	for k, gain := range t.gain {
		if gain != nil {
			m.seats = append(m.seats, k)
		}
	}
	return m
}

// priced is the best use of the GPUs at some prices.
type priced struct {
	*matching.Matching         // of vertices
	prices             []int64 // of the free classes
	class              []int32 // of tasks: where they run, or none; of a seat's mate the seat's class
	counts             []int   // GPUs used in each free class
	dual               int64   // what the duals prove, without the price of the GPUs
}

// single returns the best class for task i alone at the given prices.
func (m *matcher) bestSingle(i int, prices []int64) (int64, int32) {
	best, class := int64(0), int32(none)
	for k, p := range prices {
		p *= int64(m.in.Tasks[i].GPUs)
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
		p *= int64(m.in.Tasks[i].GPUs)
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
func (m *matcher) graph(prices []int64, stop func() bool) (err error) {
	nv := m.n + len(m.seats)
	one := m.apart()
	switch {
	case m.d != nil && one:
		return nil
	case m.in.MaxSet < 2:
		m.d, err = matching.NewSolver(nv, nil)
		return err
	case one && len(m.seats) == 0 && m.pair[0] != nil:
		m.d, err = matching.NewSolver(nv, m.pair[0])
		return err
	case m.d == nil:
		if m.d, err = matching.NewSolver(nv, make([]int32, nv*nv)); err != nil {
			return err
		}
	}
	moved, shift := m.follow(prices)
	return m.d.Reweigh(func(w []int32) { m.weigh(w, prices, stop) }, moved, shift, stop)
}

// weigh fills in the matrix.
func (m *matcher) weigh(w []int32, prices []int64, stop func() bool) {
	nv := m.n + len(m.seats)
	for i := range m.n {
		if i%rowsPerPoll == 0 && stop() {
			return
		}
		row := w[i*nv : (i+1)*nv]
		m.bestRow(i, row, prices)
		for s, k := range m.seats {
			v := int32(instance.Quarters * m.gain[k][i])
			row[m.n+s], w[(m.n+s)*nv+i] = v, v
		}
	}
	for s := range m.seats {
		row := w[(m.n+s)*nv+m.n : (m.n+s+1)*nv]
		for j := range row {
			row[j] = matching.MinWeight
		}
	}
}

// follow returns how far prices have moved since the last matching, and how the
// duals of the tasks follow the prices of the kinds of GPU that it gave them, so
// that its pairs stay tight; nil without a last one.
func (m *matcher) follow(prices []int64) (moved int64, shift []int64) {
	if m.last == nil {
		return 0, nil
	}
	for k, p := range prices {
		moved = max(moved, p-m.last.prices[k], m.last.prices[k]-p)
	}
	shift = make([]int64, m.n+len(m.seats))
	for i, k := range m.last.class {
		if k == none || int(k) >= m.in.Free {
			continue
		}
		rise := (prices[k] - m.last.prices[k]) * int64(m.in.Tasks[i].GPUs)
		if m.last.Mate[i] != none {
			rise /= 2
		}
		shift[i] = -rise
	}
	return moved, shift
}

// bestRow fills in the value of task i beside all others on the kind of GPU
// where that is worth most at the prices; with one kind, before its price.
func (m *matcher) bestRow(i int, row []int32, prices []int64) {
	clear(row)
	for k, p := range prices {
		if m.pair[k] == nil {
			continue
		}
		p *= int64(m.in.Tasks[i].GPUs)
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
func (m *matcher) apart() bool { return m.in.Free == 1 && !m.in.Gangs }

// shift returns the potentials of tasks and of seats.
func (m *matcher) shift(prices []int64) (task, seat int64) {
	if m.apart() {
		return prices[0] / 2, -prices[0] / 2
	}
	return 0, 0
}

// at solves the problem with prices instead of a number of GPUs. It returns nil
// when cancelled, and if values are out of range, which err then says.
func (m *matcher) at(ctx context.Context, prices []int64) *priced {
	stop := func() bool { return ctx.Err() != nil }
	if m.err = m.graph(prices, stop); m.err != nil || stop() {
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
	o := matching.Options{Stop: stop}
	if m.tol > 0 {
		rest := m.constant(prices) - int64(m.n)*task - int64(len(m.seats))*seat
		o.Tol = m.tol
		o.Enough = func(gap, dual int64) bool { return float64(gap) <= m.tol*float64(dual+rest) }
	}
	var b *matching.Matching
	if b, m.err = m.d.Solve(floor, &o); b == nil {
		return nil
	}
	for i := range b.Duals {
		if i < m.n {
			b.Duals[i] -= task
		} else {
			b.Duals[i] -= seat
		}
	}
	m.last = m.read(b, prices)
	return m.last
}

// read tells where a matching runs its tasks.
func (m *matcher) read(b *matching.Matching, prices []int64) *priced {
	r := &priced{Matching: b, prices: slices.Clone(prices), counts: make([]int, m.in.Free), class: make([]int32, m.n)}
	for i := range m.n {
		switch mate := int(b.Mate[i]); {
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
			r.counts[k] += m.in.Tasks[i].GPUs
		}
	}
	r.dual = b.Bound()
	return r
}

// bound returns what r proves about the value of every plan, in quarters.
func (m *matcher) bound(r *priced) int64 { return r.dual + m.constant(r.prices) }

// constant is the part of a bound that depends on the prices alone: the price
// of all GPUs, and the residents.
func (m *matcher) constant(prices []int64) int64 {
	total := int64(0)
	for k := range m.in.Classes {
		c := &m.in.Classes[k]
		if k < m.in.Free {
			total += prices[k] * int64(len(c.Members))
		} else {
			total += instance.Quarters * c.Base
		}
	}
	return total
}

// proof returns what r proves.
func (m *matcher) proof(r *priced) *instance.Proof {
	in := m.in
	pr := &instance.Proof{Tasks: r.Duals[:m.n], GPUs: make([]int64, len(in.ByGPU)), Bound: m.bound(r)}
	for k := range in.Classes {
		price := instance.Quarters * in.Classes[k].Base
		if k < in.Free {
			price = r.prices[k]
		} else if s := slices.Index(m.seats, k); s >= 0 {
			price += r.Duals[m.n+s]
		}
		for _, g := range in.Classes[k].Members {
			pr.GPUs[g] = price
		}
	}
	for _, odd := range r.Odd {
		set := instance.OddSet{Price: odd.Price}
		for _, v := range odd.Vertices {
			if int(v) < m.n {
				set.Tasks = append(set.Tasks, v)
			} else {
				set.GPUs = append(set.GPUs, in.Classes[m.seats[int(v)-m.n]].Members[0])
			}
		}
		pr.Odd = append(pr.Odd, set)
	}
	return pr
}
