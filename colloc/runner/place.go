package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// window is how many tasks of each user that wait are looked at, the first in their order; windows, of how many in all, where
// there are many users, but fewest of each.
const (
	window  = 128
	windows = 1024
	fewest  = 4
)

// place decides which tasks start now and enters them in queue and books. The
// caller holds the lock and starts them after the transaction.
func (r *Runner) place() (starts []*backlog.Entry) {
	if full := r.diskFull(r.config.Dir, r.config.Dir); full != "" {
		r.warn("disk", nil, full+"; no "+r.config.Noun+" starts until there is room")
		return nil
	}
	delete(r.warned, "disk")
	if !slices.ContainsFunc(r.fleet.Cards, func(c *fleet.Card) bool { return !c.Lost }) {
		for _, e := range slices.Clone(r.queue.Ready) {
			if !r.config.Serve {
				r.withdraw(e, Failed, "no GPU is left")
			}
		}
		return nil
	}
	unfit, err := r.body.Sync(r.now(), r.wishes(), r.queue.Active)
	for e, fault := range unfit {
		r.withdraw(e, Failed, fault.Error())
	}
	// A tenth of the time, so that short tasks are not held up.
	began := r.now()
	ctx, cancel := context.WithTimeout(context.Background(), min(maxThought, began.Sub(r.thought)/10))
	defer cancel()
	decided, stops, err2 := r.body.Decide(ctx)
	r.thought = r.now()
	if err = errors.Join(err, err2); err != nil {
		r.warn("decide", nil, "not all is decided: "+err.Error())
	}
	for i := range stops {
		r.stopFor(&stops[i])
	}
	for i := range decided {
		s := &decided[i]
		if why := r.reserve(s); why != "" {
			s.Waiting = why
			err = r.body.Refused(s)
		} else {
			starts = append(starts, s.Entry)
			err = r.body.Began(s)
		}
		if err != nil {
			r.warn("decide", nil, "not all is decided: "+err.Error())
		}
	}
	r.judge()
	return starts
}

// maxThought is the most time that a decision takes.
const maxThought = 200 * time.Millisecond

// wishes are the tasks that wait, as many of each user as are looked at.
func (r *Runner) wishes() (all []body.Wish) {
	disks := make(map[string]string) // what is wrong with that of a folder
	seen, most := make(map[int64]int), window
	if r.config.Users != nil {
		for _, e := range r.queue.Ready {
			seen[e.UID()]++
		}
		most = max(fewest, min(window, windows/max(1, len(seen))))
		clear(seen)
	}
	for _, e := range r.queue.Ready {
		if r.config.Users == nil && len(all) >= window {
			break
		}
		uid := e.UID()
		if r.config.Users != nil && seen[uid] >= most {
			continue
		}
		seen[uid]++
		full, looked := disks[e.Task.Dir]
		if !looked {
			full = r.diskFull(e.Task.Dir, "its folder")
			disks[e.Task.Dir] = full
		}
		if full != "" {
			e.Waiting = full
		}
		all = append(all, body.Wish{Entry: e, Held: full != ""})
	}
	return all
}

// judge ends tasks that will never start, and those of which the cards that
// they fit are gone wait where the runner serves.
func (r *Runner) judge() {
	for _, e := range r.body.Unjudged() {
		why, never := r.body.Why(e)
		switch {
		case never == nil:
		case r.config.Serve && (e.Inherited || errors.Is(never, fleet.ErrAbsent)):
			why = never.Error()
		default:
			r.withdraw(e, Failed, never.Error())
			continue
		}
		e.Waiting = why
	}
}

