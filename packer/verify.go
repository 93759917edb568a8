package packer

import (
	"context"

	"example.com/colloc/packer/internal/instance"
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
// O(classes · n^k) for sets of at most k tasks, as ColumnGen of package solve does to plan
// them. Of tasks of one type, see there, it tries the cheapest k only.
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
	return w.all(ctx, 0, nil, 0, c.Used, c.Base)
}
