//go:build linux

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
)

// leave puts a record into the queue file as a runner would have left it that
// died.
func leave(t *testing.T, dir string, change func(*backlog.Saved)) {
	t.Helper()
	s, entries, err := backlog.Open(filepath.Join(dir, "state"), false)
	if err != nil {
		t.Fatal(err)
	}
	change(&entries[0].Saved)
	if err := s.Put(entries); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAdoptStarting leaves a run that was recorded and not begun.
func TestAdoptStarting(t *testing.T) {
	tests := []struct {
		name  string
		claim string // "" makes none
		stop  backlog.Stop
		state State
		runs  int
		err   string
	}{
		{"no claim", "", 0, Succeeded, 2, ""},
		{"revoked by a runner that died then", "revoked", 0, Succeeded, 2, ""},
		{"killed before", "", backlog.StopKilled, Cancelled, 1, "killed on request before it started"},
		{"its supervisor died", "999999999 1", 0, Succeeded, 2, ""},
		{"its supervisor died, after it was killed", "999999999 1", backlog.StopKilled, Cancelled, 1, "killed on request"},
		{"not a claim", "rubbish", 0, Failed, 1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			g := newRig(t, dir, gpuFile(1), nil)
			g.submit(t, shell("true"))
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			stem := filepath.Join(g.dir, "runs-1", "000001.1")
			leave(t, dir, func(s *backlog.Saved) {
				s.State, s.Runs, s.Stop, s.GPU, s.Log = Starting, 1, test.stop, "GPU-fake-0", stem+supervise.LogEnd
			})
			if test.claim != "" {
				if err := os.Symlink(test.claim, stem+".claim"); err != nil {
					t.Fatal(err)
				}
			}
			if test.claim == "rubbish" {
				c, err := testConfig(g.dir, g.gpus)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := openSimply(t.Context(), c, &simplePlanner{}); err == nil {
					t.Error("a claim that cannot be read is no error", r.Close())
				}
				return
			}
			r := newRig(t, dir, gpuFile(1), nil).finish(t)[0]
			if r.State != test.state || r.Runs != test.runs || r.Err != test.err {
				t.Errorf("task is %v after %d runs: %s", r.State, r.Runs, r.Err)
			}
		})
	}
}

// TestLateSupervisor: the supervisor of a run that was revoked comes when nobody asks for that run any more, and would run
// the command a second time.
func TestLateSupervisor(t *testing.T) {
	dir := t.TempDir()
	gate, effect := filepath.Join(dir, "gate"), filepath.Join(dir, "effect")
	g := newRig(t, dir, gpuFile(1), nil)
	task := shell("false")
	task.Retries = 3
	g.submit(t, task)
	if err := errors.Join(g.Close(), syscall.Mkfifo(gate, 0o600)); err != nil {
		t.Fatal(err)
	}
	stem := func(run string) string { return filepath.Join(g.dir, "runs-1", "000001."+run) }
	launch := supervise.Launch{
		Stem: stem("1"), Dir: dir, Path: "/bin/sh", Argv: []string{"sh", "-c", `echo >"$1"`, "sh", effect},
		Env: append(os.Environ(), supervise.Mark(stem("1")), gateVariable+"="+gate),
	}
	late, err := launch.Start()
	if err != nil {
		t.Fatal(err)
	}
	leave(t, dir, func(s *backlog.Saved) {
		s.State, s.Runs, s.GPU, s.Log = Starting, 1, "GPU-fake-0", stem("1")+supervise.LogEnd
	})
	if r := newRig(t, dir, gpuFile(1), nil).finish(t)[0]; r.State != Failed || r.Runs != 5 {
		t.Errorf("task is %v after %d runs: %s", r.State, r.Runs, r.Err)
	}
	if _, err := os.Lstat(stem("1") + supervise.ClaimEnd); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the claim of a run that is over is still there: %v", err)
	}
	if opened, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // it still waits
		_ = opened.Close() // nothing was written
	}
	late.Wait()
	if _, err := os.Stat(effect); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the first run began after the fifth: %v", err)
	}
}

