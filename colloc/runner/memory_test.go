//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// helpAllocate claims memory of a fake GPU as a training program would: args are amounts,
// each followed by a file that tells it to go on; the last one may lack.
func helpAllocate(args []string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var all []func() error
	for i := 0; i < len(args); i += 2 {
		size, err := profile.ParseBytes(args[i])
		if err != nil {
			return err
		}
		free, err := fakegpu.Allocate(size)
		if err != nil {
			return err
		}
		all = append(all, free)
		for i+1 < len(args) {
			if _, err := os.Stat(args[i+1]); err == nil {
				break
			}
			<-tick.C
		}
	}
	var err error
	for _, free := range all {
		err = errors.Join(err, free())
	}
	return err
}

// TestRecovery lets a task run out of memory again and again: each time it is
// queued with the next step, and other tasks go on meanwhile.
func TestRecovery(t *testing.T) {
	p := newProfile(t)
	g := newRig(t, t.TempDir(), gpuFile(2), func(c *Config) {
		c.Mechanisms = []profile.Mechanism{profile.MPS, profile.TimeSlice}
	})
	lacks := shell("echo RESOURCE_EXHAUSTED: out of memory; exit 1")
	lacks.Memory, lacks.Profile = 8*profile.GiB, p
	g.submit(t, lacks)
	for range 10 {
		g.submit(t, shell("true"))
	}
	records := g.finish(t)
	r := records[0]
	if r.State != Failed || r.Runs != 3 || r.Recovery != RanAlone || r.Failures != 0 {
		t.Errorf("%v after %d runs, recovery %v, %d failures", r.State, r.Runs, r.Recovery, r.Failures)
	}
	if want := "out of memory, alone on a GPU: its output says so: RESOURCE_EXHAUSTED: out of memory"; r.Err != want {
		t.Errorf("error is %q, want %q", r.Err, want)
	}
	for _, r := range records[1:] {
		if r.State != Succeeded || r.Runs != 1 {
			t.Errorf("task %s is %v after %d runs", r.Task.ID, r.State, r.Runs)
		}
	}
	if e := g.events[0]; e.Kind != EventWarning || !strings.Contains(e.Text, "no MPS daemon listens in /tmp/nvidia-mps") {
		t.Errorf("the first event is %v: %s", e.Kind, e.Text)
	}
	type try struct {
		reserved  profile.Bytes
		mechanism profile.Mechanism
	}
	var tries []try
	for _, e := range g.events {
		if e.Record.Task.ID == "1" && e.Kind == EventStarted {
			tries = append(tries, try{e.Record.Reserved, e.Record.Mechanism})
		}
	}
	all := 36 * profile.GiB
	want := []try{{8 * profile.GiB, profile.MPS}, {12 * profile.GiB, profile.MPS}, {all, profile.MPS}}
	if !slices.Equal(tries, want) {
		t.Errorf("runs were %v, want %v", tries, want)
	}
	lacked := 0
	for _, o := range g.planner.observed {
		if m := o.Members[0]; m.OutOfMemory && m.Profile == p && m.Peak.Or(0) > 0 {
			lacked++
		}
	}
	if lacked != 3 {
		t.Errorf("%d observations of lacking memory, want 3", lacked)
	}
}

// TestRecoveryOfMemory lets a task use more than it reserved beside another one,
// on a fake GPU that has no more: it fails there, and succeeds with what it
// needs.
func TestRecoveryOfMemory(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	first, second := allocator(t, "22GiB", filepath.Join(dir, "go")), allocator(t, "20GiB")
	first.Memory, second.Memory = 22*profile.GiB, 14*profile.GiB
	first.ID, second.ID = "first", "second"
	g.submit(t, first)
	done := make(chan error, 1)
	go func() { done <- g.Run(t.Context()) }()
	waitFor(t, func() bool { return g.record(t, "first").Peak.Or(0) == 22*profile.GiB })
	g.submit(t, second)
	waitFor(t, func() bool { return g.record(t, "second").Recovery == queue.ReservedMore })
	if r := g.record(t, "second"); r.State != Queued {
		t.Errorf("second is %v beside the first: %s", r.State, r.Err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "second"); r.State != Succeeded || r.Reserved != 21*profile.GiB || r.Runs != 2 {
		t.Errorf("second is %v, reserved %v, after %d runs: %s", r.State, r.Reserved, r.Runs, r.Err)
	}
}

// TestPeakOfRun runs a task again that needs less the second time: what is on record, and
// learned, is of that run.
func TestPeakOfRun(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	needs := allocator(t)
	needs.Command = []string{`if [ "$COLLOC_RUN" = 1 ]; then "$1" 10GiB "$2"; exit 1; fi; exec "$1" 2GiB "$3"`, needs.Command[0], filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	needs.Shell, needs.Retries, needs.Memory, needs.Profile = true, 1, 12*profile.GiB, newProfile(t)
	g.submit(t, needs)
	done := g.start(t)
	for i, want := range []profile.Bytes{10 * profile.GiB, 2 * profile.GiB} {
		waitFor(t, func() bool { r := g.record(t, "1"); return r.Runs == i+1 && r.Peak.Or(0) > 0 })
		if r := g.record(t, "1"); r.Peak.Or(0) != want {
			t.Errorf("run %d used %v, want %v", r.Runs, r.Peak.Or(0), want)
		}
		if err := os.WriteFile(filepath.Join(dir, []string{"one", "two"}[i]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := len(g.planner.observed); n != 1 || g.planner.observed[0].Members[0].Peak.Or(0) != 2*profile.GiB {
		t.Errorf("learned %d times: %+v", n, g.planner.observed)
	}
}

// TestKilled ends tasks by SIGKILL: that is no lack of the GPU's memory, and one of
// the host's if the kernel counts victims.
func TestKilled(t *testing.T) {
	vmstat := filepath.Join(t.TempDir(), "vmstat")
	count := func(n string) {
		if err := os.WriteFile(vmstat, []byte("nr_free_pages 7\noom_kill "+n+"\noom_killer 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count("3")
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.vmstat = vmstat })
	killed := shell("kill -9 $$")
	killed.Profile = newProfile(t)
	g.submit(t, killed)
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := g.record(t, "1")
	if want := "ended by signal 9 (killed): by somebody, or by the kernel because the host's memory ran out, which dmesg tells"; r.State != Failed || r.Runs != 1 || r.Err != want {
		t.Errorf("%v after %d runs: %s", r.State, r.Runs, r.Err)
	}
	victim := shell(`if [ "$COLLOC_RUN" = 1 ]; then echo "oom_kill 4" >"$1"; exit 137; fi`, vmstat)
	victim.Profile = newProfile(t)
	g.submit(t, victim)
	r = g.finish(t)[1]
	if r.State != Succeeded || r.Runs != 2 || r.Recovery != RanAlone || r.Failures != 0 {
		t.Errorf("%v after %d runs, recovery %v, %d failures: %s", r.State, r.Runs, r.Recovery, r.Failures, r.Err)
	}
	for _, o := range g.planner.observed {
		if o.Members[0].OutOfMemory {
			t.Errorf("learned a lack of the GPU's memory: %+v", o)
		}
	}
}
