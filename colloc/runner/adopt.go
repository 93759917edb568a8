package runner

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
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
	e.follower.Begin(r.patterns[e.Task.Progress.Pattern], e.Log, e.stem()+supervise.StepsEnd)
	r.join(e, e.Mechanism)
	who, claimed, err := supervise.ReadClaim(e.stem())
	if err != nil {
		return err
	}
	if !claimed {
		err = supervise.Revoke(e.stem())
		claimed = errors.Is(err, supervise.ErrTaken)
		if claimed { // by a supervisor a moment ago, or revoked by a runner that died then
			who, claimed, err = supervise.ReadClaim(e.stem())
		}
		if err != nil {
			return err
		}
	}
	if !claimed { // nobody can begin this run any more
		r.leave(e)
		if stop := e.Stop; stop == stopKilled || stop == stopHalted {
			r.withdraw(e, Cancelled, "killed on request before it started")
			return nil
		}
		e.Stop = 0
		r.again(EventRetry, e, "the runner ended before the task started")
		return nil
	}
	return r.adoptClaimed(e, &who)
}

// adoptClaimed takes over a run whose claim was made: here, before the host started
// again, or on another host, where it may still run.
func (r *Runner) adoptClaimed(e *entry, who *supervise.Claim) error {
	e.keeper = who.PID
	_, ended := supervise.ReadExit(e.stem())
	switch here := r.config.space; {
	case ended: // the next look tells
	case who.Space.ID == "" || who.Space.ID == here.ID:
		if e.State == Running && who.Alive() { // of one that is Starting, started tells
			r.tell(EventAdopted, e, fmt.Sprintf("task %s still runs on %s", e.Task.ID, e.On()))
		}
	case sameHost(who.Space.Host, here.Host), slices.ContainsFunc(r.config.Gone, func(host string) bool { return sameHost(who.Space.Host, host) }):
		e.gone = true
	default:
		return fmt.Errorf("%w %s: open the queue there or, if that host is gone for good, say so in Config.Gone", ErrElsewhere, who.Space.Host)
	}
	return nil
}

// sameHost compares a name in a claim, which may be cut, with a host's.
func sameHost(claimed, host string) bool {
	return claimed != "" && claimed == supervise.ShortHost(host)
}

// lookAfter finds out whether an adopted run is over; nobody tells.
func (r *Runner) lookAfter(e *entry, at run) {
	o, ended := supervise.ReadExit(at.stem)
	if ended {
		r.ended(e, at.number, o)
		return
	}
	if at.gone { // with all processes of that time
		r.ended(e, at.number, supervise.Outcome{Exit: -1, Lost: true, Err: "the host went down, or its container, while it ran"})
		return
	}
	who, claimed, err := supervise.ReadClaim(at.stem)
	if err == nil && claimed && who.Alive() {
		if at.known {
			return
		}
		if task, ok := supervise.ChildOf(who.PID); ok {
			r.started(e, at.number, task)
		}
		return
	}
	supervise.Reap(who.Process)
	if o, ended = supervise.ReadExit(at.stem); !ended { // it may have ended in between
		supervise.KillRest(at.stem)
		o = supervise.Outcome{Exit: -1, Lost: true, Err: "the supervisor was killed, and with it the task"}
		if err != nil {
			o.Err = "the claim of the run cannot be read: " + err.Error()
		}
	}
	r.ended(e, at.number, o)
}

// run names one run of a task, as it was when nobody held the lock.
type run struct {
	number  int
	gpus    []nvmlx.DeviceID
	stem    string
	adopted bool
	known   bool // its process is
	gone    bool // all its processes are
}
