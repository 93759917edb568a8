package runner

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// stopReason is why a run is being ended.
type stopReason int

const (
	stopKilled stopReason = iota + 1
	stopHalted
	stopTimeout
	stopLostGPU
	stopSpared // was to be killed, and may go on if it did not end
)

// newLog names the output of a task's present run.
func (r *Runner) newLog(e *entry) string {
	return filepath.Join(r.config.Dir, r.store.runs, fmt.Sprintf("%06d.%d%s", e.Number, e.Runs, supervise.LogEnd))
}

// stem is what the names of the files of a task's present run begin with.
func (e *entry) stem() string { return strings.TrimSuffix(e.Log, supervise.LogEnd) }

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

// finish ends a task whose run is over, and with it those that waited for its
// success in vain.
func (r *Runner) finish(e *entry, state State, err string) {
	e.Err = err
	over := r.queue.finish(e, state)
	r.over(over[:1])
	r.hopeless(over[1:])
}

// withdraw ends a task that does not run, and likewise.
func (r *Runner) withdraw(e *entry, state State, err string) {
	e.Ended = r.now()
	r.finish(e, state, err)
	r.poke() // others may have waited for its end, whatever it is
}

// hopeless tells of tasks that are over because another one did not succeed.
func (r *Runner) hopeless(entries []*entry) {
	for _, e := range entries {
		e.Ended = r.now()
		for _, d := range e.Task.After {
			if s := r.queue.byID[d.Task].State; s.Over() && s != Succeeded && !d.Any {
				e.Err = "it waited for the success of task " + d.Task + ", which is " + s.String()
			}
		}
	}
	r.over(entries)
}

// over tells of tasks that are over.
func (r *Runner) over(entries []*entry) {
	for _, e := range entries {
		e.Waiting = ""
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
		for _, e := range r.queue.active {
			r.stop(e, stopHalted)
		}
	}
}
