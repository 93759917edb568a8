package pace

import (
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// The time of a step follows from the steps that were seen of the present run, unless the
// job tells it; from one step nothing follows, nor from those of a run before.
func TestBook(t *testing.T) {
	began := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	b := NewBook()
	r := queue.Record{Task: queue.Task{ID: "1"}, State: queue.Running}
	for _, tt := range []struct {
		name  string
		run   int
		step  int64
		after time.Duration
		told  profile.Opt[time.Duration]
		want  time.Duration // 0 is unknown
	}{
		{"it goes on from where another left off", 1, 500, 0, profile.Opt[time.Duration]{}, 0},
		{"two steps", 1, 600, 50 * time.Second, profile.Opt[time.Duration]{}, 500 * time.Millisecond},
		{"it tells", 1, 600, 50 * time.Second, profile.Some(time.Second), time.Second},
		{"another run", 2, 600, 55 * time.Second, profile.Opt[time.Duration]{}, 0},
		{"two steps of it", 2, 700, 65 * time.Second, profile.Opt[time.Duration]{}, 100 * time.Millisecond},
		{"it begins anew", 2, 10, 66 * time.Second, profile.Opt[time.Duration]{}, 0},
	} {
		r.Runs, r.Step, r.StepTime = tt.run, profile.Some(tt.step), tt.told
		b.Note(&queue.Event{At: began.Add(tt.after), Record: r})
		if got, known := b.Step(&r); got != tt.want || known != (tt.want > 0) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, known, tt.want)
		}
	}
	r.State = queue.Succeeded
	if b.Note(&queue.Event{Record: r}); len(b.seen) != 0 {
		t.Errorf("what is over is kept: %v", b.seen)
	}
}
