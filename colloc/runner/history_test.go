//go:build linux

package runner

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/internal/testbed"
)

// TestHistory lets most tasks that are over move to the history: they are found there, counted,
// and come back when they are to run again or somebody depends on them, also in the next Open.
func TestHistory(t *testing.T) {
	t.Parallel()
	const n, keep = 60, 5
	dir := t.TempDir()
	adjust := func(c *Config) { c.Keep = keep }
	g := newRig(t, dir, gpuFile(1), adjust)
	flag := filepath.Join(dir, "flag")
	retried := shell(`test -e "$1"`, flag)
	retried.ID = "retried"
	g.submit(t, retried)
	for range n - 1 {
		g.submit(t, shell("true"))
	}
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return len(g.Records()) < keep+fewestOld })
	check := func(g *rig, inPast, failed int) {
		t.Helper()
		var past []int
		if err := g.History(0, func(r Record) bool { past = append(past, r.Number); return true }); err != nil {
			t.Fatal(err)
		}
		records, counts := g.All()
		count := counts[-1]
		if len(past) != inPast || len(records)+len(past) != n || count[Succeeded]+count[Failed] != inPast || count[Failed] != failed {
			t.Errorf("%d tasks in the history, counted as %v, and %d in memory, want %d of %d", len(past), count, len(records), inPast, n)
		}
		if !slices.IsSortedFunc(past, func(a, b int) int { return b - a }) {
			t.Errorf("the history is in the order %v, want the last first", past)
		}
	}
	inPast := n - len(g.Records())
	check(g, inPast, 1)
	if r := g.record(t, "retried"); r.State != Failed || r.Number != 1 || output(t, r) != "" {
		t.Errorf("a task of the history is %+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(g.dir, "runs-1", "000001.*")); len(left) != 1 || !strings.HasSuffix(left[0], ".log") {
		t.Errorf("of a task of the history there are the files %q", left)
	}
	if _, err := g.Submit(Task{ID: "retried", Command: []string{"true"}}); !errors.Is(err, ErrDuplicate) {
		t.Errorf("a task with an ID of the history: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), adjust)
	check(again, inPast, 1)
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	after := shell("true")
	after.After = []Dependency{{Task: "retried"}, {Task: "2"}}
	if err := again.Retry("retried"); err != nil {
		t.Fatal(err)
	}
	id := again.submit(t, after)[0]
	if want := strconv.Itoa(n + 1); id != want {
		t.Errorf("the next task is %q, want %q", id, want)
	}
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"retried", id} {
		if r := again.record(t, id); r.State != Succeeded {
			t.Errorf("task %s is %v: %s", id, r.State, r.Err)
		}
	}
	if r := again.record(t, "retried"); r.Runs != 2 || r.Number != 1 {
		t.Errorf("the task that ran again is %+v", r)
	}
}

// TestAll looks at all tasks while they go to the history and come back: each is counted once.
func TestAll(t *testing.T) {
	const n = 100
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Keep, c.Watch = 1, time.Hour })
	ids := g.submit(t, slices.Repeat([]Task{shell("true")}, n)...)
	stop := make(chan struct{})
	var looker sync.WaitGroup
	looker.Go(func() {
		for {
			records, past := g.All()
			all := len(records)
			for _, count := range past[-1] {
				all += count
			}
			if all != n {
				t.Errorf("%d tasks are in memory and %v in the history, want %d", len(records), past, n)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	defer looker.Wait()
	defer close(stop)
	for range 20 {
		if err := g.Kill(ids...); err != nil {
			t.Fatal(err)
		}
		g.mu.Lock()
		g.archive()
		g.mu.Unlock()
		if err := g.Retry(ids...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistoryNamed names many tasks of the history: what they are over for costs no write and
// brings none back to memory; to queue them again is one transaction.
func TestHistoryNamed(t *testing.T) {
	const n = 200
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Keep, c.Watch = 1, time.Hour })
	tasks := make([]Task, n)
	for i := range tasks {
		tasks[i] = shell("true")
	}
	ids := g.submit(t, tasks...)
	if err := g.Kill(ids...); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.archive()
	before := g.store.Written()
	g.mu.Unlock()
	for name, do := range map[string]func(...string) error{"Kill": g.Kill, "Spare": g.Spare, "Hold": g.Hold, "Release": g.Release} {
		if err := do(ids...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := do("1", "no such"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: error is %v, want ErrUnknown", name, err)
		}
	}
	if err := g.Retry("1", "no such"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Retry: error is %v, want ErrUnknown", err)
	}
	if in, writes := len(g.Records()), g.store.Written()-before; in != 1 || writes != 0 {
		t.Errorf("%d tasks are in memory after %d writes, want 1 and none", in, writes)
	}
	if err := g.Retry(ids...); err != nil {
		t.Fatal(err)
	}
	if in, writes := len(g.Records()), g.store.Written()-before; in != n || writes > n { // of pages; as many transactions would write several each
		t.Errorf("%d tasks are in memory after %d writes, want %d and at most as many", in, writes, n)
	}
	for _, r := range g.Records() {
		if r.State != Queued {
			t.Errorf("task %s is %v", r.Task.ID, r.State)
		}
	}
}

// TestHistoryPages reads a history of several pages: each record once, in order, as far as is
// asked for, and what is given them may write to the queue, and panic.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	const n = 1100 // more than twice what is read at once
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Keep, c.Watch = 1, time.Hour })
	if err := g.Kill(g.submit(t, slices.Repeat([]Task{shell("true")}, n)...)...); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	for range 3 {
		g.archive()
	}
	g.mu.Unlock()
	for _, most := range []int{1, 500, 501, n - 1, n} { // one of n stays in memory
		var got []int
		err := g.History(0, func(r Record) bool {
			got = append(got, r.Number)
			if len(got)%400 == 0 {
				g.submit(t, shell("true"))
			}
			return len(got) < most
		})
		if want := min(most, n-1); err != nil || len(got) != want || got[0] != n-1 || got[want-1] != n-want {
			t.Errorf("of %d records %d are given: %v", most, len(got), err)
		}
		if !slices.IsSortedFunc(got, func(a, b int) int { return b - a }) || len(slices.Compact(got)) != len(got) {
			t.Errorf("they are in the order %v", got)
		}
	}
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("a panic of who reads becomes %v", p)
			}
		}()
		t.Errorf("a panic of who reads becomes an error: %v", g.History(0, func(Record) bool { panic("mine") }))
	}()
	g.submit(t, shell("true"))
}

// TestHistoryFull: where the history cannot be written, tasks that are over stay in memory, and
// people are told; once it can, they move.
func TestHistoryFull(t *testing.T) {
	if !testbed.Alone(t) {
		return
	}
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	for range fewestOld + 1 {
		g.submit(t, shell("true"))
	}
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.config.Keep, g.pending = 1, nil
	limitFiles(t, 0)
	g.archive()
	limitFiles(t, math.MaxUint64)
	if left, _ := filepath.Glob(filepath.Join(g.dir, "runs-1", "*.exit")); len(left) != 1 { // the pattern is right
		t.Errorf("files of runs are left: %q; one who is killed when the history is written would never remove them", left)
	}
	if len(g.pending) != 1 || !strings.Contains(g.pending[0].Text, "stay in memory: the history cannot be written: ") || len(g.queue.Entries) != fewestOld+1 {
		t.Errorf("%d tasks are in memory, told is %+v", len(g.queue.Entries), g.pending)
	}
	if g.archive(); len(g.queue.Entries) != 1 {
		t.Errorf("%d tasks are in memory, want 1", len(g.queue.Entries))
	}
}
