package packer

import (
	"context"
	"fmt"
	"slices"
)

// Matching packs sets of at most two. With one kind of free GPU, and any GPUs
// with residents, its plan is optimal and the certificate proves it exactly.
// With several kinds it prices each kind, matches at those prices and repairs,
// and the certificate bounds the gap.
//
// With gangs it prices the GPU, of which a gang pays for as many as it takes,
// matches gangs of one size with each other, drops what does not fit, and
// certifies the gap.
//
// Where tasks have a Home it takes each set to be at the best of its members'
// homes; where two sets want the same GPU the certificate bounds the gap.
//
// It asks the model for all pairs, n²/2 for each kind of GPU, keeps their values
// in 4·n² bytes a kind, and solves in about O(n²) time on measured speeds:
// auction prices, the ten best edges of each task, Edmonds' algorithm on those,
// and pricing of all pairs until none is worth more.
//
// Limits.MaxSet above 2 is an error, and so are more than some 16 000 tasks.
type Matching struct {
	// Tol is the relative gap at which to stop, in [0, 1); 0 is exact on one kind
	// of GPU, and within what rounding values may have taken on several.
	Tol float64
}

var _ Method = Matching{}

// Pack implements Method.
func (mm Matching) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	if p != nil && p.Limits.maxSet() > 1 && slices.ContainsFunc(p.GPUs, func(g GPU) bool { return len(g.Residents) == 0 }) {
		if err := tooMany(len(p.Tasks), 1); err != nil {
			return nil, err // before looking at millions
		}
	}
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
	m := newMatcher(ctx, t)
	if in.free > 1 || in.gangs {
		return m.several(ctx, e, mm.Tol)
	}
	return m.one(ctx, e, mm.Tol)
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

// one solves a problem with at most one kind of free GPU: within tol, and if
// the number of GPUs does not come out right that way, exactly.
func (m *matcher) one(ctx context.Context, e *evaluator, tol float64) (s *Solution, err error) {
	for _, tol := range slices.Compact([]float64{tol, 0}) {
		m.tol = tol
		best, dual := m.onePrice(ctx)
		if best == nil {
			break
		}
		l := m.repaired(best)
		if m.in.any {
			if l, err = m.settled(ctx, l); err != nil {
				return nil, err
			}
		}
		if tol > 0 {
			if l, err = m.orGreedy(ctx, l); err != nil {
				return nil, err
			}
		}
		pr := m.proof(dual)
		value := float64(l.value()) * m.in.unit
		if tol == 0 || pr.bound-value <= tol*pr.bound {
			text := "matching, exact"
			switch {
			case pr.bound > value && tol == 0:
				text = "matching, with homes"
			case pr.bound > value:
				text = "matching, within tolerance"
			}
			return e.answer(ctx, l.plan(), pr, text)
		}
	}
	pl, err := greedy(ctx, m.in, m.plain)
	if err != nil {
		return nil, err
	}
	return e.answer(ctx, pl, unproved(), "matching, cancelled: greedy plan")
}

// orGreedy returns l, or Greedy's plan if that is better, which it can be by the
// tolerance.
func (m *matcher) orGreedy(ctx context.Context, l *layout) (*layout, error) {
	pl, err := greedy(ctx, m.in, m.plain)
	if err != nil {
		return nil, err
	}
	if g := newLayout(m.plain, pl); g.value() > l.value() {
		return g, nil
	}
	return l, nil
}

// start returns the better of Greedy's plan and, where tasks have homes, the one
// that leaves all there, improved by exchanges.
func (m *matcher) start(ctx context.Context) (*layout, error) {
	pl, err := greedy(ctx, m.in, m.plain)
	if err != nil {
		return nil, err
	}
	best := newLayout(m.plain, pl)
	best.polish(ctx)
	if m.in.any {
		pl, err := stayHome(m.in, m.plain)
		if err != nil {
			return nil, err
		}
		stay := newLayout(m.plain, pl)
		stay.polish(ctx)
		if stay.value() > best.value() {
			best = stay
		}
	}
	return best, nil
}

// settled improves l by exchanges and returns it, or the start if that is better.
func (m *matcher) settled(ctx context.Context, l *layout) (*layout, error) {
	best, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	if l.polish(ctx); l.value() >= best.value() {
		best = l
	}
	return best, nil
}
