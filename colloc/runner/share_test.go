//go:build linux

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/profile"
)

// TestShared runs two runners on one GPU: what the one has reserved, and its task has
// not allocated, the other does not take, before and after the first one is gone.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	share := func(c *Config) { c.Shared = filepath.Join(dir, "shared") }
	var rigs []*rig
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		rigs = append(rigs, newRig(t, filepath.Join(dir, name), gpuFile(1), share))
	}
	task := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	task.Memory = 20 * profile.GiB
	small := shell("true")
	rigs[0].leaveRunning(t, task)
	rigs[1].submit(t, task, small)
	done := rigs[1].start(t)
	rigs[1].inState(t, "2", Succeeded)
	waitFor(t, func() bool { return rigs[1].record(t, "1").Waiting != "" })
	again := newRig(t, filepath.Join(dir, "a"), gpuFile(1), share) // adopts its own: nobody else's
	again.submit(t, small)
	over := again.start(t)
	again.inState(t, "2", Succeeded)
	if r := rigs[1].record(t, "1"); r.State != Queued {
		t.Errorf("a task that does not fit beside that of another runner is %v", r.State)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan error{done, over} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []*rig{rigs[1], again} {
		for _, r := range g.Records() {
			if r.State != Succeeded || r.Runs != 1 {
				t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "shared")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	c, err := testConfig(filepath.Join(dir, "c"), rigs[0].gpus)
	if err != nil {
		t.Fatal(err)
	}
	c.Shared = open
	if _, err := openSimply(t.Context(), c, &simplePlanner{}); err == nil {
		t.Error("a folder that others may write to is taken")
	}
}

// TestCloseWhileStarting closes a runner before the supervisor of its run has told whose
// process it is: the book has that process all the same, so that who adopts the run, and
// who shares the GPU, counts it once.
func TestCloseWhileStarting(t *testing.T) {
	dir := t.TempDir()
	gate, book := filepath.Join(dir, "gate"), filepath.Join(dir, "shared")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	share := func(c *Config) { c.Shared = book }
	g := newRig(t, dir, gpuFile(1), share)
	task := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	task.Env = []string{gateVariable + "=" + gate}
	g.submit(t, task)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	g.inState(t, "1", Starting)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	opened := make(chan error, 1)
	go func() {
		for closed := false; !closed; runtime.Gosched() {
			g.mu.Lock()
			closed = g.closed
			g.mu.Unlock()
		}
		file, err := os.OpenFile(gate, os.O_WRONLY, 0)
		opened <- errors.Join(err, file.Close())
	}()
	if err := errors.Join(g.Close(), <-opened); err != nil {
		t.Fatal(err)
	}
	other, err := shared.Open(book)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := other.Hold()
	if err != nil || len(runs) != 1 || !runs[0].Process.Alive() {
		t.Errorf("the book has %+v, %v; want one run with its process", runs, err)
	}
	if err := errors.Join(other.Release(nil), other.Leave(nil), os.WriteFile(filepath.Join(dir, "go"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), share)
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := again.record(t, "1"); r.State != Succeeded || r.Runs != 1 {
		t.Errorf("the task is %v after %d runs: %s", r.State, r.Runs, r.Err)
	}
}

// TestEmptierCard starts four tasks on two cards that are equally good: two on each.
func TestEmptierCard(t *testing.T) {
	dir := t.TempDir()
	gpus, released := filepath.Join(dir, "gpus.json"), filepath.Join(dir, "go")
	if err := os.WriteFile(gpus, []byte(gpuFile(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := testConfig(filepath.Join(dir, "state"), gpus)
	if err != nil {
		t.Fatal(err)
	}
	c.PerGPU = 4
	if err := errors.Join(c.check(), c.fill()); err != nil {
		t.Fatal(err)
	}
	r, err := openWith(t.Context(), c, &simplePlanner{})
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{Runner: r}
	for range 4 {
		g.submit(t, shell(`until [ -e "$1" ]; do sleep 0.01; done`, released))
	}
	done := g.start(t)
	waitFor(t, func() bool { s := g.GPUs(); return len(s[0].Tasks)+len(s[1].Tasks) == 4 })
	if s := g.GPUs(); len(s[0].Tasks) != 2 {
		t.Errorf("the tasks are on the cards as %q and %q", s[0].Tasks, s[1].Tasks)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-done, g.Close()); err != nil {
		t.Fatal(err)
	}
}
