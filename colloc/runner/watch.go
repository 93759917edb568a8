package runner

import (
	"context"
	"fmt"
	"slices"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/oom"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// watch looks at GPUs, outputs and processes until ctx is done.
func (r *Runner) watch(ctx context.Context) {
	waiter := r.config.Clock.NewWaiter()
	defer waiter.Stop()
	next := r.now()
	for {
		next = next.Add(r.config.Watch)
		if now := r.now(); next.Before(now) {
			next = now.Add(r.config.Watch)
		}
		if waiter.Wait(ctx, next) != nil {
			return
		}
		r.look(ctx)
	}
}

// look is one turn of watch: everything that is slow first, without the lock.
func (r *Runner) look(ctx context.Context) {
	entries, sessions := r.inProgress()
	found := make([]fleet.Seen, len(r.fleet.Cards))
	for i, c := range r.fleet.Cards {
		found[i] = c.See(ctx, r.config.Source, on(entries, c.Info.ID), sessions)
	}
	for _, e := range entries {
		if e.run.adopted {
			r.lookAfter(e.entry, e.run)
		}
	}
	reads := make([]progress.Reading, len(entries))
	for i, e := range entries {
		reads[i] = e.entry.Follower.Follow(false, len(entries))
	}
	killed := oom.Victims(r.config.vmstat)
	listed, complete := r.list(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	r.victims, r.crowded = killed, false
	now := r.now()
	for i, e := range entries {
		if e.entry.Runs == e.run.number && !e.entry.State.Over() && r.apply(e.entry, reads[i]) {
			r.tell(EventProgress, e.entry, "")
		}
	}
	for i, c := range r.fleet.Cards {
		r.note(c, c.Note(&found[i]))
		r.measured(r.fleet.Tick(c, now))
	}
	for _, e := range r.queue.Active {
		r.checkRun(e, now)
	}
	r.reconcile(found)
	for _, c := range r.fleet.Cards {
		for _, e := range r.fleet.Follow(c, now) {
			r.tell(EventProgress, e, "")
		}
	}
	r.relist(listed, complete)
	_ = r.commit() // what fails is kept and tried again
	r.archive()
	r.poke()
}

// relistEvery is after how many looks the source is asked which devices there are.
const relistEvery = 10

// list asks the source which devices to use, now and then; complete says that there are no
// others.
func (r *Runner) list(ctx context.Context) (cards []*fleet.Card, complete bool) {
	if r.looks++; r.looks%relistEvery != 0 {
		return nil, false
	}
	cards, _, err := fleet.Find(ctx, r.config.Source, r.config.GPUs)
	return cards, err == nil
}

// relist takes over what list found.
func (r *Runner) relist(cards []*fleet.Card, complete bool) {
	come, gone := r.fleet.Relist(cards, complete)
	for _, c := range come {
		r.pending = append(r.pending, Event{Kind: EventFound, At: r.now(), GPU: c.Info.ID, Text: fmt.Sprintf("GPU %s is new: %ss may start on it", c.Info.ID, r.config.Noun)})
	}
	for _, c := range gone {
		r.pending = append(r.pending, Event{Kind: EventLost, At: r.now(), GPU: c.Info.ID, Text: fmt.Sprintf("GPU %s is not there any more", c.Info.ID)})
	}
}

type runningEntry struct {
	entry *backlog.Entry
	run   run
}

// on are the tasks that were started on a device.
func on(running []runningEntry, id nvmlx.DeviceID) (there []*backlog.Entry) {
	for _, e := range running {
		if slices.Contains(e.run.gpus, id) {
			there = append(there, e.entry)
		}
	}
	return there
}

// inProgress lists the runs in progress, and by session.
func (r *Runner) inProgress() (entries []runningEntry, sessions map[int]*backlog.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sessions = make(map[int]*backlog.Entry)
	for _, e := range r.queue.Active {
		entries = append(entries, runningEntry{e, run{
			number: e.Runs, gpus: e.Devices(), stem: e.Stem(), adopted: e.Adopted,
			known: e.State == Running, gone: e.Gone, task: supervise.Process{PID: e.PID, Start: e.PIDStart},
		}})
		for _, session := range []int{e.PID, e.Keeper} { // of the command, and of what lost its parent
			if session != 0 && !e.Gone {
				sessions[session] = e
			}
		}
	}
	return entries, sessions
}

// note tells what a look at a card found.
func (r *Runner) note(c *fleet.Card, news fleet.News) {
	for _, e := range news.Grown {
		r.tell(EventProgress, e, "")
	}
	if news.Lost != nil {
		r.lose(c, news.Lost)
	}
	if news.Found {
		r.pending = append(r.pending, Event{
			Kind: EventFound, At: r.now(), GPU: c.Info.ID,
			Text: fmt.Sprintf("GPU %s answers again: %ss may start on it", c.Info.ID, r.config.Noun),
		})
	}
}

// lose gives a card up: its tasks are ended and queued again.
func (r *Runner) lose(c *fleet.Card, err error) {
	r.pending = append(r.pending, Event{
		Kind: EventLost, At: r.now(), GPU: c.Info.ID,
		Text: fmt.Sprintf("GPU %s does not answer any more (%v): %d of its %ss are to end and run again", c.Info.ID, err, len(c.Entries), r.config.Noun),
	})
	for _, e := range c.Entries {
		r.stop(e, backlog.StopLostGPU)
	}
}

// reconcile lets what other programs use count, and warns of what should not be.
func (r *Runner) reconcile(found []fleet.Seen) {
	before := r.suspects
	r.suspects = make(map[string]bool)
	furthest := make(map[string]ledger.Discrepancy) // above its reservation, on each GPU
	for _, d := range r.fleet.Reconcile(found) {
		key := fmt.Sprintf("%v %s", d.Kind, d.GPU)
		if d.Kind == ledger.Overcommitted && before[key] {
			r.checkOverrun(furthest[d.GPU].Task, r.fleet.Card(nvmlx.DeviceID(d.GPU)), d.Short)
		}
		switch d.Kind {
		case ledger.Overuse:
			if f := furthest[d.GPU]; d.Used-d.Reserved > f.Used-f.Reserved {
				furthest[d.GPU] = d
			}
			if e := r.queue.ByID[d.Task]; e.Overran != e.Runs {
				e.Overran = e.Runs
				r.tell(EventOverrun, e, d.Say(r.config.Noun))
			}
		case ledger.Foreign, ledger.Stray, ledger.Zombie, ledger.Overcommitted, ledger.BadReading:
			// A task that starts or ends between two readings looks like that, once.
			r.suspects[key] = true
			if before[key] && !r.starting(d.GPU) {
				r.warn(key, nil, d.Say(r.config.Noun))
			}
		case ledger.Absent, ledger.UnknownGPU: // a task that uses no GPU is the user's affair
		}
	}
}

// checkOverrun stops the task that is furthest above its reservation, if there is one
// and its card is short of memory that others were promised.
func (r *Runner) checkOverrun(id string, c *fleet.Card, short profile.Bytes) {
	if r.config.Overrun == OverrunStop && id != "" && len(c.Entries) > 1 && short > r.fleet.Spare(c)/2 {
		r.stop(r.queue.ByID[id], backlog.StopOverrun)
	}
}

// starting reports whether a process on the card may be a task's that is not
// recorded yet.
func (r *Runner) starting(id string) bool {
	c := r.fleet.Card(nvmlx.DeviceID(id))
	return c != nil && slices.ContainsFunc(c.Entries, func(e *backlog.Entry) bool { return e.State == Starting })
}
