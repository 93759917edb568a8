package catalogue

import (
	"context"
	"math"

	"example.com/colloc/packer/internal/instance"
)

// Pass walks over all sets on one class at given prices.
type Pass struct {
	Cat   *Catalogue
	Class int
	U     []int64 // of types, quarters
	Floor int64   // profits up to this are of no interest
	// Top is the largest profit, 0 at least. It means nothing if the pass was stopped.
	Top int64
	// Visit is called for sets with a profit above floor. types is used again.
	// It returns false to stop.
	Visit func(types []int32, profit int64) bool
	// Every is set to visit all such sets; otherwise the best of those that differ in
	// their first type only.
	Every bool
	// Wide is set if sets may take several GPUs. Their profit is what is left after
	// paying other for each GPU but one; top is the largest for each GPU, rounded up.
	Wide  bool
	Other int64
	set   []int32
	Stop  bool // visit, or ctx, said so
}

// Run visits the sets. A cancelled ctx stops it.
func (p *Pass) Run(ctx context.Context) {
	for size := 1; size <= len(p.Cat.gains[p.Class]); size++ {
		p.set = make([]int32, size)
		p.walk(ctx, size, len(p.U), 0, 0)
	}
}

// walk visits the sets whose members after the r-th are chosen.
func (p *Pass) walk(ctx context.Context, r, below, rank int, paid int64) {
	if r > 1 {
		p.Stop = p.Stop || ctx.Err() != nil
		for i := 0; i < below && !p.Stop; i++ {
			p.set[r-1] = int32(i)
			p.walk(ctx, r-1, i+1, rank+p.Cat.choose[r][i+r-1], paid+p.U[i])
		}
		return
	}
	row := p.Cat.gains[p.Class][len(p.set)-1][rank : rank+below]
	if p.Wide {
		p.walkWide(row, paid)
		return
	}
	u := p.U[:len(row)]
	most, first := int64(math.MinInt64), none
	for i, g := range row {
		if v := instance.Quarters*int64(g) - u[i]; v > most && g > 0 {
			most, first = v, i
		}
	}
	if first == none {
		return
	}
	p.Top = max(p.Top, most-paid)
	if most-paid <= p.Floor {
		return
	}
	for i, g := range row {
		v := instance.Quarters*int64(g) - u[i] - paid
		if i == first || p.Every && g > 0 && v > p.Floor {
			p.set[0] = int32(i)
			p.Stop = p.Stop || !p.Visit(p.set, v)
		}
	}
}

// walkWide is the last step of walk where sets may take several GPUs.
func (p *Pass) walkWide(row []int32, paid int64) {
	for i, g := range row {
		if g <= 0 || p.Stop {
			continue
		}
		profit := instance.Quarters*int64(g) - p.U[i] - paid
		width := p.Cat.in.Tasks[p.Cat.Members[i][0]].GPUs
		p.Top = max(p.Top, instance.Share(profit, width))
		if profit -= int64(width-1) * p.Other; profit > p.Floor {
			p.set[0] = int32(i)
			p.Stop = p.Stop || !p.Visit(p.set, profit)
		}
	}
}
