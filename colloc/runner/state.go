package runner

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/mailbox"
	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// Runner runs the tasks of one queue. It is safe for concurrent use.
type Runner struct {
	config    Config
	lock      io.Closer
	store     *backlog.Store
	events    *mailbox.Box
	stopWatch context.CancelFunc
	work      sync.WaitGroup // goroutines
	wake      chan struct{}  // something changed that Run waits for
	closing   chan struct{}
	looks     int // at GPUs and tasks so far; only whoever looks uses it

	mu       sync.Mutex // guards what follows, and every entry and card
	fleet    *fleet.Fleet
	body     *body.Body
	thought  time.Time // when it was decided last
	foreseen time.Time // when expected was
	expected map[string]Expectation
	queue    *backlog.Queue
	dirty    []*backlog.Entry // records that the queue file does not have yet
	pending  []Event          // that wait for their transaction
	warned   map[string]bool  // what was told once
	disks    *disks
	suspects map[string]bool    // what the last look did not understand
	victims  profile.Opt[int64] // of lack of the host's memory, at the last look
	stuck    error              // why the last transaction failed
	failures int                // tasks that failed since Run began
	shared   *shared.Book       // nil if there is none
	left     map[string]leftRun // of a queue that was lost
	row      []*backlog.Entry   // those that failed soon after their start since one did not
	broken   bool               // there were too many of those: more of them are queued again
	crowded  bool               // the host had no room for a process; until the next look
	running  bool
	draining bool
	paused   bool
	halted   bool
	closed   bool
	children map[*supervise.Supervisor]bool // whether each told of its task
}

// leftRun is a run of a queue that is no more.
type leftRun struct {
	stem string
	runs int // its number
	who  supervise.Claim
}

// stemOf names the files of a task's run.
func (r *Runner) stemOf(e *backlog.Entry, run int) string {
	return filepath.Join(r.config.Dir, r.store.Runs, fmt.Sprintf("%06d.%d", e.Number, run))
}

// newLog names the output of a task's present run.
func (r *Runner) newLog(e *backlog.Entry) string { return r.stemOf(e, e.Runs) + supervise.LogEnd }

func (r *Runner) now() time.Time { return r.config.Clock.Now() }

// change marks a record to be written with the next transaction.
func (r *Runner) change(e *backlog.Entry) {
	if !e.Dirty {
		e.Dirty = true
		r.dirty = append(r.dirty, e)
	}
}

// tell changes a record and tells the listener after the transaction.
func (r *Runner) tell(kind EventKind, e *backlog.Entry, text string) {
	r.change(e)
	r.pending = append(r.pending, Event{Kind: kind, At: r.now(), Record: e.Record, GPU: e.GPU, Text: text})
}

// maxWarned bounds what is kept of warnings: tasks make up some of the keys.
const maxWarned = 10_000

// name is what people call a task.
func (r *Runner) name(e *backlog.Entry) string { return r.config.Noun + " " + e.Task.ID }

// warn tells the listener, once for each key.
func (r *Runner) warn(key string, e *backlog.Entry, text string) {
	if r.warned[key] {
		return
	}
	if len(r.warned) >= maxWarned {
		clear(r.warned) // what goes on is told again
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
		if err := r.store.Put(r.dirty); err != nil {
			r.stuck = fmt.Errorf("runner: queue file: %w", err)
			if !r.warned["queue"] {
				r.warned["queue"] = true
				r.events.Push([]Event{{Kind: EventWarning, At: r.now(), Text: r.stuck.Error() + "; no " + r.config.Noun + " starts until it can be written"}})
			}
			return r.stuck
		}
		for _, e := range r.dirty {
			e.Dirty = false
		}
		r.dirty = r.dirty[:0]
	}
	r.stuck = nil
	delete(r.warned, "queue")
	r.events.Push(r.pending)
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

// measured tells of the tasks whose speed a window measured, and that the Planner did
// not learn it if it did not.
func (r *Runner) measured(entries []*backlog.Entry, err error) {
	for _, e := range entries {
		r.tell(EventProgress, e, "")
	}
	r.learned(err)
}

// learned warns, once, that the Planner did not learn a measurement.
func (r *Runner) learned(err error) {
	if err != nil {
		r.warn("observe", nil, "a measurement was not learned: "+err.Error())
	}
}
