package online

import (
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// fillEngine tells the engine what there is.
func (s *Scheduler) fillEngine() {
	s.fill()
	s.dues()
}

// fill tells it all but who is due, and returns how much work waits and how much is done in a time.
func (s *Scheduler) fill() (work, rate float64) {
	x := &s.engine
	x.Jobs, x.Cards, x.Line = x.Jobs[:0], x.Cards[:0], x.Line[:0]
	s.openLives(s.settleRuns())
	for i, e := range s.order {
		e.at = i
		left, rank := e.left, int64(0)
		if !e.known {
			left, rank = s.guess(e)
		}
		restart := e.Restart.Or(0)
		x.Jobs = append(x.Jobs, rollout.Job{
			Kind: e.kind, Width: int32(e.Width()), Memory: int64(e.Memory), Left: left, Rank: rank, On: e.on, Turn: e.turn, Weight: e.Weight, Held: e.held, Ban: e.ban.cards(),
			Class: e.Class, Tier: e.Tier, Yields: !e.Restart.IsZero(), Stoppable: s.mayStop(e), Restart: int64(restart / time.Millisecond),
		})
		if len(e.on) > 0 {
			rate += float64(e.rate) * float64(e.Width())
		} else if !e.held {
			work += float64(left) * float64(e.Width())
		}
	}
	for _, e := range s.line {
		if e.at >= 0 {
			x.Line = append(x.Line, int32(e.at))
		}
	}
	s.fillPurses()
	for g := range s.slots {
		c := &s.slots[g]
		card := rollout.Card{Class: c.class, Machine: c.machine, Room: c.room, Less: c.less, Down: c.state != serves, Mech: c.mech, Set: 1 + s.setOn(c)}
		if c.state == removed { // no task could ever be there, and no machine has it
			card = rollout.Card{Machine: int32(-1 - g), Room: -rollout.MaxLeft, Down: true}
		}
		x.Cards = append(x.Cards, card)
	}
	x.Begin()
	return work, rate
}

// dues tells the engine who is due.
func (s *Scheduler) dues() {
	for _, i := range s.engine.Queue() {
		s.engine.Jobs[i].Due = s.due(s.order[i])
	}
}

// openLives tells who has not ended; where all lengths are told it is enough of which kinds there are some.
func (s *Scheduler) openLives(told bool) {
	s.lives.Begin()
	if !told {
		for _, e := range s.order {
			s.lives.Open(e.Kind, e.done/rollout.One)
		}
		return
	}
	for k := range s.like {
		if l := &s.like[k]; l.tasks > 0 {
			s.lives.Keep(l.task.Kind)
		}
	}
}

// queue measures how long who comes now would wait if everybody waited for those before: what
// waits over what is done in a time. The longest queue that a decision found since nobody waited is what tasks are
// due by: who asks in between changes nothing.
func (s *Scheduler) queue(work, rate float64) {
	switch {
	case work == 0:
		s.longest = 0
	case rate > 0:
		s.longest = max(s.longest, int64(min(work/rate, rollout.MaxLeft)))
	}
}

// stand notes how those that wait stood under the plain rule.
func (s *Scheduler) stand() {
	s.line = s.line[:0]
	for _, i := range s.engine.Queue() {
		s.line = append(s.line, s.order[i])
	}
}

// guess is how much work a task still has of which nobody knows it, and its rank.
func (s *Scheduler) guess(e *entry) (left, rank int64) {
	left, rank = s.lives.Left(e.Kind, e.done/rollout.One)
	most := int64(rollout.MaxLeft / rollout.One)
	return min(left, most)*rollout.One + e.again, min(rank, most)*rollout.One + e.again
}
