package runner

import (
	"strconv"
	"syscall"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// finish ends a task whose run is over, and with it those that waited for its
// success in vain.
func (r *Runner) finish(e *entry, state State, err string) {
	e.Err = err
	over := r.queue.finish(e, state)
	r.over(over[:1])
	r.hopeless(over[1:])
}

// withdraw ends a task that does not run, and likewise.
func (r *Runner) withdraw(e *entry, state State, err string) {
	e.Ended = r.now()
	r.finish(e, state, err)
	r.poke() // others may have waited for its end, whatever it is
}

// hopeless tells of tasks that are over because another one did not succeed.
func (r *Runner) hopeless(entries []*entry) {
	for _, e := range entries {
		e.Ended = r.now()
		for _, d := range e.Task.After {
			if s := r.queue.byID[d.Task].State; s.Over() && s != Succeeded && !d.Any {
				e.Err = "it waited for the success of task " + d.Task + ", which is " + s.String()
			}
		}
	}
	r.over(entries)
}

// over tells of tasks that are over.
func (r *Runner) over(entries []*entry) {
	for _, e := range entries {
		e.Waiting = ""
		text := "task " + e.Task.ID + " " + e.State.String()
		if e.Err != "" {
			text += ": " + e.Err
		}
		r.tell(EventFinished, e, text)
		if e.State == Failed {
			r.failed()
		}
	}
}

// failed counts a task that failed and halts the queue if there are too many.
func (r *Runner) failed() {
	r.failures++
	if h := r.config.Halt; h.Failures == 0 || r.failures < h.Failures || r.halted {
		return
	}
	r.halted = true
	r.pending = append(r.pending, Event{
		Kind: EventHalted, At: r.now(),
		Text: strconv.Itoa(r.failures) + " tasks failed: no further task starts",
	})
	if r.config.Halt.Kill {
		for _, e := range r.queue.active {
			r.stop(e, stopHalted)
		}
	}
}

// stop ends a run: SIGTERM now, SIGKILL after the grace.
func (r *Runner) stop(e *entry, why stopReason) {
	if e.State != Starting && e.State != Running || e.Stop != 0 && e.Stop != stopSpared {
		return
	}
	e.Stop = why
	r.change(e)
	if e.State == Running {
		r.signal(e)
	}
}

// signal sends what is due to a run that is to end.
func (r *Runner) signal(e *entry) {
	p := supervise.Process{PID: e.PID, Start: e.PIDStart}
	switch now := r.now(); {
	case e.termAt.IsZero():
		e.termAt = now
		took, err := p.SignalGroup(syscall.SIGTERM) // what cannot be signalled is killed later
		e.told = e.told || took || err != nil
	case !e.killed && now.Sub(e.termAt) >= r.config.Grace:
		var err error
		if _, err = p.SignalGroup(syscall.SIGKILL); err != nil {
			r.warn("kill "+e.Task.ID, e, "task "+e.Task.ID+" cannot be killed: "+err.Error())
		}
		e.killed = true
	}
}

// checkRun sends what is due to one run: because it was stopped, or because its
// time is over.
func (r *Runner) checkRun(e *entry, now time.Time) {
	if t := e.Task.Timeout; (e.Stop == 0 || e.Stop == stopSpared) && t > 0 && now.Sub(e.Started) >= t {
		r.stop(e, stopTimeout)
	}
	if e.Stop != 0 && e.Stop != stopSpared && e.State == Running {
		r.signal(e)
	}
}
