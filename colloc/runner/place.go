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

// window is how many tasks that wait are looked at, the first in their order.
const window = 128

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
	wishes, room := r.wishes()
	unfit, err := r.body.Sync(r.now(), wishes, r.queue.Active)
	for e, fault := range unfit {
		r.withdraw(e, Failed, fault.Error())
	}
	// A tenth of the time, so that short tasks are not held up.
	began := r.now()
	ctx, cancel := context.WithTimeout(context.Background(), min(maxThought, began.Sub(r.thought)/10))
	defer cancel()
	decided, stops, err2 := r.body.Decide(ctx, room)
	r.thought = r.now()
	if err = errors.Join(err, err2); err != nil {
		r.warn("decide", nil, "not all is decided: "+err.Error())
	}
	for i := range stops {
		r.stopFor(&stops[i])
	}
	for i := range decided {
		s := &decided[i]
		why := r.mayStart(s)
		if why == "" {
			why = r.reserve(s)
		}
		if why != "" {
			s.Waiting = why
			err = r.body.Refused(s)
		} else {
			starts = append(starts, s.Entry)
			if err = r.body.Began(s); r.config.Turns != nil {
				r.config.Turns.Placed(&s.Record)
			}
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

// wishes are the tasks that wait, as many as are looked at; room says that those that are not held
// are no more than there is room for.
func (r *Runner) wishes() (all []body.Wish, room bool) {
	disks := make(map[string]string) // what is wrong with that of a folder
	order, most := r.turn()
	room = most > 0 && most < len(order)
	for _, e := range order {
		if len(all) >= window {
			break
		}
		w, why := body.Wish{Entry: e}, ""
		if r.config.Turns != nil {
			w.Closed, why = r.config.Turns.Allow(&e.Record)
		}
		if why == "" {
			full, looked := disks[e.Task.Dir]
			if !looked {
				full = r.diskFull(e.Task.Dir, "its folder")
				disks[e.Task.Dir] = full
			}
			why = full
		}
		switch w.Held = why != ""; {
		case w.Held:
			e.Waiting = why
		case !r.body.Tried(e):
			w.Held = most <= 0
			most--
		}
		all = append(all, w)
	}
	return all, room
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
	reserved := max(1, s.Reserve) // the books refuse a task that needs nothing, as one seen to use no memory
	for _, c := range cards {
		if r.fleet.Seats(c) == 0 || !r.fleet.Takes(c) {
			return "GPU " + string(c.Info.ID) + " takes no other " + r.config.Noun
		}
		if e.TakesAll() && e.Recovery == RanAlone || reserved == 1 {
			reserved = max(1, r.fleet.Free(c))
		}
		if len(c.Entries) == 0 {
			way = fleet.Preferred(fleet.Sharing(c.Info, r.config.Mechanisms), e.Avoid)
		}
	}
	if err := r.fleet.Book(e, cards, reserved); err != nil {
		return err.Error()
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
	free, ok := r.config.free(dir)
	if !ok || free >= r.config.DiskFloor {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full: %v are free, want %v", name, free, r.config.DiskFloor)
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
