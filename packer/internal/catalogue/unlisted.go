package catalogue

import (
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// unlisted values the sets on one class that are too many for the catalogue, one
// by one as somebody asks. The class is monotone, so that smaller sets bound what
// larger ones are worth: see [boundedPass].
type unlisted struct {
	*instance.Evaluator
	cat    *Catalogue
	k      int
	c      *instance.Class
	listed int     // sets of up to this size are in the catalogue
	own    []int32 // units that each type is worth at most beside the residents; 0 if it may not join
	// company is what the residents are worth at most beside each type; nil without residents.
	company   []int32
	caps      *caps  // nil if not known
	costs     *costs // nil if they do not add up
	questions *Questions
	tasks     []int32 // of the set that is asked for
}

// maxAnswers bounds the memory of answers: 40 MiB.
const maxAnswers = 1 << 20

// Questions counts what the model is asked about unlisted sets, and remembers some
// of the answers: a set may displace another.
type Questions struct {
	Asked, Most int
	Err         error // the first that the model returned
	known       instance.KnownSets
}

// newUnlisted prepares class k. O(types²).
func (cat *Catalogue) newUnlisted(ctx context.Context, e *instance.Evaluator, k int, q *Questions) (*unlisted, error) {
	c, n := &cat.in.Classes[k], len(cat.Members)
	x := &unlisted{
		Evaluator: e, cat: cat, k: k, c: c, listed: len(cat.gains[k]), own: make([]int32, n),
		questions: q,
	}
	if k < cat.in.Free {
		copy(x.own, cat.gains[k][0])
	} else if err := x.beside(ctx); err != nil {
		return nil, err
	}
	for i, m := range cat.Members {
		if cat.in.Tasks[m[0]].Alone {
			x.own[i] = 0 // it is in no larger set
		}
	}
	for _, o := range cat.unlisted {
		if o != nil && o.caps != nil && o.caps.hold(cat.in, c) {
			x.caps, x.costs = o.caps, o.costs
		}
	}
	if x.caps != nil || k >= cat.in.Free {
		return x, nil
	}
	var err error
	if x.caps, err = cat.newCaps(ctx, e, k); err == nil {
		x.costs = cat.newCosts(x.caps)
	}
	return x, err
}

// beside asks what each type and the residents are worth together.
func (x *unlisted) beside(ctx context.Context) error {
	x.company = make([]int32, len(x.own))
	for i, m := range x.cat.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		parts, _, err := x.Weigh(x.c, m[:1], x.c.Base)
		if err != nil {
			return err
		}
		last := len(parts) - 1
		if !slices.Contains(parts, 0) {
			x.own[i] = int32(parts[last])
		}
		for _, p := range parts[:last] {
			x.company[i] += int32(p)
		}
	}
	return nil
}

// gain returns what the ascending types add; 0 if they may not.
func (x *unlisted) gain(types []int32) int64 {
	q := x.questions
	if q.known == nil {
		q.known = make(instance.KnownSets, min(max(instance.MaxKnown, q.Most), maxAnswers))
	}
	at, key := q.known.Find(x.k, types)
	if at == nil {
		return x.ask(types)
	}
	if at.Key != key {
		*at = instance.KnownSet{Key: key, Value: x.ask(types)}
	}
	return at.Value
}

// ask asks the model what the ascending types add; 0 if they may not.
func (x *unlisted) ask(types []int32) int64 {
	if x.questions.Err != nil {
		return 0
	}
	ref := x.c.Base
	x.tasks = x.tasks[:0]
	for n, t := range types {
		copies := 0
		for copies < n && types[n-copies-1] == t {
			copies++
		}
		m := x.cat.Members[t]
		if copies == len(m) {
			return 0
		}
		x.tasks = append(x.tasks, m[copies])
		if x.k < x.In.Free {
			ref = max(ref, int64(x.own[t]))
		}
	}
	x.questions.Asked++
	v, err := x.Together(x.c, x.tasks, ref)
	if err != nil {
		x.questions.Err = err
		return 0
	}
	return max(0, v.Units-x.c.Base)
}
