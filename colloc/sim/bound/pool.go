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
	p.price(prices, nil, draws, 0)
}

// top is what sets of a card earn at the most at each moment, which set that is, and what
// those that are taken do.
type top struct {
	earned, known []float64
	best          []int
}

// price takes, for each card and moment, the set that earns most where it earns more than
// those that are taken by a part, and returns how many it took.
func (p *pool) price(work [][]float64, place []float64, moments int, part float64) int {
	tops := make([]top, len(p.cards))
	for c := range tops {
		tops[c] = top{make([]float64, moments), make([]float64, moments), make([]int, moments)}
	}
	worth := make([]float64, moments)
	for n := range p.sets {
		x := &p.sets[n]
		clear(worth)
		x.earn(work, place, worth)
		t := &tops[x.card]
		for k, w := range worth {
			if w > t.earned[k] {
				t.earned[k], t.best[k] = w, n
			}
			if p.in[n] && w > t.known[k] {
				t.known[k] = w
			}
		}
	}
	before := len(p.taken)
	for c := range tops {
		t := &tops[c]
		peak := slices.Max(t.earned)
		for k, earned := range t.earned {
			const little = 0.01 // of the most that is earned
			if earned > t.known[k]*(1+part)+part*little*peak {
				p.add(t.best[k])
			}
		}
	}
	return len(p.taken) - before
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
