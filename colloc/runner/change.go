package runner

import (
	"fmt"
	"path/filepath"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// newLog names the output of a task's present run.
func (r *Runner) newLog(e *entry) string {
	return filepath.Join(r.config.Dir, r.store.runs, fmt.Sprintf("%06d.%d%s", e.Number, e.Runs, supervise.LogEnd))
}

func (r *Runner) now() time.Time { return r.config.Clock.Now() }

// change marks a record to be written with the next transaction.
func (r *Runner) change(e *entry) {
	if !e.dirty {
		e.dirty = true
		r.dirty = append(r.dirty, e)
	}
}

// tell changes a record and tells the listener after the transaction.
func (r *Runner) tell(kind EventKind, e *entry, text string) {
	r.change(e)
	r.pending = append(r.pending, Event{Kind: kind, At: r.now(), Record: e.Record, GPU: e.GPU, Text: text})
}

// warn tells the listener, once for each key.
func (r *Runner) warn(key string, e *entry, text string) {
	if r.warned[key] {
		return
	}
	r.warned[key] = true
	event := Event{Kind: EventWarning, At: r.now(), Text: text}
	if e != nil {
		event.Record, event.GPU = e.Record, e.GPU
	}
	r.pending = append(r.pending, event)
}

// commit writes all changed records in one transaction and then lets go of the
// events that tell of them. When it fails, as on a full disk, nothing starts
// until a later one succeeds; what runs goes on.
func (r *Runner) commit() error {
	if len(r.dirty) > 0 {
		if err := r.store.put(r.dirty); err != nil {
			r.stuck = fmt.Errorf("runner: queue file: %w", err)
			if !r.warned["queue"] {
				r.warned["queue"] = true
				r.events.push([]Event{{Kind: EventWarning, At: r.now(), Text: r.stuck.Error() + "; no task starts until it can be written"}})
			}
			return r.stuck
		}
		for _, e := range r.dirty {
			e.dirty = false
		}
		r.dirty = r.dirty[:0]
	}
	r.stuck = nil
	delete(r.warned, "queue")
	r.events.push(r.pending)
	r.pending = nil
	return nil
}

// poke makes Run look again.
func (r *Runner) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
