package catalogue

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// boundedPass visits the unlisted sets of a pricePass that may be worth more than
// its floor. The class is monotone, so that the gain of a set of k tasks is at most
//
//	Σ min over j of cap(i, j)              for i ∈ S: what i is worth beside j
//	Σ gain(S less i)/(k - 1)               where sets of k - 1 are listed: each
//	                                       member is in k - 1 of them
//	Σ what i is worth by the costs of S    where costs add up: see [example.com/colloc/packer.AdditiveModel]
//
// and that of its supersets at most that and what the best types are worth beside
// its members. Sets are built from their last type to the first, so that bounds
// are read from memory in order.
type boundedPass struct {
	*unlisted
	pass   *Pass
	n      int
	seats  int
	levels []boundedLevel // by size of the set at hand
	set    []int32        // at hand, descending
	types  []int32        // of the set that is asked for, ascending
	found  int            // sets that end in the same type
	cut    bool           // sets were left out
}

// boundedLevel is what is known of the set at hand when it had so many types.
type boundedLevel struct {
	caps    []int32   // what each member is worth at most
	loads   []float32 // how long its step takes at least, if costs add up
	load    []float32 // how long that of each type would take that may come next
	most    []int32   // what each type that may come next is worth at most beside them; 0 if it may not
	top     int64     // the most that one of these earns beyond its price, 0 at least, quarters
	sum     int64     // what the members are worth at most together
	company int64     // what the residents are
	paid    int64     // price of the members, quarters
	room    profile.Bytes
	rows    [][]int32 // listed gains without each member, by the type that comes next
}

// maxFound is how many sets that end in the same type a pass visits: others may
// wait until prices have changed.
const maxFound = 8

// bounded visits the sets that are not listed. It sets pass.stop if it left any
// out that may be worth more than the floor.
func (x *unlisted) bounded(ctx context.Context, pass *Pass) {
	b := &boundedPass{unlisted: x, pass: pass, n: len(x.own), seats: x.In.Seats(x.k)}
	b.levels = make([]boundedLevel, b.seats)
	root := &b.levels[0]
	root.most, root.company, root.room = x.own, x.c.Base, x.c.Usable-x.c.Used
	if x.company != nil {
		root.company = math.MaxInt32
	}
	root.top = b.best(root.most)
	pass.Top = max(pass.Top, pass.Floor)
	for i := range x.own {
		b.found = 0
		b.consider(ctx, i)
		if pass.Stop = pass.Stop || ctx.Err() != nil; pass.Stop {
			return
		}
	}
	pass.Stop = b.cut && !pass.Every
}

// best returns the most that one of the types that may come next earns.
func (b *boundedPass) best(most []int32) int64 {
	top := int64(0)
	for i, m := range most {
		if m > 0 {
			top = max(top, instance.Quarters*int64(m)-b.pass.U[i])
		}
	}
	return top
}

// consider visits the set at hand with type i, and its supersets by types up to i,
// if they may be worth their price.
func (b *boundedPass) consider(ctx context.Context, i int) {
	s := len(b.set)
	l := &b.levels[s]
	m := int64(l.most[i])
	if m == 0 {
		return
	}
	extra := int64(b.seats-s-1) * l.top
	rest := l.company - b.c.Base
	if b.company != nil {
		rest = min(l.company, int64(b.company[i])) - b.c.Base
	}
	paid := l.paid + b.pass.U[i]
	if instance.Quarters*(l.sum+m+rest)-paid+extra <= b.pass.Floor {
		return
	}
	sum := min(m+b.members(l, i), b.average(l, i))
	if sum == 0 || instance.Quarters*(sum+rest)-paid+extra <= b.pass.Floor {
		return
	}
	t := &b.In.Tasks[b.cat.Members[i][0]]
	if t.Memory > l.room {
		return
	}
	b.set = append(b.set, int32(i))
	defer func() { b.set = b.set[:s] }()
	if s+1 > b.listed {
		if worth := instance.Quarters*(sum+rest) - paid; worth > b.pass.Floor {
			b.offer(worth, paid)
		}
	}
	if s+1 == b.seats || b.pass.Stop {
		return
	}
	next := &b.levels[s+1]
	next.sum, next.company, next.paid, next.room = sum, rest+b.c.Base, paid, l.room-t.Memory
	if b.averages() && s+1 > 2 && s+1 <= b.listed {
		if next.sum = min(sum, b.value()); next.sum == 0 {
			return
		}
	}
	b.extend(ctx, int32(i))
}

// extend visits the supersets of the set at hand, whose last addition is type i.
func (b *boundedPass) extend(ctx context.Context, i int32) {
	s := len(b.set)
	l, next := &b.levels[s-1], &b.levels[s]
	if b.pass.Stop = b.pass.Stop || ctx.Err() != nil; b.pass.Stop {
		return
	}
	next.caps = next.caps[:0]
	for q, o := range b.set[:s-1] {
		next.caps = append(next.caps, min(l.caps[q], b.cap(o, i)))
	}
	next.caps = append(next.caps, l.most[i])
	upTo := int(i)
	if copies := len(b.cat.Members[i]); s < copies || b.set[s-copies] != i {
		upTo++ // one more of its type
	}
	next.most = append(next.most[:0], l.most[:upTo]...)
	if b.caps != nil {
		for j, c := range b.caps.beside[int(i)*b.n : int(i)*b.n+upTo] {
			next.most[j] = min(next.most[j], c)
		}
	}
	if b.costs != nil {
		b.load(l, next, i, upTo)
	}
	next.top = b.best(next.most)
	if instance.Quarters*(next.sum+next.company-b.c.Base)-next.paid+int64(b.seats-s)*next.top <= b.pass.Floor {
		return
	}
	b.gather(next)
	for j := range next.most {
		if b.consider(ctx, j); b.pass.Stop {
			return
		}
		if b.found >= maxFound && !b.pass.Every {
			b.cut = true
			return
		}
	}
}

