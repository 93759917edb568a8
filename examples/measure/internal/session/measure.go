package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/profile"
)

// Measure measures, in order, the one or more cells that the raw file does not have yet, and
// tells log of each.
func Measure(ctx context.Context, r *rig.Rig, cells []plan.Cell, c *Config, log io.Writer) (err error) {
	s := newSession(r, c, log)
	if err := s.guard.alone(ctx); err != nil {
		return err
	}
	h, err := s.describe(ctx, cells[0].Tasks[0])
	if err != nil {
		return err
	}
	h.Unchecked = s.guard.blind
	file, have, err := raw.Open(c.Out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s.file = file
	if err := file.Begin(h); err != nil {
		return err
	}
	s.resume(have)
	return s.run(ctx, cells)
}

// session measures a plan into a raw file.
type session struct {
	runner
	file  recorder
	done  map[string]bool // cells that the file has
	specs map[string]bool // tasks whose description it has
	order int
	log   io.Writer
	guard guard
}

// recorder is what a session needs of a raw file.
type recorder interface {
	AddTask(name string, spec *profile.Spec) error
	AddResult(r *raw.Result) error
}

func newSession(r *rig.Rig, c *Config, log io.Writer) *session {
	waiting := &workload.Pool{Room: c.Keep, Patience: quitPatience}
	return &session{
		log:    log,
		runner: runner{rig: r, config: c, pool: waiting},
		guard:  guard{rig: r, pool: waiting, unchecked: c.Unchecked, blind: r.Source == nil},
	}
}

// resume takes over what a file has.
func (s *session) resume(c *raw.Contents) {
	s.done, s.specs = make(map[string]bool), make(map[string]bool)
	for name := range c.Specs {
		s.specs[name] = true
	}
	for _, r := range c.Latest() {
		s.done[r.Cell.ID()] = !s.config.Retry || !r.Status.Trouble()
		s.order = max(s.order, r.Order+1)
	}
}

// run measures what is left of the cells, until ctx or the budget ends. A cell
// that was begun and not finished leaves no trace.
func (s *session) run(ctx context.Context, cells []plan.Cell) error {
	defer s.pool.Clear()
	left := slices.DeleteFunc(slices.Clone(cells), func(c plan.Cell) bool { return s.done[c.ID()] })
	p := newProgress(s.rig.Clock, s.config.Settings, left)
	count := make(troubles)
	for i := 0; i < len(left); {
		c := left[i]
		if s.config.Budget > 0 && p.elapsed()+p.expect(&c) > s.config.Budget {
			fmt.Fprintf(s.log, "measure: %d of %d cells measured, the budget of %v is used up; run again to go on\n", i, len(left), s.config.Budget)
			return nil
		}
		res, err := s.one(ctx, c)
		if err == nil {
			p.finished(i)
			fmt.Fprintln(s.log, p.line(i, &res))
			err = count.add(&res)
			i++
		}
		if errors.Is(err, rig.ErrMPS) {
			fmt.Fprintf(s.log, "measure: cells with MPS are left out: %v\n", err)
			left = append(left[:i:i], slices.DeleteFunc(left[i:], func(c plan.Cell) bool { return c.Mechanism == profile.MPS })...)
			p.plan(left)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one measures a cell with nobody else there before and after, and records it.
func (s *session) one(ctx context.Context, c plan.Cell) (raw.Result, error) {
	if err := s.guard.alone(ctx); err != nil {
		return raw.Result{}, err
	}
	res, err := s.attempt(ctx, c)
	if err == nil && res.Status == workload.OOM && res.Idle > 0 {
		s.pool.Clear() // others' contexts may have been too much
		res, err = s.attempt(ctx, c)
	}
	if err == nil {
		err = s.guard.alone(ctx)
	}
	if err != nil {
		return raw.Result{}, err
	}
	return res, s.record(&res)
}

// attempt measures once.
func (s *session) attempt(ctx context.Context, c plan.Cell) (raw.Result, error) {
	res, err := s.measure(ctx, c)
	if s.rig.Sim != nil {
		s.rig.Sim.End()
	}
	return res, err
}

// record writes a result, and what its tasks say of themselves when they are new.
func (s *session) record(res *raw.Result) error {
	for _, m := range res.Members {
		if m.Spec == nil || s.specs[m.Task] {
			continue
		}
		if err := s.file.AddTask(m.Task, m.Spec); err != nil {
			return err
		}
		s.specs[m.Task] = true
	}
	res.Order = s.order
	s.order++
	if err := s.file.AddResult(res); err != nil {
		return err
	}
	s.done[res.Cell.ID()] = true
	return nil
}
