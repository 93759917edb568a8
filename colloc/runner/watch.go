package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/oom"
	"example.com/colloc/colloc/runner/internal/progress"
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
	found := make([]seen, len(r.cards))
	for i, c := range r.cards {
		found[i] = r.see(ctx, c, entries, sessions)
	}
	for _, e := range entries {
		if e.run.adopted {
			r.lookAfter(e.entry, e.run)
		}
	}
	reads := make([]progress.Reading, len(entries))
	for i, e := range entries {
		reads[i] = e.entry.follower.Follow(false)
	}
	killed := oom.Victims(r.config.vmstat)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	r.victims = killed
	now := r.now()
	for i, e := range entries {
		if e.entry.Runs == e.run.number && !e.entry.State.Over() && r.apply(e.entry, reads[i]) {
			r.tell(EventProgress, e.entry, "")
		}
	}
	for i, c := range r.cards {
		r.note(c, &found[i])
		c.window.seen = now
		if !c.window.since.IsZero() && now.Sub(c.window.since) >= r.config.Window && !r.ripens(c, now) {
			r.closeWindow(c)
		}
		if c.window.since.IsZero() {
			r.openWindow(c, now)
		}
	}
	for _, e := range r.queue.active {
		r.checkRun(e, now)
	}
	r.reconcile(found)
	_ = r.commit() // what fails is kept and tried again
	r.poke()
}

type runningEntry struct {
	entry *entry
	run   run
}

// inProgress lists the runs in progress, and by session.
func (r *Runner) inProgress() (entries []runningEntry, sessions map[int]*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sessions = make(map[int]*entry)
	for _, e := range r.queue.active {
		entries = append(entries, runningEntry{e, run{
			number: e.Runs, gpus: e.devices(), stem: e.stem(), adopted: e.adopted,
			known: e.State == Running, gone: e.gone,
		}})
		for _, session := range []int{e.PID, e.keeper} { // of the command, and of what lost its parent
			if session != 0 && !e.gone {
				sessions[session] = e
			}
		}
	}
	return entries, sessions
}

// see reads one card.
func (r *Runner) see(ctx context.Context, c *card, running []runningEntry, sessions map[int]*entry) seen {
	s := seen{usage: ledger.Usage{GPU: string(c.info.ID)}}
	if c.lost {
		return s
	}
	for _, e := range running {
		if slices.Contains(e.run.gpus, c.info.ID) {
			s.there = append(s.there, e.entry)
		}
	}
	sample, err := r.config.Source.Read(ctx, c.info.ID, nvmlx.FieldMemUsed|nvmlx.FieldGPUBusy)
	if err != nil {
		s.err = err
		return s
	}
	s.usage.Used, s.busy = sample.MemUsed, sample.GPUBusy
	var processes []nvmlx.Process
	if reader, ok := r.config.Source.(nvmlx.ProcessReader); ok {
		processes, _ = reader.Processes(ctx, c.info.ID) // without them, the memory in use still counts
	}
	s.attribute(processes, sessions)
	return s
}

// note takes over what was seen of a card and its tasks.
func (r *Runner) note(c *card, s *seen) {
	if s.err != nil {
		if !c.lost && lostFor(s.err) {
			r.lose(c, s.err)
		}
		return
	}
	c.ascribe(s)
	c.used, c.busy, c.processes = s.usage.Used, s.busy, s.processes
	if c.used.Or(0) > c.highest.Or(0) {
		c.highest = c.used
	}
	held := make(map[string]profile.Bytes)
	for _, p := range s.usage.Processes {
		held[p.Task] += p.Memory.Or(0)
	}
	for _, e := range c.entries {
		if share, ok := s.tasks[e]; ok {
			if busy, ok := share.Get(); ok {
				c.window.sawBusy(e, busy)
			}
		}
		if used := held[e.Task.ID]; used > e.Peak.Or(0) {
			e.Peak = profile.Some(used)
			r.tell(EventProgress, e, "")
		}
	}
}

// lostFor reports whether an error means that the device is gone.
func lostFor(err error) bool {
	return errors.Is(err, nvmlx.ErrDeviceLost) || errors.Is(err, nvmlx.ErrNoDevice)
}

// lose gives a card up: its tasks are ended and queued again.
func (r *Runner) lose(c *card, err error) {
	c.lost = true
	r.pending = append(r.pending, Event{
		Kind: EventLost, At: r.now(), GPU: c.info.ID,
		Text: fmt.Sprintf("GPU %s does not answer any more (%v): %d of its tasks are to end and run again", c.info.ID, err, len(c.entries)),
	})
	for _, e := range c.entries {
		r.stop(e, stopLostGPU)
	}
}

// reconcile lets what other programs use count, and warns of what should not be.
func (r *Runner) reconcile(found []seen) {
	usages := make([]ledger.Usage, 0, len(found))
	for i := range found {
		if found[i].err == nil && !r.cards[i].lost {
			usages = append(usages, found[i].usage)
		}
	}
	before := r.suspects
	r.suspects = make(map[string]bool)
	for _, d := range r.ledger.Reconcile(usages) {
		key := fmt.Sprintf("%v %s", d.Kind, d.GPU)
		switch d.Kind {
		case ledger.Overuse:
			e := r.queue.byID[d.Task]
			r.warn(fmt.Sprintf("%v %s %d", d.Kind, d.Task, e.Runs), e, d.Text)
		case ledger.Foreign, ledger.Stray, ledger.Zombie, ledger.Overcommitted, ledger.BadReading:
			// A task that starts or ends between two readings looks like that, once.
			r.suspects[key] = true
			if before[key] && !r.starting(d.GPU) {
				r.warn(key, nil, d.Text)
			}
		case ledger.Absent, ledger.UnknownGPU: // a task that uses no GPU is the user's affair
		}
	}
}

// starting reports whether a process on the card may be a task's that is not
// recorded yet.
func (r *Runner) starting(id string) bool {
	c := r.card(nvmlx.DeviceID(id))
	return c != nil && slices.ContainsFunc(c.entries, func(e *entry) bool { return e.State == Starting })
}
