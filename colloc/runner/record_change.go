package runner

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stopReason is why a run is being ended.
type stopReason int

const (
	stopKilled stopReason = iota + 1
	stopHalted
	stopTimeout
	stopLostGPU
)

// newLog names the output of a task's present run.
func (r *Runner) newLog(e *entry) string {
	return filepath.Join(r.config.Dir, r.store.runs, fmt.Sprintf("%06d.%d%s", e.Number, e.Runs, logEnd))
}

// stem is what the names of the files of a task's present run begin with.
func (e *entry) stem() string { return strings.TrimSuffix(e.Log, logEnd) }

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

// over tells of tasks that are over: the first as err says, the others because
// of it.
func (r *Runner) over(entries []*entry, err string) {
	for i, e := range entries {
		e.Waiting, e.Ended = "", r.now()
		if e.Err = err; i > 0 {
			e.Err = "a task that it depends on did not succeed: " + entries[0].Task.ID
		}
		text := "task " + e.Task.ID + " " + e.State.String()
		if e.Err != "" {
			text += ": " + e.Err
		}
		r.tell(EventFinished, e, text)
		if e.State == Failed {
			r.failed()
		}
	}
}

// failed counts a task that failed and halts the queue if there are too many.
func (r *Runner) failed() {
	r.failures++
	if h := r.config.Halt; h.Failures == 0 || r.failures < h.Failures || r.halted {
		return
	}
	r.halted = true
	r.pending = append(r.pending, Event{
		Kind: EventHalted, At: r.now(),
		Text: strconv.Itoa(r.failures) + " tasks failed: no further task starts",
	})
	if r.config.Halt.Kill {
		for _, c := range r.cards {
			for _, e := range c.entries {
				r.stop(e, stopHalted)
			}
		}
	}
}
