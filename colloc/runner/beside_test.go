//go:build linux

package runner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/profile"
)

// beside is a rig on which half of a GPU is reserved for a task of which nothing is known, and where one
// runs that asked for so much.
func beside(t *testing.T, dir string, asked profile.Bytes) (g *rig, done <-chan error) {
	t.Helper()
	g = newRig(t, dir, gpuFile(1), func(c *Config) {
		c.Overrun, c.Steady, c.Beside, c.PerGPU = OverrunStop, time.Nanosecond, 0.5, 4
	})
	known := allocator(t, "1GiB", filepath.Join(dir, "end"))
	known.Memory = asked
	g.submit(t, known)
	done = g.start(t)
	waitFor(t, func() bool { return !g.record(t, "1").Peak.IsZero() })
	return g, done
}

// unknown is a task of which nothing is known: it uses so much from when there is a file.
func unknown(t *testing.T, dir, uses, from string) Task {
	t.Helper()
	task := allocator(t, "0GiB", filepath.Join(dir, from), uses, filepath.Join(dir, "end"))
	task.Memory = 0
	return task
}

// Tasks of which nothing is known join another one, each with half of the GPU until it was
// seen to use less.
func TestBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, done := beside(t, dir, 10*profile.GiB)
	for _, id := range []string{"2", "3"} {
		g.submit(t, unknown(t, dir, "2GiB", id))
		g.inState(t, id, Running)
		if r := g.record(t, id); r.Reserved != 18*profile.GiB {
			t.Errorf("task %s reserves %v, want half of the GPU", id, r.Reserved)
		}
		touch(t, dir, id)
		waitFor(t, func() bool { return g.record(t, id).Reserved < 3*profile.GiB })
	}
	touch(t, dir, "end")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range g.finish(t) {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
}

// Where less than half is free, a task of which nothing is known waits.
func TestBesideWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, done := beside(t, dir, 20*profile.GiB)
	g.submit(t, unknown(t, dir, "2GiB", "end"))
	waitFor(t, func() bool {
		return strings.Contains(g.record(t, "2").Waiting, "short of memory") || g.record(t, "2").Runs > 0
	})
	if r := g.record(t, "2"); r.State != Queued {
		t.Errorf("it is %v beside one that asked for more than half", r.State)
	}
	touch(t, dir, "end")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// One that turns out to need what others asked for is stopped before they lack it, and runs
// again when there is room.
func TestBesideTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, done := beside(t, dir, 10*profile.GiB)
	g.submit(t, unknown(t, dir, "30GiB", "2"))
	g.inState(t, "2", Running)
	touch(t, dir, "2")
	waitFor(t, func() bool { r := g.record(t, "2"); return r.Overruns == 1 && r.State == Queued })
	if r := g.record(t, "1"); r.State != Running || r.Runs != 1 {
		t.Errorf("the other is %v in run %d", r.State, r.Runs)
	}
	touch(t, dir, "end")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	records := g.finish(t)
	if r := records[1]; records[0].Runs != 1 || r.State != Succeeded || r.Runs != 2 {
		t.Errorf("the other took %d runs, and it is %v after %d: %s", records[0].Runs, r.State, r.Runs, r.Err)
	}
}
