//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/profile"
)

// TestDescribe describes a task of which nothing was known while it runs: a
// second one joins it on its GPU, and what was learned survives the runner.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	wait := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	wait.Memory = 0
	g.submit(t, wait, wait, wait)
	done := g.start(t)
	g.inState(t, "1", Running)
	if r := g.record(t, "1"); r.Reserved != 36*profile.GiB {
		t.Errorf("%v are reserved for a task of which nothing is known, want all", r.Reserved)
	}
	if err := g.Describe(nil, 0, "1", "no such"); !errors.Is(err, ErrUnknown) {
		t.Errorf("error is %v, want ErrUnknown", err)
	}
	p := newProfile(t)
	if err := g.Describe(p, 0, "1"); err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "1"); r.Reserved != 4*profile.GiB {
		t.Errorf("%v are reserved, want what the planner says of a task of that kind", r.Reserved)
	}
	for id, memory := range map[string]profile.Bytes{"1": 3 * profile.GiB, "2": 0} { // the planner says 4 GiB
		if err := g.Describe(p, memory, id); err != nil {
			t.Fatal(err)
		}
	}
	g.inState(t, "2", Running)
	for id, want := range map[string]profile.Bytes{"1": 3 * profile.GiB, "2": 4 * profile.GiB} {
		if r := g.record(t, id); r.Reserved != want || r.State != Running || r.Runs != 1 {
			t.Errorf("task %s is %v in run %d with %v reserved, want %v", id, r.State, r.Runs, r.Reserved, want)
		}
	}
	if got, want := g.GPUs()[0].Reserved, 7*profile.GiB; got != want {
		t.Errorf("%v are reserved, want %v", got, want)
	}
	if err := g.Describe(p, 0); err != nil {
		t.Error(err)
	}
	if r := g.record(t, "3"); r.State != Queued {
		t.Errorf("task 3 is %v beside others, and nothing is known of it", r.State)
	}
	g.Drain()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrDrained) {
		t.Fatal(err)
	}
	if err := g.Describe(p, profile.GiB, "1"); err != nil {
		t.Errorf("to describe what is over: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(1), nil)
	a, b := again.record(t, "1").Task, again.record(t, "2").Task
	if a.Profile == nil || a.Profile != b.Profile || a.Profile.Spec.Model.Name != "small" || a.Memory != 3*profile.GiB {
		t.Errorf("the profiles are %p and %p, the memory is %v", a.Profile, b.Profile, a.Memory)
	}
	again.finish(t)
}

// TestDescribeAgain describes a task twice, as where more was learned of it: the last
// profile is the one that is there after the runner.
func TestDescribeAgain(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	g.submit(t, shell("true"))
	better := newProfile(t)
	better.Spec.Model.Name = "better known"
	for _, p := range []*profile.Profile{newProfile(t), better} {
		if err := g.Describe(p, 0, "1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if p := newRig(t, dir, gpuFile(1), nil).record(t, "1").Task.Profile; p == nil || p.Spec.Model.Name != "better known" {
		t.Errorf("the profile is %+v", p)
	}
}

// TestDescribeMany describes many tasks at once: it is one transaction, with one copy
// of the profile.
func TestDescribeMany(t *testing.T) {
	const tasks = 2000
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	all := make([]Task, tasks)
	for i := range all {
		all[i] = shell("true")
	}
	ids := g.submit(t, all...)
	before := g.store.Written()
	if err := g.Describe(newProfile(t), profile.GiB, ids...); err != nil {
		t.Fatal(err)
	}
	if wrote := g.store.Written() - before; wrote > 20+tasks/4 {
		t.Errorf("%d pages were written for %d records", wrote, tasks)
	}
}

// TestDescribeWakes: a task that waits for room starts when less is told of it, without a wait for
// the next look.
func TestDescribeWakes(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Watch, c.OnEvent = time.Hour, nil }) // who listens wakes it, too
	large := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	small := shell(`touch "$1"`, filepath.Join(dir, "go"))
	large.Memory, small.Memory = 30*profile.GiB, 10*profile.GiB
	g.submit(t, large, small)
	done := g.start(t)
	g.inState(t, "1", Running)
	waitFor(t, func() bool { return g.record(t, "2").Waiting != "" })
	if err := g.Describe(newProfile(t), 5*profile.GiB, "2"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
