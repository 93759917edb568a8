package runner

import (
	"syscall"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

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
