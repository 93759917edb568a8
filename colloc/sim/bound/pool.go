package bound

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// pool is all sets, and those that are in the linear program.
type pool struct {
	*day
	sets  []set
	taken []int // sets in the program
	in    []bool
}

// nearly is by what part a set must earn more to be let in.
const nearly = 3e-4

// set is what may share a card, and how fast each kind of its members is.
type set struct {
	card    int
	members []member
	rates   []float64
}

// newPool asks the truth for all sets, and takes tasks alone and what pays at random prices.
func newPool(ctx context.Context, d *day) (*pool, error) {
	p := &pool{day: d}
	for c := range d.cards {
		err := d.ask(ctx, c, func(members []member, rates []float64) {
			p.sets = append(p.sets, set{c, slices.Clone(members), rates})
		})
		if err != nil {
			return nil, err
		}
	}
	p.in = make([]bool, len(p.sets))
	for n := range p.sets {
		if m := p.sets[n].members; len(m) == 1 && m[0].count == 1 {
			p.add(n)
		}
	}
	p.sample()
	return p, nil
}

// list is the source of the sets that are known.
func (p *pool) list(ctx context.Context, card int, visit func(members []member, rates []float64)) error {
	for n := range p.sets {
		if x := &p.sets[n]; x.card == card {
			visit(x.members, x.rates)
		}
	}
	return ctx.Err()
}

func (p *pool) add(n int) {
	if !p.in[n] {
		p.in[n] = true
		p.taken = append(p.taken, n)
	}
}

// sample adds the sets that pay at prices drawn at random.
func (p *pool) sample() {
	const draws = 256
	r := rand.New(rand.NewPCG(1, 2))
	prices := make([][]float64, len(p.kinds))
	for k := range prices {
		prices[k] = make([]float64, draws)
		for n := range draws {
			prices[k][n] = math.Exp(r.NormFloat64()) / p.kinds[k].fast
		}
	}
	p.price(prices, nil, draws, 0, false)
}

// top is what sets of a card earn at the most at each moment, and what those that are taken
// do.
type top struct {
	earned, known []float64
	best          []int // the set that earns most, by moment
	with          []int // the set with a task of a kind that exceeds what is known most, by kind
	excess        []float64
}

// price takes, for each card and moment, the set that earns most where it earns more than
// those that are taken by a part, and if each, for each kind the one with it that exceeds them
// most. It returns how many it took.
func (p *pool) price(work [][]float64, place []float64, moments int, part float64, each bool) int {
	tops := make([]top, len(p.cards))
	for c := range tops {
		n := len(p.kinds)
		tops[c] = top{make([]float64, moments), make([]float64, moments), make([]int, moments), make([]int, n), make([]float64, n)}
	}
	worth := make([]float64, moments)
	for n := range p.sets {
		if x := &p.sets[n]; p.in[n] {
			clear(worth)
			x.earn(work, place, worth)
			for k, w := range worth {
				tops[x.card].known[k] = max(tops[x.card].known[k], w)
			}
		}
	}
	for n := range p.sets {
		if x := &p.sets[n]; !p.in[n] {
			clear(worth)
			x.earn(work, place, worth)
			tops[x.card].note(n, x, worth)
		}
	}
	before := len(p.taken)
	for c := range tops {
		t := &tops[c]
		peak := max(slices.Max(t.earned), slices.Max(t.known))
		for k, earned := range t.earned {
			const little = 0.01 // of the most that is earned
			if earned > t.known[k]*(1+part)+part*little*peak {
				p.add(t.best[k])
			}
		}
		for kind, excess := range t.excess {
			if each && excess > part*peak {
				p.add(t.with[kind])
			}
		}
	}
	return len(p.taken) - before
}

// note looks at a set that is not taken.
func (t *top) note(n int, x *set, worth []float64) {
	excess := 0.0
	for k, w := range worth {
		if w > t.earned[k] {
			t.earned[k], t.best[k] = w, n
		}
		excess = max(excess, w-t.known[k])
	}
	for _, m := range x.members {
		if excess > t.excess[m.kind] {
			t.excess[m.kind], t.with[m.kind] = excess, n
		}
	}
}

// earn adds what a set earns to worth.
func (x *set) earn(work [][]float64, place, worth []float64) {
	for i, m := range x.members {
		rate, cost := x.rates[i], 0.0
		if place != nil {
			cost = float64(m.count) * place[m.kind]
		}
		for k, price := range work[m.kind][:len(worth)] {
			worth[k] += float64(rate*price) - cost
		}
	}
}
