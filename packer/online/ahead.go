package online

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// looksPerEvent is how often a task is held against a GPU while an event is simulated.
const looksPerEvent = 32

// plain is the number of the rule without look-ahead.
const plain = -1

// chosen is the rule of the last decision.
func (s *Scheduler) chosen() *rollout.Rule {
	if s.rule != plain {
		return &s.rules[s.rule]
	}
	r := &rollout.Rule{Order: rollout.Shortest, Most: int32(s.largest()), Least: DefaultThreshold}
	if s.o.Without&Order != 0 {
		r.Order = rollout.Arrival
	}
	return r
}

// largest is the largest set that is looked at.
func (s *Scheduler) largest() int { return min(rollout.MaxSet, s.limits.LargestSet()) }

// rules are the ways to decide that are played beside the plain one, for sets of at most most
// tasks: the first ones differ most from each other, for when the budget is short.
func rules(most int, without Part) []rollout.Rule {
	out := equal(int32(most))
	if most > 2 {
		out = append(out, equal(2)...)
	}
	for _, power := range []float64{0.5, 1} {
		for _, order := range []rollout.Order{rollout.Shortest, rollout.Longest} {
			for _, least := range []float64{0, 0.2} {
				out = append(out, rollout.Rule{Most: int32(most), Order: order, Least: least, Power: power})
			}
		}
	}
	return slices.DeleteFunc(out, func(r rollout.Rule) bool { return without&Order != 0 && r.Order != rollout.Arrival })
}

// equal are the rules under which work counts the same, whoever does it.
func equal(most int32) []rollout.Rule {
	var out []rollout.Rule
	for _, least := range []float64{0.1, 0, 0.2} {
		for _, order := range []rollout.Order{rollout.Arrival, rollout.Shortest, rollout.Longest} {
			out = append(out, rollout.Rule{Most: most, Order: order, Least: least})
			if order == rollout.Arrival {
				out = append(out, rollout.Rule{Most: most, Order: rollout.Shortest, Least: least, Stop: true})
			}
		}
	}
	return out
}

const (
	// deep is how many tasks may wait at least.
	deep = 16
	// ruleGain is how much better than under the plain rule the rest of the day must be under
	// another, moveGain with moves besides, stopGain under one that stops tasks: what nobody
	// knows of the day, who comes next above all, makes less than that worthless.
	ruleGain = 0.02
	moveGain = 0.02
	stopGain = 0.3
)

// lookAhead returns what starts and stops now: what the plain rule does, or another that is
// enough better, of those that the budget lets it play. While tasks come, the other must be worse in
// nothing, and it does not look where more wait than have room at once: more will come before the last
// of them starts. Those that were played go to the end of the list, behind the best one, so that each
// has its turn.
func (s *Scheduler) lookAhead(ctx context.Context) (stops []int32, starts []rollout.Start) {
	work, rate := s.fill()
	s.queue(work, rate)
	s.dues()
	budget := s.o.Budget.Or(DefaultBudget)
	s.rule = plain
	calm := s.came.calm(s.now)
	if budget == 0 || !calm && s.engine.Waiting() > max(deep, s.largest()*len(s.slots)) {
		o := s.engine.Open(s.chosen())
		s.stand()
		s.bypass(o.Passed)
		return o.Stops, o.Starts
	}
	c := choice{weight: s.o.Objective.Or(DefaultObjective), budget: budget, calm: calm}
	s.try(&c, s.chosen())
	s.stand()
	s.tryRules(ctx, &c)
	r := *s.chosen()
	gang := s.engine.GangWaits()
	if s.o.Without&Moves == 0 && s.engine.CanStop() && (gang || s.engine.Waiting() == 0 && !s.guesses()) && ctx.Err() == nil {
		moving := r
		moving.Move = true
		if gang {
			moving.Anew, moving.Stop = true, false
		}
		c.least = moveGain
		s.try(&c, &moving)
	}
	s.detour(ctx, &c, r)
	s.bypass(c.passed)
	return c.stops, c.starts
}

// tryRules plays rules beside the plain one, and notes the best.
func (s *Scheduler) tryRules(ctx context.Context, c *choice) {
	best, played, tried := -1, 0, 0
	for k, i := range s.trying {
		if c.budget <= 0 && tried > 0 || ctx.Err() != nil || s.engine.Waiting() == 0 {
			break
		}
		played++
		if s.rules[i].Stop && !s.engine.CanStop() {
			continue
		}
		tried++
		c.least = 0
		if best < 0 { // against the plain rule
			c.least = ruleGain
			switch {
			case s.rules[i].Stop:
				c.least = stopGain
			case c.calm:
				c.least = detourGain
			}
		}
		if s.try(c, &s.rules[i]) {
			best = k
		}
	}
	rest, first := s.trying[played:], []int(nil)
	if best >= 0 {
		s.rule = s.trying[best]
		first = []int{s.rule}
	}
	done := slices.DeleteFunc(slices.Clone(s.trying[:played]), func(i int) bool { return i == s.rule })
	s.trying = slices.Concat(first, rest, done)
}

// try plays a rule, and reports whether it is the best so far.
func (s *Scheduler) try(c *choice, r *rollout.Rule) bool {
	o := s.engine.Play(r)
	c.budget -= max(1, o.Events+o.Looks/looksPerEvent)
	return c.take(&o)
}

