//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// saver is a task that saves its state on SIGTERM and exits with 0, as many
// training programs do. It writes the file ready first and ends when there is one
// called go.
func saver(dir, ready string) Task {
	return shell(`trap "echo saved; exit 0" TERM; touch "$2"; until [ -e "$1/go" ]; do sleep 0.01; done; echo all`, dir, filepath.Join(dir, ready))
}

// TestCutShort ends such tasks for every reason: none of them has succeeded, no
// task that waits for their success starts, and nothing is learned.
func TestCutShort(t *testing.T) {
	tests := []struct {
		name  string
		halt  Halt
		cut   func(t *testing.T, g *rig)
		state State
		err   string
	}{
		{
			name: "time limit", state: Failed, err: "timed out after 1h0m0s (exit code 0)",
			cut: func(t *testing.T, g *rig) {
				t.Helper()
				g.mu.Lock()
				defer g.mu.Unlock()
				g.queue.ByID["cut"].Started = g.now().Add(-2 * time.Hour)
			},
		},
		{
			name: "lost GPU", state: Failed, err: "no GPU is left",
			cut: func(t *testing.T, g *rig) {
				t.Helper()
				g.rewrite(t, `{"gpus": [{"name": "A100-40GB", "lost": true}]}`)
			},
		},
		{
			name: "killed", state: Cancelled, err: "killed on request",
			cut: func(t *testing.T, g *rig) {
				t.Helper()
				if err := g.Kill("cut"); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "halted", halt: Halt{Failures: 1, Kill: true}, state: Cancelled, err: "killed because the queue was halted",
			cut: func(t *testing.T, g *rig) { t.Helper(); g.submit(t, shell("false")) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Halt = test.halt })
			cut := saver(dir, "ready")
			cut.ID, cut.Profile, cut.Timeout = "cut", newProfile(t), time.Hour
			after := shell("true")
			after.After = []Dependency{{Task: "cut"}}
			g.submit(t, cut, after)
			done := g.start(t)
			waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
			test.cut(t, g)
			if err := <-done; err != nil && !errors.Is(err, ErrHalted) {
				t.Error(err)
			}
			r, waits := g.record(t, "cut"), g.record(t, "2")
			if r.State != test.state || r.Err != test.err || waits.State != Cancelled {
				t.Errorf("%v (%s), want %v (%s); the one that waits is %v", r.State, r.Err, test.state, test.err, waits.State)
			}
			g.planner.mu.Lock()
			defer g.planner.mu.Unlock()
			if len(g.planner.observed) > 0 {
				t.Errorf("learned %+v", g.planner.observed)
			}
		})
	}
}

// rewrite changes the file of the GPUs at once.
func (g *rig) rewrite(t *testing.T, gpus string) {
	t.Helper()
	if err := os.WriteFile(g.gpus+".new", []byte(gpus), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.gpus+".new", g.gpus); err != nil {
		t.Fatal(err)
	}
}

// TestEndedBefore lets a task end by itself before the signal that would have cut
// it short: it has succeeded.
func TestEndedBefore(t *testing.T) {
	for _, stop := range []backlog.Stop{backlog.StopTimeout, backlog.StopLostGPU} {
		e := &backlog.Entry{Saved: backlog.Saved{Record: Record{Task: Task{ID: "a"}, State: Running}, Stop: stop}}
		cards, err := fleet.New(fleet.Config{}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &Runner{config: Config{Clock: &stepClock{}}, queue: backlog.New([]*backlog.Entry{e}), fleet: cards}
		r.conclude(e, &supervise.Outcome{}, "")
		if e.State != Succeeded {
			t.Errorf("stopped for reason %d: %v", stop, e.State)
		}
	}
}

// TestFullTooOften has a full disk, that of the task or that of its output, end a run again and again: in the end the task has
// failed. Before that the task says what it waits for.
func TestFullTooOften(t *testing.T) {
	for _, dir := range []string{"/", "/queue"} {
		fullTooOften(t, dir)
	}
}

func fullTooOften(t *testing.T, dir string) {
	t.Helper()
	e := &backlog.Entry{Saved: backlog.Saved{Record: Record{Task: Task{ID: "a", Dir: "/"}, State: Running}}}
	cards, err := fleet.New(fleet.Config{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	full := func(of string) (profile.Bytes, bool) {
		if of == dir {
			return 0, true
		}
		return profile.TiB, true
	}
	patient := newDisks(full)
	patient.patience = time.Hour
	r := &Runner{config: Config{Clock: &stepClock{}, Dir: "/queue", floor: profile.MiB, free: full, Halt: Halt{InARow: -1}}, disks: patient, queue: backlog.New([]*backlog.Entry{e}), fleet: cards}
	for n := 1; n <= maxLost+1; n++ {
		e.State = Running
		r.fail(e, &supervise.Outcome{Exit: 1}, 0)
		want := []State{Queued, Failed}[n/(maxLost+1)]
		if e.State != want || e.LostRuns != min(n, maxLost) || !strings.Contains(e.Err, "is full") {
			t.Errorf("the %d. time: %v after %d runs lost: %s; want %v", n, e.State, e.LostRuns, e.Err, want)
		}
		if dir == r.config.Dir && want == Queued {
			if why := r.Why("a"); !strings.Contains(why, "/queue is full") {
				t.Errorf("it waits for %q", why)
			}
		}
	}
}

// TestPostponed: what was to be stopped for the while, and could not begin, begins later.
func TestPostponed(t *testing.T) {
	for _, state := range []State{Starting, Running} { // who adopts a run may not know that it did not begin
		g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Watch = time.Hour })
		g.submit(t, shell("true"))
		g.mu.Lock()
		e := g.queue.ByID["1"]
		g.queue.Start(e)
		e.Runs, e.Stop, e.State = 1, backlog.StopLostGPU, state
		g.mu.Unlock()
		g.ended(e, 1, supervise.Outcome{Exit: -1, Crowded: true, Err: "no room"})
		if r := g.record(t, "1"); r.State != Queued || r.Err != "it waits for the host: no room" {
			t.Errorf("%v: %s", r.State, r.Err)
		}
		if done, err := g.step(); done || err != nil || g.record(t, "1").Runs != 1 {
			t.Errorf("before the next look: %v, %v, %d runs", done, err, g.record(t, "1").Runs)
		}
		g.look(t.Context())
		if r := g.finish(t)[0]; r.State != Succeeded || r.Runs != 2 || r.LostRuns != 0 || r.Failures != 0 {
			t.Errorf("%v after %d runs, %d lost: %s", r.State, r.Runs, r.LostRuns, r.Err)
		}
	}
}

// TestTold: what happened to a task is said in so many words.
func TestTold(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("true"), shell("exit 3"))
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Retry(); err != nil {
		t.Fatal(err)
	}
	g.finish(t)
	told := make(map[string]int)
	for _, e := range g.events {
		told[e.Text]++
	}
	for text, want := range map[string]int{"task 1 succeeded": 1, "task 2 failed: exit code 3": 2, "task 2 is queued again": 1, "task 1 is queued again": 0} {
		if told[text] != want {
			t.Errorf("%q is said %d times, want %d", text, told[text], want)
		}
	}
}

