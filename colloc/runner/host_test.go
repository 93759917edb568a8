//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
)

// elsewhere changes where a runner believes to be.
func elsewhere(boot, host string) func(*Config) {
	return func(c *Config) { c.space = supervise.Space{ID: boot, Host: host} }
}

// TestReboot opens a queue after the host went down while tasks ran: they are lost,
// run again, and nobody says that they still run. What has their process numbers now
// is somebody else's and gets no signal: here it is what the tasks really were.
func TestReboot(t *testing.T) {
	dir := t.TempDir()
	task := shell(`test "$COLLOC_RUN" != 1 || exec sleep 1000`)
	g := newRig(t, dir, gpuFile(1), nil)
	g.leaveRunning(t, task, task)
	here := supervise.ThisSpace()
	before := g.Records()
	t.Cleanup(func() {
		for _, r := range before {
			if err := syscall.Kill(-r.PID, syscall.SIGKILL); err != nil {
				t.Error("a signal went to a stranger:", err)
			}
		}
		noProcess(t, dir) // their supervisors still write there
	})
	again := newRig(t, dir, gpuFile(1), elsewhere("another boot", here.Host))
	for _, r := range again.finish(t) {
		if r.State != Succeeded || r.Runs != 2 || r.LostRuns != 1 || r.Failures != 0 {
			t.Errorf("task %s is %v after %d runs, %d of them lost: %s", r.Task.ID, r.State, r.Runs, r.LostRuns, r.Err)
		}
	}
	for _, e := range again.events {
		if e.Kind == EventAdopted || strings.Contains(e.Text, "still runs") || strings.Contains(e.Text, "failed") {
			t.Errorf("event %v: %s", e.Kind, e.Text)
		}
	}
	for _, r := range before {
		if p := (supervise.Process{PID: r.PID, Start: r.PIDStart}); !p.Alive() {
			t.Errorf("process %d, a stranger's now, is gone", r.PID)
		}
	}
}

// TestLostOften loses a task with its host again and again: in the end it has failed.
func TestLostOften(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	g.submit(t, shell("echo must not run again; exit 1"))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	stem := filepath.Join(g.dir, "runs-1", "000001.9")
	leave(t, dir, func(s *backlog.Saved) {
		s.State, s.Runs, s.LostRuns, s.GPU, s.Log = Running, 9, maxLost, "GPU-fake-0", stem+supervise.LogEnd
	})
	if err := os.Symlink("77 1 an-old-boot - "+supervise.ShortHost(supervise.ThisSpace().Host), stem+supervise.ClaimEnd); err != nil {
		t.Fatal(err)
	}
	if r := newRig(t, dir, gpuFile(1), nil).finish(t)[0]; r.State != Failed || r.Runs != 9 || !r.Ended.After(r.Started) || !strings.Contains(r.Err, "the host went down") {
		t.Errorf("%v after %d runs, from %v to %v: %s", r.State, r.Runs, r.Started, r.Ended, r.Err)
	}
}

// TestElsewhere opens a queue on another host that shares the folder: it refuses,
// unless the first one is said to be gone.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	released := filepath.Join(dir, "go")
	g := newRig(t, dir, gpuFile(1), nil)
	g.leaveRunning(t, shell(`test "$COLLOC_RUN" != 1 || until [ -e "$1" ]; do sleep 0.01; done`, released))
	pid := g.record(t, "1").PID
	c, err := testConfig(g.dir, g.gpus)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere("another boot", "another-host")(&c)
	first := supervise.ShortHost(supervise.ThisSpace().Host)
	if _, err := openSimply(t.Context(), c, &simplePlanner{}); !errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), `task "1": it runs on host `+first) {
		t.Errorf("error is %v, want one that names %s", err, first)
	}
	c.Gone = []string{first}
	r, err := openSimply(t.Context(), c, &simplePlanner{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Run(t.Context()), r.Close()); err != nil {
		t.Fatal(err)
	}
	if rec, _ := r.Record("1"); rec.State != Succeeded || rec.Runs != 2 {
		t.Errorf("%v after %d runs: %s", rec.State, rec.Runs, rec.Err)
	}
	if _, err := supervise.Find(pid); err != nil {
		t.Errorf("the process on the other host was ended: %v", err)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := supervise.Find(pid); return err != nil })
}

// TestDescendants runs tasks that leave processes behind in sessions of their own,
// as launchers of several processes do: they end with their task, however that ends.
func TestDescendants(t *testing.T) {
	const leave = `setsid sh -c 'setsid sh -c "while :; do sleep 0.05; done" "$1" & while :; do sleep 0.05; done' sh "$1" & touch "$1/up"; `
	for name, script := range map[string]string{"ended": "", "killed": "sleep 1000"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := newRig(t, dir, gpuFile(1), nil)
			g.submit(t, shell(leave+script, dir))
			done := g.start(t)
			if script != "" {
				waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "up")); return err == nil })
				if err := g.Kill("1"); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			noProcess(t, dir)
		})
	}
}
