package catalogue

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// beam looks for unlisted sets that earn much: from every type on it extends the
// few sets that may earn most, one type at a time. What it misses is for
// [boundedPass] to find.
//
// O(types²·beamWidth·size) for each size, and types·beamTries questions.
type beam struct {
	*unlisted
	pass *Pass
	n    int
	from []promise // sets to extend
	to   []promise // the best of those extended, most profit first
}

const (
	beamWidth = 6  // sets of each size that are extended
	beamTries = 16 // sets of each size whose value is looked up
)

// promise is a set that may earn much.
type promise struct {
	types   []int32 // ascending
	company int64   // what the residents are worth at most
	paid    int64
	room    profile.Bytes
	profit  int64 // at most
}

// search runs a beam search from each type.
func (x *unlisted) search(ctx context.Context, pass *Pass) {
	b := &beam{unlisted: x, pass: pass, n: len(x.own)}
	start := promise{company: x.c.Base, room: x.c.Usable - x.c.Used}
	if x.company != nil {
		start.company = math.MaxInt32
	}
	for i, m := range x.own {
		if pass.Stop = pass.Stop || ctx.Err() != nil; pass.Stop {
			return
		}
		if m == 0 {
			continue
		}
		b.from = append(b.from[:0], b.with(&start, i, 0))
		for size := 2; size <= x.In.Seats(x.k); size++ {
			b.to = b.to[:0]
			for n := range b.from {
				b.grow(&b.from[n])
			}
			b.look()
			b.from, b.to = b.to, b.from
		}
	}
}

// with returns p with type i.
func (b *beam) with(p *promise, i int, profit int64) promise {
	q := promise{
		types: instance.Insert(slices.Clone(p.types), int32(i)), company: p.company, paid: p.paid + b.pass.U[i],
		room: p.room - b.In.Tasks[b.cat.Members[i][0]].Memory, profit: profit,
	}
	if b.company != nil {
		q.company = min(q.company, int64(b.company[i]))
	}
	return q
}

// grow puts the best extensions of p among those in to.
func (b *beam) grow(p *promise) {
	caps := make([]int32, len(p.types))
	for n, i := range p.types {
		caps[n] = b.own[i]
		for m, j := range p.types {
			if m != n && b.caps != nil {
				caps[n] = min(caps[n], b.caps.of[int(i)*b.n+int(j)])
			}
		}
	}
	beat := int64(math.MinInt64)
	if len(b.to) == beamTries {
		beat = b.to[beamTries-1].profit
	}
	for j, m := range b.own {
		sum := int64(0)
		for n, i := range p.types {
			c := caps[n]
			if b.caps != nil {
				c = min(c, b.caps.of[int(i)*b.n+j])
				m = min(m, b.caps.beside[int(i)*b.n+j])
			}
			sum += int64(c)
		}
		profit := instance.Quarters*(sum+int64(m)+p.company-b.c.Base) - p.paid - b.pass.U[j]
		if m == 0 || profit <= beat || b.In.Tasks[b.cat.Members[j][0]].Memory > p.room {
			continue
		}
		if b.keep(b.with(p, j, profit)); len(b.to) == beamTries {
			beat = b.to[beamTries-1].profit
		}
	}
}

// keep puts p in its place among the best.
func (b *beam) keep(p promise) {
	at, _ := slices.BinarySearchFunc(b.to, p.profit, func(o promise, v int64) int { return cmp.Compare(v, o.profit) })
	for _, o := range b.to[at:] {
		if o.profit == p.profit && slices.Equal(o.types, p.types) {
			return
		}
	}
	b.to = slices.Insert(b.to, at, p)
	b.to = b.to[:min(len(b.to), beamTries)]
}

// look replaces hopes by values, visits the sets that are not listed, and leaves
// the best.
func (b *beam) look() {
	for n := range b.to {
		p := &b.to[n]
		g := b.cat.Gain(b.k, p.types)
		if g == 0 {
			p.profit = math.MinInt64
			continue
		}
		p.profit = instance.Quarters*g - p.paid
		if len(p.types) > b.listed && p.profit > b.pass.Floor && !b.pass.Stop {
			b.pass.Stop = !b.pass.Visit(p.types, p.profit)
		}
	}
	slices.SortStableFunc(b.to, func(a, o promise) int { return cmp.Compare(o.profit, a.profit) })
	b.to = b.to[:min(len(b.to), beamWidth)]
}
