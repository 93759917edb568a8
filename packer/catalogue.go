package packer

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// catalogue holds what every multiset of task types adds to each class of GPUs,
// in colexicographic order: the types i1 <= i2 <= … <= ir have the rank
//
//	C(i1, 1) + C(i2+1, 2) + … + C(ir+r-1, r)
//
// among the multisets of r, so that a value is found without a search and a walk
// over all of them reads memory in order. Where no two tasks are alike these are
// the sets of tasks, and some that do not exist.
type catalogue struct {
	*typing
	in     *instance
	choose [][]int     // choose[r][i] = C(i, r)
	gains  [][][]int32 // [class][size-1][rank], units over the residents; 0 is not allowed
}

// seats returns how many new tasks class k may take.
func (in *instance) seats(k int) int {
	c := &in.classes[k]
	if !c.open(in.maxSet) {
		return 0
	}
	room := in.maxSet - len(c.residents)
	if len(c.mechs) == 0 {
		room = min(room, 1)
	}
	return min(room, len(in.tasks))
}

// countSets returns how many multisets of types there are for all classes;
// limit+1 if more than limit.
func (in *instance) countSets(types, limit int) int {
	total := 0
	for k := range in.classes {
		sets := 1
		for r := 1; r <= in.seats(k); r++ {
			// C(n+r-1, r) from the one before; the factors are small while below limit.
			sets = sets * (types + r - 1) / r
			if total += sets; total > limit || sets > limit {
				return limit + 1
			}
		}
	}
	return total
}

// newCatalogue asks the model for all sets; the caller has counted them. When
// ctx is cancelled it returns ctx.Err().
func (e *evaluator) newCatalogue(ctx context.Context, ty *typing) (*catalogue, error) {
	in, n := e.in, len(ty.members)
	cat := &catalogue{typing: ty, in: in, gains: make([][][]int32, len(in.classes))}
	most := 0
	for k := range in.classes {
		most = max(most, in.seats(k))
	}
	cat.choose = make([][]int, most+1)
	for r := range cat.choose {
		cat.choose[r] = make([]int, n+most+1)
		for i := range cat.choose[r] {
			switch {
			case r == 0:
				cat.choose[r][i] = 1
			case i > 0:
				cat.choose[r][i] = cat.choose[r][i-1] + cat.choose[r-1][i-1]
			}
		}
	}
	for k := range in.classes {
		if err := cat.fill(ctx, e, k); err != nil {
			return nil, err
		}
	}
	return cat, nil
}

// fill evaluates all sets on class k.
func (cat *catalogue) fill(ctx context.Context, e *evaluator, k int) error {
	c, n := &cat.in.classes[k], len(cat.members)
	b := &cataloguer{evaluator: e, cat: cat, c: c}
	for size := 1; size <= cat.in.seats(k); size++ {
		b.gains = make([]int32, cat.choose[size][n+size-1])
		b.set, b.types = make([]*Task, size), make([]int, size)
		var err error
		switch {
		case size == 1 && k < cat.in.free:
			err = b.alone(ctx)
		case size == 2 && k < cat.in.free:
			err = b.pairs(ctx)
		default:
			err = b.larger(ctx, size, n, 0, c.base, c.usable-c.used)
		}
		if err != nil {
			return err
		}
		cat.gains[k] = append(cat.gains[k], b.gains)
	}
	return ctx.Err()
}

// cataloguer fills the sets of one size on one class.
type cataloguer struct {
	*evaluator
	cat    *catalogue
	c      *class
	single []int64 // by type, of free classes
	gains  []int32
	set    []*Task // being chosen, from the last to the first
	types  []int
}

// alone fills the sets of one.
func (b *cataloguer) alone(ctx context.Context) error {
	b.single = make([]int64, len(b.cat.members))
	for i, m := range b.cat.members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := b.evaluator.alone(b.c, b.in.tasks[m[0]])
		if err != nil {
			return err
		}
		b.single[i], b.gains[i] = v.units, int32(v.units)
	}
	return nil
}