// cap returns what type i is worth at most beside type j.
func (b *boundedPass) cap(i, j int32) int32 {
	if b.caps == nil {
		return b.own[i]
	}
	return b.caps.of[int(i)*b.n+int(j)]
}

// members returns what those of the set at hand are worth at most with type i.
func (b *boundedPass) members(l *boundedLevel, i int) int64 {
	if b.caps == nil {
		return l.sum
	}
	sum := int64(0)
	for q, o := range b.set {
		c := min(l.caps[q], b.caps.of[int(o)*b.n+i])
		if b.costs != nil && len(b.set) > 1 {
			c = min(c, b.costs.cap(o, l.loads[q]+b.costs.of[int(o)*b.n+i]-b.costs.once[o]))
		}
		sum += int64(c)
	}
	return min(sum, l.sum)
}

// load extends what is known of the lengths of steps in l by type i.
func (b *boundedPass) load(l, next *boundedLevel, i int32, upTo int) {
	k, row, first := b.costs, int(i)*b.n, len(b.set) == 1
	next.loads, next.load = next.loads[:0], append(next.load[:0], k.beside[row:row+upTo]...)
	if first {
		next.loads = append(next.loads, 1)
		for j := range next.load {
			next.load[j]++
		}
		return
	}
	for q, o := range b.set[:len(b.set)-1] {
		load := l.loads[q] + k.of[int(o)*b.n+int(i)]
		if len(b.set) > 2 {
			load -= k.once[o]
		}
		next.loads = append(next.loads, load)
	}
	next.loads = append(next.loads, l.load[i])
	for j := range next.load {
		next.load[j] += l.load[j] - k.once[j]
		next.most[j] = min(next.most[j], k.cap(int32(j), next.load[j]))
	}
}

// averages reports whether the second bound is to be had: pairs bound no better
// than caps do.
func (b *boundedPass) averages() bool { return b.k < b.In.Free && b.listed > 2 }

// gather finds the listed gains of the sets of which the set at hand lacks one type
// and has one more.
func (b *boundedPass) gather(l *boundedLevel) {
	l.rows = l.rows[:0]
	s := len(b.set)
	if s != b.listed || !b.averages() {
		return
	}
	for q := range b.set {
		rank := 0
		r := s // of the next member, counted from the smallest
		for o, t := range b.set {
			if o != q {
				rank += b.cat.choose[r][int(t)+r-1]
				r--
			}
		}
		l.rows = append(l.rows, b.cat.gains[b.k][s-1][rank:])
	}
}

// average returns the second bound, or as much as can be; 0 if a part of the set is
// not allowed.
func (b *boundedPass) average(l *boundedLevel, i int) int64 {
	if len(l.rows) == 0 {
		return math.MaxInt32
	}
	sum := l.sum
	for _, row := range l.rows {
		g := int64(row[i])
		if g == 0 {
			return 0
		}
		sum += max(g, -g)
	}
	return sum / int64(len(l.rows))
}

// value returns what the members of the set at hand, which is listed, are worth
// together, allowed or not; 0 if no set may hold them.
func (b *boundedPass) value() int64 {
	rank, s := 0, len(b.set)
	for n, t := range b.set {
		rank += b.cat.choose[s-n][int(t)+s-n-1]
	}
	g := int64(b.cat.gains[b.k][s-1][rank])
	return max(g, -g)
}

// offer visits the set at hand if it earns more than the floor; worth is the most
// that it may earn.
func (b *boundedPass) offer(worth, paid int64) {
	if b.questions.Asked >= b.questions.Most {
		b.pass.Top = max(b.pass.Top, worth)
		return
	}
	b.types = append(b.types[:0], b.set...)
	slices.Reverse(b.types)
	g := b.gain(b.types)
	profit := instance.Quarters*g - paid
	if g == 0 || profit <= b.pass.Floor {
		return
	}
	b.pass.Top = max(b.pass.Top, profit)
	b.found++
	b.pass.Stop = b.pass.Stop || !b.pass.Visit(b.types, profit)
}

// Run visits the sets. A cancelled ctx stops it.
func (p *Pass) Run(ctx context.Context) {
	for size := 1; size <= len(p.Cat.gains[p.Class]); size++ {
		p.set = make([]int32, size)
		p.walk(ctx, size, len(p.U), 0, 0)
	}
	switch x := p.Cat.unlisted[p.Class]; {
	case x == nil || p.Stop:
	case p.Quick:
		x.search(ctx, p)
	default:
		x.bounded(ctx, p)
	}
}
