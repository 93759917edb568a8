//go:build linux

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// start runs the queue in a goroutine; the channel gets what Run returns.
func (g *rig) start(t *testing.T) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- g.Run(t.Context()) }()
	return done
}

// inState waits until a task is in a state.
func (g *rig) inState(t *testing.T, id string, s State) {
	t.Helper()
	waitFor(t, func() bool { return g.record(t, id).State == s })
}

func TestKill(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.PerGPU = 1 })
	family := shell(`trap "echo told; exit 3" TERM; sleep 1000 & wait`)
	family.Retries = 3
	g.submit(t, family, shell("true"), shell("true"))
	done := g.start(t)
	waitFor(t, func() bool { return strings.Contains(children(g.record(t, "1").PID), "sleep") })
	if err := g.Kill("1", "no such"); !errors.Is(err, ErrUnknown) {
		t.Errorf("error is %v, want ErrUnknown", err)
	}
	if err := g.Kill("2", "1"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]State{"1": Cancelled, "2": Cancelled, "3": Succeeded} {
		if r := g.record(t, id); r.State != want || r.Ended.IsZero() {
			t.Errorf("task %s is %v, want %v; it ended at %v", id, r.State, want, r.Ended)
		}
	}
	r := g.record(t, "1")
	if got := output(t, r); got != "told\n" || r.Exit != 3 {
		t.Errorf("output is %q, exit code %d", got, r.Exit)
	}
	if p := (supervise.Process{PID: r.PID, Start: r.PIDStart}); p.Alive() {
		t.Error("the task lives")
	}
	if err := g.Kill(); err != nil {
		t.Errorf("to kill what is over: %v", err)
	}
	waitFor(t, func() bool { return syscall.Kill(-r.PID, 0) != nil }) // nothing of the group is left
}

// children names the programs whose parent is a process; none of one that is not yet
// there.
func children(pid int) string {
	if pid == 0 {
		return ""
	}
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		program, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			found.WriteString(program)
		}
	}
	return found.String()
}

func TestDrain(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.PerGPU = 1 })
	g.submit(t, shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go")), shell("true"))
	done := g.start(t)
	g.inState(t, "1", Running)
	g.Drain()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrDrained) {
		t.Errorf("error is %v, want ErrDrained", err)
	}
	if a, b := g.record(t, "1"), g.record(t, "2"); a.State != Succeeded || b.State != Queued {
		t.Errorf("tasks are %v and %v", a.State, b.State)
	}
	g.finish(t)
}

func TestHalt(t *testing.T) {
	for _, kill := range []bool{false, true} {
		dir := t.TempDir()
		g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Halt = Halt{Failures: 2, Kill: kill} })
		long := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
		g.submit(t, long, shell("false"), shell("false"), shell("false"))
		done := g.start(t)
		g.inState(t, "3", Failed)
		want := Cancelled
		if !kill {
			want = Succeeded
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; !errors.Is(err, ErrHalted) {
			t.Errorf("error is %v, want ErrHalted", err)
		}
		if a, b := g.record(t, "1"), g.record(t, "4"); a.State != want || b.State != Queued {
			t.Errorf("kill %v: tasks are %v and %v", kill, a.State, b.State)
		}
	}
}

