package online

import (
	"context"
	"maps"
	"slices"
	"time"

	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// SchedulerOptions are the choices of a Scheduler; nil is the zero value.
type SchedulerOptions struct {
	// Objective is what counts: 0 is the mean time until tasks are done, 1 the time
	// until the last one is, and between are mixtures of relative gains in both.
	// Missing means DefaultObjective.
	Objective profile.Opt[float64]
	// Budget is how many starts and ends of tasks are simulated for one decision, more
	// or less, and fewer where many tasks are held against many GPUs: two rules are
	// always played. Missing means DefaultBudget. With 0 it does not look ahead: tasks
	// start in the order of arrival where they add most, at least DefaultThreshold of
	// what they would do alone.
	Budget profile.Opt[int]
	// Growth is how much more than the peak that was seen of a task is reserved for it,
	// as a fraction; missing means DefaultGrowth.
	Growth profile.Opt[float64]
	// Without are parts of the look-ahead that are left out, to see what each is worth.
	Without Part
	// Machines says in which machine each GPU is, by numbers from 0; nil: one machine
	// has them all.
	Machines []int
}

// Part is a part of the look-ahead, or several of them or'ed together.
type Part uint8

// The parts.
const (
	// Order lets short or long tasks go first.
	Order Part = 1 << iota
	// Waiting lets a task wait for a place where it adds more, and nobody pass it.
	Waiting
	// Moves lets a task that runs go on elsewhere.
	Moves
	// Detours lets single tasks go elsewhere than the best rule says.
	Detours
)

// Defaults of SchedulerOptions.
const (
	DefaultObjective = 0.4
	DefaultBudget    = 10000
	DefaultGrowth    = 0.05
)

// looksPerEvent is how often a task is held against a GPU while an event is simulated.
const looksPerEvent = 32

// plain is the rule without look-ahead.
func (s *Scheduler) plain() rollout.Rule {
	return rollout.Rule{Most: int32(s.largest()), Least: DefaultThreshold}
}

// largest is the largest set that is looked at.
func (s *Scheduler) largest() int { return min(rollout.MaxSet, s.limits.LargestSet()) }

// rules are the ways to decide that are played, for sets of at most most tasks: the
// first ones differ most from each other, for when the budget is short.
func rules(most int, without Part) []rollout.Rule {
	out := equal(int32(most))
	if most > 2 {
		out = append(out, equal(2)...)
	}
	for _, power := range []float64{0.5, 1} {
		for _, order := range []rollout.Order{rollout.Shortest, rollout.Longest} {
			for _, least := range []float64{0, 0.2, 0.5} {
				out = append(out, rollout.Rule{Most: int32(most), Order: order, Least: least, Power: power})
			}
		}
	}
	return without.from(out)
}

// equal are the rules under which work counts the same, whoever does it.
func equal(most int32) []rollout.Rule {
	var out []rollout.Rule
	for _, least := range []float64{0.1, 0.35, 0, 0.2, 0.5} {
		for _, strict := range []bool{false, true} {
			for _, order := range []rollout.Order{rollout.Arrival, rollout.Shortest, rollout.Longest} {
				out = append(out, rollout.Rule{Most: most, Order: order, Least: least, Strict: strict})
				if order == rollout.Arrival && !strict {
					out = append(out, rollout.Rule{Most: most, Order: rollout.Shortest, Least: least, Stop: true})
				}
			}
		}
	}
	return out
}

// from leaves the parts out of rules.
func (without Part) from(all []rollout.Rule) []rollout.Rule {
	return slices.DeleteFunc(all, func(r rollout.Rule) bool {
		return without&Order != 0 && r.Order != rollout.Arrival || without&Waiting != 0 && (r.Strict || r.Least > 0)
	})
}

// lookAhead returns what the best rule stops and starts now, of those that the budget lets it play.
// Those that were played go to the end of the list, behind the best one, so that each
// has its turn.
func (s *Scheduler) lookAhead(ctx context.Context) (stops []int32, starts []rollout.Start) {
	s.fillEngine()
	budget := s.o.Budget.Or(DefaultBudget)
	if budget == 0 {
		s.rule = s.plain()
		o := s.engine.Open(&s.rule)
		s.bypass(o.Passed)
		return nil, o.Starts
	}
	c := choice{weight: s.o.Objective.Or(DefaultObjective), budget: budget}
	best, played, tried := 0, 0, 0
	for i := range s.rules {
		if s.rules[i].Stop && !s.engine.CanStop() {
			played++
			continue
		}
		if played++; s.try(&c, &s.rules[i]) {
			best = i
		}
		if tried++; tried > 1 && c.budget <= 0 || ctx.Err() != nil || !s.engine.Waits() {
			break
		}
	}
	r := s.rules[best]
	if s.o.Without&Moves == 0 && s.engine.CanStop() && ctx.Err() == nil {
		moving := r
		moving.Move = true
		if s.engine.GangWaits() {
			moving.Anew, moving.Stop = true, false
		}
		s.try(&c, &moving)
	}
	s.detour(ctx, &c, r)
	s.rule = r
	if c.lost > 0 { // a strict rule may wait for ever
		if plain := s.plain(); s.try(&c, &plain) {
			s.rule = plain
		}
	}
	rest := slices.Concat(s.rules[played:], s.rules[:best], s.rules[best+1:played])
	s.rules = append(append(s.rules[:0], r), rest...)
	s.bypass(c.passed)
	return c.stops, c.starts
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
// No task takes the place of a gang that is due.
func (s *Scheduler) detour(ctx context.Context, c *choice, r rollout.Rule) {
	if s.o.Without&Detours != 0 || slices.ContainsFunc(s.order, func(e *entry) bool { return len(e.on) == 0 && e.due() }) {
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

// mayDetour are the tasks on one GPU that start, may move, or are the first that wait on.
func (s *Scheduler) mayDetour(c *choice) []int32 {
	var out []int32
	waiting := 0
	for i, e := range s.order {
		switch {
		case e.Width() > 1 || len(e.on) > 0 && (e.Restart.IsZero() || s.o.Without&Moves != 0):
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
	least  float64          // how much better the next must be
	base   *rollout.Outcome // of the first
	cost   float64
	lost   int
	stops  []int32
	starts []rollout.Start
	passed map[int32]int
}

// take notes an outcome if it is the best so far, and reports whether it is.
func (c *choice) take(o *rollout.Outcome) bool {
	if o.Void {
		return false
	}
	first := c.base == nil
	if first {
		base := *o
		c.base = &base
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

// Forecast says how long what runs and waits takes from now if nothing else comes:
// the mean time until a task is done, and the time until the last one is. It goes on
// as the last Decide found best; both are 0 if there are no tasks. Tasks that no GPU can
// take do not count.
func (s *Scheduler) Forecast() (mean, last time.Duration) {
	if len(s.order) == 0 {
		return 0, 0
	}
	s.fillEngine()
	o := s.engine.Play(&s.rule)
	return time.Duration(o.Sum/int64(max(1, o.Ended))) * time.Millisecond, time.Duration(o.Last) * time.Millisecond
}
