package columns

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// done reports whether the plan is as good as asked.
func (g *Generation) done() bool {
	return float64(g.bound-g.value) <= g.tol*float64(g.base+g.bound)
}

// Bounds generates columns until none earns anything, or the gap is small
// enough, and leaves the best bound with its prices.
func (g *Generation) Bounds(ctx context.Context) {
	u, most := make([]int64, len(g.u)), make([]int64, len(g.most))
	for ; g.Rounds < g.pricings && ctx.Err() == nil && !g.done(); g.Rounds++ {
		g.lp.solve(ctx)
		bound := g.sweep(ctx, u, most)
		if ctx.Err() != nil {
			return // sets are missing from the pass
		}
		if bound < g.bound {
			g.bound = bound
			copy(g.u, u)
			copy(g.most, most)
		}
		if !g.extend() {
			return
		}
	}
}

// sweep prices all sets at the prices of the linear program, which it writes to u,
// offers each type the most profitable one that holds it, and writes the
// largest profit in each site to most. It returns the bound that the prices prove.
func (g *Generation) sweep(ctx context.Context, u, most []int64) (bound int64) {
	for i := range u {
		u[i] = max(0, int64(math.Ceil(g.lp.price[i]*(instance.Resolution*instance.Quarters))))
		bound += u[i] * int64(len(g.cat.Members[i]))
		g.best[i].profit = 0
	}
	for k := range most {
		least := int64(math.Ceil(max(0, g.lp.price[len(u)+k]) * (instance.Resolution * instance.Quarters)))
		pass := g.pass(k, u, least+instance.Quarters, least+instance.Quarters)
		pass.Every = g.Rounds == g.pricings-1
		pass.Visit = func(types []int32, profit int64) bool {
			for _, i := range types {
				if b := &g.best[i]; profit > b.profit {
					b.site, b.profit = k, profit
					b.types = append(b.types[:0], types...)
				}
			}
			return true
		}
		pass.Run(ctx)
		most[k] = pass.Top
		bound += most[k] * int64(g.sites[k].gpus)
	}
	return bound
}

// extend adds the sets that earn most for each type; false if there are none.
func (g *Generation) extend() bool {
	found := false
	for i := range g.best {
		b := &g.best[i]
		if b.profit == 0 || slices.ContainsFunc(g.best[:i], func(o priced) bool {
			return o.profit == b.profit && o.site == b.site && slices.Equal(o.types, b.types)
		}) {
			continue
		}
		found = true
		g.column(*b)
	}
	return found
}

// Proof returns the best prices.
func (g *Generation) Proof() *instance.Proof {
	in := g.In
	if g.bound == math.MaxInt64 {
		return nil
	}
	pr := &instance.Proof{Tasks: make([]int64, len(in.Tasks)), GPUs: make([]int64, len(in.ByGPU)), Bound: g.base + g.bound}
	for i, t := range g.cat.Of {
		pr.Tasks[i] = g.u[t]
	}
	for gpu, k := range in.ByGPU {
		pr.GPUs[gpu] = g.most[g.at[gpu]] + instance.Quarters*in.Classes[k].Base
	}
	return pr
}
