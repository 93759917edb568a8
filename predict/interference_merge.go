package predict

import (
	"errors"
	"fmt"
	"slices"
)

// Merge adds to m what other learned by Observe: two hosts that started from
// the same fitted model and learned apart end where one that saw everything
// would be, up to rounding. other does not change. With a Forget factor the
// result is that of both histories at their present weight.
//
// It returns an error, and changes nothing, if the two were not fitted on the
// same data. Safe for concurrent use, but not for two models merging into each
// other at once. O(p³) per GPU and mechanism.
func (m *Interference) Merge(other *Interference) error {
	if other == nil || other == m {
		return errors.New("predict: interference: merge: want another model")
	}
	other.writer.Lock()
	theirs := other.load()
	copies := make([]*regime, len(theirs.regimes))
	for i, r := range theirs.regimes {
		copies[i] = r.clone()
	}
	other.writer.Unlock()

	m.writer.Lock()
	defer m.writer.Unlock()
	s := m.load()
	if err := sameFit(s.regimes, copies); err != nil {
		return fmt.Errorf("predict: interference: merge: %w", err)
	}
	next := &interferenceState{options: s.options, priors: s.priors, regimes: slices.Clone(s.regimes)}
	for _, theirs := range copies {
		at := slices.IndexFunc(next.regimes, func(r *regime) bool { return r.regimeKey == theirs.regimeKey })
		if at < 0 {
			next.regimes = append(next.regimes, theirs)
			continue
		}
		r, err := next.regimes[at].plus(theirs)
		if err != nil {
			return fmt.Errorf("predict: interference: merge: %s under %v: %w", r.gpu, r.mechanism, err)
		}
		next.regimes[at] = r
	}
	m.state.Store(next)
	return nil
}

// sameFit reports whether the fitted parts of two models are equal.
func sameFit(a, b []*regime) error {
	fitted := func(rs []*regime) (out []*regime) {
		for _, r := range rs {
			if r.base.n > 0 {
				out = append(out, r)
			}
		}
		return out
	}
	same := slices.EqualFunc(fitted(a), fitted(b), func(x, y *regime) bool {
		return x.regimeKey == y.regimeKey && x.base.n == y.base.n && slices.Equal(x.base.g, y.base.g) && slices.Equal(x.base.h, y.base.h)
	})
	if !same {
		return errors.New("the models were fitted on different data")
	}
	return nil
}

// plus returns r with what o learned; r does not change.
func (r *regime) plus(o *regime) (*regime, error) {
	next := r.clone()
	for _, e := range o.roster.effects {
		if !e.all {
			next.roster = next.roster.with(e.taskType, e.trained)
		}
	}
	next.lambda = next.roster.precisions()
	next.mu = append(slices.Clone(r.mu), make([]float64, len(next.lambda)-len(r.mu))...)
	next.learned.grow(len(next.lambda))
	column := next.columnsOf(o.roster)
	for j := range o.learned.g {
		next.learned.g[column[j]] += o.learned.g[j]
		for i := range j + 1 {
			next.learned.h.add(column[i], column[j], o.learned.h.at(i, j))
		}
	}
	next.learned.n += o.learned.n
	next.drift = r.drift.plus(o.drift)
	var err error
	next.post, err = solve(next.lambda, next.mu, next.base, next.learned)
	return next, err
}

// columnsOf maps the columns of another roster to those of r.
func (r *regime) columnsOf(other *roster) []int {
	column := make([]int, other.columns())
	for j := range effectColumns {
		column[j] = j
	}
	for e := range other.effects {
		to := r.roster.find(other.effects[e].taskType)
		column[ownColumn(int32(e))], column[otherColumn(int32(e))] = ownColumn(to), otherColumn(to)
	}
	return column
}
