package mailbox

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"example.com/colloc/colloc/runner/queue"
)

// TestBox holds the listener up: of the progress that waits only the last
// is kept, everything else arrives, in order.
func TestBox(t *testing.T) {
	var got []string
	entered, hold, relieved := make(chan bool), make(chan bool), 0
	first := true
	d := New(func(e queue.Event) {
		if first {
			first = false
			entered <- true
			<-hold
		}
		got = append(got, fmt.Sprintf("%v %s %d", e.Kind, e.Record.Task.ID, e.Record.Runs))
	}, func() { relieved++ })
	event := func(kind queue.EventKind, id string, n int) queue.Event {
		return queue.Event{Kind: kind, Record: queue.Record{Task: queue.Task{ID: id}, Runs: n}}
	}
	d.Push([]queue.Event{event(queue.EventQueued, "a", 0)})
	<-entered
	d.Push([]queue.Event{event(queue.EventProgress, "a", 1), event(queue.EventProgress, "b", 1), event(queue.EventProgress, "a", 2)})
	d.Push([]queue.Event{event(queue.EventRetry, "a", 3), event(queue.EventProgress, "a", 4), event(queue.EventProgress, "b", 2), event(queue.EventProgress, "a", 5), event(queue.EventFinished, "a", 6)})
	if n := d.Waiting(); n != 5 {
		t.Errorf("%d events wait, want 5", n)
	}
	close(hold)
	d.Close()
	want := []string{"queued a 0", "progress a 2", "progress b 2", "retry a 3", "progress a 5", "finished a 6"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if relieved == 0 {
		t.Error("nobody was told that nothing waits")
	}
}

// TestIdle lets a box wait between its events: each arrives as soon as it is there, also
// where the one before was of the same task.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, relieved := 0, 0
		d := New(func(queue.Event) { got++ }, func() { relieved++ })
		for n := range 3 {
			if synctest.Wait(); got != n || relieved != n {
				t.Errorf("%d events arrived, %d times nothing was left, want %d", got, relieved, n)
			}
			d.Push([]queue.Event{{Kind: queue.EventProgress, Record: queue.Record{Task: queue.Task{ID: "a"}}}})
		}
		synctest.Wait()
		d.Close()
		if got != 3 {
			t.Errorf("%d events arrived, want 3", got)
		}
	})
}
