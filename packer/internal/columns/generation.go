package columns

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/catalogue"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/search"
)

const (
	maxPricings = 300     // rounds of column generation
	maxPool     = 1 << 18 // sets in a pool: some 30 MiB
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

// limits are how long a generation may go on. Whatever they are, the bound holds: it is
// priced over all sets in whole numbers.
type limits struct {
	pricings int // rounds
	pool     int // sets in a pool
}

// Generation is the state of a column generation: the linear program over the
// sets found so far, the best prices and the best plan.
type Generation struct {
	*search.Search
	cat    *catalogue.Catalogue
	sites  []site
	at     []int // site of each GPU
	lp     *packing
	Sets   []priced // of each column of lp
	tol    float64
	Rounds int
	limits

	base  int64    // what residents do anyway, quarters
	value int64    // of the best plan beyond base, quarters
	bound int64    // of every plan beyond base, quarters
	u     []int64  // prices of types that prove bound, quarters
	most  []int64  // profit of the best set in each site at u, quarters
	best  []priced // most profitable new set of each type
}

// New prepares the linear program with the sets of a first plan.
func New(ctx context.Context, e *instance.Evaluator, cat *catalogue.Catalogue, start *instance.Plan, tol float64, seed uint64) (*Generation, error) {
	in := e.In
	s, err := search.New(e, start, seed)
	if err != nil {
		return nil, err
	}
	if s, err = s.OrSimpler(ctx, seed); err != nil {
		return nil, err
	}
	s.Values = cat
	n := len(cat.Members)
	g := &Generation{
		Search: s, cat: cat, tol: tol, at: make([]int, len(in.ByGPU)),
		limits: limits{maxPricings, maxPool}, bound: math.MaxInt64, u: make([]int64, n), best: make([]priced, n),
	}
	for k := range in.Classes {
		g.settle(k)
	}
	g.most = make([]int64, len(g.sites))
	var limit []float64
	for _, m := range cat.Members {
		limit = append(limit, float64(len(m)))
	}
	for _, pl := range g.sites {
		limit = append(limit, float64(pl.gpus))
	}
	g.lp = newPacking(limit)
	for k := range in.Classes {
		g.base += instance.Quarters * in.Classes[k].Base * int64(len(in.Classes[k].Members))
	}
	g.start()
	g.tally()
	return g, nil
}

// start adds the sets of the plan to the linear program, each once.
func (g *Generation) start() {
	var sets []priced
	for i := range g.Groups {
		if to := &g.Groups[i]; len(to.Tasks) > 0 {
			sets = append(sets, priced{site: g.at[to.Gpu], types: g.cat.Typed(nil, to.Tasks)})
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
func (g *Generation) settle(k int) {
	common := none
	for _, gpu := range g.In.Classes[k].Members {
		if g.In.Here[gpu] {
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
func (g *Generation) gain(at int, types []int32) int64 {
	pl := &g.sites[at]
	gain := g.cat.Gain(pl.class, types)
	if gain > 0 && pl.home != none {
		for _, t := range types {
			gain += g.In.StayOn(int(pl.home), g.cat.Members[t][0])
		}
	}
	return gain
}

// pass prepares a walk over the sets in a site at prices u. A set of gangs pays
// other for each of its GPUs but one.
func (g *Generation) pass(at int, u []int64, floor, other int64) *catalogue.Pass {
	pl := &g.sites[at]
	if pl.home != none {
		u = slices.Clone(u)
		for i := range u {
			u[i] -= instance.Quarters * g.In.StayOn(int(pl.home), g.cat.Members[i][0])
		}
	}
	return &catalogue.Pass{Cat: g.cat, Class: pl.class, U: u, Floor: floor, Other: other, Wide: g.In.Gangs && pl.class < g.In.Free}
}

// tally sums the plan's sets up.
func (g *Generation) tally() {
	g.value = 0
	for i := range g.Groups {
		to := &g.Groups[i]
		g.value += instance.Quarters * (to.Value - g.In.Classes[to.Class].Base)
	}
}

// column adds a set to the linear program.
func (g *Generation) column(set priced) {
	set.types = slices.Clone(set.types)
	c := column{value: float64(g.gain(set.site, set.types)) / instance.Resolution}
	c.rows = append(slices.Compact(slices.Clone(set.types)), int32(len(g.u)+set.site))
	width := g.width(set.site, set.types)
	if len(c.rows) <= len(set.types) || width > 1 { // some types repeat, or it takes several GPUs
		c.times = make([]float64, len(c.rows))
		for _, t := range set.types {
			at, _ := slices.BinarySearch(c.rows, t)
			c.times[at]++
		}
		c.times[len(c.times)-1] = float64(width)
	}
	g.lp.add(c)
	g.Sets = append(g.Sets, set)
}

// width returns how many GPUs a set of types takes in a site.
func (g *Generation) width(at int, types []int32) int {
	if !g.In.Gangs {
		return 1
	}
	return g.In.WidthOn(g.sites[at].class, g.cat.Members[types[0]][0])
}
