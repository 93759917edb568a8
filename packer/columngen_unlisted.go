package packer

import (
	"context"
	"slices"

	"example.com/colloc/profile"
)

// unlisted values the sets on one class that are too many for the catalogue, one
// by one as somebody asks. The class is monotone, so that smaller sets bound what
// larger ones are worth: see [boundedPass].
type unlisted struct {
	*evaluator
	cat    *catalogue
	k      int
	c      *class
	listed int     // sets of up to this size are in the catalogue
	own    []int32 // units that each type is worth at most beside the residents; 0 if it may not join
	// company is what the residents are worth at most beside each type; nil without residents.
	company   []int32
	caps      *caps  // nil if not known
	costs     *costs // nil if they do not add up
	questions *questions
	tasks     []int32 // of the set that is asked for
}

// maxAnswers bounds the memory of answers: 40 MiB.
const maxAnswers = 1 << 20

// questions counts what the model is asked about unlisted sets, and remembers some
// of the answers: a set may displace another.
type questions struct {
	asked, most int
	err         error // the first that the model returned
	known       knownSets
}

// newUnlisted prepares class k. O(types²).
func (cat *catalogue) newUnlisted(ctx context.Context, e *evaluator, k int, q *questions) (*unlisted, error) {
	c, n := &cat.in.classes[k], len(cat.members)
	x := &unlisted{
		evaluator: e, cat: cat, k: k, c: c, listed: len(cat.gains[k]), own: make([]int32, n),
		questions: q,
	}
	if k < cat.in.free {
		copy(x.own, cat.gains[k][0])
	} else if err := x.beside(ctx); err != nil {
		return nil, err
	}
	for i, m := range cat.members {
		if cat.in.tasks[m[0]].alone {
			x.own[i] = 0 // it is in no larger set
		}
	}
	for _, o := range cat.unlisted {
		if o != nil && o.caps != nil && o.caps.hold(cat.in, c) {
			x.caps, x.costs = o.caps, o.costs
		}
	}
	if x.caps != nil || k >= cat.in.free {
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
	for i, m := range x.cat.members {
		if err := ctx.Err(); err != nil {
			return err
		}
		parts, _, err := x.weigh(x.c, m[:1], x.c.base)
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
		q.known = make(knownSets, min(max(maxKnown, q.most), maxAnswers))
	}
	at, key := q.known.find(x.k, types)
	if at == nil {
		return x.ask(types)
	}
	if at.key != key {
		*at = knownSet{key: key, value: x.ask(types)}
	}
	return at.value
}

// ask asks the model what the ascending types add; 0 if they may not.
func (x *unlisted) ask(types []int32) int64 {
	if x.questions.err != nil {
		return 0
	}
	ref := x.c.base
	x.tasks = x.tasks[:0]
	for n, t := range types {
		copies := 0
		for copies < n && types[n-copies-1] == t {
			copies++
		}
		m := x.cat.members[t]
		if copies == len(m) {
			return 0
		}
		x.tasks = append(x.tasks, m[copies])
		if x.k < x.in.free {
			ref = max(ref, int64(x.own[t]))
		}
	}
	x.questions.asked++
	v, err := x.together(x.c, x.tasks, ref)
	if err != nil {
		x.questions.err = err
		return 0
	}
	return max(0, v.units-x.c.base)
}

// caps holds what each type is worth at most beside each other on empty GPUs of a
// kind, in units; 0 if they may not share.
type caps struct {
	class  int
	mechs  []profile.Mechanism
	beside []int32 // beside[i*n+j]: j beside i
	of     []int32 // of[i*n+j]: i beside j
}

// hold reports whether the caps bound what tasks are worth on class c too.
func (p *caps) hold(in *instance, c *class) bool {
	return in.oracle.sameModel(p.class, c.number) && !slices.ContainsFunc(c.mechs, func(m profile.Mechanism) bool { return !slices.Contains(p.mechs, m) })
}

// newCaps asks for all pairs on free class k.
func (cat *catalogue) newCaps(ctx context.Context, e *evaluator, k int) (*caps, error) {
	c, n := &cat.in.classes[k], len(cat.members)
	p := &caps{class: k, mechs: c.mechs, beside: make([]int32, n*n), of: make([]int32, n*n)}
	r := newPairRow(e, c, make([]int64, len(cat.in.tasks)))
	for i, m := range cat.members {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cat.partners(r, i)
		own, other := r.own[:len(r.ids)], r.other[:len(r.ids)]
		t := &cat.in.tasks[m[0]]
		for _, mech := range c.mechs {
			if err := r.speeds(m[0], mech, own, other); err != nil {
				return nil, err
			}
			for at, o := range r.ids {
				u := &cat.in.tasks[o]
				a, b := int32(cat.in.units(t.weight, own[at])), int32(cat.in.units(u.weight, other[at]))
				if a > 0 && b > 0 && own[at] >= t.minSpeed && other[at] >= u.minSpeed {
					j := int(cat.of[o])
					p.raise(i*n+j, j*n+i, a)
					p.raise(j*n+i, i*n+j, b)
				}
			}
		}
	}
	return p, nil
}

// raise notes that one type is worth v beside another: of[at] is the first's place.
func (p *caps) raise(at, mirror int, v int32) {
	p.of[at] = max(p.of[at], v)
	p.beside[mirror] = p.of[at]
}
