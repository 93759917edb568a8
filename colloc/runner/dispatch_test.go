package runner

import (
	"fmt"
	"slices"
	"testing"
)

// TestDispatcher holds the listener up: of the progress that waits only the last
// is kept, everything else arrives, in order.
func TestDispatcher(t *testing.T) {
	var got []string
	entered, hold, relieved := make(chan bool), make(chan bool), 0
	first := true
	d := newDispatcher(func(e Event) {
		if first {
			first = false
			entered <- true
			<-hold
		}
		got = append(got, fmt.Sprintf("%v %s %d", e.Kind, e.Record.Task.ID, e.Record.Runs))
	}, func() { relieved++ })
	event := func(kind EventKind, id string, n int) Event {
		return Event{Kind: kind, Record: Record{Task: Task{ID: id}, Runs: n}}
	}
	d.push([]Event{event(EventQueued, "a", 0)})
	<-entered
	d.push([]Event{event(EventProgress, "a", 1), event(EventProgress, "b", 1), event(EventProgress, "a", 2)})
	d.push([]Event{event(EventRetry, "a", 3), event(EventProgress, "a", 4), event(EventProgress, "b", 2), event(EventProgress, "a", 5), event(EventFinished, "a", 6)})
	if n := d.backlog(); n != 5 {
		t.Errorf("%d events wait, want 5", n)
	}
	close(hold)
	d.close()
	want := []string{"queued a 0", "progress a 2", "progress b 2", "retry a 3", "progress a 5", "finished a 6"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if relieved == 0 {
		t.Error("nobody was told that nothing waits")
	}
}
