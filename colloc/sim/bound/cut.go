package bound

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/colloc/sim/bound/internal/pdhg"
)

// cuts are how many times are tried after which all that is left must be done.
const cuts = 4

// cut looks for prices for the makespan that prove more than those of a whole day, whose program
// may not be solved: of each of some times, what work is left at the least, and how long all GPUs
// need for it at best. The prices serve for the earliest ends, too.
func (p *pool) cut(ctx context.Context, c *Certificate, until float64) (float64, error) {
	var arrivals []float64
	for i := range p.tasks {
		arrivals = append(arrivals, p.tasks[i].arrival)
	}
	slices.Sort(arrivals)
	at := pdhg.Point{}
	for n := range cuts {
		from := arrivals[n*(len(arrivals)-1)/(cuts-1)]
		var work []float64
		if at, work = p.after(ctx, from, at); ctx.Err() != nil {
			return 0, ctx.Err()
		}
		prices := Prices{Moments: []float64{from}, Task: make([]float64, len(p.tasks)), Work: make([][]float64, len(p.kinds))}
		for k := range work {
			prices.Work[k] = []float64{work[k]}
		}
		for i := range p.tasks {
			prices.Task[i] = p.tasks[i].width * work[p.tasks[i].kind]
		}
		p.raiseEnds(&prices, at.X[0])
		end, err := p.provenEnd(ctx, &prices, p.list)
		if err != nil {
			return 0, err
		}
		c.Order = append(c.Order, work)
		if end > c.Makespan {
			c.Makespan, c.Ends = end, prices
			until = max(from+at.X[0], p.first+end.Seconds())
		}
	}
	return until, nil
}

// after finds prices of work after a time: how long sets must run until what is left then is done.
//
//	min T   Σ rate(k, S)·x(S) >= left(k)   count(c)·T − Σ x(S on c) >= 0
func (p *pool) after(ctx context.Context, from float64, at pdhg.Point) (pdhg.Point, []float64) {
	left := make([]float64, len(p.kinds))
	for i := range p.tasks {
		t := &p.tasks[i]
		left[t.kind] += t.width * max(0, t.work-t.fast*max(0, from-t.arrival))
	}
	const rounds, precise, steps = 40, 1e-5, 6000
	unit := 0.0
	for _, w := range left {
		unit += w / float64(len(left))
	}
	if unit == 0 {
		unit = 1
	}
	for j := range at.X {
		at.X[j] /= unit
	}
	work := make([][]float64, len(p.kinds))
	for range rounds {
		l := &pdhg.Program{}
		for _, w := range left {
			l.Row(w / unit)
		}
		l.Variable(1, 0, math.Inf(1))
		for c := range p.cards {
			l.Set(l.Row(0), 0, float64(p.cards[c].count))
		}
		for _, n := range p.taken {
			x := &p.sets[n]
			v := l.Variable(0, 0, math.Inf(1))
			for j, m := range x.members {
				l.Set(m.kind, v, x.rates[j])
			}
			l.Set(len(p.kinds)+x.card, v, -1)
		}
		var exact bool
		if at, exact = l.Solve(ctx, at, precise, steps); ctx.Err() != nil {
			break
		}
		for k := range work {
			work[k] = at.Y[k : k+1]
		}
		if p.price(work, nil, 1, nearly, true) == 0 && exact {
			break
		}
	}
	for j := range at.X {
		at.X[j] *= unit
	}
	return at, slices.Clone(at.Y[:len(p.kinds)])
}
