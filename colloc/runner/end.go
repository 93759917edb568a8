package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/colloc/runner/internal/oom"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// maxLost is how often a task is run again because a run was lost, with its GPU,
// its supervisor or its host, or for want of room on a disk.
const maxLost = 3

// started records the process of a run.
func (r *Runner) started(e *backlog.Entry, run int, p supervise.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Runs != run || e.State != Starting {
		return
	}
	e.State = Running
	e.PID, e.PIDStart = p.PID, p.Start
	kind, verb := EventStarted, "started on"
	if e.Adopted {
		kind, verb = EventAdopted, "still runs on"
	}
	r.tell(kind, e, fmt.Sprintf("%s %s %s", r.name(e), verb, e.On()))
	if e.Stop != 0 && e.Stop != backlog.StopSpared {
		r.signal(e)
	}
	_ = r.commit() // what fails is kept and tried again
}

// ended records the end of a run, and what follows from it.
func (r *Runner) ended(e *backlog.Entry, run int, o supervise.Outcome) {
	if o.Crowded {
		r.postpone(e, run, o.Err)
		return
	}
	line, vague := "", false
	if !o.OK() {
		line, vague = oom.Line(e.Follower.Output(), e.Follower.Pattern().Step)
	}
	read := e.Follower.Follow(true, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Runs != run || e.State != Starting && e.State != Running {
		return
	}
	for _, c := range r.fleet.CardsOf(e) {
		r.measured(r.fleet.CloseWindow(c))
	}
	r.fleet.Leave(e)
	r.fleet.Forget(e)
	r.apply(e, read)
	e.Exit, e.Signal, e.Ended, e.LogDropped = o.Exit, o.Signal, r.now(), o.Dropped
	r.checkLog(e)
	if o.Took > 0 { // the clocks of hosts and of file systems are set, and differ
		e.Ended = e.Started.Add(o.Took)
	}
	if e.Ended.Before(e.Started) {
		e.Ended = e.Started
	}
	r.checkPattern(e, &o, read)
	r.conclude(e, &o, r.fleet.Lacked(e, &o, line, vague))
	_ = r.commit() // as above
	r.poke()
}

// conclude decides whether a task whose run is over is over too.
func (r *Runner) conclude(e *backlog.Entry, o *supervise.Outcome, lacked string) {
	stop := e.Stop
	if !e.Told && (stop == backlog.StopTimeout || stop == backlog.StopLostGPU || stop == backlog.StopOverrun || stop == backlog.StopForOthers) {
		stop = 0 // it ended by itself before the signal came
	}
	e.Stop = 0
	switch { // what was cut short comes first: many programs save their state on SIGTERM and exit with 0
	case stop == backlog.StopKilled, stop == backlog.StopSpared && !o.OK():
		r.finish(e, Cancelled, "killed on request")
	case stop == backlog.StopHalted:
		r.finish(e, Cancelled, "killed because the queue was halted")
	case stop == backlog.StopTimeout:
		r.fail(e, o, stop)
	case o.Lost && e.LostRuns < maxLost:
		e.LostRuns++
		r.again(EventRetry, e, "lost: "+o.Err)
	case stop == backlog.StopLostGPU && e.LostRuns < maxLost:
		e.LostRuns++
		r.again(EventRetry, e, "its GPU was lost")
	case stop == backlog.StopLostGPU:
		r.finish(e, Failed, fmt.Sprintf("its GPU was lost, for the %dth time", maxLost+1))
	case stop == backlog.StopOverrun:
		r.stoppedOverrun(e)
	case stop == backlog.StopForOthers && !done(e, o):
		e.Stops++
		r.again(EventStopped, e, e.Stopped)
	case o.OK() || stop == backlog.StopForOthers:
		r.row = nil
		r.learned(r.fleet.Learn(e, false))
		r.finish(e, Succeeded, "")
	case lacked != "":
		r.learned(r.fleet.Learn(e, true))
		if !r.fleet.Recover(e) {
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

// done reports whether a task that was stopped for others says that its work is done.
func done(e *backlog.Entry, o *supervise.Outcome) bool {
	step, known := e.Step.Get()
	total, of := e.Total.Get()
	return o.Exit == queue.ExitDone || o.OK() && known && of && step >= total
}

// stopFor stops a run for others, or to move, if it still may be.
func (r *Runner) stopFor(s *body.Stop) {
	e := s.Entry
	if e.Stop != 0 || e.RestartCost().IsZero() {
		return
	}
	e.Stopped = "stopped so that it runs elsewhere"
	if others := slices.DeleteFunc(slices.Clone(s.For), func(id string) bool { return id == s.Job }); len(others) > 0 {
		e.Stopped = "stopped for " + r.config.Noun + " " + strings.Join(others, " and ")
	}
	if s.Gain > 0 {
		e.Stopped += fmt.Sprintf(", which adds %.2f of a GPU's work", s.Gain)
	}
	r.stop(e, backlog.StopForOthers)
	r.tell(EventStopped, e, r.name(e)+" is "+e.Stopped)
}

// stoppedOverrun queues a task again, with more memory, that used more than was reserved.
func (r *Runner) stoppedOverrun(e *backlog.Entry) {
	why := fmt.Sprintf("stopped: it used %v of GPU memory beside others, and %v were reserved", e.Peak.Or(0), e.Reserved)
	r.learned(r.fleet.Learn(e, true))
	e.Overruns++
	if !r.fleet.Recover(e) {
		r.finish(e, Failed, why)
		return
	}
	r.again(EventOverrun, e, fmt.Sprintf("%s; next: %v", why, e.Recovery))
}

// fail ends or retries a task whose run failed.
func (r *Runner) fail(e *backlog.Entry, o *supervise.Outcome, stop backlog.Stop) {
	text := o.String()
	switch {
	case stop == backlog.StopTimeout:
		text = fmt.Sprintf("timed out after %v (%s)", e.Task.Timeout, text)
	case o.Killed():
		text += ": by somebody, or by the kernel because the host's memory ran out, which dmesg tells"
	}
	switch full := cmp.Or(r.diskFull(e.Task.Dir, e.Task.Dir), r.diskFull(r.config.Dir, r.config.Dir)); { // its output is on the second
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
func (r *Runner) inARow(e *backlog.Entry, soon bool) {
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
		"%d %ss in a row failed within %v of their start, %s with: %s: no further %s starts, and they are queued again", len(r.row), r.config.Noun, Soon, r.name(e), e.Err, r.config.Noun)})
	if err := r.retry(r.row); err != nil {
		r.warn("history", nil, "they are not queued again: "+err.Error())
	}
	r.row = nil
}

// again queues a task whose run is over.
func (r *Runner) again(kind EventKind, e *backlog.Entry, why string) {
	e.Err = why
	r.queue.Again(e)
	r.tell(kind, e, r.name(e)+" is queued again: "+why)
}

// apply takes over what is known of a task's progress and reports whether that
// is new.
func (r *Runner) apply(e *backlog.Entry, read progress.Reading) bool {
	total := read.Total
	if total.IsZero() && e.Task.Progress.Total > 0 {
		total = profile.Some(e.Task.Progress.Total)
	}
	if e.Step == read.Step && e.Total == total && e.StepTime == read.StepTime && (read.Restart.IsZero() || read.Restart == e.Restart) {
		return false
	}
	if !read.Restart.IsZero() {
		e.Restart = read.Restart
	}
	if n := read.Restarts - e.Restarts; n > 0 {
		now := r.now()
		e.Cycle = 0
		if !e.Restarted.IsZero() {
			e.Cycle = now.Sub(e.Restarted) / time.Duration(n)
		}
		e.Restarted = now
	}
	e.Step, e.Total, e.StepTime, e.Restarts = read.Step, total, read.StepTime, read.Restarts
	return true
}

// checkLog warns of output that was left out, once for all tasks.
func (r *Runner) checkLog(e *backlog.Entry) {
	if e.LogDropped > 0 {
		r.warn("log limit", e, fmt.Sprintf("the output of %s became too long: %v from the middle of its log are left out, %s; Config.LogLimit is %v",
			r.name(e), e.LogDropped, e.Log, r.config.LogLimit))
	}
}

// checkPattern warns, once for each pattern, of one that never matched in a run that
// succeeded: what failed may not have come to its first step. To those who share a daemon a
// short run is not worth a warning.
func (r *Runner) checkPattern(e *backlog.Entry, o *supervise.Outcome, read progress.Reading) {
	if p := e.Task.Progress.Pattern; p != "" && !read.Matched && o.OK() && (!r.config.Serve || e.Ended.Sub(e.Started) >= Soon) {
		r.warn("pattern "+p, e, fmt.Sprintf("no steps were found in the output of %s, and its speed is unknown: -step (Progress.Pattern) tells how to find them", r.name(e)))
	}
}

// hostLacked reports whether a run was killed while the kernel killed for want of
// the host's memory.
func (r *Runner) hostLacked(e *backlog.Entry, o *supervise.Outcome) bool {
	before, ok1 := e.Victims.Get()
	now, ok2 := oom.Victims(r.config.vmstat).Get()
	return o.Killed() && ok1 && ok2 && now > before
}

// finish ends a task whose run is over, and with it those that waited for its
// success in vain.
func (r *Runner) finish(e *backlog.Entry, state State, err string) {
	e.Err = err
	over := r.queue.Finish(e, state)
	r.over(over[:1])
	r.hopeless(over[1:])
}

// withdraw ends a task that does not run, and likewise.
func (r *Runner) withdraw(e *backlog.Entry, state State, err string) {
	e.Ended = r.now()
	r.finish(e, state, err)
	r.poke() // others may have waited for its end, whatever it is
}

// hopeless tells of tasks that are over because another one did not succeed.
func (r *Runner) hopeless(entries []*backlog.Entry) {
	for _, e := range entries {
		e.Ended = r.now()
		for _, d := range e.Task.After {
			if s := r.queue.ByID[d.Task].State; s.Over() && s != Succeeded && !d.Any {
				e.Err = "it waited for the success of " + r.config.Noun + " " + d.Task + ", which is " + s.String()
			}
		}
	}
	r.over(entries)
}

// over tells of tasks that are over.
func (r *Runner) over(entries []*backlog.Entry) {
	for _, e := range entries {
		e.Waiting = ""
		text := r.name(e) + " " + e.State.String()
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
		Text: fmt.Sprintf("%d %ss failed: no further %s starts", r.failures, r.config.Noun, r.config.Noun),
	})
	if r.config.Halt.Kill {
		for _, e := range r.queue.Active {
			r.stop(e, backlog.StopHalted)
		}
	}
}

// stop ends a run: SIGTERM now, SIGKILL after the grace. A run that is being ended already
// goes on to be, and its task is not queued again if that is what is asked now.
func (r *Runner) stop(e *backlog.Entry, why backlog.Stop) {
	ending := e.Stop != 0 && e.Stop != backlog.StopSpared
	if e.State != Starting && e.State != Running || ending && (e.Stop.Final() || !why.Final()) {
		return
	}
	e.Stop = why
	r.change(e)
	if e.State == Running {
		r.signal(e)
	}
}

// signal sends what is due to a run that is to end.
func (r *Runner) signal(e *backlog.Entry) {
	p := supervise.Process{PID: e.PID, Start: e.PIDStart}
	switch now := r.now(); {
	case e.TermAt.IsZero():
		e.TermAt = now
		took, err := p.SignalGroup(syscall.SIGTERM) // what cannot be signalled is killed later
		e.Told = e.Told || took || err != nil
	case !e.Killed && now.Sub(e.TermAt) >= r.config.Grace:
		var err error
		if _, err = p.SignalGroup(syscall.SIGKILL); err != nil {
			r.warn("kill "+e.Task.ID, e, r.name(e)+" cannot be killed: "+err.Error())
		}
		e.Killed = true
	}
}

// checkRun sends what is due to one run: because it was stopped, or because its
// time is over.
func (r *Runner) checkRun(e *backlog.Entry, now time.Time) {
	if t := e.Task.Timeout; (e.Stop == 0 || e.Stop == backlog.StopSpared) && t > 0 && now.Sub(e.Started) >= t {
		r.stop(e, backlog.StopTimeout)
	}
	if e.Stop != 0 && e.Stop != backlog.StopSpared && e.State == Running {
		r.signal(e)
	}
}

// retry queues those of the tasks again that failed or were cancelled.
func (r *Runner) retry(entries []*backlog.Entry) error {
	again := make([]*backlog.Entry, 0, len(entries))
	for _, e := range entries {
		if e.State == Failed || e.State == Cancelled {
			again = append(again, e)
		}
	}
	if err := r.recall(dependencies(again)...); err != nil {
		return err
	}
	for _, e := range again {
		e.Failures, e.LostRuns, e.Recovery, e.Raised, e.Stop = 0, 0, 0, 0, 0
	}
	hopeless := r.queue.Retry(again)
	for _, e := range again {
		if e.State == Queued {
			r.tell(EventQueued, e, r.name(e)+" is queued again")
		}
	}
	r.hopeless(hopeless)
	return nil
}