// TestAdopt closes a runner whose tasks run; the next one adopts them, in the
// middle of a run and after its end.
func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(2), nil)
	wait := func(file string) Task {
		return shell(`until [ -e "$1" ]; do sleep 0.01; done; exit 4`, filepath.Join(dir, file))
	}
	family := shell(`test "$COLLOC_RUN" = 1 || exit 5; sleep 1000 & wait`)
	g.submit(t, wait("a"), wait("b"), wait("never"), family)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	for _, id := range []string{"1", "2", "3", "4"} {
		g.inState(t, id, Running)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	lost := g.record(t, "4")
	waitFor(t, func() bool { return strings.Contains(children(lost.PID), "sleep") })
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("a") // it ends while nobody looks
	waitFor(t, func() bool {
		_, ok := supervise.ReadExit(strings.TrimSuffix(g.record(t, "1").Log, supervise.LogEnd))
		return ok
	})
	supervisor, ok, err := supervise.ReadClaim(strings.TrimSuffix(lost.Log, supervise.LogEnd))
	if err != nil || !ok {
		t.Fatal("no claim", err)
	}
	if err := syscall.Kill(supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir, gpuFile(2), nil)
	done2 := again.start(t)
	if err := again.Kill("3"); err != nil {
		t.Fatal(err)
	}
	touch("b")
	if err := <-done2; err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]State{"1": Failed, "2": Failed, "3": Cancelled, "4": Failed} {
		r := again.record(t, id)
		runs, exit := 1, 4
		if id == "4" { // it was lost, and run again
			runs, exit = 2, 5
		}
		if r.State != want || r.Runs != runs || want == Failed && r.Exit != exit {
			t.Errorf("task %s is %v with exit code %d after %d runs: %s", id, r.State, r.Exit, r.Runs, r.Err)
		}
	}
	if r := again.record(t, "4"); r.LostRuns != 1 || r.Failures != 1 {
		t.Errorf("%d runs lost, %d failed", r.LostRuns, r.Failures)
	}
	waitFor(t, func() bool { return syscall.Kill(-lost.PID, 0) != nil }) // nothing of the group is left
	noProcess(t, dir)
}

// TestSpareUntilTimeout takes back that a task is to end: its time limit still ends it,
// as gently as any.
func TestSpareUntilTimeout(t *testing.T) {
	dir := t.TempDir()
	clock := steppedClock{new(atomic.Int64)}
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Clock = clock })
	task := shell(`n=0; trap 'n=$((n+1)); touch "$1/told"; [ $n -lt 2 ] || exit 0' TERM; touch "$1/ready"; while :; do sleep 0.01; done`, dir)
	task.Timeout = time.Hour
	g.submit(t, task)
	done := g.start(t)
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	if err := g.Kill("1"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "told")); return err == nil })
	if err := g.Spare("1"); err != nil {
		t.Fatal(err)
	}
	clock.offset.Store(int64(2 * time.Hour))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "1"); r.State != Failed || r.Err != "timed out after 1h0m0s (exit code 0)" {
		t.Errorf("%v: %s", r.State, r.Err)
	}
}

// TestSupervisorKilled is the same while the runner lives.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	task := shell(`test "$COLLOC_RUN" = 2 || sleep 1000`)
	task.Retries = 1
	g.submit(t, task)
	done := g.start(t)
	g.inState(t, "1", Running)
	r := g.record(t, "1")
	p, _, err := supervise.ReadClaim(strings.TrimSuffix(r.Log, supervise.LogEnd))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil { // it hands that on
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "1"); r.State != Succeeded || r.Runs != 2 {
		t.Errorf("task is %v after %d runs: %s", r.State, r.Runs, r.Err)
	}
	sleeps := shell(`test "$COLLOC_RUN" = 2 || { sleep 1000 & wait; }`)
	sleeps.ID = "killed"
	g.submit(t, sleeps)
	done = g.start(t)
	waitFor(t, func() bool { return strings.Contains(children(g.record(t, "killed").PID), "sleep") })
	r = g.record(t, "killed")
	if p, _, err = supervise.ReadClaim(strings.TrimSuffix(r.Log, supervise.LogEnd)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "killed"); r.State != Succeeded || r.Runs != 2 || r.LostRuns != 1 {
		t.Errorf("task is %v: %s", r.State, r.Err)
	}
	waitFor(t, func() bool { return syscall.Kill(-r.PID, 0) != nil }) // nothing of the group is left
}

func TestInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	c, err := testConfig(g.dir, g.gpus)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSimply(t.Context(), c, &simplePlanner{}); !errors.Is(err, ErrInUse) {
		t.Errorf("error is %v, want ErrInUse", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	_, err = g.Submit(shell("true"))
	for _, err := range []error{err, g.Run(t.Context()), g.Kill(), g.Retry()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("error is %v, want ErrClosed", err)
		}
	}
}
