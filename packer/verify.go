package packer

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// Verify proves a bound on the throughput of every plan for p, residents
// included, and returns it. It prices every set that any GPU could run:
//
//	λ(g) = max over sets S on g of W(g, S) - Σ u(i: i ∈ S) - Σ z(B: S ⊆ B)
//	bound = Σ u(i) + Σ λ(g) + Σ z(B)·⌊|B|/2⌋
//
// where a set of gangs has to earn λ on each of the GPUs that it takes.
//
// It knows nothing of how U was found: any U gives a valid bound, a bad one is
// merely high. All sums are exact.
//
// It returns an error if the certificate does not belong to p (lengths,
// indices, a price that is negative, NaN or infinite) or the Model fails, and
// ctx.Err() when cancelled. It asks the model for every set within memory:
// O(classes · n^k) for sets of at most k tasks. Of a [MonotoneModel] it asks for
// the pairs and those larger sets that could make a profit at Lambda. Of tasks of
// one type, see ColumnGen of package solve, it tries the cheapest k only.
func (c *Certificate) Verify(ctx context.Context, p *Problem) (bound float64, err error) {
	in, err := Compile(p)
	if err != nil {
		return 0, err
	}
	pr, err := c.pricing(in)
	if err != nil {
		return 0, err
	}
	e := instance.NewEvaluator(in.Instance)
	total := pr.bound
	for k := range in.Classes {
		prices, err := pr.price(ctx, e, k)
		if err != nil {
			return 0, err
		}
		for _, price := range prices {
			total += price
		}
	}
	return float64(total) * (in.Unit / instance.Quarters), nil
}

// price returns the smallest prices of the GPUs of class k at which no set on
// them makes a profit, in quarters.
func (pr *pricing) price(ctx context.Context, e *instance.Evaluator, k int) ([]int64, error) {
	in, c := e.In, &e.In.Classes[k]
	o := &offers{in: in, class: k, common: instance.Quarters * c.Base, home: map[int32]int64{}}
	if !in.Open(c) {
		return o.prices(), ctx.Err()
	}
	if len(c.Residents) > 0 || in.MaxSet > 2 || len(pr.typing.Members) < len(in.Tasks) {
		err := pr.priceSets(ctx, e, k, o)
		return o.prices(), err
	}
	single, err := e.Singles(c)
	if err != nil {
		return nil, err
	}
	var set [2]int32
	for i, v := range single {
		if set[0] = int32(i); v > 0 {
			o.take(set[:1], v, pr.u[i])
		}
	}
	err = e.Pairs(ctx, c, single, func(i int, partners, values []int32) {
		for n, j := range partners {
			if values[n] == 0 {
				continue
			}
			// Most sets cannot raise a price: spare them the rest.
			cost := pr.u[i] + pr.u[j]
			if in.Homes || instance.Quarters*int64(values[n])-cost > o.common {
				set = [2]int32{int32(i), j}
				o.take(set[:], int64(values[n]), cost+pr.joint(pr.sets[i], pr.sets[j]))
			}
		}
	})
	return o.prices(), err
}

// priceSets offers o the sets of any size on class k. Of tasks of one type it
// tries the cheapest only.
func (pr *pricing) priceSets(ctx context.Context, e *instance.Evaluator, k int, o *offers) error {
	c := &e.In.Classes[k]
	w := &setWalk{Evaluator: e, offers: o, c: c, pr: pr, seat: pr.seats[k], room: e.In.MaxSet - len(c.Residents)}
	w.tasks, w.before = pr.typing.Copies(w.room, pr.u)
	if len(c.Residents) == 0 {
		w.single = make([]int64, len(w.tasks))
		for n, i := range w.tasks {
			v, err := e.Alone(c, i)
			if err != nil {
				return err
			}
			w.single[n] = v.Units
		}
	}
	if !e.In.Homes && !e.In.Gangs && e.In.Monotone(c) {
		o.common = max(o.common, pr.hints[k])
		return w.bounded(ctx)
	}
	return w.all(ctx, 0, nil, 0, c.Used, c.Base)
}

// maxCaps bounds the memory of a table of caps: 256 MiB.
const maxCaps = 1 << 26

