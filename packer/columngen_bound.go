package packer

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// site is where sets go that are worth the same there: the GPUs of a class, or
// one of them that is somebody's home.
type site struct {
	class int
	gpus  int
	home  int32 // the GPU if it is somebody's home, or none
}

// priced is a multiset of types in a site and what it earns beyond their prices.
type priced struct {
	site   int
	types  []int32 // ascending
	profit int64   // quarters
}

// generation is the state of a column generation: the linear program over the
// sets found so far, the best prices and the best plan.
type generation struct {
	*search
	cat    *catalogue
	sites  []site
	at     []int // site of each GPU
	lp     *packing
	sets   []priced // of each column of lp
	tol    float64
	rounds int

	base  int64    // what residents do anyway, quarters
	value int64    // of the best plan beyond base, quarters
	bound int64    // of every plan beyond base, quarters
	u     []int64  // prices of types that prove bound, quarters
	most  []int64  // profit of the best set in each site at u, quarters
	best  []priced // most profitable new set of each type
}

// generation prepares the linear program with the sets of a first plan.
func (cg ColumnGen) generation(ctx context.Context, e *evaluator, cat *catalogue, start *plan) (*generation, error) {
	in := e.in
	s, err := newSearch(e, start, cg.Seed)
	if err != nil {
		return nil, err
	}
	if s, err = s.orSimpler(ctx, cg.Seed); err != nil {
		return nil, err
	}
	s.cat = cat
	n := len(cat.members)
	g := &generation{
		search: s, cat: cat, tol: cg.Tol, at: make([]int, len(in.p.GPUs)),
		bound: math.MaxInt64, u: make([]int64, n), best: make([]priced, n),
	}
	for k := range in.classes {
		g.settle(k)
	}
	g.most = make([]int64, len(g.sites))
	var limit []float64
	for _, m := range cat.members {
		limit = append(limit, float64(len(m)))
	}
	for _, pl := range g.sites {
		limit = append(limit, float64(pl.gpus))
	}
	g.lp = newPacking(limit)
	for k := range in.classes {
		g.base += quarters * in.classes[k].base * int64(len(in.classes[k].members))
	}
	g.start()
	g.tally()
	return g, nil
}

// start adds the sets of the plan to the linear program, each once.
func (g *generation) start() {
	var sets []priced
	for i := range g.groups {
		if to := &g.groups[i]; len(to.tasks) > 0 {
			sets = append(sets, priced{site: g.at[to.gpu], types: g.cat.typed(nil, to.tasks)})
		}
	}
	slices.SortFunc(sets, func(a, b priced) int { return cmp.Or(cmp.Compare(a.site, b.site), slices.Compare(a.types, b.types)) })
	for i, set := range sets {
		if i == 0 || set.site != sets[i-1].site || !slices.Equal(set.types, sets[i-1].types) {
			g.column(set)
		}
	}
}

// settle adds the sites of class k.
func (g *generation) settle(k int) {
	common := none
	for _, gpu := range g.in.classes[k].members {
		if g.in.here[gpu] {
			g.at[gpu] = len(g.sites)
			g.sites = append(g.sites, site{k, 1, int32(gpu)})
			continue
		}
		if common == none {
			common = len(g.sites)
			g.sites = append(g.sites, site{k, 0, none})
		}
		g.at[gpu] = common
		g.sites[common].gpus++
	}
}

// gain returns what types add in a site, 0 if they may not.
func (g *generation) gain(at int, types []int32) int64 {
	pl := &g.sites[at]
	gain := g.cat.gain(pl.class, types)
	if gain > 0 && pl.home != none {
		for _, t := range types {
			gain += g.in.stayOn(int(pl.home), g.cat.members[t][0])
		}
	}
	return gain
}

// pass prepares a walk over the sets in a site at prices u.
func (g *generation) pass(at int, u []int64, floor int64) *pricePass {
	pl := &g.sites[at]
	if pl.home != none {
		u = slices.Clone(u)
		for i := range u {
			u[i] -= quarters * g.in.stayOn(int(pl.home), g.cat.members[i][0])
		}
	}
	return &pricePass{cat: g.cat, class: pl.class, u: u, floor: floor}
}

// tally sums the plan's sets up.
func (g *generation) tally() {
	g.value = 0
	for i := range g.groups {
		to := &g.groups[i]
		g.value += quarters * (to.value - g.in.classes[to.class].base)
	}
}

// column adds a set to the linear program.
func (g *generation) column(set priced) {
	c := column{value: float64(g.gain(set.site, set.types)) / resolution}
	for n, t := range set.types {
		if n > 0 && t == set.types[n-1] {
			c.times[len(c.times)-1]++
			continue
		}
		c.rows, c.times = append(c.rows, t), append(c.times, 1)
	}
	c.rows, c.times = append(c.rows, int32(len(g.u)+set.site)), append(c.times, 1)
	set.types = slices.Clone(set.types)
	g.lp.add(c)
	g.sets = append(g.sets, set)
}

// done reports whether the plan is as good as asked.
func (g *generation) done() bool {
	return float64(g.bound-g.value) <= g.tol*float64(g.base+g.bound)
}

// bounds generates columns until none earns anything, or the gap is small
// enough, and leaves the best bound with its prices.
func (g *generation) bounds(ctx context.Context) {
	n := len(g.u)
	u := make([]int64, n)
	most := make([]int64, len(g.most))
	for ; g.rounds < maxPricings && ctx.Err() == nil && !g.done(); g.rounds++ {
		g.lp.solve(ctx, 50*len(g.lp.limit))
		bound := int64(0)
		for i := range u {
			u[i] = max(0, int64(math.Ceil(g.lp.price[i]*(resolution*quarters))))
			bound += u[i] * int64(len(g.cat.members[i]))
			g.best[i].profit = 0
		}
		for k := range most {
			floor := int64(math.Ceil(max(0, g.lp.price[n+k])*(resolution*quarters))) + quarters
			most[k] = g.sweep(ctx, k, u, floor)
			bound += most[k] * int64(g.sites[k].gpus)
		}
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

// sweep prices all sets in a site, offers each type the most profitable one that
// holds it, and returns the largest profit.
func (g *generation) sweep(ctx context.Context, at int, u []int64, floor int64) int64 {
	pass := g.pass(at, u, floor)
	pass.visit = func(types []int32, profit int64) bool {
		for _, i := range types {
			if b := &g.best[i]; profit > b.profit {
				b.site, b.profit = at, profit
				b.types = append(b.types[:0], types...)
			}
		}
		return true
	}
	pass.run(ctx)
	return pass.top
}

// extend adds the sets that earn most for each type; false if there are none.
func (g *generation) extend() bool {
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

// proof turns the best prices into a certificate.
func (g *generation) proof() proof {
	in := g.in
	if g.bound == math.MaxInt64 {
		return unproved()
	}
	scale := in.unit / quarters
	cert := &Certificate{U: make([]float64, len(in.tasks)), Lambda: make([]float64, len(in.p.GPUs))}
	for i, o := range in.origin {
		cert.U[o] = float64(g.u[g.cat.of[i]]) * scale
	}
	for gpu := range cert.Lambda {
		cert.Lambda[gpu] = float64(g.most[g.at[gpu]]+quarters*in.classes[in.classOf(gpu)].base) * scale
	}
	return proof{bound: float64(g.base+g.bound) * scale, cert: cert}
}