// TestAdoptToldToEnd opens a queue whose task was told to end because its time was over,
// by a runner that died then, and ended with 0 as if nothing were: it is cut short. One
// that was told nothing had time enough. How long it took its supervisor tells, whatever
// the clocks say.
func TestAdoptToldToEnd(t *testing.T) {
	for stop, want := range map[backlog.Stop]State{backlog.StopTimeout: Failed, 0: Succeeded} {
		dir := t.TempDir()
		g := newRig(t, dir, gpuFile(1), nil)
		g.submit(t, shell("echo must not run again"))
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		stem := filepath.Join(g.dir, "runs-1", "000001.1")
		leave(t, dir, func(s *backlog.Saved) {
			s.State, s.Runs, s.Stop, s.GPU, s.Log = Running, 1, stop, "GPU-fake-0", stem+supervise.LogEnd
		})
		for end, text := range map[string]string{supervise.ClaimEnd: "999999999 1", ".exit": "exit 0 7"} {
			if err := os.Symlink(text, stem+end); err != nil {
				t.Fatal(err)
			}
		}
		r := newRig(t, dir, gpuFile(1), nil).finish(t)[0]
		if took := r.Ended.Sub(r.Started); took != 7 {
			t.Errorf("it took %v, want 7 ns", took)
		}
		if r.State != want || r.Runs != 1 || (want == Failed) != strings.HasPrefix(r.Err, "timed out after ") {
			t.Errorf("stopped for %d: %v after %d runs: %s", stop, r.State, r.Runs, r.Err)
		}
	}
}

// TestAdoptWithoutGPU opens a queue again on a host that has lost a GPU on which
// a task runs: it is adopted all the same.
func TestAdoptWithoutGPU(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB", "id": "a"}]}`, nil)
	g.submit(t, shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go")))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	g.inState(t, "1", Running)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, `{"gpus": [{"name": "A100-40GB", "id": "b"}]}`, nil)
	again.submit(t, shell("true"))
	over := again.start(t)
	again.inState(t, "2", Succeeded)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if r := again.record(t, "1"); r.State != Succeeded || r.GPU != "a" || r.Runs != 1 {
		t.Errorf("task is %v on %s after %d runs: %s", r.State, r.GPU, r.Runs, r.Err)
	}
}

// TestOtherQueue begins a queue anew where the runs of an old one lie: they do not
// get in its way.
func TestOtherQueue(t *testing.T) {
	dir := t.TempDir()
	first := newRig(t, dir, gpuFile(1), nil)
	first.submit(t, shell("echo old"))
	old := first.finish(t)[0]
	if err := os.Rename(filepath.Join(first.dir, backlog.File), filepath.Join(first.dir, "aside")); err != nil {
		t.Fatal(err)
	}
	second := newRig(t, dir, gpuFile(1), nil)
	second.submit(t, shell("echo new"))
	r := second.finish(t)[0]
	if got := output(t, old) + output(t, r); got != "old\nnew\n" || !strings.Contains(r.Log, "runs-2") {
		t.Errorf("outputs are %q, the new one in %s", got, r.Log)
	}
}

// TestAdoptKilled kills a task that does not heed it, and closes the runner: the next one ends it.
func TestAdoptKilled(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Grace = time.Hour })
	g.submit(t, shell(`trap "" TERM; touch "$1"; while :; do sleep 0.01; done`, ready))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	g.inState(t, "1", Running)
	waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
	if err := g.Kill("1"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), func(c *Config) { c.Grace = time.Millisecond })
	again.start(t)
	again.inState(t, "1", Cancelled)
	if r := again.record(t, "1"); r.Runs != 1 || r.Signal != 9 {
		t.Errorf("it ended after %d runs by signal %d", r.Runs, r.Signal)
	}
}