// pairs fills the sets of two, type by type.
func (b *cataloguer) pairs(ctx context.Context) error {
	single := make([]int64, len(b.in.tasks))
	for i, m := range b.cat.members {
		single[m[0]] = b.single[i]
		if len(m) > 1 {
			single[m[1]] = b.single[i]
		}
	}
	r := newPairRow(b.evaluator, b.c, single)
	for i, m := range b.cat.members {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := b.in.tasks[m[0]]
		r.ids, r.tasks = r.ids[:0], r.tasks[:0]
		for j := i; j < len(b.cat.members); j++ {
			other := b.cat.members[j]
			if j == i && len(m) == 1 {
				continue
			}
			o := other[0]
			if j == i {
				o = m[1]
			}
			if u := b.in.tasks[o]; b.c.room([]*Task{t, u}, b.in.maxSet).code == 0 {
				r.ids, r.tasks = append(r.ids, o), append(r.tasks, u)
			}
		}
		if err := r.fill(int(m[0])); err != nil {
			return err
		}
		for n, o := range r.ids {
			b.gains[b.cat.choose[2][int(b.cat.of[o])+1]+i] = r.values[n]
		}
	}
	return nil
}

// larger picks the r-th member of the set among the types before below, and then
// those up to it. rank is the part of the set's rank that is settled, ref the
// value to beat, room the memory left.
func (b *cataloguer) larger(ctx context.Context, r, below, rank int, ref int64, room profile.Bytes) error {
	if r == 2 && ctx.Err() != nil {
		return ctx.Err()
	}
	for i := range below {
		copies := 0
		for p := r; p < len(b.types) && b.types[p] == i; p++ {
			copies++
		}
		m := b.cat.members[i]
		if copies == len(m) {
			continue
		}
		t := b.in.tasks[m[copies]]
		if t.Memory > room || t.Alone && len(b.set) > 1 {
			continue
		}
		b.set[r-1], b.types[r-1] = t, i
		best, at := ref, rank+b.cat.choose[r][i+r-1]
		if b.single != nil {
			best = max(best, b.single[i])
		}
		if r > 1 {
			if err := b.larger(ctx, r-1, i+1, at, best, room-t.Memory); err != nil {
				return err
			}
			continue
		}
		v, err := b.together(b.c, b.set, best)
		if err != nil {
			return err
		}
		if v.code == 0 {
			b.gains[at] = int32(v.units - b.c.base)
		}
	}
	return nil
}

// gain returns what the ascending types add to class k; 0 if they may not.
func (cat *catalogue) gain(k int, types []int32) int64 {
	if len(types) == 0 || len(types) > len(cat.gains[k]) {
		return 0
	}
	rank := 0
	for r, i := range types {
		rank += cat.choose[r+1][int(i)+r]
	}
	return int64(cat.gains[k][len(types)-1][rank])
}

// typed writes the types of tasks to dst, ascending, and returns it.
func (cat *catalogue) typed(dst, tasks []int32) []int32 {
	dst = dst[:0]
	for _, i := range tasks {
		dst = append(dst, cat.of[i])
	}
	slices.Sort(dst)
	return dst
}

// pricePass walks over all sets on one class at given prices.
type pricePass struct {
	cat   *catalogue
	class int
	u     []int64 // of types, quarters
	floor int64   // profits up to this are of no interest
	top   int64   // the largest profit, 0 at least
	// visit is called for sets with a profit above floor. types is used again.
	// It returns false to stop.
	visit func(types []int32, profit int64) bool
	// every is set to visit all such sets; otherwise one of those that differ in
	// their first type only, the best.
	every bool
	set   []int32
	stop  bool // visit, or ctx, said so
}

// run visits the sets. A cancelled ctx stops it.
func (p *pricePass) run(ctx context.Context) {
	for size := 1; size <= len(p.cat.gains[p.class]); size++ {
		p.set = make([]int32, size)
		p.walk(ctx, size, len(p.u), 0, 0)
	}
}

// walk visits the sets whose members after the r-th are chosen.
func (p *pricePass) walk(ctx context.Context, r, below, rank int, paid int64) {
	if r > 1 {
		p.stop = p.stop || ctx.Err() != nil
		for i := 0; i < below && !p.stop; i++ {
			p.set[r-1] = int32(i)
			p.walk(ctx, r-1, i+1, rank+p.cat.choose[r][i+r-1], paid+p.u[i])
		}
		return
	}
	row := p.cat.gains[p.class][len(p.set)-1][rank : rank+below]
	u := p.u[:len(row)]
	most, first := int64(math.MinInt64), none
	for i, g := range row {
		if v := quarters*int64(g) - u[i]; v > most && g > 0 {
			most, first = v, i
		}
	}
	if first == none {
		return
	}
	p.top = max(p.top, most-paid)
	if most-paid <= p.floor {
		return
	}
	for i, g := range row {
		v := quarters*int64(g) - u[i] - paid
		if i == first || p.every && g > 0 && v > p.floor {
			p.set[0] = int32(i)
			p.stop = p.stop || !p.visit(p.set, v)
		}
	}
}