// bounded visits the sets that may raise the price, on a monotone class: a
// set with tasks T added is worth no more than its members are now, and the
// tasks of T beside any one of them. Rivals come in the order of what they can
// earn, so that the first that is not worth trying ends the search.
func (w *setWalk) bounded(ctx context.Context) error {
	w.pool = make([][]rival, w.room+1)
	if len(w.c.Residents) == 0 && len(w.tasks) <= maxCaps/max(1, len(w.tasks)) && w.room > 1 {
		if err := w.cap(ctx); err != nil {
			return err
		}
	}
	for n, i := range w.tasks {
		r := rival{task: int32(n)}
		if w.single != nil {
			r.most = w.single[n]
		} else {
			parts, _, err := w.Weigh(w.c, []int32{i}, w.c.Base)
			if err != nil {
				return err
			}
			r.most = parts[len(parts)-1]
		}
		if r.gain = instance.Quarters*r.most - w.pr.u[i]; r.most > 0 {
			w.pool[0] = append(w.pool[0], r)
		}
	}
	return w.extend(ctx, nil, 0, w.c.Base, w.c.Used, w.c.Base)
}

// extend visits the supersets of set by the rivals in pool[len(set)]: paid is its
// price, worth what its members and the residents are worth at most.
func (w *setWalk) extend(ctx context.Context, set []int32, paid, worth int64, used profile.Bytes, ref int64) error {
	rivals := w.pool[len(set)]
	slices.SortFunc(rivals, func(a, b rival) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.task, b.task))
	})
	for n, r := range rivals {
		if err := ctx.Err(); err != nil {
			return err
		}
		hope := instance.Quarters*worth - paid + r.gain
		for _, o := range rivals[n+1 : min(len(rivals), n+w.room-len(set))] {
			hope += max(0, o.gain)
		}
		if hope <= w.offers.common {
			return nil
		}
		if err := w.try(ctx, set, n, paid, used, ref); err != nil {
			return err
		}
	}
	return nil
}

// try visits set with its n-th rival and the supersets by later rivals.
func (w *setWalk) try(ctx context.Context, set []int32, n int, paid int64, used profile.Bytes, ref int64) error {
	r := w.pool[len(set)][n]
	i := w.tasks[r.task]
	t := &w.In.Tasks[i]
	paid, used = paid+w.pr.u[i], used+t.Memory
	set = instance.With(nil, set, r.task)
	w.ids = w.ids[:0]
	for _, m := range set {
		w.ids = append(w.ids, w.tasks[m])
	}
	worth := r.most
	if w.single != nil {
		ref = max(ref, w.single[r.task])
	}
	if len(set) > 1 || w.single == nil {
		parts, units, err := w.Weigh(w.c, w.ids, ref)
		if err != nil {
			return err
		}
		worth = 0
		for _, p := range parts {
			if p == 0 {
				return nil // too slow, whoever else joins
			}
			worth += p
		}
		w.take(w.ids, i, units, paid)
	} else {
		w.take(w.ids, i, worth, paid)
	}
	if len(set) == w.room || t.Alone {
		return nil
	}
	next := w.pool[len(set)][:0]
	for _, o := range w.pool[len(set)-1][n+1:] {
		u := &w.In.Tasks[w.tasks[o.task]]
		if u.Alone || u.Memory > w.c.Usable-used {
			continue
		}
		if w.caps != nil {
			o.most = min(o.most, int64(w.caps[int(o.task)*len(w.tasks)+int(r.task)]))
			o.gain = instance.Quarters*o.most - w.pr.u[w.tasks[o.task]]
		}
		if o.most > 0 {
			next = append(next, o)
		}
	}
	w.pool[len(set)] = next
	return w.extend(ctx, set, paid, worth, used, ref)
}

// cap fills caps: caps[i*n+j] is what the i-th task is worth at most beside the j-th, 0 if
// they cannot share.
func (w *setWalk) cap(ctx context.Context) error {
	n := len(w.tasks)
	w.caps = make([]int32, n*n)
	pair := make([]int32, 2)
	for i, at := range w.tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.single[i] == 0 {
			continue
		}
		for j := i + 1; j < n; j++ {
			if w.single[j] == 0 {
				continue
			}
			pair[0], pair[1] = at, w.tasks[j]
			parts, _, err := w.Weigh(w.c, pair, 0)
			if err != nil {
				return err
			}
			w.caps[i*n+j], w.caps[j*n+i] = int32(parts[0]), int32(parts[1])
		}
	}
	return nil
}
