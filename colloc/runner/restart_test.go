//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// A task that says what a restart costs makes room for one of a higher class, and goes on later; one that
// does not say so is never stopped. One that was told to stop is done where it says so: by its exit code,
// or with 0 by its last step. However it ends else, it is no failure.
func TestStoppedForOthers(t *testing.T) {
	t.Parallel()
	const first = `[ "$COLLOC_RESTARTS" = 0 ] || exit 0; `
	for _, tt := range []struct {
		name, script string
		restart      profile.Opt[time.Duration]
		runs, stops  int
		signal       bool
	}{
		{"saves and exits with 0", first + `trap "exit 0" TERM; touch "$1"; sleep 1000 & wait`, profile.Some(time.Second), 2, 1, false},
		{"dies of the signal", first + `touch "$1"; exec sleep 1000`, profile.Some(time.Second), 2, 1, false},
		{"fails at the signal", first + `trap "exit 3" TERM; touch "$1"; sleep 1000 & wait`, profile.Some(time.Second), 2, 1, false},
		{"says done by exit code", `trap "exit 79" TERM; touch "$1"; sleep 1000 & wait`, profile.Some(time.Second), 1, 0, false},
		{"says done by its last step", `trap 'echo 7 7 >"$COLLOC_PROGRESS"; exit 0' TERM; touch "$1"; sleep 1000 & wait`, profile.Some(time.Second), 1, 0, false},
		{"has steps left", first + `trap 'echo 6 7 >"$COLLOC_PROGRESS"; exit 0' TERM; touch "$1"; sleep 1000 & wait`, profile.Some(time.Second), 2, 1, false},
		{"measures itself what it costs", first + `echo 1.5 >"$COLLOC_RESTART"; touch "$1"; exec sleep 1000`, profile.Opt[time.Duration]{}, 2, 1, false},
		{"must not be stopped", `touch "$1"; while [ ! -e "$1.end" ]; do sleep 0.1; done`, profile.Opt[time.Duration]{}, 1, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			there := filepath.Join(dir, "there")
			g := newRig(t, dir, gpuFile(1), nil)
			low := shell(tt.script, there)
			low.ID, low.Memory, low.Restart = "low", 30*profile.GiB, tt.restart
			g.submit(t, low)
			done := g.start(t)
			waitFor(t, func() bool { _, err := os.Stat(there); return err == nil })
			g.inState(t, "low", Running)
			high := shell("true")
			high.ID, high.Memory, high.Priority = "high", 30*profile.GiB, 1
			g.submit(t, high)
			if tt.signal {
				waitFor(t, func() bool { return g.record(t, "high").Waiting != "" })
				if r := g.record(t, "low"); r.State != Running {
					t.Errorf("it is %v", r.State)
				}
				if err := os.WriteFile(there+".end", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			g.finish(t)
			r, h := g.record(t, "low"), g.record(t, "high")
			if r.State != Succeeded || r.Runs != tt.runs || r.Stops != tt.stops || r.Failures != 0 {
				t.Errorf("it is %v after %d runs, %d stops and %d failures: %s", r.State, r.Runs, r.Stops, r.Failures, r.Err)
			}
			if h.State != Succeeded || tt.stops > 0 && h.Started.After(r.Started) {
				t.Errorf("the other one is %v: %s", h.State, h.Err)
			}
			if tt.stops > 0 && !strings.HasPrefix(r.Stopped, "stopped for task high") {
				t.Errorf("it was %q", r.Stopped)
			}
		})
	}
	if queue.ExitDone != 79 {
		t.Error("scripts rely on it")
	}
}

// Of a task that was told to stop the next runner knows, and lets it go on later.
func TestStoppedThenAdopted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	g := newRig(t, dir, gpuFile(1), nil)
	low := shell(`[ "$COLLOC_RESTARTS" = 0 ] || exit 0; trap 'touch "$1.told"; while [ ! -e "$1.end" ]; do sleep 0.1; done; exit 0' TERM; touch "$1"; sleep 1000 & wait`, there)
	low.ID, low.Memory, low.Restart = "low", 30*profile.GiB, profile.Some(time.Second)
	g.submit(t, low)
	done := g.start(t)
	waitFor(t, func() bool { _, err := os.Stat(there); return err == nil })
	high := shell("true")
	high.ID, high.Memory, high.Priority = "high", 30*profile.GiB, 1
	g.submit(t, high)
	waitFor(t, func() bool { _, err := os.Stat(there + ".told"); return err == nil })
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if err := os.WriteFile(there+".end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), nil)
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := again.record(t, "low"); r.State != Succeeded || r.Runs != 2 || r.Stops != 1 {
		t.Errorf("it is %v after %d runs and %d stops: %s", r.State, r.Runs, r.Stops, r.Err)
	}
}
