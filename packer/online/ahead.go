package online

import (
	"context"
	"slices"
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// plain is the rule without look-ahead.
func (s *Scheduler) plain() rollout.Rule {
	return rollout.Rule{Most: s.rules[0].Most, Least: DefaultThreshold}
}

// rules are the ways to decide that are played, for sets of at most most tasks: the
// first ones differ most from each other, for when the budget is short.
func rules(most int) []rollout.Rule {
	var out []rollout.Rule
	for _, least := range []float64{0.1, 0.35, 0, 0.2, 0.5} {
		for _, strict := range []bool{false, true} {
			for _, order := range []rollout.Order{rollout.Arrival, rollout.Shortest, rollout.Longest} {
				out = append(out, rollout.Rule{Most: int32(most), Order: order, Least: least, Strict: strict})
			}
		}
	}
	if most > 2 {
		for _, r := range slices.Clone(out) {
			r.Most = 2
			out = append(out, r)
		}
	}
	for _, power := range []float64{0.5, 1} {
		for _, order := range []rollout.Order{rollout.Shortest, rollout.Longest} {
			for _, least := range []float64{0, 0.2, 0.5} {
				out = append(out, rollout.Rule{Most: int32(most), Order: order, Least: least, Power: power})
			}
		}
	}
	return out
}

// lookAhead returns what the best rule starts now.
func (s *Scheduler) lookAhead(ctx context.Context) []rollout.Start {
	budget := s.o.Budget.Or(DefaultBudget)
	if budget == 0 {
		r := s.plain()
		return s.engine.Open(&r)
	}
	weight := s.o.Objective.Or(DefaultObjective)
	var base rollout.Outcome
	var starts []rollout.Start
	best, least := 0, 0.0
	for i := range s.rules {
		o := s.engine.Play(&s.rules[i])
		if i == 0 {
			base = o
		}
		cost := float64((1-weight)*ratio(o.Sum, base.Sum)) + float64(weight*ratio(o.Last, base.Last))
		if i == 0 || cost < least-1e-9 {
			best, least = i, cost
			starts = append(starts[:0], o.Starts...)
		}
		if budget -= o.Events; budget <= 0 || ctx.Err() != nil {
			break
		}
	}
	r := s.rules[best]
	s.rules = slices.Insert(slices.Delete(s.rules, best, best+1), 0, r)
	return starts
}

// ratio compares times in milliseconds.
func ratio(a, b int64) float64 { return float64(a+1) / float64(b+1) }

// Forecast says how long what runs and waits takes from now if nothing else comes:
// the mean time until a task is done, and the time until the last one is. It goes on
// as the last Decide found best; both are 0 if there are no tasks. Tasks that no GPU can
// take do not count.
func (s *Scheduler) Forecast() (mean, last time.Duration) {
	if len(s.order) == 0 {
		return 0, 0
	}
	s.fillEngine()
	r := s.rules[0]
	if s.o.Budget.Or(DefaultBudget) == 0 {
		r = s.plain()
	}
	o := s.engine.Play(&r)
	return time.Duration(o.Sum/int64(max(1, o.Ended))) * time.Millisecond, time.Duration(o.Last) * time.Millisecond
}
