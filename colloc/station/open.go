package station

import (
	"context"
	"errors"
	"fmt"

	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/internal/keep"
	"example.com/colloc/colloc/station/internal/peer"
)

// New opens the station in [Config].Dir, or begins one. What ran when the last one ended,
// however that was, is taken over. Nothing starts before [Station.Run]. Close it in the
// end.
func New(ctx context.Context, c Config) (*Station, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("station: config: %w", err)
	}
	if err := c.fill(); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s := &Station{config: c, since: c.Clock.Now(), changed: make(chan struct{}), environments: make(map[uint32][]string), requests: peer.NewTurns(maxRequests)}
	var fault, err error
	if s.planner, fault, err = c.loadPlanner(); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	if fault != nil {
		s.warn(s.since, fault.Error())
	}
	if c.Decide {
		if s.decider, err = decide.Handler(decide.Config{Planner: s.planner, MayTeach: s.mayTeach}); err != nil {
			return nil, fmt.Errorf("station: %w", err)
		}
	}
	var known map[string]solo.Kind
	if s.kindsKeeper, known, err = keep.Open[map[string]solo.Kind](c.Dir, kindsFile); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s.learner = solo.NewLearner(s.config.learns(), known)
	var old kept
	if s.keeper, old, err = keep.Open[kept](c.Dir, "station.json"); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s.turns = newTurns(&s.config, old.Turns)
	s.runner, err = runner.Open(ctx, s.runnerConfig())
	var corrupt *runner.CorruptError
	if errors.As(err, &corrupt) { // it is aside, and what still runs is counted as somebody else's
		s.warn(c.Clock.Now(), err.Error())
		s.runner, err = runner.Open(ctx, s.runnerConfig())
	}
	if err != nil {
		return nil, err
	}
	if err := s.turns.attach(s.runner, s.tenants()); err != nil {
		return nil, errors.Join(err, s.runner.Close())
	}
	s.learner.Attach(s.runner)
	if s.last, err = lastNumber(s.runner); err != nil {
		return nil, errors.Join(err, s.runner.Close())
	}
	return s, nil
}

// runnerConfig is what the runner needs to know.
func (s *Station) runnerConfig() runner.Config {
	c := s.config.Config
	if c.Env == nil {
		c.Env = []string{} // the daemon's own is nobody's business
	}
	c.Owners, c.Users, c.Serve, c.Noun, c.Halt, c.OnEvent = s.config.Everybody, s.config.users(), true, "job", runner.Halt{InARow: -1}, s.event
	c.Planner, c.Window, c.Steady, c.Overrun = s.planner, min(runner.DefaultWindow, s.config.Profiling), 4*s.config.Profiling, runner.OverrunStop
	if s.config.LetOverrun {
		c.Overrun = runner.OverrunReport
	}
	return c
}

// event is told everything that happens to jobs.
func (s *Station) event(e runner.Event) {
	switch e.Kind {
	case runner.EventWarning, runner.EventLost, runner.EventFound, runner.EventOverrun:
		s.warnOf(&e, e.Text)
	default:
	}
	s.follow(&e)
	s.tell(&e)
	r := &e.Record
	switch e.Kind {
	case runner.EventStarted:
		if r.Runs == 1 {
			s.turns.note(uidOf(r), func(a *account) {
				a.Started, a.Wait = a.Started+1, a.Wait+max(0, r.Started.Sub(r.Submitted).Seconds())
			})
		}
	case runner.EventRecovering:
		s.turns.note(uidOf(r), func(a *account) { a.OutOfMemory++ })
	case runner.EventOverrun:
		if r.State == runner.Queued {
			s.turns.note(uidOf(r), func(a *account) { a.Overruns++ })
		}
		s.noted(&e, s.tellInLog(r))
	case runner.EventStopped:
		if r.State == runner.Running {
			s.noted(&e, s.tellStopped(r))
		}
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// noted warns where the output of a job could not be added to.
func (s *Station) noted(e *runner.Event, err error) {
	if err != nil {
		s.warnOf(e, fmt.Sprintf("the output of job %s cannot be written: %v", e.Record.Task.ID, err))
	}
}

// Close ends the station. Jobs go on and are taken over by the next New.
func (s *Station) Close() error {
	err := s.runner.Close() // after which all events are told
	s.learner.Close()
	return errors.Join(err, s.save(), s.saveLearned())
}
