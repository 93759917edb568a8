package runner

import (
	"context"
	"errors"
	"fmt"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/environ"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
)

// Run starts tasks as GPUs have room and returns when all are over: nil however
// they ended, see Records; with [Config].Serve it goes on. It returns earlier, once nothing runs, with
// [ErrDrained] after Drain and with [ErrHalted] after too many failures. When ctx
// is done it returns ctx.Err() at once and starts nothing more; what runs goes
// on, for a later Run, or to be adopted after Close. One Run at a time.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.closed || r.running {
		defer r.mu.Unlock()
		if r.closed {
			return fmt.Errorf("runner: %w", ErrClosed)
		}
		return errors.New("runner: Run is running already")
	}
	r.running, r.halted, r.failures, r.row, r.broken = true, false, 0, nil, false
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.running, r.draining = false, false
		r.mu.Unlock()
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := r.step()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.closing:
			return fmt.Errorf("runner: %w", ErrClosed)
		case <-r.wake:
		}
	}
}

// step starts what can start, and says whether Run is done.
func (r *Runner) step() (done bool, err error) {
	crowded := r.events.Waiting() >= r.config.queue
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return true, fmt.Errorf("runner: %w", ErrClosed)
	}
	if r.stuck == nil && !r.paused && !r.draining && !r.halted && !r.crowded && !crowded && r.holdShared() {
		defer r.tellShared()
		starts := r.place()
		if err := r.commit(); err != nil {
			r.unplace(starts)
			starts = nil
		}
		for _, e := range starts {
			r.launch(e)
		}
	}
	switch left := r.queue.Left(); {
	case len(r.queue.Active) > 0:
		return false, nil
	case left == 0 && !r.config.Serve || r.draining || r.halted:
		if err := r.commit(); err != nil {
			return true, err
		}
		if left > 0 && r.halted {
			return true, fmt.Errorf("runner: %w: %d tasks are left", ErrHalted, left)
		}
		if left > 0 {
			return true, fmt.Errorf("runner: %w: %d", ErrDrained, left)
		}
		return true, nil
	}
	return false, nil
}

// unplace takes back placements that could not be recorded.
func (r *Runner) unplace(starts []*backlog.Entry) {
	for _, e := range starts {
		r.fleet.Leave(e)
		r.queue.Again(e)
		r.change(e)
	}
}

// launch starts the supervisor of a run that is recorded, in a goroutine that
// lasts as long as the run.
func (r *Runner) launch(e *backlog.Entry) {
	run := e.Runs
	e.Victims = r.victims
	l, err := r.prepare(e)
	before := r.stemOf(e, run-2) // nobody asks for more than its output any more
	e.Follower.Begin(pattern(e), e.Log, e.Stem()+supervise.StepsEnd)
	r.work.Go(func() {
		if err != nil {
			r.ended(e, run, supervise.Outcome{Exit: -1, Final: true, Err: err.Error()})
			return
		}
		if run > 2 {
			supervise.Forget(before)
		}
		child, err := l.Start()
		if supervise.Crowded(err) {
			r.postpone(e, run, err.Error())
			return
		}
		if err != nil {
			r.ended(e, run, supervise.Outcome{Exit: -1, Err: "the run does not start: " + err.Error()})
			return
		}
		r.attach(e, run, child)
		defer r.release(child)
		if p, ok := child.Task(); ok {
			r.started(e, run, p)
		}
		if !r.known(child) {
			child.Detach()
			return
		}
		if o, ok := child.Wait(); ok {
			r.ended(e, run, o)
		}
	})
}

// postpone queues a task again whose run did not begin because this process or the host has
// no room for another process or file: none starts before the next look.
func (r *Runner) postpone(e *backlog.Entry, run int, lacks string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Runs != run || e.State != Starting && e.State != Running {
		return
	}
	r.fleet.Leave(e)
	r.crowded = true
	stop := e.Stop
	e.Stop = 0
	if stop == backlog.StopKilled || stop == backlog.StopHalted {
		r.withdraw(e, Cancelled, "killed on request before it started")
	} else {
		r.again(EventRetry, e, "it waits for the host: "+lacks)
	}
	_ = r.commit() // what fails is kept and tried again
}

// prepare says how a run is started.
func (r *Runner) prepare(e *backlog.Entry) (*supervise.Launch, error) {
	env, err := environ.Of(e, r.surroundings(e))
	if err != nil {
		return nil, err
	}
	l := &supervise.Launch{Stem: e.Stem(), Dir: e.Task.Dir, LogLimit: r.config.LogLimit, Argv: e.Argv(), Env: env}
	l.Key = supervise.Key(e.Task.ID, l.Dir, l.Argv)
	if e.Task.Owner != nil {
		l.Order = order(e.Task.Owner)
		return l, nil
	}
	l.Path, err = supervise.LookPath(l.Argv[0], l.Dir, env)
	return l, err
}

// order is how the command of an owner's task runs.
func order(o *Owner) *supervise.Order {
	const private = 0o077
	to := &supervise.Order{UID: o.UID, GID: o.GID, Groups: o.Groups, Umask: int(o.Umask.Or(private)), Limits: make(map[string][2]int64, len(o.Limits))}
	for name, limit := range o.Limits {
		to.Limits[name] = [2]int64{limit.Soft, limit.Hard}
	}
	return to
}

// surroundings are what the runner decides for the environment of a task.
func (r *Runner) surroundings(e *backlog.Entry) *environ.Options {
	taken := make(map[int]bool)
	for _, other := range r.queue.Active {
		if other != e {
			taken[other.Port] = true
		}
	}
	return &environ.Options{
		Base: r.config.inherited(), Threads: r.config.TaskThreads(len(r.fleet.Cards)),
		PipeDir: r.config.pipeDir(e.GPU), SMs: r.fleet.Threads(e), Taken: taken,
	}
}

// attach notes a supervisor that a goroutine waits for, first for the task's process.
func (r *Runner) attach(e *backlog.Entry, run int, s *supervise.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children[s] = false
	if e.Runs == run {
		e.Keeper = s.PID()
	}
	if r.closed {
		s.Hurry()
	}
}

// known notes that a supervisor told of its task; false if the Runner is being closed,
// which had waited for that.
func (r *Runner) known(s *supervise.Supervisor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children[s] = true
	return !r.closed
}

func (r *Runner) release(s *supervise.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, s)
}

// Drain makes Run start no further task and return once those that run are
// over; without a Run, the next one. The one after that goes on.
func (r *Runner) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
	r.poke()
}

// Close stops all goroutines, delivers the events that wait and closes the
// queue file. Tasks that run go on and are adopted by the next Open: Kill and
// Run to their end first if that is not wanted. Closing twice is no error.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	for child, known := range r.children {
		if known {
			child.Detach()
		} else { // who its process is others must know, to count it once
			child.Hurry()
		}
	}
	r.mu.Unlock()
	r.stopWatch()
	r.work.Wait()
	r.mu.Lock()
	err := r.commit()
	if r.shared != nil {
		err = errors.Join(err, r.shared.Leave(fleet.Promises(r.queue.Active)))
	}
	r.mu.Unlock()
	r.events.Close()
	return errors.Join(err, r.store.Close(), r.lock.Close())
}
