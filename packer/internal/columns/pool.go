package columns

import (
	"cmp"
	"context"
	"slices"
)

// pool holds the sets that a plan better than the best one known may use: those
// that lose less against the prices than that plan does as a whole.
type pool struct {
	u    []int64 // prices of types, quarters
	most []int64 // profit at which a set in each site loses nothing
	sets []losing
	by   [][]holder // sets that hold each type, least loss first
}

// holder is a set that holds a type, with one of the others (the type itself if
// there is none): most sets are out of the question for that one.
type holder struct {
	loss       int64
	set, other int32
}

// losing is a set with its loss.
type losing struct {
	site  int
	types []int32 // ascending
	loss  int64
}

// newPool collects the sets with a loss below limit, or less if they are too many: half
// the limit each time, down to 0, where those that lose nothing are cut short.
func (g *Generation) newPool(ctx context.Context, limit int64) *pool {
	p := &pool{u: g.u, most: g.most, by: make([][]holder, len(g.u))}
	for full := true; full && ctx.Err() == nil; limit /= 2 {
		p.sets, full = p.sets[:0], false
		for k := range g.sites {
			walk := g.pass(k, g.u, g.most[k]-limit, g.most[k])
			walk.Every = true
			walk.Visit = func(types []int32, profit int64) bool {
				p.sets = append(p.sets, losing{k, slices.Clone(types), g.most[k] - profit})
				full = full || len(p.sets) > g.pool
				return !full
			}
			walk.Run(ctx)
		}
		full = full && limit > 0 // then nothing loses less: those there are will do
	}
	slices.SortStableFunc(p.sets, func(a, b losing) int { return cmp.Compare(a.loss, b.loss) })
	for c := range p.sets {
		types := p.sets[c].types
		for n, i := range types {
			if n == 0 || i != types[n-1] {
				other := types[len(types)-1]
				if other == i {
					other = types[0]
				}
				p.by[i] = append(p.by[i], holder{p.sets[c].loss, int32(c), other})
			}
		}
	}
	return p
}
