package bound

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/colloc/sim/bound/internal/pdhg"
)

// search finds prices.
type search struct{ *pool }

// coarse is of how many parts the day is on which prices are looked for first.
const coarse = 16

// phase is how a program is solved: in how many parts of the day, how precisely, by how many
// steps at a time, and how often.
type phase struct {
	parts   int
	precise float64
	steps   int
	rounds  int
}

// solve looks for prices in phases: in each round it solves the program, lets try see what
// came of it, and lets sets in that pay. It ends when there are none, and prices are precise.
func (s *search) solve(ctx context.Context, mean bool, edges func(parts int) []float64, try func(*layout, pdhg.Point) error) error {
	var of *layout
	var at pdhg.Point
	phases := []phase{{coarse, 1e-3, 1200, 14}, {s.Moments, 1e-4, 1500, 6}}
	if s.Moments <= coarse {
		phases = phases[1:]
	}
	for _, ph := range phases {
		l := &layout{pool: s.pool, edges: edges(ph.parts), mean: mean}
		for round := range ph.rounds {
			l.build()
			if round == 0 && of != nil {
				at = l.refine(of, at)
			}
			var exact bool
			if at, exact = l.program.Solve(ctx, at, ph.precise, ph.steps); ctx.Err() != nil {
				return ctx.Err()
			}
			if ph.parts == s.Moments {
				if err := try(l, at); err != nil {
					return err
				}
			}
			if s.price(l.work(at.Y), l.place(at.Y), l.parts(), nearly, false) == 0 && exact {
				break
			}
		}
		of = l
	}
	return nil
}

// span is from the first arrival to the last.
func (s *search) span() (from, to float64) {
	from, to = s.first, s.first
	for i := range s.tasks {
		from, to = min(from, s.tasks[i].arrival), max(to, s.tasks[i].arrival)
	}
	return from, to
}

// ends finds prices for the makespan, and about when it is.
func (s *search) ends(ctx context.Context, c *Certificate) (until float64, err error) {
	from, last := s.span()
	edges := func(parts int) []float64 {
		out := []float64{from}
		if last > from {
			out = even(from, last, parts)
		}
		return append(out, math.Inf(1))
	}
	c.Makespan = -1
	err = s.solve(ctx, false, edges, func(l *layout, at pdhg.Point) error {
		tail := at.X[l.length] * l.unit
		p := l.prices(at)
		s.raiseEnds(&p, tail)
		end, err := s.provenEnd(ctx, &p, s.list)
		if end > c.Makespan {
			c.Makespan, c.Ends, until = end, p, last+tail
		}
		return err
	})
	if err == nil && len(s.tasks) > 0 {
		until, err = s.cut(ctx, c, until)
	}
	return until, err
}

// means finds prices for the mean, on a day that could end at about some time.
func (s *search) means(ctx context.Context, c *Certificate, until float64) error {
	from, _ := s.span()
	const later, late = 1.3, 2
	edges := func(parts int) []float64 {
		return append(even(from, from+later*(until-from), parts), from+late*(until-from))
	}
	c.MeanJCT = -1
	try := func(p Prices) error {
		s.fit(&p)
		s.raiseMeans(&p)
		mean, err := s.provenMean(ctx, &p, s.list)
		if mean > c.MeanJCT {
			c.MeanJCT, c.Means = mean, p
		}
		return err
	}
	err := s.solve(ctx, true, edges, func(l *layout, at pdhg.Point) error { return try(l.prices(at)) })
	// Where few tasks compete many prices are as good for the program, which knows parts of
	// the day, but not for the proof: calmer ones may prove more.
	for n := 0; n < 2 && err == nil; n++ {
		err = try(c.Means.calm())
	}
	for _, part := range []float64{0.75, 0.5, 0} {
		if err == nil {
			err = try(c.Means.times(part))
		}
	}
	return err
}

// order finds lists of prices for the earliest ends: of those that were found for cuts, and of
// those of means at each moment, the ones that prove something more.
func (s *search) order(ctx context.Context, c *Certificate) error {
	lists := c.Order
	for k := range c.Means.Moments {
		list := make([]float64, len(s.kinds))
		for kind := range list {
			list[kind] = c.Means.Work[kind][k]
		}
		lists = append(lists, list)
	}
	c.Order = nil
	ends, err := s.endsOf(ctx, lists, s.list)
	if err != nil {
		return err
	}
	known := s.endsAlone()
	best := later(known, known)
	for range lists {
		const little = 1e-4
		top, at := best*(1+little), -1
		for n := range lists {
			if x := later(slices.Clone(known), ends[n]); x > top {
				top, at = x, n
			}
		}
		if at < 0 {
			break
		}
		best = later(known, ends[at])
		c.Order = append(c.Order, lists[at])
	}
	makespan, mean, err := s.provenOrder(ctx, c.Order, s.list)
	c.Makespan, c.MeanJCT = max(c.Makespan, makespan), max(c.MeanJCT, mean)
	return err
}
