package catalogue

import (
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// none is the absence of a number.
const none = -1

// Catalogue holds what every multiset of task types adds to each class of GPUs,
// in colexicographic order: the types i1 <= i2 <= … <= ir have the rank
//
//	C(i1, 1) + C(i2+1, 2) + … + C(ir+r-1, r)
//
// among the multisets of r, so that a value is found without a search and a walk
// over all of them reads memory in order. Where no two tasks are alike these are
// the sets of tasks, and some that do not exist.
type Catalogue struct {
	*instance.Types
	in     *instance.Instance
	choose [][]int // choose[r][i] = C(i, r)
	// gains are units over the residents: [instance.Class][size-1][rank]. 0 is a set that is not allowed.
	gains [][][]int32
}

// Few reports whether there are at most limit multisets of so many types, on all classes.
func Few(in *instance.Instance, types, limit int) bool {
	total := 0
	for k := range in.Classes {
		sets := 1
		for r := 1; r <= in.Seats(k); r++ {
			// C(n+r-1, r) from the one before; the factors are small while below limit.
			sets = sets * (types + r - 1) / r
			if total += sets; total > limit || sets > limit {
				return false
			}
		}
	}
	return true
}

// New asks the model for all sets, whose number the caller knows. When ctx is cancelled it returns ctx.Err().
func New(ctx context.Context, e *instance.Evaluator, ty *instance.Types) (*Catalogue, error) {
	in, n := e.In, len(ty.Members)
	cat := &Catalogue{Types: ty, in: in, gains: make([][][]int32, len(in.Classes))}
	largest := 0
	for k := range in.Classes {
		largest = max(largest, in.Seats(k))
	}
	cat.choose = make([][]int, largest+1)
	for r := range cat.choose {
		cat.choose[r] = make([]int, n+largest+1)
		for i := range cat.choose[r] {
			switch {
			case r == 0:
				cat.choose[r][i] = 1
			case i > 0:
				cat.choose[r][i] = cat.choose[r][i-1] + cat.choose[r-1][i-1]
			}
		}
	}
	for k := range in.Classes {
		if err := cat.fill(ctx, e, k); err != nil {
			return nil, err
		}
	}
	return cat, nil
}

// fill evaluates the sets on class k.
func (cat *Catalogue) fill(ctx context.Context, e *instance.Evaluator, k int) error {
	c, n := &cat.in.Classes[k], len(cat.Members)
	b := &cataloguer{Evaluator: e, cat: cat, c: c}
	for size := 1; size <= cat.in.Seats(k); size++ {
		b.gains = make([]int32, cat.choose[size][n+size-1])
		b.set, b.types = make([]int32, size), make([]int, size)
		var err error
		switch {
		case size == 1 && k < cat.in.Free:
			err = b.alone(ctx)
		case size == 2 && k < cat.in.Free:
			err = b.pairs(ctx)
		default:
			err = b.larger(ctx, size, n, 0, c.Base, c.Usable-c.Used)
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
	*instance.Evaluator
	cat    *Catalogue
	c      *instance.Class
	single []int64 // by type, of free classes
	gains  []int32
	set    []int32 // being chosen, from the last to the first
	types  []int
}

// alone fills the sets of one.
func (b *cataloguer) alone(ctx context.Context) error {
	b.single = make([]int64, len(b.cat.Members))
	for i, m := range b.cat.Members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v, err := b.Alone(b.c, m[0])
		if err != nil {
			return err
		}
		b.single[i], b.gains[i] = v.Units, int32(v.Units)
	}
	return nil
}

// pairs fills the sets of two, type by type.
func (b *cataloguer) pairs(ctx context.Context) error {
	single := make([]int64, len(b.In.Tasks))
	for i, m := range b.cat.Members {
		single[m[0]] = b.single[i] // the second of its type is worth no more
	}
	r := instance.NewPairRow(b.Evaluator, b.c, single)
	for i, m := range b.cat.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.cat.partners(r, i)
		if err := r.Fill(m[0]); err != nil {
			return err
		}
		for n, o := range r.IDs {
			b.gains[b.cat.choose[2][int(b.cat.Of[o])+1]+i] = r.Values[n]
		}
	}
	return nil
}

// partners collects in r the tasks beside which memory and labels let a task of
// type i run: the first of each type from i on, and of its own the second.
func (cat *Catalogue) partners(r *instance.PairRow, i int) {
	r.IDs = r.IDs[:0]
	set := [2]int32{cat.Members[i][0]}
	for j, m := range cat.Members[i:] {
		if j == 0 {
			m = m[1:]
		}
		if len(m) == 0 {
			continue
		}
		if set[1] = m[0]; cat.in.Room(r.C, set[:]).Code == 0 {
			r.IDs = append(r.IDs, m[0])
		}
	}
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
		m := b.cat.Members[i]
		if copies == len(m) {
			continue
		}
		t := &b.In.Tasks[m[copies]]
		if t.Memory > room || t.Alone && len(b.set) > 1 {
			continue
		}
		b.set[r-1], b.types[r-1] = m[copies], i
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
		v, err := b.Together(b.c, b.set, best)
		if err != nil {
			return err
		}
		if v.Code == 0 {
			b.gains[at] = int32(v.Units - b.c.Base)
		}
	}
	return nil
}

// Gain returns what the ascending types add to class k; 0 if they may not.
func (cat *Catalogue) Gain(k int, types []int32) int64 {
	if len(types) == 0 || len(types) > cat.in.Seats(k) {
		return 0
	}
	rank := 0
	for r, i := range types {
		rank += cat.choose[r+1][int(i)+r]
	}
	return int64(cat.gains[k][len(types)-1][rank])
}

// Typed writes the types of tasks to dst, ascending, and returns it.
func (cat *Catalogue) Typed(dst, tasks []int32) []int32 {
	dst = dst[:0]
	for _, i := range tasks {
		dst = append(dst, cat.Of[i])
	}
	slices.Sort(dst)
	return dst
}
