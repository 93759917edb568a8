//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/profile"
)

// follower is a rig on which reservations follow what is seen at once, with a task of which
// 4 GiB are predicted and that uses 1 GiB, then 6 GiB.
func follower(t *testing.T, dir string, policy Overrun) (g *rig, source *looks, predicted Task) {
	t.Helper()
	source = new(looks)
	g = newRig(t, dir, gpuFile(1), func(c *Config) {
		source.Source, _ = c.Source.(*fakegpu.Source)
		c.Source, c.Overrun, c.Steady = source, policy, time.Nanosecond
	})
	predicted = allocator(t, "1GiB", filepath.Join(dir, "grow"), "5GiB", filepath.Join(dir, "end"))
	predicted.Memory, predicted.Profile = 0, newProfile(t)
	return g, source, predicted
}

// touch makes a file.
func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

const predictedBytes = 4 * profile.GiB

// A reservation follows what is seen, so that another task joins. When the first one grows
// later, its reservation does if there is room; else it is told and stopped, and runs again
// with what was seen, when the other is done.
func TestSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		joins profile.Bytes
		room  bool
	}{
		{"room", 16 * profile.GiB, true},
		{"no room", 34 * profile.GiB, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			g, source, predicted := follower(t, dir, OverrunStop)
			g.submit(t, predicted)
			done := g.start(t)
			waitFor(t, func() bool { r := g.record(t, "1"); return r.Reserved > 0 && r.Reserved < predictedBytes })
			if r := g.record(t, "1"); r.Reserved != profile.BytesOf(1.05*float64(profile.GiB)) {
				t.Errorf("%v are reserved, want what was seen and a margin", r.Reserved)
			}
			joins := allocator(t, "1GiB", filepath.Join(dir, "end"))
			joins.Memory = tt.joins
			g.submit(t, joins)
			g.inState(t, "2", Running)
			touch(t, dir, "grow")
			if tt.room {
				waitFor(t, func() bool { return g.record(t, "1").Reserved > 6*profile.GiB })
				if r := g.record(t, "1"); r.Overruns != 0 || r.Runs != 1 || r.Reserved > 7*profile.GiB {
					t.Errorf("with room for it the task reserves %v in run %d, %d stopped", r.Reserved, r.Runs, r.Overruns)
				}
			} else {
				waitFor(t, func() bool { return g.record(t, "1").Overruns == 1 && g.record(t, "1").State == Queued })
			}
			seen := source.n.Load()
			waitFor(t, func() bool { return source.n.Load() > seen+5 })
			if r := g.record(t, "2"); r.State != Running || r.Reserved != tt.joins {
				t.Errorf("the neighbour is %v with %v", r.State, r.Reserved)
			}
			touch(t, dir, "end")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			records, told := g.finish(t), 0
			for _, e := range g.events {
				if e.Kind == EventOverrun && e.Record.State == Running {
					told++
				}
			}
			r := records[0]
			if r.State != Succeeded || records[1].State != Succeeded || records[1].Runs != 1 || told != 1 || tt.room != (r.Runs == 1) || !tt.room && r.Reserved != 9*profile.GiB {
				t.Errorf("%v after %d runs with %v, told %d times: %s; the other is %v after %d", r.State, r.Runs, r.Reserved, told, r.Err, records[1].State, records[1].Runs)
			}
		})
	}
}

// What was asked for stays, and so does what was predicted where nobody stops a task that
// grows later.
func TestSeenNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy Overrun
		told   profile.Bytes
	}{
		{"asked for", OverrunStop, predictedBytes},
		{"only reported", OverrunReport, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			g, source, task := follower(t, dir, tt.policy)
			task.Memory = tt.told
			g.submit(t, task)
			done := g.start(t)
			waitFor(t, func() bool { return g.record(t, "1").Peak.Or(0) == profile.GiB })
			seen := source.n.Load()
			waitFor(t, func() bool { return source.n.Load() > seen+5 })
			if r := g.record(t, "1"); r.Reserved != predictedBytes {
				t.Errorf("%v are reserved, want %v", r.Reserved, predictedBytes)
			}
			touch(t, dir, "grow")
			touch(t, dir, "end")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A runner that comes back goes on with what was reserved, and with what follows from it.
func TestSeenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, _, predicted := follower(t, dir, OverrunStop)
	g.submit(t, predicted)
	done := g.start(t)
	waitFor(t, func() bool { r := g.record(t, "1"); return r.Reserved > 0 && r.Reserved < predictedBytes })
	want := g.record(t, "1").Reserved
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	again, _, _ := follower(t, dir, OverrunStop)
	if r := again.record(t, "1"); r.State != Running || r.Reserved != want {
		t.Fatalf("the task is %v and reserves %v, want %v", r.State, r.Reserved, want)
	}
	joins := allocator(t, "1GiB", filepath.Join(dir, "end"))
	joins.Memory = 34 * profile.GiB
	again.submit(t, joins)
	done = again.start(t)
	again.inState(t, "2", Running)
	touch(t, dir, "grow")
	waitFor(t, func() bool { return again.record(t, "1").Overruns == 1 })
	touch(t, dir, "end")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range again.finish(t) {
		if r.State != Succeeded {
			t.Errorf("task %s is %v: %s", r.Task.ID, r.State, r.Err)
		}
	}
}
