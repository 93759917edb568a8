package runner

import (
	"errors"
	"fmt"
)

// adopt takes over the tasks of a runner that is gone. The caller holds no lock;
// nothing else runs yet.
func (r *Runner) adopt(entries []*entry) error {
	for _, e := range entries {
		if e.State.Over() {
			continue
		}
		if e.State == Queued {
			r.tell(EventQueued, e, "task "+e.Task.ID+" is in the queue")
			continue
		}
		if err := r.adoptRun(e); err != nil {
			return fmt.Errorf("runner: task %q: %w", e.Task.ID, err)
		}
	}
	return r.commit()
}

// adoptRun finds out what became of a run that had been recorded.
func (r *Runner) adoptRun(e *entry) error {
	e.adopted, e.told = true, e.Stop != 0
	e.follower.Begin(r.patterns[e.Task.Progress.Pattern], e.Log, e.stem()+stepsEnd)
	if c := r.card(e.GPU); c != nil {
		c.join(e, e.Mechanism)
	}
	_, claimed, err := claimant(e.stem())
	if err != nil {
		return err
	}
	if !claimed {
		err = claim(e.stem(), revoked)
		claimed = errors.Is(err, errTaken)
		if claimed { // by a supervisor a moment ago, or revoked by a runner that died then
			_, claimed, err = claimant(e.stem())
		}
		if err != nil {
			return err
		}
	}
	if !claimed { // nobody can begin this run any more
		if c := r.card(e.GPU); c != nil {
			c.leave(e)
		}
		if stop := e.Stop; stop == stopKilled || stop == stopHalted {
			r.withdraw(e, Cancelled, "killed on request before it started")
			return nil
		}
		e.Stop = 0
		r.again(EventRetry, e, "the runner ended before the task started")
		return nil
	}
	if e.State == Running { // or Starting, and started tells
		r.tell(EventAdopted, e, fmt.Sprintf("task %s still runs on %s", e.Task.ID, e.GPU))
	}
	return nil
}

// lookAfter finds out whether an adopted run is over; nobody tells.
func (r *Runner) lookAfter(e *entry, at run) {
	o, ended := readExit(at.stem)
	if ended {
		r.ended(e, at.number, o)
		return
	}
	p, claimed, err := claimant(at.stem)
	if err == nil && claimed && p.alive() {
		if at.known {
			return
		}
		if task, ok := childOf(p.pid); ok {
			r.started(e, at.number, task)
		}
		return
	}
	reap(p)
	if o, ended = readExit(at.stem); !ended { // it may have ended in between
		at.task.killGroup()
		o = outcome{exit: -1, lost: true, err: "the supervisor was killed, and with it the task"}
		if err != nil {
			o.err = "the claim of the run cannot be read: " + err.Error()
		}
	}
	r.ended(e, at.number, o)
}
