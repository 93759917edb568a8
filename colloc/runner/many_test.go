//go:build linux

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/internal/race"
)

// TestMany runs many tasks that append their names to a file, some of which
// fail and some of which report lack of memory in their first run.
func TestMany(t *testing.T) {
	const everyFails, everyLacks = 10, 20
	tasks := 300
	if race.Enabled {
		tasks = 40
	}
	dir := t.TempDir()
	effects := filepath.Join(dir, "effects")
	before := openFiles(t)
	g := newRig(t, dir, gpuFile(8), nil)
	all := make([]Task, tasks)
	want := make(map[string]State, tasks)
	for i := range all {
		id := fmt.Sprintf("t%d", i)
		want[id] = Succeeded
		switch {
		case i%everyLacks == 3:
			all[i] = shell(`[ "$COLLOC_RUN" != 1 ] || { echo "CUDA out of memory"; exit 1; }; echo "$COLLOC_TASK" >>"$1"`, effects)
		case i%everyFails == 5:
			want[id] = Failed
			all[i] = shell(`echo "$COLLOC_TASK" >>"$1"; exit 7`, effects)
		default:
			all[i] = shell(`echo "$COLLOC_TASK" >>"$1"`, effects)
		}
		all[i].ID = id
	}
	g.submit(t, all...)
	records := g.finish(t)
	noneLeaked(t, before)
	count := lines(t, effects)
	recovered := 0
	for _, r := range records {
		if r.State != want[r.Task.ID] || count[r.Task.ID] != 1 {
			t.Errorf("task %s %v (%s), took effect %d times", r.Task.ID, r.State, r.Err, count[r.Task.ID])
		}
		if r.Recovery == queue.ReservedMore {
			recovered++
		}
	}
	if len(records) != tasks || recovered != tasks/everyLacks {
		t.Errorf("%d tasks, %d recovered, want %d and %d", len(records), recovered, tasks, tasks/everyLacks)
	}
	checkEvents(t, g.events, tasks)
	noProcess(t, dir)
}

// checkEvents makes sure that each task was queued first, once, and finished
// last, once, and started as often as its runs.
func checkEvents(t *testing.T, events []Event, tasks int) {
	t.Helper()
	type counts struct{ queued, started, again, finished int }
	seen := make(map[string]*counts)
	for _, e := range events {
		id := e.Record.Task.ID
		c := seen[id]
		if c == nil {
			c = new(counts)
			seen[id] = c
		}
		switch e.Kind {
		case EventQueued:
			c.queued++
		case EventStarted:
			c.started++
		case EventRecovering, EventRetry:
			c.again++
		case EventFinished:
			c.finished++
		default:
		}
		if c.queued != 1 || c.again > c.started || c.finished > 1 {
			t.Errorf("event %v of task %q after %+v", e.Kind, id, *c)
		}
	}
	for id, c := range seen {
		if c.finished != 1 || c.started != c.again+1 {
			t.Errorf("task %s: %+v", id, *c)
		}
	}
	if len(seen) != tasks {
		t.Errorf("events of %d tasks, want %d", len(seen), tasks)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	r, w, err := os.Pipe() // Go opens its poller, two more files, with the first pipe
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.Close(), w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// noneLeaked compares with a count of openFiles. What an earlier test let go of may still be
// closing, before and after: fewer is no leak, and more gets a minute.
func noneLeaked(t *testing.T, before int) {
	t.Helper()
	after := openFiles(t)
	for end := time.Now().Add(5 * time.Minute); after > before && time.Now().Before(end); after = openFiles(t) {
		runtime.Gosched() // no collection: it would close what was forgotten
	}
	if after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

// lines counts how often each line is in a file.
func lines(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		count[strings.TrimSpace(line)]++
	}
	return count
}