// TestKillWhileStopped kills tasks that are being stopped, to run again, and do not heed
// SIGTERM: they are cancelled all the same.
func TestKillWhileStopped(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(2), nil)
	stubborn := shell(`trap "" TERM; echo ready; until [ -e "$1" ]; do sleep 0.01; done; exit 7`, filepath.Join(dir, "go"))
	stubborn.Retries = 1
	reasons := []backlog.Stop{backlog.StopOverrun, backlog.StopLostGPU, backlog.StopTimeout}
	ids := g.submit(t, stubborn, stubborn, stubborn)
	done := g.start(t)
	for i, id := range ids {
		waitFor(t, func() bool { r := g.record(t, id); return r.State == Running && output(t, r) == "ready\n" })
		g.mu.Lock()
		g.stop(g.queue.ByID[id], reasons[i])
		g.mu.Unlock()
	}
	if err := g.Kill(ids...); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i, r := range g.Records() {
		if r.State != Cancelled || r.Runs != 1 {
			t.Errorf("stopped for reason %d, then killed: it is %v after %d runs: %s", reasons[i], r.State, r.Runs, r.Err)
		}
	}
}

// TestStopStays: a run that is to be the last of its task stays so whatever happens while it
// ends, and what does not run is not stopped.
func TestStopStays(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("true"))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.queue.ByID["1"]
	if g.stop(e, backlog.StopHalted); e.Stop != 0 {
		t.Errorf("a task that waits is stopped for %d", e.Stop)
	}
	for _, tt := range []struct{ first, then, want backlog.Stop }{
		{backlog.StopKilled, backlog.StopLostGPU, backlog.StopKilled},
		{backlog.StopKilled, backlog.StopHalted, backlog.StopKilled},
		{backlog.StopLostGPU, backlog.StopTimeout, backlog.StopLostGPU},
		{backlog.StopLostGPU, backlog.StopKilled, backlog.StopKilled},
		{backlog.StopSpared, backlog.StopTimeout, backlog.StopTimeout},
		{0, backlog.StopOverrun, backlog.StopOverrun},
	} {
		e.State, e.Stop = Starting, tt.first
		if g.stop(e, tt.then); e.Stop != tt.want {
			t.Errorf("stopped for %d, then for %d: for %d, want %d", tt.first, tt.then, e.Stop, tt.want)
		}
	}
	e.State, e.Stop = Queued, 0
}

// TestRetryForgets: a task that is queued again by hand has a fresh start.
func TestRetryForgets(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("true"))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.queue.ByID["1"]
	e.Failures, e.LostRuns, e.Recovery, e.Raised, e.Stop = 2, 2, RanAlone, 2, backlog.StopKilled
	g.withdraw(e, Failed, "for a test")
	if err := g.retry([]*backlog.Entry{e}); err != nil {
		t.Fatal(err)
	}
	if e.State != Queued || e.Failures != 0 || e.LostRuns != 0 || e.Recovery != 0 || e.Raised != 0 || e.Stop != 0 {
		t.Errorf("%+v", e.Saved)
	}
}
