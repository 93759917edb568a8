package pace

import (
	"sync"
	"time"

	"example.com/colloc/colloc/runner/queue"
)

// Book is what was seen of jobs that run. It is safe for concurrent use.
type Book struct {
	mu   sync.Mutex
	seen map[string]steps
}

// steps are the first and the last one that was seen of a run, and when.
type steps struct {
	run         int
	first, last int64
	since, at   time.Time
}

// NewBook returns an empty Book.
func NewBook() *Book { return &Book{seen: make(map[string]steps)} }

// Note notes how far the job of an event is, and forgets one that does not run.
func (b *Book) Note(e *queue.Event) {
	r := &e.Record
	b.mu.Lock()
	defer b.mu.Unlock()
	step, known := r.Step.Get()
	s := b.seen[r.Task.ID]
	switch {
	case r.State != queue.Running:
		delete(b.seen, r.Task.ID)
	case known && (s.run != r.Runs || step < s.last):
		b.seen[r.Task.ID] = steps{run: r.Runs, first: step, last: step, since: e.At, at: e.At}
	case known:
		s.last, s.at = step, e.At
		b.seen[r.Task.ID] = s
	}
}

// Step is how long a step of a run takes, as it tells or else as it was seen.
func (b *Book) Step(r *queue.Record) (each time.Duration, known bool) {
	if each, known = r.StepTime.Get(); known {
		return each, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.seen[r.Task.ID]
	if s.run != r.Runs || s.last <= s.first {
		return 0, false
	}
	return s.at.Sub(s.since) / time.Duration(s.last-s.first), true
}
