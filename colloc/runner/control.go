package runner

import (
	"fmt"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Kill ends tasks: SIGTERM to the process group of each that runs, SIGKILL
// after [Config].Grace; one that waits is cancelled. No IDs means all. It does
// not wait; a task that is over already is no error. ErrUnknown kills nothing.
func (r *Runner) Kill(ids ...string) error {
	return r.each(ids, func(e *backlog.Entry) {
		if e.State == Queued {
			r.withdraw(e, Cancelled, "killed on request")
		}
		r.stop(e, backlog.StopKilled)
	})
}

// Spare takes Kill back: what still runs goes on, and is not killed by the next Open
// either. A task that ends for the SIGTERM that it got is cancelled. No IDs means
// all. ErrUnknown spares nothing.
func (r *Runner) Spare(ids ...string) error {
	return r.each(ids, func(e *backlog.Entry) {
		if e.Stop == backlog.StopKilled {
			e.Stop, e.TermAt = backlog.StopSpared, time.Time{}
			r.change(e)
		}
	})
}

// Retry queues tasks again that failed or were cancelled, with fresh Retries,
// and forgets what was done for their memory. ErrUnknown changes nothing; a task
// that is not over, or succeeded, stays as it is. All named come back from the history, in
// one transaction.
func (r *Runner) Retry(ids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err == nil {
		err = r.recall(ids...)
	}
	if err == nil {
		entries, err = r.find(ids) // with those that came back
	}
	if err == nil {
		err = r.retry(entries)
	}
	if err != nil {
		return err
	}
	defer r.poke()
	return r.commit()
}

// each does something to tasks in one transaction, or to none if one is unknown; no IDs means all.
func (r *Runner) each(ids []string, do func(e *backlog.Entry)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		do(e)
	}
	defer r.poke()
	return r.commit()
}

// find looks up tasks; none means all. Those of the history are left out: they are over.
func (r *Runner) find(ids []string) ([]*backlog.Entry, error) {
	if r.closed {
		return nil, fmt.Errorf("runner: %w", ErrClosed)
	}
	if len(ids) == 0 {
		return r.queue.Entries, nil
	}
	entries := make([]*backlog.Entry, 0, len(ids))
	for _, id := range ids {
		if e := r.queue.ByID[id]; e != nil {
			entries = append(entries, e)
		} else if !r.past(id) {
			return nil, fmt.Errorf("runner: %w: %q", ErrUnknown, id)
		}
	}
	return entries, nil
}

// Record returns what is known of one task, also of one in the history. O(1).
func (r *Runner) Record(id string) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.queue.ByID[id]; e != nil {
		return e.Record, true
	}
	if r.closed {
		return Record{}, false
	}
	return r.store.Look(id)
}

// Records returns all tasks that are not in the history, in the order of submission. O(tasks).
func (r *Runner) Records() []Record {
	records, _ := r.All()
	return records
}

// All returns what Records does, and counts the tasks of the history by their owner's user, -1
// for those without one, and by how they ended. Both are of one moment: each task is in one of
// them. O(tasks).
func (r *Runner) All() (records []Record, past map[int]map[State]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	records = make([]Record, len(r.queue.Entries))
	for i, e := range r.queue.Entries {
		records[i] = e.Record
	}
	return records, r.store.Past.Ended // the latter is never changed, only replaced
}

// GPUState is one GPU as the runner sees it.
type GPUState struct {
	// Device is what the source told.
	Device nvmlx.DeviceInfo
	// Lost says that the device does not answer any more.
	Lost bool
	// Mechanism is how its tasks share it.
	Mechanism profile.Mechanism
	// Usable is what it offers to tasks after headroom and what other programs
	// use, Reserved what is set aside for tasks.
	Usable   profile.Bytes
	Reserved profile.Bytes
	// Used is the device memory in use by everybody, Busy the share of time with
	// work, both as last seen.
	Used profile.Opt[profile.Bytes]
	Busy profile.Opt[float64]
	// Tasks are the IDs of those that run there, in the order they joined.
	Tasks []string
}

// GPUs returns the devices that the runner uses, in the source's order.
func (r *Runner) GPUs() []GPUState {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := make([]GPUState, len(r.fleet.Cards))
	for i, c := range r.fleet.Cards {
		s := GPUState{Device: c.Info, Lost: c.Lost, Used: c.Used, Busy: c.Busy, Mechanism: c.Mechanism, Usable: r.fleet.Offers(c)}
		for _, e := range c.Entries {
			s.Tasks = append(s.Tasks, e.Task.ID)
			s.Reserved += e.Reserved
		}
		states[i] = s
	}
	return states
}

// Describe tells what was learned of tasks that are not over: from now on they
// count with this profile and reservation, also while they run, so that others can
// join them on their GPU. memory is what to reserve; 0 lets the Planner tell. It is
// one transaction, however many tasks, and changes nothing if one is unknown; those
// that are over stay as they are. No IDs is none. The profile must not be modified
// any more.
func (r *Runner) Describe(p *profile.Profile, memory profile.Bytes, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	return r.each(ids, func(e *backlog.Entry) {
		if !e.State.Over() {
			r.describe(e, p, memory)
		}
	})
}

func (r *Runner) describe(e *backlog.Entry, p *profile.Profile, memory profile.Bytes) {
	e.Profile, e.Task.Profile, e.Task.Memory = p, p, memory
	e.ProfileKey, e.Unknown = nil, false
	r.fleet.Describe(e)
	if c := r.fleet.Card(e.GPU); e.State != Queued && c != nil {
		r.fleet.Rebook(e, c)
		r.tell(EventProgress, e, "")
	}
	r.change(e)
}
