package packer

import (
	"context"
	"math"
)

// pricePass walks over all sets on one class at given prices.
type pricePass struct {
	cat   *catalogue
	class int
	u     []int64 // of types, quarters
	floor int64   // profits up to this are of no interest
	// top is the largest profit, 0 at least; the floor at least where sets are
	// unlisted. It means nothing if the pass was stopped, or quick.
	top int64
	// visit is called for sets with a profit above floor. types is used again.
	// It returns false to stop.
	visit func(types []int32, profit int64) bool
	// every is set to visit all such sets; otherwise one of those listed that
	// differ in their first type only, the best, and maxFound of those not listed
	// that end in the same type.
	every bool
	// wide is set if sets may take several GPUs. Their profit is what is left after
	// paying other for each GPU but one; top is the largest for each GPU, rounded up.
	wide  bool
	other int64
	quick bool // of the unlisted sets, visit only what a beam search finds
	set   []int32
	stop  bool // visit, or ctx, said so, or sets were left out
}

// run visits the sets. A cancelled ctx stops it.
func (p *pricePass) run(ctx context.Context) {
	for size := 1; size <= len(p.cat.gains[p.class]); size++ {
		p.set = make([]int32, size)
		p.walk(ctx, size, len(p.u), 0, 0)
	}
	switch x := p.cat.unlisted[p.class]; {
	case x == nil || p.stop:
	case p.quick:
		x.search(ctx, p)
	default:
		x.bounded(ctx, p)
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
	if p.wide {
		p.walkWide(row, paid)
		return
	}
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

// walkWide is the last step of walk where sets may take several GPUs.
func (p *pricePass) walkWide(row []int32, paid int64) {
	for i, g := range row {
		if g <= 0 || p.stop {
			continue
		}
		profit := quarters*int64(g) - p.u[i] - paid
		width := p.cat.in.tasks[p.cat.members[i][0]].gpus
		p.top = max(p.top, share(profit, width))
		if profit -= int64(width-1) * p.other; profit > p.floor {
			p.set[0] = int32(i)
			p.stop = p.stop || !p.visit(p.set, profit)
		}
	}
}
