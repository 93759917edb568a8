//go:build linux

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// leaveRunning starts tasks and leaves them, as a runner that dies does.
func (g *rig) leaveRunning(t *testing.T, tasks ...Task) {
	t.Helper()
	ids := g.submit(t, tasks...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	for _, id := range ids {
		g.inState(t, id, Running)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRebuilt damages the queue file while tasks run, and submits them again: those
// that still run, or succeeded meanwhile, do not run a second time; others do.
func TestRebuilt(t *testing.T) {
	dir := t.TempDir()
	effects := filepath.Join(dir, "effects")
	task := func(id, wait string) Task {
		s := shell(`until [ -e "$1" ]; do sleep 0.01; done; echo "$COLLOC_TASK $2" >>"$3"`, filepath.Join(dir, wait), "same", effects)
		s.ID = id
		return s
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := newRig(t, dir, gpuFile(2), nil)
	g.leaveRunning(t, task("lives", "go"), task("ends", "early"), task("other", "go"))
	touch("early")
	waitFor(t, func() bool { _, ok := supervise.ReadExit(filepath.Join(g.dir, "runs-1", "000002.1")); return ok })
	path := filepath.Join(g.dir, backlog.File)
	if err := os.WriteFile(path, make([]byte, 1<<15), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := testConfig(g.dir, g.gpus)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSimply(t.Context(), c, &simplePlanner{}); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("error is %v, want ErrCorrupt", err)
	}
	again := newRig(t, dir, gpuFile(2), nil)
	changed := task("other", "go")
	changed.Command[2] = "changed"
	again.submit(t, task("lives", "go"), task("ends", "early"), changed)
	if r := again.record(t, "lives"); r.State != Starting || r.GPU == "" || len(again.GPUs()[0].Tasks)+len(again.GPUs()[1].Tasks) != 1 {
		t.Errorf("the task that lives is %v on %q, GPUs have %v", r.State, r.GPU, again.GPUs())
	}
	touch("go")
	for _, r := range again.finish(t) {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
	noProcess(t, dir)
	text, err := os.ReadFile(effects)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"lives same", "ends same", "other changed"} {
		if strings.Count(string(text), line+"\n") != 1 {
			t.Errorf("%q took effect not once:\n%s", line, text)
		}
	}
}

// TestRebuiltBooks submits a task again that still runs, to a queue that was lost: it is
// in the books, so that its memory is not promised to another, and its process and its progress are known.
func TestRebuiltBooks(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	holds := shell(`echo 7 >"$COLLOC_PROGRESS"; until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	holds.ID, holds.Memory = "holds", 30*profile.GiB
	waits := shell("true")
	waits.ID, waits.Memory = "waits", 10*profile.GiB
	g.leaveRunning(t, holds)
	if err := os.Remove(filepath.Join(g.dir, backlog.File)); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), nil)
	again.submit(t, holds, waits)
	done := again.start(t)
	waitFor(t, func() bool { r := again.record(t, "waits"); return r.Waiting != "" || r.Runs > 0 })
	if r := again.record(t, "waits"); r.State != Queued {
		t.Errorf("the other task is %v", r.State)
	}
	waitFor(t, func() bool {
		r := again.record(t, "holds")
		return r.State == Running && r.PID > 0 && r.Step.Or(0) == 7
	})
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range again.Records() {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
}

// TestRebuiltBeside submits a task again that still runs, beside one that runs under MPS
// since: it shares as that does.
func TestRebuiltBeside(t *testing.T) {
	dir := t.TempDir()
	holds := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	other := holds
	holds.ID, other.ID = "holds", "other"
	g := newRig(t, dir, gpuFile(1), nil)
	g.leaveRunning(t, holds)
	if err := os.Remove(filepath.Join(g.dir, backlog.File)); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), func(c *Config) {
		c.Mechanisms = []profile.Mechanism{profile.MPS}
		c.MPSPipeDir = func(nvmlx.DeviceID) string { return dir }
	})
	again.submit(t, other)
	done := again.start(t)
	again.inState(t, "other", Running)
	again.submit(t, holds)
	if r := again.record(t, "holds"); r.Mechanism != profile.MPS {
		t.Errorf("it shares by %v", r.Mechanism)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestAdoptBooks opens a queue again whose tasks run: they are on their card and in
// the books, so that memory is not promised twice, and their profiles are known.
func TestAdoptBooks(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	holds := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	holds.Memory, holds.Profile = 30*profile.GiB, newProfile(t)
	waits := shell("true")
	waits.Memory, waits.Profile = 10*profile.GiB, newProfile(t)
	g.leaveRunning(t, holds)
	again := newRig(t, dir, gpuFile(1), nil)
	if s := again.GPUs()[0]; len(s.Tasks) != 1 || s.Reserved != 30*profile.GiB {
		t.Errorf("the GPU has tasks %q and %v reserved", s.Tasks, s.Reserved)
	}
	again.submit(t, waits)
	done := again.start(t)
	waitFor(t, func() bool { return again.record(t, "2").Waiting != "" })
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v, want ErrClosed", err)
	}
	last := newRig(t, dir, gpuFile(1), nil)
	for _, r := range last.Records() {
		if p := r.Task.Profile; p == nil || p.Spec.Model.Name != "small" {
			t.Errorf("the profile of task %s is lost", r.Task.ID)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range last.finish(t) {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
}

// TestRebuiltServe: a daemon counts from 1 again when its queue is lost, and does not take another
// task's run for that of one that looks the same.
func TestRebuiltServe(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	same := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	g.leaveRunning(t, same)
	if err := os.Remove(filepath.Join(g.dir, backlog.File)); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), func(c *Config) { c.Serve = true })
	again.submit(t, same)
	if r := again.record(t, "1"); r.State != Queued || r.Runs != 0 {
		t.Errorf("the task is %v after %d runs", r.State, r.Runs)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noProcess(t, g.dir)
}
