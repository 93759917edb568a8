package runner

import (
	"fmt"
	"time"
)

// Kill ends tasks: SIGTERM to the process group of each that runs, SIGKILL
// after [Config].Grace; one that waits is cancelled. No IDs means all. It does
// not wait; a task that is over already is no error. ErrUnknown kills nothing.
func (r *Runner) Kill(ids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.State == Queued {
			r.withdraw(e, Cancelled, "killed on request")
		}
		r.stop(e, stopKilled)
	}
	defer r.poke()
	return r.commit()
}

// Spare takes Kill back: what still runs goes on, and is not killed by the next Open
// either. A task that ends for the SIGTERM that it got is cancelled. No IDs means
// all. ErrUnknown spares nothing.
func (r *Runner) Spare(ids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Stop == stopKilled {
			e.Stop, e.termAt = stopSpared, time.Time{}
			r.change(e)
		}
	}
	return r.commit()
}

// Retry queues tasks again that failed or were cancelled, with fresh Retries,
// and forgets what was done for their memory. ErrUnknown changes nothing; a task
// that is not over, or succeeded, stays as it is.
func (r *Runner) Retry(ids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	r.retry(entries)
	defer r.poke()
	return r.commit()
}

// retry queues those of the tasks again that failed or were cancelled.
func (r *Runner) retry(entries []*entry) {
	var again []*entry
	for _, e := range entries {
		if e.State != Failed && e.State != Cancelled {
			continue
		}
		e.Failures, e.LostRuns, e.Recovery, e.Raised, e.Avoid, e.Stop = 0, 0, 0, 0, saved{}.Avoid, 0
		again = append(again, e)
	}
	hopeless := r.queue.retry(again)
	for _, e := range again {
		if e.State == Queued {
			r.tell(EventQueued, e, "task "+e.Task.ID+" is queued again")
		}
	}
	r.hopeless(hopeless)
}

// find looks up tasks; none means all.
func (r *Runner) find(ids []string) ([]*entry, error) {
	if r.closed {
		return nil, fmt.Errorf("runner: %w", ErrClosed)
	}
	if len(ids) == 0 {
		return r.queue.entries, nil
	}
	entries := make([]*entry, len(ids))
	for i, id := range ids {
		if entries[i] = r.queue.byID[id]; entries[i] == nil {
			return nil, fmt.Errorf("runner: %w: %q", ErrUnknown, id)
		}
	}
	return entries, nil
}

// Record returns what is known of one task. O(1).
func (r *Runner) Record(id string) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.queue.byID[id]
	if e == nil {
		return Record{}, false
	}
	return e.Record, true
}

// Records returns all tasks in the order of submission. O(tasks).
func (r *Runner) Records() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	records := make([]Record, len(r.queue.entries))
	for i, e := range r.queue.entries {
		records[i] = e.Record
	}
	return records
}

// GPUs returns the devices that the runner uses, in the source's order.
func (r *Runner) GPUs() []GPUState {
	r.mu.Lock()
	defer r.mu.Unlock()
	books := r.ledger.Snapshot()
	states := make([]GPUState, len(r.cards))
	for i, c := range r.cards {
		s := GPUState{Device: c.info, Lost: c.lost, Used: c.used, Busy: c.busy, Mechanism: c.mechanism}
		s.Usable = r.afterHeadroom(books.GPUs[i].Memory)
		for _, e := range c.entries {
			s.Tasks = append(s.Tasks, e.Task.ID)
			s.Reserved += e.Reserved
		}
		states[i] = s
	}
	return states
}
