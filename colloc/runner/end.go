package runner

import (
	"fmt"
	"time"

	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// maxLost is how often a task is run again because a run was lost, with its GPU,
// its supervisor or its host, or for want of room on a disk.
const maxLost = 3

// started records the process of a run.
func (r *Runner) started(e *entry, run int, p supervise.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Runs != run || e.State != Starting {
		return
	}
	e.State = Running
	e.PID, e.PIDStart = p.PID, p.Start
	kind, verb := EventStarted, "started on"
	if e.adopted {
		kind, verb = EventAdopted, "still runs on"
	}
	r.tell(kind, e, fmt.Sprintf("task %s %s %s", e.Task.ID, verb, e.On()))
	if e.Stop != 0 && e.Stop != stopSpared {
		r.signal(e)
	}
	_ = r.commit() // what fails is kept and tried again
}

// ended records the end of a run, and what follows from it.
func (r *Runner) ended(e *entry, run int, o supervise.Outcome) {
	line, vague := "", false
	if !o.OK() {
		line, vague = r.memoryPatterns.Line(e.follower.Output(), e.follower.Pattern().Step)
	}
	read := e.follower.Follow(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Runs != run || e.State != Starting && e.State != Running {
		return
	}
	for _, c := range r.cardsOf(e) {
		r.closeWindow(c)
	}
	r.leave(e)
	delete(r.solo.byEntry, e)
	_ = r.ledger.Release(e.Task.ID) // an unknown task holds nothing
	r.apply(e, read)
	r.checkPattern(e, read)
	e.Exit, e.Signal, e.Ended = o.Exit, o.Signal, r.now()
	if o.Took > 0 { // the clocks of hosts and of file systems are set, and differ
		e.Ended = e.Started.Add(o.Took)
	}
	if e.Ended.Before(e.Started) {
		e.Ended = e.Started
	}
	r.conclude(e, &o, r.lackedMemory(e, &o, line, vague))
	_ = r.commit() // as above
	r.poke()
}

// conclude decides whether a task whose run is over is over too.
func (r *Runner) conclude(e *entry, o *supervise.Outcome, lacked string) {
	stop := e.Stop
	if !e.told && (stop == stopTimeout || stop == stopLostGPU) {
		stop = 0 // it ended by itself before the signal came
	}
	e.Stop = 0
	switch { // what was cut short comes first: many programs save their state on SIGTERM and exit with 0
	case stop == stopKilled, stop == stopSpared && !o.OK():
		r.finish(e, Cancelled, "killed on request")
	case stop == stopHalted:
		r.finish(e, Cancelled, "killed because the queue was halted")
	case stop == stopTimeout:
		r.fail(e, o, stop)
	case o.Lost && e.LostRuns < maxLost:
		e.LostRuns++
		r.again(EventRetry, e, "lost: "+o.Err)
	case stop == stopLostGPU && e.LostRuns < maxLost:
		e.LostRuns++
		r.again(EventRetry, e, "its GPU was lost")
	case stop == stopLostGPU:
		r.finish(e, Failed, fmt.Sprintf("its GPU was lost, for the %dth time", maxLost+1))
	case o.OK():
		r.row = nil
		r.learn(e, false)
		r.finish(e, Succeeded, "")
	case lacked != "":
		r.learn(e, true)
		if !r.recoverMemory(e) {
			r.finish(e, Failed, "out of memory, alone on a GPU: "+lacked)
			return
		}
		r.again(EventRecovering, e, fmt.Sprintf("out of memory (%s); next: %v", lacked, e.Recovery))
	case e.Recovery < RanAlone && r.hostLacked(e, o):
		e.Recovery = RanAlone // the fewer neighbours, the more of the host's memory is left
		r.again(EventRecovering, e, fmt.Sprintf("the kernel killed it because the host's memory ran out; next: %v", e.Recovery))
	default:
		r.fail(e, o, stop)
	}
}

// fail ends or retries a task whose run failed.
func (r *Runner) fail(e *entry, o *supervise.Outcome, stop stopReason) {
	text := o.String()
	switch {
	case stop == stopTimeout:
		text = fmt.Sprintf("timed out after %v (%s)", e.Task.Timeout, text)
	case o.Killed():
		text += ": by somebody, or by the kernel because the host's memory ran out, which dmesg tells"
	}
	switch full := r.diskFull(e.Task.Dir); {
	case full != "" && stop == 0 && e.LostRuns < maxLost:
		e.LostRuns++
		r.again(EventRetry, e, full+": "+text)
		return
	case full != "":
		text = full + ": " + text
	}
	soon := stop == 0 && e.Ended.Sub(e.Started) < Soon
	e.Failures++
	switch {
	case !o.Final && e.Failures <= e.Task.Retries:
		r.again(EventRetry, e, text)
	case soon && r.broken:
		e.Failures = 0
		r.again(EventRetry, e, text)
	default:
		r.finish(e, Failed, text)
		r.inARow(e, soon)
	}
}

// inARow counts tasks that fail soon after their start, and ends the queue if
// nothing else does: they are queued again, for when what is wrong is mended.
func (r *Runner) inARow(e *entry, soon bool) {
	if !soon {
		r.row = nil
		return
	}
	r.row = append(r.row, e)
	if n := r.config.Halt.InARow; n < 0 || len(r.row) < n {
		return
	}
	r.halted, r.broken = true, true
	r.pending = append(r.pending, Event{Kind: EventHalted, At: r.now(), Text: fmt.Sprintf(
		"%d tasks in a row failed within %v of their start, task %s with: %s: no further task starts, and they are queued again", len(r.row), Soon, e.Task.ID, e.Err)})
	r.retry(r.row)
	r.row = nil
}

// again queues a task whose run is over.
func (r *Runner) again(kind EventKind, e *entry, why string) {
	e.Err = why
	r.queue.again(e)
	r.tell(kind, e, "task "+e.Task.ID+" is queued again: "+why)
}

// apply takes over what is known of a task's progress and reports whether that
// is new.
func (r *Runner) apply(e *entry, read progress.Reading) bool {
	total := read.Total
	if total.IsZero() && e.Task.Progress.Total > 0 {
		total = profile.Some(e.Task.Progress.Total)
	}
	if e.Step == read.Step && e.Total == total && e.StepTime == read.StepTime {
		return false
	}
	if n := read.Restarts - e.Restarts; n > 0 {
		now := r.now()
		e.cycle = 0
		if !e.restarted.IsZero() {
			e.cycle = now.Sub(e.restarted) / time.Duration(n)
		}
		e.restarted = now
	}
	e.Step, e.Total, e.StepTime, e.Restarts = read.Step, total, read.StepTime, read.Restarts
	return true
}

// checkPattern warns, once for each pattern, of one that never matched.
func (r *Runner) checkPattern(e *entry, read progress.Reading) {
	if p := e.Task.Progress.Pattern; p != "" && !read.Matched && e.PID != 0 {
		r.warn("pattern "+p, e, fmt.Sprintf("no line of the output of task %s (%s) matches the pattern %q: its progress and speed are unknown", e.Task.ID, e.Log, p))
	}
}
