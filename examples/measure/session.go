package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// session measures a plan into a raw file.
type session struct {
	runner
	raw    *raw
	done   map[string]bool // cells that the file has
	specs  map[string]bool // tasks whose description it has
	order  int
	budget time.Duration // 0 is none
	log    io.Writer

	unchecked bool // the user bears that nothing may tell who else uses the GPU
	blind     bool // nothing does
}

// errForeign means that others use the GPU.
var errForeign = errors.New("other processes use the GPU: nothing measured beside them counts")

// errTrouble means that cells fail one after another.
var errTrouble = errors.New("stopped because nothing works")

// errMPS means that the MPS daemon cannot be started; the rest can be measured.
var errMPS = errors.New("no MPS here")

// mostTroubles is how many cells may fail in a row.
const mostTroubles = 5

// run measures what is left of the cells, until ctx or the budget ends. A cell
// that was begun and not finished leaves no trace.
func (s *session) run(ctx context.Context, cells []cell) error {
	defer s.pool.clear()
	left := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return s.done[c.id()] })
	p := newProgress(s.rig.clock, s.settings, left)
	count := make(troubles)
	for i := 0; i < len(left); {
		c := left[i]
		if s.budget > 0 && p.elapsed()+p.expect(&c) > s.budget {
			fmt.Fprintf(s.log, "measure: %d of %d cells measured, the budget of %v is used up; run again to go on\n", i, len(left), s.budget)
			return nil
		}
		res, err := s.one(ctx, c)
		if err == nil {
			p.finished(i)
			fmt.Fprintln(s.log, p.line(i, &res))
			err = count.add(&res)
			i++
		}
		if errors.Is(err, errMPS) {
			fmt.Fprintf(s.log, "measure: cells with MPS are left out: %v\n", err)
			left = append(left[:i:i], slices.DeleteFunc(left[i:], func(c cell) bool { return c.Mechanism == profile.MPS })...)
			p.plan(left)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// troubles counts the cells that failed in a row, by mechanism.
type troubles map[profile.Mechanism]int

// add returns an error when too many failed: errMPS if MPS alone is broken.
func (t troubles) add(res *result) error {
	m := res.Cell.Mechanism
	if t[m]++; !res.Status.trouble() {
		t[m] = 0
	}
	if t[m] < mostTroubles {
		return nil
	}
	cause := errTrouble
	if m == profile.MPS {
		cause = errMPS
	}
	return fmt.Errorf("%w: %d cells in a row failed, the last with: %s", cause, t[m], complaints(res))
}

// one measures a cell with nobody else there before and after, and records it.
func (s *session) one(ctx context.Context, c cell) (result, error) {
	if err := s.alone(ctx); err != nil {
		return result{}, err
	}
	res, err := s.attempt(ctx, c)
	if err == nil && res.Status == statusOOM && res.Idle > 0 {
		s.pool.clear() // others' contexts may have been too much
		res, err = s.attempt(ctx, c)
	}
	if err == nil {
		err = s.alone(ctx)
	}
	if err != nil {
		return result{}, err
	}
	return res, s.record(&res)
}

// attempt measures once.
func (s *session) attempt(ctx context.Context, c cell) (result, error) {
	res, err := s.measure(ctx, c)
	if s.rig.sim != nil {
		s.rig.sim.end()
	}
	return res, err
}

// record writes a result, and what its tasks say of themselves when they are new.
func (s *session) record(res *result) error {
	for _, m := range res.Members {
		if m.spec == nil || s.specs[m.Task] {
			continue
		}
		if err := s.raw.append(record{Task: &taskRecord{Name: m.Task, Spec: m.spec}}); err != nil {
			return err
		}
		s.specs[m.Task] = true
	}
	res.Order = s.order
	s.order++
	if err := s.raw.append(record{Result: res}); err != nil {
		return err
	}
	s.done[res.Cell.id()] = true
	return nil
}

// complaints joins the messages of a result.
func complaints(res *result) string {
	var all []string
	for _, m := range res.Members {
		if m.Message != "" {
			all = append(all, m.Task+": "+m.Message)
		}
	}
	return strings.Join(all, "; ")
}

// alone makes sure that nobody else computes on the GPU. Processes that have
// just ended may be listed for a moment more.
func (s *session) alone(ctx context.Context) error {
	if s.blind {
		return ctx.Err()
	}
	waiter := s.rig.clock.NewWaiter()
	defer waiter.Stop()
	var strangers []nvmlx.Process
	var err error
	for range 5 {
		own := make(map[int]bool)
		for _, w := range s.pool.idle {
			own[w.pid()] = true
		}
		var list []nvmlx.Process
		list, err = s.rig.processes(ctx)
		if strangers = foreign(list, own, s.rig.servers()); err == nil && len(strangers) == 0 {
			return ctx.Err()
		}
		if errors.Is(err, nvmlx.ErrNotSupported) || errors.Is(err, nvmlx.ErrPermission) {
			break // nor will it later
		}
		if err := waiter.Wait(ctx, s.rig.clock.Now().Add(time.Second)); err != nil {
			return err
		}
	}
	if err != nil && s.unchecked {
		s.blind = true
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("nothing tells who uses the GPU (%w): -unchecked measures all the same", err)
	}
	var names []string
	for _, p := range strangers {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", p.PID, p.Name)))
	}
	return fmt.Errorf("%w: %s", errForeign, strings.Join(names, ", "))
}

// foreign returns the computing processes that are not ours. MPS servers belong
// to our daemon: by name, or, where the driver tells no names, by their number.
// In a container the driver may count processes as the host does; then ours
// cannot be told by their PIDs either, only how many there must be.
func foreign(list []nvmlx.Process, own map[int]bool, servers int) []nvmlx.Process {
	listed := false
	strangers := slices.DeleteFunc(slices.Clone(list), func(p nvmlx.Process) bool {
		listed = listed || own[p.PID]
		return own[p.PID] || p.Kind == nvmlx.GraphicsProcess || servers > 0 && strings.Contains(p.Name, "nvidia-cuda-mps")
	})
	unnamed := 0
	for _, p := range strangers {
		if p.Name == "" {
			unnamed++
		}
	}
	expected := min(unnamed, servers)
	if !listed {
		expected += len(own)
	}
	if len(strangers) <= expected {
		return nil
	}
	return strangers
}
