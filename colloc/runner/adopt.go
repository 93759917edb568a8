package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/environ"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// adopt takes over the tasks of a runner that is gone. The caller holds no lock;
// nothing else runs yet.
func (r *Runner) adopt(entries []*backlog.Entry) error {
	for _, e := range entries {
		if e.State.Over() {
			continue
		}
		e.Inherited = true
		if e.State == Queued {
			r.tell(EventQueued, e, r.name(e)+" is in the queue")
			continue
		}
		if err := r.adoptRun(e); err != nil {
			return fmt.Errorf("runner: task %q: %w", e.Task.ID, err)
		}
	}
	return r.commit()
}

// adoptRun finds out what became of a run that had been recorded.
func (r *Runner) adoptRun(e *backlog.Entry) error {
	e.Adopted, e.Told = true, e.Stop != 0
	e.Follower.Begin(pattern(e), e.Log, e.Stem()+supervise.StepsEnd)
	r.fleet.Join(e, e.Mechanism)
	who, claimed, err := supervise.ReadClaim(e.Stem())
	if err != nil {
		return err
	}
	if !claimed {
		err = supervise.Revoke(e.Stem())
		claimed = errors.Is(err, supervise.ErrTaken)
		if claimed { // by a supervisor a moment ago, or revoked by a runner that died then
			who, claimed, err = supervise.ReadClaim(e.Stem())
		}
		if err != nil {
			return err
		}
	}
	if !claimed { // nobody can begin this run any more
		supervise.KillRest(e.Stem()) // on a busy machine its supervisor might come when the claim is forgotten
		r.fleet.Leave(e)
		if stop := e.Stop; stop == backlog.StopKilled || stop == backlog.StopHalted {
			r.withdraw(e, Cancelled, "killed on request before it started")
			return nil
		}
		e.Stop = 0
		r.again(EventRetry, e, "the runner ended before the "+r.config.Noun+" started")
		return nil
	}
	return r.adoptClaimed(e, &who)
}

// adoptClaimed takes over a run whose claim was made: here, before the host started
// again, or on another host, where it may still run.
func (r *Runner) adoptClaimed(e *backlog.Entry, who *supervise.Claim) error {
	e.Keeper = who.PID
	_, ended := supervise.ReadExit(e.Stem())
	switch here := r.config.space; {
	case ended: // the next look tells
	case who.Space.ID == "" || who.Space.ID == here.ID:
		if e.State == Running && who.Alive() { // of one that is Starting, started tells
			r.tell(EventAdopted, e, fmt.Sprintf("%s still runs on %s", r.name(e), e.On()))
		}
	case sameHost(who.Space.Host, here.Host), slices.ContainsFunc(r.config.Gone, func(host string) bool { return sameHost(who.Space.Host, host) }):
		e.Gone = true
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
func (r *Runner) lookAfter(e *backlog.Entry, at run) {
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
		at.task.AwaitEnd()
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
	task    supervise.Process
	gone    bool // all its processes are
}

// leftRuns finds, by the key of their tasks, runs of a queue that was lost: those
// that go on and, if the queue was set aside because it was damaged, those that
// succeeded. Submit takes them over instead of running the same again beside them.
func (r *Runner) leftRuns() (map[string]leftRun, error) {
	claims, err := filepath.Glob(filepath.Join(r.config.Dir, "runs-*", "*"+supervise.ClaimEnd))
	if err != nil {
		return nil, err
	}
	aside, err := filepath.Glob(filepath.Join(r.config.Dir, backlog.File+".corrupt-*"))
	if err != nil {
		return nil, err
	}
	left := make(map[string]leftRun)
	for _, name := range claims {
		stem := strings.TrimSuffix(name, supervise.ClaimEnd)
		who, claimed, err := supervise.ReadClaim(stem)
		if err != nil || !claimed || who.Key == "" || filepath.Base(filepath.Dir(stem)) == r.store.Runs {
			continue
		}
		o, ended := supervise.ReadExit(stem)
		lives := !ended && who.Space.ID == r.config.space.ID && who.Alive()
		if !lives && (!ended || !o.OK() || len(aside) == 0) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(stem), "."))
		if err == nil && (lives || left[who.Key].stem == "") {
			left[who.Key] = leftRun{stem: stem, runs: n, who: who}
		}
	}
	return left, nil
}

// takeLeft makes a new task the one whose run was left, if there is such a run.
func (r *Runner) takeLeft(e *backlog.Entry) {
	key := supervise.Key(e.Task.ID, e.Task.Dir, e.Argv())
	run, ok := r.left[key]
	if !ok {
		return
	}
	delete(r.left, key)
	e.State, e.Runs, e.Log = Starting, run.runs, run.stem+supervise.LogEnd
	e.Adopted, e.Keeper, e.Started = true, run.who.PID, r.now()
	if info, err := os.Lstat(run.stem + supervise.ClaimEnd); err == nil && info.ModTime().Before(e.Started) {
		e.Started = info.ModTime()
	}
	e.Follower.Begin(pattern(e), e.Log, run.stem+supervise.StepsEnd)
	for id := range strings.SplitSeq(supervise.Variable(run.who.PID, environ.Visible), ",") {
		e.GPUs = append(e.GPUs, nvmlx.DeviceID(id))
	}
	e.GPU, e.Mechanism, e.Reserved = e.GPUs[0], profile.TimeSlice, max(1, e.Asked())
	cards := r.fleet.CardsOf(e)
	if len(cards) != e.Task.Width() {
		e.GPU, e.GPUs, e.Reserved = "", nil, 0
		return // it is over, or on a GPU that is not there: what it uses counts as a foreigner's
	}
	e.Mechanism = cmp.Or(cards[0].Mechanism, e.Mechanism)
	if len(cards) == 1 {
		e.GPUs = nil
	}
	r.fleet.Join(e, e.Mechanism)
}

// takeAllLeft does so for all tasks of a Submit.
func (r *Runner) takeAllLeft(entries []*backlog.Entry) {
	if len(r.left) == 0 {
		return
	}
	for _, e := range entries {
		r.takeLeft(e)
	}
}
