package pairs

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/start"
)

// Pack plans sets of at most two within a relative gap of tol: the plan, what
// proves how good it is, or nil, and what was done. Cancelled, it returns the best
// plan so far; the caller asks ctx.
func Pack(ctx context.Context, in *instance.Instance, tol float64) (pl *instance.Plan, pr *instance.Proof, text string, err error) {
	t, err := newTable(ctx, instance.NewEvaluator(in))
	if ctx.Err() != nil {
		return instance.NewPlan(in), nil, "matching, cancelled before its first plan", nil //nolint:nilerr // as documented
	}
	if err != nil {
		return nil, nil, "", err
	}
	m := newMatcher(ctx, t)
	if in.Free > 1 || in.Gangs {
		pl, pr, text, err = m.several(ctx, tol)
	} else {
		pl, pr, text, err = m.one(ctx, tol)
	}
	return pl, pr, text, cmp.Or(err, m.err)
}

// one solves a problem with at most one kind of free GPU: within tol, and if
// the number of GPUs does not come out right that way, exactly.
func (m *matcher) one(ctx context.Context, tol float64) (pl *instance.Plan, pr *instance.Proof, text string, err error) {
	for _, tol := range slices.Compact([]float64{tol, 0}) {
		m.tol = tol
		best, dual := m.onePrice(ctx)
		if best == nil {
			break
		}
		l := m.repaired(best)
		if m.in.Homes {
			if l, err = m.settled(ctx, l); err != nil {
				return nil, nil, "", err
			}
		}
		if tol > 0 {
			if l, err = m.orGreedy(ctx, l); err != nil {
				return nil, nil, "", err
			}
		}
		value, bound := instance.Quarters*l.value(), m.bound(dual)
		if tol == 0 || float64(bound-value) <= tol*float64(bound) {
			text := "matching, exact"
			switch {
			case bound > value && tol == 0:
				text = "matching, with homes"
			case bound > value:
				text = "matching, within tolerance"
			}
			return l.plan(), m.proof(dual), text, nil
		}
	}
	pl, err = start.Greedy(ctx, m.in, m.plain)
	return pl, nil, "matching, cancelled: greedy plan", err
}
