package packer

import (
	"context"
	"fmt"
)

// Matching packs sets of at most two. With one kind of free GPU, and any GPUs
// with residents, its plan is optimal and the certificate proves it exactly.
// With several kinds it prices each kind, matches at those prices and repairs,
// and the certificate bounds the gap.
//
// Limits.MaxSet above 2 is an error.
type Matching struct {
	// Tol is the relative gap at which to stop, in [0, 1); 0 is exact.
	Tol float64
}

var _ Method = Matching{}

// Pack implements Method.
func (mm Matching) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	in, err := newInstance(p)
	if err != nil {
		return nil, err
	}
	if err := mm.check(in); err != nil {
		return nil, err
	}
	e := newEvaluator(in)
	t, err := e.newTable(ctx)
	if ctx.Err() != nil {
		return e.answer(ctx, newPlan(in), unproved(), "matching, cancelled before its first plan")
	}
	if err != nil {
		return nil, err
	}
	m := newMatcher(t)
	if in.free > 1 {
		return m.several(ctx, e, mm.Tol)
	}
	return m.one(ctx, e)
}

// check reports what Matching cannot solve.
func (mm Matching) check(in *instance) error {
	if in.maxSet > 2 {
		return fmt.Errorf("packer: matching: Limits.MaxSet is %d; Matching packs pairs, use Auto or Greedy", in.maxSet)
	}
	if !(mm.Tol >= 0 && mm.Tol < 1) {
		return fmt.Errorf("packer: matching: Tol is %v; want a fraction in [0, 1)", mm.Tol)
	}
	return nil
}

// one solves a problem with at most one kind of free GPU.
func (m *matcher) one(ctx context.Context, e *evaluator) (*Solution, error) {
	var best, dual *matching
	if m.in.free == 0 {
		best = m.at(ctx, nil)
		dual = best
	} else {
		best, dual = m.onePrice(ctx)
	}
	if best == nil {
		pl, err := greedy(context.WithoutCancel(ctx), m.in, m.table)
		if err != nil {
			return nil, err
		}
		return e.answer(ctx, pl, unproved(), "matching, cancelled: greedy plan")
	}
	return e.answer(ctx, m.assign(best), m.proof(dual), "matching, exact")
}
