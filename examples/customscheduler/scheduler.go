package main

import (
	"context"
	"errors"
	"time"

	"example.com/colloc/colloc/dispatch"
)

// cluster is what starts and stops programs, and says what happened. Write your own.
type cluster interface {
	Now() time.Duration           // since any fixed moment
	Events() []dispatch.Event     // what happened since the last call
	Everything() []dispatch.Event // how things are, for a scheduler that knows nothing
	Do(a dispatch.Action) error   // starts, stops or gives up; an error says that a start was refused
	Save(state []byte)            // what Saved returns after a restart
	Saved() []byte                // nil if nothing was, or if it was lost
}

// scheduler does what dispatch says.
type scheduler struct {
	cluster
	d *dispatch.Dispatcher
}

// open goes on where the last scheduler stopped, or is told everything anew.
func open(c cluster, m dispatch.Mind, o *dispatch.Options) (*scheduler, error) {
	if saved := c.Saved(); saved != nil {
		d, err := dispatch.Restore(m, o, saved)
		return &scheduler{c, d}, err
	}
	d, err := dispatch.New(m, o)
	if err == nil {
		err = d.Tell(c.Now(), c.Everything()...)
	}
	return &scheduler{c, d}, err
}

// Turn is to be called whenever something happened, and at next; 0 is never.
func (s *scheduler) Turn(ctx context.Context) (next time.Duration, err error) {
	for _, e := range s.Events() {
		if err := s.d.Tell(s.Now(), e); err != nil && !dispatch.Stale(err) {
			return 0, err
		}
	}
	actions, errs := s.d.Decide(ctx, s.Now())
	for _, a := range actions {
		if err := s.Do(a); err != nil {
			errs = errors.Join(errs, s.d.Tell(s.Now(), dispatch.Refused{Job: a.Job, Run: a.Run, Why: err.Error()}))
		}
	}
	state, err := s.d.State()
	s.Save(state)
	next, _ = s.d.Next()
	return next, errors.Join(errs, err)
}