// reserve enters a placement in queue and books; why says what is wrong with it.
func (r *Runner) reserve(s *body.Start) (why string) {
	e, cards := s.Entry, s.Cards
	if e.State != Queued {
		return "it does not wait any more"
	}
	way := cards[0].Mechanism
	reserved := max(1, s.Reserve) // 0 is not known
	for _, c := range cards {
		if r.fleet.Seats(c) == 0 || !r.fleet.Takes(c) {
			return "GPU " + string(c.Info.ID) + " takes no other " + r.config.Noun
		}
		if c.ServesOther(e) {
			return "GPU " + string(c.Info.ID) + fleet.OneUser
		}
		if e.TakesAll() && e.Recovery == RanAlone || reserved == 1 {
			reserved = max(1, r.fleet.Free(c))
		}
		if len(c.Entries) == 0 {
			way = fleet.Sharing(c.Info, r.config.Mechanisms)[0]
		}
	}
	r.queue.Start(e)
	e.GPU, e.GPUs, e.Mechanism, e.Reserved = cards[0].Info.ID, nil, way, reserved
	for _, c := range cards {
		r.measured(r.fleet.CloseWindow(c))
		if len(cards) > 1 {
			e.GPUs = append(e.GPUs, c.Info.ID)
		}
	}
	r.fleet.Join(e, way)
	e.Predicted, e.Speed, e.Peak = predict.Estimate{Value: s.Speed, Hi: 1, Confidence: 1}, profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}
	e.Step, e.Total, e.StepTime = profile.Opt[int64]{}, profile.Opt[int64]{}, profile.Opt[time.Duration]{}
	e.Started, e.Waiting, e.Err = r.now(), "", ""
	e.Exit, e.Signal, e.Stop, e.LogDropped = 0, 0, 0, 0
	e.Busy, e.BusySum, e.BusyLooks = profile.Opt[float64]{}, 0, 0
	e.PID, e.PIDStart, e.Stood = 0, 0, time.Time{}
	e.Adopted, e.Gone, e.Killed, e.Told, e.Keeper, e.Port = false, false, false, false, 0, 0
	e.Restarts, e.Restarted, e.Cycle = 0, time.Time{}, 0
	e.Log = r.newLog(e)
	e.TermAt = time.Time{}
	r.change(e)
	return ""
}

// diskFull says that the disk of a folder, which others know by a name, has no room for
// another task; empty if it has, or if nobody knows.
func (r *Runner) diskFull(dir, name string) string {
	ask := r.config.free
	if dir != r.config.Dir { // a task's: on a server that is gone, or of a file system that is its user's program
		ask = r.disks.free
	}
	free, ok := ask(dir)
	if !ok || free >= r.config.floor {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full: %v are free, want %v", name, free, r.config.floor)
}

// disks are those of tasks. One that does not answer keeps nobody waiting for long: nobody knows then what is free.
type disks struct {
	ask      func(dir string) (free profile.Bytes, known bool)
	patience time.Duration
	asked    chan struct{} // has an element for each question without an answer
}

const (
	diskPatience = 100 * time.Millisecond
	askedAtOnce  = 4
)

func newDisks(ask func(string) (profile.Bytes, bool)) *disks {
	return &disks{ask, diskPatience, make(chan struct{}, askedAtOnce)}
}

func (d *disks) free(dir string) (profile.Bytes, bool) {
	select {
	case d.asked <- struct{}{}:
	default: // as many hang as may
		return 0, false
	}
	type room struct {
		free  profile.Bytes
		known bool
	}
	answer := make(chan room, 1)
	go func() {
		free, known := d.ask(dir)
		<-d.asked
		answer <- room{free, known}
	}()
	over := time.NewTimer(d.patience) //nolint:forbidigo // what it waits for is the kernel
	defer over.Stop()
	select {
	case a := <-answer:
		return a.free, a.known
	case <-over.C:
		return 0, false
	}
}

// holdShared looks at what other runners of this user have reserved and keeps them from
// reserving more until tellShared; false if one of them is at it, or nobody knows.
func (r *Runner) holdShared() bool {
	if r.shared == nil {
		return true
	}
	others, err := r.shared.Hold()
	if err != nil {
		if !errors.Is(err, supervise.ErrInUse) {
			r.warn("shared", nil, "the book that runners share cannot be read, and no "+r.config.Noun+" starts: "+err.Error())
		}
		return false
	}
	r.fleet.Promise(others, r.queue.Active)
	return true
}

// tellShared tells the other runners what this one has reserved.
func (r *Runner) tellShared() {
	if r.shared == nil {
		return
	}
	if err := r.shared.Release(fleet.Promises(r.queue.Active)); err != nil {
		r.warn("shared", nil, "the book that runners share cannot be written: "+err.Error())
	}
}