const (
	// detours is how often every task is tried elsewhere, as long as that is better.
	detours = 3
	// detoured is how many of those that wait on are tried.
	detoured = 6
	// detourGain is how much better the rest of the day must be: less than that is lost in
	// what nobody knows.
	detourGain = 0.003
)

// detour lets single tasks go elsewhere than a rule says: it tries each that starts, could
// start or may move on one GPU after the other, and keeps what is better for the rest of the day.
// No task takes the place of one that is due, or of a higher class or a lower tier. Where nobody
// knows how long some tasks run, it does not.
func (s *Scheduler) detour(ctx context.Context, c *choice, r rollout.Rule) {
	if s.o.Without&Detours != 0 || s.guesses() || slices.ContainsFunc(s.order, s.due) {
		return
	}
	c.least = detourGain
	for range detours {
		before := c.cost
		for _, i := range s.mayDetour(c) {
			first := slices.DeleteFunc(slices.Clone(r.First), func(t rollout.Start) bool { return t.Job == i })
			for g := range s.slots {
				if c.budget <= 0 || ctx.Err() != nil {
					return
				}
				t := r
				t.First = append(slices.Clip(first), rollout.Start{Job: i, On: []int32{int32(g)}})
				if s.try(c, &t) {
					r = t
				}
			}
		}
		if c.cost == before {
			return
		}
	}
}

// guesses reports whether nobody knows how long some tasks run.
func (s *Scheduler) guesses() bool {
	return slices.ContainsFunc(s.order, func(e *entry) bool { return !e.known })
}

// mayDetour are the tasks on one GPU that start, may move, or are the first that wait on.
func (s *Scheduler) mayDetour(c *choice) []int32 {
	var out []int32
	waiting, class, tier := 0, math.MinInt, 0
	for _, e := range s.order {
		if len(e.on) == 0 && !e.held && (e.Class > class || e.Class == class && e.Tier < tier) {
			class, tier = e.Class, e.Tier
		}
	}
	for i, e := range s.order {
		switch {
		case e.held || e.Class < class || e.Class == class && e.Tier > tier && len(e.on) == 0 || e.Width() > 1 || len(e.on) > 0 && (!s.mayStop(e) || s.o.Without&Moves != 0):
			continue
		case len(e.on) == 0 && !slices.ContainsFunc(c.starts, func(t rollout.Start) bool { return t.Job == int32(i) }):
			if waiting++; waiting > detoured {
				continue
			}
		}
		out = append(out, int32(i))
	}
	return out
}

// choice is the best outcome so far.
type choice struct {
	weight float64
	budget int              // events that are left
	calm   bool             // nobody seems to come
	least  float64          // how much better the next must be
	base   *rollout.Outcome // of the first
	cost   float64
	lost   int
	stops  []int32
	starts []rollout.Start
	passed map[int32]int
}

// take notes an outcome if it is the best so far, and reports whether it is. While tasks come, one that is
// worse than the first in what counts, the sum or the end, never is.
func (c *choice) take(o *rollout.Outcome) bool {
	if o.Void {
		return false
	}
	first := c.base == nil
	if first {
		base := *o
		c.base = &base
	}
	if !first && !c.calm && o.Lost >= c.base.Lost && (c.weight < 1 && o.Cost > c.base.Cost || c.weight > 0 && o.Last > c.base.Last) {
		return false
	}
	cost := float64((1-c.weight)*((o.Cost+1)/(c.base.Cost+1))) + float64(c.weight*ratio(o.Last, c.base.Last))
	if !first && (o.Lost > c.lost || o.Lost == c.lost && cost >= c.cost-max(1e-9, c.least)) {
		return false
	}
	c.cost, c.lost = cost, o.Lost
	c.stops, c.starts = append(c.stops[:0], o.Stops...), append(c.starts[:0], o.Starts...)
	c.passed = maps.Clone(o.Passed)
	return true
}

// bypass notes who was passed by how many.
func (s *Scheduler) bypass(passed map[int32]int) {
	for i, n := range passed {
		s.order[i].passed = min(s.order[i].passed+n, patience)
	}
}

// ratio compares times in milliseconds.
func ratio(a, b int64) float64 { return float64(a+1) / float64(b+1) }

const (
	// firstStay is how many restarts long a task runs at least before it stops or moves, twice as
	// long after each stop: so it stops log2(length / restart) times at most.
	firstStay = 4
	// maxMoves is how often a task moves; then it stays, but for tasks of a higher class.
	maxMoves = 3
)

// agedBy is how many times as long as the longest queue a task waits before it is due.
const agedBy = 4

// due reports whether a task goes first, and GPUs are kept for it until it starts.
func (s *Scheduler) due(e *entry) bool {
	return len(e.on) == 0 && (e.passed >= patience || s.longest > 0 && s.waited(e)/agedBy > s.longest)
}

// mayStop reports whether a task may stop now.
func (s *Scheduler) mayStop(e *entry) bool {
	restart, ok := e.Restart.Get()
	stay := firstStay << min(e.breaks, 30)
	return ok && e.moves < maxMoves && (s.now-e.since)/time.Duration(stay) >= restart
}
