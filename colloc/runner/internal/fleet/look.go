package fleet

import (
	"context"
	"errors"
	"time"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// attribute divides the processes on a card between tasks and others. In a
// container the driver may list none, or name them as the host does; then nothing
// tells which are the tasks'.
func (s *Seen) attribute(processes []nvmlx.Process, sessions map[int]*backlog.Entry) {
	s.tasks, s.processes = make(map[*backlog.Entry]profile.Opt[float64]), processes
	unseen := len(processes) == 0
	for i := range processes {
		p := &processes[i]
		known := ledger.Process{PID: p.PID, Memory: p.MemUsed}
		pid := p.InnerPID.Or(p.PID)
		if e, ok := supervise.Owner(pid, sessions); ok {
			known.Task = e.Task.ID
			share := s.tasks[e]
			if busy, ok := p.SMBusy.Get(); ok {
				share = profile.Some(share.Or(0) + busy)
			}
			s.tasks[e] = share
		} else if _, err := supervise.Find(pid); err != nil && pid > 0 {
			unseen = true
		}
		s.usage.Processes = append(s.usage.Processes, known)
	}
	s.blind = unseen && len(s.tasks) == 0 && len(s.there) > 0
}

// ascribe makes do where nothing tells whose the memory is: a task that is alone
// on the card holds what the memory in use has grown by since the card was last
// seen without tasks. Of several tasks none is told, only that they are there.
func (c *Card) ascribe(s *Seen) {
	if len(s.there) == 0 && len(c.Entries) == 0 {
		c.idle = s.usage.Used
	}
	if !s.blind {
		return
	}
	s.usage.Processes = nil
	for _, e := range c.Entries {
		if e.PID != 0 {
			s.usage.Processes = append(s.usage.Processes, ledger.Process{PID: e.PID, Task: e.Task.ID})
		}
	}
	used, ok1 := s.usage.Used.Get()
	idle, ok2 := c.idle.Get()
	if ok1 && ok2 && len(s.usage.Processes) == 1 && len(c.Entries) == 1 && len(s.there) == 1 && s.there[0] == c.Entries[0] {
		s.usage.Processes[0].Memory = profile.Some(max(0, used-idle))
	}
}

// Seen is what one look found out about a card.
type Seen struct {
	usage ledger.Usage
	busy  profile.Opt[float64]
	tasks map[*backlog.Entry]profile.Opt[float64] // tasks with processes there -> their share of time
	there []*backlog.Entry                        // had been started there before it was read
	blind bool                                    // nothing tells which processes are the tasks'
	err   error

	processes []nvmlx.Process
}

// See reads the card from a source: there are the tasks that were started on it, sessions
// those of all tasks. It needs no lock.
func (c *Card) See(ctx context.Context, source nvmlx.Source, there []*backlog.Entry, sessions map[int]*backlog.Entry) Seen {
	s := Seen{there: there, usage: ledger.Usage{GPU: string(c.Info.ID)}}
	sample, err := source.Read(ctx, c.Info.ID, nvmlx.FieldMemUsed|nvmlx.FieldGPUBusy)
	if err != nil {
		s.err = err
		return s
	}
	s.usage.Used, s.busy = sample.MemUsed, sample.GPUBusy
	var processes []nvmlx.Process
	if reader, ok := source.(nvmlx.ProcessReader); ok {
		processes, _ = reader.Processes(ctx, c.Info.ID) // without them, the memory in use still counts
	}
	s.attribute(processes, sessions)
	return s
}

// News is what a look at a card told.
type News struct {
	Grown []*backlog.Entry // use more than before
	Lost  error            // the device is gone, because of this
	Found bool             // and it answers again
}

// Note takes over what was seen of a card and its tasks.
func (c *Card) Note(s *Seen) (n News) {
	if s.err != nil {
		if !c.Lost && lostFor(s.err) {
			c.Lost, n.Lost = true, s.err
		}
		return n
	}
	n.Found, c.Lost = c.Lost, false
	c.ascribe(s)
	c.Used, c.Busy, c.processes, c.blind = s.usage.Used, s.busy, s.processes, s.blind
	if c.Used.Or(0) > c.Highest.Or(0) {
		c.Highest = c.Used
	}
	held, told := make(map[string]profile.Bytes), make(map[string]bool)
	for _, p := range s.usage.Processes {
		held[p.Task] += p.Memory.Or(0)
		told[p.Task] = told[p.Task] || !p.Memory.IsZero()
	}
	c.shares(s)
	for _, e := range c.Entries {
		if !told[e.Task.ID] {
			e.Stood = time.Time{}
		}
		if used := held[e.Task.ID]; used > e.Peak.Or(0) {
			e.Peak = profile.Some(used)
			n.Grown = append(n.Grown, e)
		}
	}
	return n
}

// shares notes which share of the card's time each task had: as told of its processes, and of the only one of
// which that is not told what the others left.
func (c *Card) shares(s *Seen) {
	var untold *backlog.Entry
	left, missing := c.Busy.Or(0), 0
	saw := func(e *backlog.Entry, busy float64) {
		e.BusySum += busy
		e.BusyLooks++
		e.Busy = profile.Some(e.BusySum / float64(e.BusyLooks))
	}
	for _, e := range c.Entries {
		if busy, ok := s.tasks[e].Get(); ok {
			c.window.sawBusy(e, busy)
			saw(e, busy)
			left -= busy
			continue
		}
		known := profile.Opt[float64]{}
		if e.Profile != nil {
			if alone, ok := e.Profile.Vector.Get(profile.MeanGPUBusy); ok {
				known = profile.Some(alone * e.Speed.Or(min(1, e.Predicted.Value)))
			}
		}
		if busy, ok := known.Get(); ok {
			left -= busy
			continue
		}
		untold = e
		missing++
	}
	if missing == 1 && !c.Busy.IsZero() && untold.State == queue.Running {
		saw(untold, max(0, left))
	}
}

// Reconcile lets what was seen of each card's memory count, in the order of the cards, and returns what differs from what
// tasks have reserved there.
func (f *Fleet) Reconcile(seen []Seen) (found []ledger.Discrepancy) {
	on := make(map[string]bool)
	for _, c := range f.Cards {
		for _, e := range c.Entries {
			on[e.Task.ID] = true
		}
	}
	for i, c := range f.Cards {
		if i >= len(seen) || seen[i].err != nil {
			continue
		}
		seats := make([]ledger.Seat, len(c.Entries))
		for i, e := range c.Entries {
			seats[i] = ledger.Seat{Task: e.Task.ID, Reserved: e.Reserved}
		}
		used, foreign, differs := seen[i].usage.Divide(seats, func(task string) bool { return on[task] }, ledger.DefaultOverhead)
		found = append(found, differs...)
		if used == nil {
			continue
		}
		c.foreign = foreign
		var booked profile.Bytes
		for i, s := range seats {
			booked += max(s.Reserved, used[i])
		}
		if short := foreign + booked - f.usable(c); short > 0 {
			found = append(found, ledger.Discrepancy{Kind: ledger.Overcommitted, GPU: string(c.Info.ID), Reserved: booked, Used: foreign, Short: short})
		}
	}
	return found
}

// lostFor reports whether an error means that the device is gone.
func lostFor(err error) bool {
	return errors.Is(err, nvmlx.ErrDeviceLost) || errors.Is(err, nvmlx.ErrNoDevice)
}
