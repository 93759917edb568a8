package online

import (
	"context"
	"errors"
	"fmt"
)

// Move is one step of a rebalancing. A task that changes its GPU in one step is
// stopped on one and started on the other; where the other has no room for it
// yet, it takes two steps with others in between: it is stopped, To being
// Nowhere, and keeps a checkpoint until it is started, From being Nowhere.
type Move struct {
	// Task is the ID.
	Task string `json:"task"`
	// From and To are indices of GPUs, or Nowhere.
	From int `json:"from"`
	To   int `json:"to"`
}

// Nowhere stands in a [Move] for a GPU.
const Nowhere = -1

// Rebalance moves at most maxMoves running tasks to where they and those they
// leave and join do more work: all running tasks are planned anew, by [solve.Matching]
// or, where Limits.MaxSet is above 2, by [solve.LocalSearch], with MoveCost as the
// price of a move, and with a higher price as long as the plan asks for more
// moves. No running task is stopped for good, neither gangs move nor those that
// SessionOptions.Stays keeps, and what is gained exceeds what the moves cost. Then
// those of the queue start that can.
//
// The steps are in the order in which they can be made: no GPU holds more than
// its memory, MaxSet and labels allow after any of them. A task of the queue
// starts from Nowhere. On an error of the Model nothing has moved; when ctx is
// cancelled the moves are those of the best plan so far, and the error is
// ctx.Err().
func (s *Session) Rebalance(ctx context.Context, maxMoves int) ([]Move, error) {
	if maxMoves < 0 {
		return nil, fmt.Errorf("packer: session: maxMoves is %d; want 0 or more", maxMoves)
	}
	r := s.newRebalancing(maxMoves)
	if len(r.jobs) == 0 || maxMoves == 0 {
		return nil, ctx.Err()
	}
	err := r.search(ctx)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, err
	}
	steps, failed := s.carryOut(r.best)
	return steps, errors.Join(failed, err)
}

// carryOut makes the changes and returns the steps in an order that respects the
// limits of every GPU on the way.
func (s *Session) carryOut(changes []change) ([]Move, error) {
	to := map[*job]int32{}
	var pending []*job
	for _, c := range changes {
		for _, t := range c.targets {
			for _, j := range t.jobs {
				if int(j.gpu) != t.gpu {
					to[j] = int32(t.gpu)
					pending = append(pending, j)
				}
			}
		}
	}
	steps, errs := s.rearrange(pending, to)
	for _, c := range changes {
		for _, t := range c.targets {
			s.cards[t.gpu].mech = t.mech
			errs = errors.Join(errs, s.refresh(t.gpu))
		}
	}
	if len(steps) == 0 || errs != nil {
		return steps, errs
	}
	s.out = s.out[:0]
	errs = s.sweep()
	for _, d := range s.out {
		steps = append(steps, Move{d.Task, Nowhere, d.GPU})
	}
	return steps, errs
}

// rearrange brings each pending job to its GPU. In each round fewer are left, or of
// those left fewer run, so it ends.
func (s *Session) rearrange(pending []*job, to map[*job]int32) (steps []Move, err error) {
	for len(pending) > 0 {
		left := pending[:0]
		for _, j := range pending {
			if !s.room(&s.cards[to[j]], j) {
				left = append(left, j)
				continue
			}
			steps = append(steps, Move{j.task.ID, int(j.gpu), int(to[j])})
			s.shift(j, to[j])
		}
		if len(left) == len(pending) {
			j := cheapest(left)
			if j == nil {
				return steps, s.stranded(left)
			}
			steps = append(steps, Move{j.task.ID, int(j.gpu), Nowhere})
			s.shift(j, none)
		}
		pending = left
	}
	return steps, nil
}

// room reports whether a card can hold a job besides what it holds now.
func (s *Session) room(c *card, j *job) bool {
	if len(c.set) == 0 {
		return true
	}
	return len(c.set) < s.p.Limits.LargestSet() && !c.guarded() && !j.task.Alone && s.fits(c, &j.task)
}

// shift takes a job from where it runs, if it does, to another GPU or nowhere.
func (s *Session) shift(j *job, to int32) {
	if j.gpu != none {
		s.leave(j)
	}
	if j.gpu = to; to != none {
		c := &s.cards[to]
		c.set = append(c.set, j)
		c.used += j.task.Memory
	}
}

// stranded puts jobs that no GPU has room for into the queue, and says so. No plan
// comes to that: when all that is still to be moved is stopped, each GPU holds a part of
// the set that it is to run, whose limits its parts keep too.
func (s *Session) stranded(jobs []*job) error {
	for _, j := range jobs {
		s.enqueue(j)
	}
	return fmt.Errorf("packer: session: %d tasks, %q first, find no room where they were to move and wait; the plan kept no limits", len(jobs), jobs[0].task.ID)
}

// cheapest returns the running job that it costs least to stop; nil if none runs.
func cheapest(jobs []*job) *job {
	var best *job
	for _, j := range jobs {
		if j.gpu != none && (best == nil || j.worth*j.task.MoveCost < best.worth*best.task.MoveCost) {
			best = j
		}
	}
	return best
}
