package runner

import (
	"maps"
	"time"

	"example.com/colloc/colloc/runner/internal/body"
)

// Expectation is when a task is expected to start and to end; see [Runner.Expect].
type Expectation = body.Expectation

// Span is a time, and the least and the most of it.
type Span = body.Span

// expectEvery is for how long an expectation holds: it costs three plays of the rest of the day.
const expectEvery = time.Second

// Expect returns when tasks that run or wait are expected to start and end, as far as anybody knows now and if
// nothing else comes: none that waits as long as there is no room on the disk of the queue. What it returns must not be modified, and is at most a second old.
func (r *Runner) Expect() map[string]Expectation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.expected == nil || now.Sub(r.foreseen).Abs() >= expectEvery {
		r.expected, r.foreseen = r.body.Expect(), now
		if r.stuck != nil || r.diskFull(r.config.Dir, r.config.Dir) != "" { // nobody knows for how long
			maps.DeleteFunc(r.expected, func(id string, _ Expectation) bool { e := r.queue.ByID[id]; return e == nil || e.State == Queued })
		}
	}
	return r.expected
}

// Why says what a task that is queued waits for, as things are now; empty if it is not. O(tasks that wait · GPUs).
func (r *Runner) Why(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.queue.ByID[id]
	if e == nil || e.State != Queued {
		return ""
	}
	if full := r.diskFull(r.config.Dir, r.config.Dir); full != "" {
		return full
	}
	if r.stuck != nil {
		return r.stuck.Error()
	}
	if why, known := r.body.WhyNow(e); known {
		return why
	}
	return e.Waiting
}
