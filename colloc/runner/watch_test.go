//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// TestLostGPU takes a GPU away while a task runs there: the task runs again on
// the other one, whose task goes on.
func TestLostGPU(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB"}, {"name": "A100-40GB"}]}`, nil)
	wait := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	g.submit(t, wait, wait)
	done := g.start(t)
	g.inState(t, "1", Running)
	g.inState(t, "2", Running)
	g.rewrite(t, `{"gpus": [{"name": "A100-40GB", "lost": true}, {"name": "A100-40GB"}]}`)
	waitFor(t, func() bool { r := g.record(t, "1"); return r.Runs == 2 && r.State == Running })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Records() {
		if r.State != Succeeded || r.GPU != "GPU-fake-1" || r.Failures != 0 {
			t.Errorf("task %s is %v on %s: %s", r.Task.ID, r.State, r.GPU, r.Err)
		}
	}
	if !g.GPUs()[0].Lost {
		t.Error("the GPU is not lost")
	}
	g.rewrite(t, `{"gpus": []}`)
	waitFor(t, func() bool { return g.GPUs()[1].Lost })
	g.submit(t, shell("true"))
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "3"); r.State != Failed || r.Err != "no GPU is left" {
		t.Errorf("without GPUs the task is %v: %s", r.State, r.Err)
	}
	g.rewrite(t, gpuFile(2)) // and both come back
	waitFor(t, func() bool { gpus := g.GPUs(); return !gpus[0].Lost && !gpus[1].Lost })
	g.submit(t, shell("true"))
	if r := g.finish(t)[3]; r.State != Succeeded {
		t.Errorf("with GPUs that came back the task is %v: %s", r.State, r.Err)
	}
	found := 0
	for _, e := range g.events {
		if e.Kind == EventFound && strings.Contains(e.Text, "answers again") {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d GPUs were found again, want 2", found)
	}
}

func TestProgress(t *testing.T) {
	const pattern = `step (?P<step>\d+)/(?P<total>\d+)`
	tests := []struct {
		name        string
		task        Task
		progress    Progress
		step, total int64
		stepTime    time.Duration
	}{
		{"lines", shell(`echo step 1/30; echo step 2/30; echo done`), Progress{Pattern: pattern}, 2, 30, 0},
		{"progress bar", shell(`printf 'a\rstep 7/9\rb'`), Progress{Pattern: pattern}, 7, 9, 0},
		{"no end of line", shell(`printf 'step 8/9'`), Progress{Pattern: pattern}, 8, 9, 0},
		{"seconds", shell(`echo 0.25 s/it`), Progress{Pattern: `(?P<seconds>[\d.]+) s/it`, Total: 50}, -1, 50, 250 * time.Millisecond},
		{"rate", shell(`echo 8.0 it/s`), Progress{Pattern: `(?P<rate>[\d.]+) it/s`}, -1, -1, 125 * time.Millisecond},
		{"file", shell(`echo 5 20 >"$COLLOC_PROGRESS"`), Progress{}, 5, 20, 0},
		{"file without a total", shell(`echo 5 >"$COLLOC_PROGRESS"`), Progress{Total: 9}, 5, 9, 0},
		{"file with rubbish", shell(`echo five >"$COLLOC_PROGRESS"`), Progress{}, -1, -1, 0},
	}
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.PerGPU = 1 })
	for _, test := range tests {
		test.task.Progress = test.progress
		g.submit(t, test.task)
	}
	records := g.finish(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := records[i]
			if r.Step.Or(-1) != test.step || r.Total.Or(-1) != test.total || r.StepTime.Or(0) != test.stepTime {
				t.Errorf("step %v of %v, %v each", r.Step, r.Total, r.StepTime)
			}
			if slices.ContainsFunc(g.events, func(e Event) bool { return e.Kind == EventWarning && e.Record.Task.ID == r.Task.ID }) {
				t.Error("it is warned of a pattern that matched")
			}
		})
	}
}

// A pattern that never matched is told once, and of a daemon's tasks not of a run that failed
// or was short.
func TestNoSteps(t *testing.T) {
	r := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.Serve = true }).Runner
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, test := range []struct {
		name    string
		exit    int
		took    time.Duration
		matched bool
		warns   bool
	}{
		{"failed", 1, time.Minute, false, false},
		{"short", 0, Soon - 1, false, false},
		{"found", 0, time.Minute, true, false},
		{"not found", 0, time.Minute, false, true},
		{"nor again", 0, time.Minute, false, false},
	} {
		e := &backlog.Entry{Saved: backlog.Saved{Record: Record{Task: Task{ID: "7", Progress: Progress{Pattern: "loss (?P<step>.)"}}, Started: time.Unix(0, 0), Ended: time.Unix(0, 0).Add(test.took)}}}
		r.pending = nil
		r.checkPattern(e, &supervise.Outcome{Exit: test.exit}, progress.Reading{Matched: test.matched})
		warned := len(r.pending) == 1 && strings.HasPrefix(r.pending[0].Text, "no steps were found in the output of task 7") && !strings.Contains(r.pending[0].Text, "loss")
		if warned != test.warns {
			t.Errorf("%s: warned is %v, want %v: %+v", test.name, warned, test.warns, r.pending)
		}
	}
	r.pending = nil
}

// TestSpeed lets tasks tell ten steps at each look when alone and five when they
// share: the speed is learned as one half, once they shared for as long as a window, which begins
// with the next look.
func TestSpeed(t *testing.T) {
	dir := t.TempDir()
	clock := &stepClock{time: time.Unix(1e9, 0)}
	g := newRig(t, dir, gpuFile(1), func(c *Config) {
		c.Clock = clock // nobody looks but the test
		c.Window = 3 * time.Second
	})
	p := newProfile(t)
	wait := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	wait.Profile = p
	first, second := wait, wait
	g.submit(t, first)
	done := g.start(t)
	g.inState(t, "1", Running)
	look := func(steps ...int) {
		clock.step(time.Second)
		for i, n := range steps {
			path := strings.TrimSuffix(g.Records()[i].Log, supervise.LogEnd) + supervise.StepsEnd
			if err := os.WriteFile(path, fmt.Append(nil, n, " ", 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g.look(t.Context())
	}
	for n := 10; n <= 50; n += 10 { // the first look opens a window, the fourth closes it and opens another
		look(n)
	}
	g.submit(t, second)
	g.inState(t, "2", Running)
	for n := range 4 {
		look(60+5*n, 5*n)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	g.planner.mu.Lock()
	defer g.planner.mu.Unlock()
	for _, o := range g.planner.observed {
		if len(o.Members) != 2 {
			continue
		}
		for i, m := range o.Members {
			if m.Speed != profile.Some(0.5) || m.Profile != p {
				t.Errorf("member %d has speed %v", i, m.Speed)
			}
		}
		if r := g.record(t, "2"); r.Speed != profile.Some(0.5) {
			t.Errorf("the record has speed %v", r.Speed)
		}
		return
	}
	t.Errorf("no co-run was observed: %+v", g.planner.observed)
}

// TestRelist changes which GPUs there are, as another layout of MIG does: what is new takes
// tasks, what is gone does not, and a task whose GPU goes runs again elsewhere.
func TestRelist(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB", "id": "old-a"}, {"name": "A100-40GB", "id": "stays"}]}`, func(c *Config) { c.PerGPU = 1 })
	wait := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	g.submit(t, wait, wait)
	done := g.start(t)
	g.inState(t, "1", Running)
	g.inState(t, "2", Running)
	g.rewrite(t, `{"gpus": [{"name": "A100-40GB", "id": "stays"}, {"name": "T4", "id": "new-a"}, {"name": "T4", "id": "new-b"}]}`)
	names := func() (ids []string) {
		for _, s := range g.GPUs() {
			ids = append(ids, string(s.Device.ID))
		}
		return ids
	}
	waitFor(t, func() bool { return slices.Equal(names(), []string{"stays", "new-a", "new-b"}) })
	g.submit(t, wait)
	waitFor(t, func() bool { r := g.record(t, "1"); return r.State == Running && r.Runs == 2 })
	g.inState(t, "3", Running)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i, r := range g.finish(t) {
		if r.State != Succeeded || r.Failures != 0 || (r.GPU == "stays") != (i == 1) || r.GPU == "old-a" {
			t.Errorf("task %s is %v on %s: %s", r.Task.ID, r.State, r.GPU, r.Err)
		}
	}
}

// TestInherited opens a queue on a host that has lost its largest GPU since: the task that
// fitted it waits for another, with a reason, and one that comes now is refused.
func TestInherited(t *testing.T) {
	const small = `{"gpus": [{"name": "T4", "id": "small"}]}`
	serve := func(c *Config) { c.Serve = true }
	dir := t.TempDir()
	large := shell("true")
	large.ID, large.Memory = "old", 30*profile.GiB
	g := newRig(t, dir, `{"gpus": [{"name": "T4", "id": "small"}, {"name": "A100-40GB", "id": "a"}]}`, serve)
	g.submit(t, large)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	g = newRig(t, dir, small, serve)
	large.ID = "new"
	if _, err := g.Submit(large); err == nil || !strings.Contains(err.Error(), "Memory is 30 GiB, want at most the 14.4 GiB") {
		t.Errorf("a task for the GPU that is gone: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	waitFor(t, func() bool { return g.record(t, "old").Waiting != "" || g.record(t, "old").State.Over() })
	if r := g.record(t, "old"); r.State != Queued || !strings.HasPrefix(r.Waiting, "fits no GPU") {
		t.Errorf("the task that waited before is %v, waits because %q: %s", r.State, r.Waiting, r.Err)
	}
	g.rewrite(t, `{"gpus": [{"name": "T4", "id": "small"}, {"name": "A100-40GB", "id": "b"}]}`)
	waitFor(t, func() bool { return g.record(t, "old").State.Over() })
	if r := g.record(t, "old"); r.State != Succeeded || r.GPU != "b" {
		t.Errorf("it is %v on %q: %s", r.State, r.GPU, r.Err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

// TestAbsent lets tasks wait, where the runner serves, that fit only GPUs that are not there
// now: they run once those come back. What never fitted them fails, and what fits another runs.
func TestAbsent(t *testing.T) {
	const all = `{"gpus": [{"name": "T4", "id": "small"}, {"name": "A100-40GB", "id": "a"}, {"name": "A100-40GB", "id": "b"}]}`
	for name, without := range map[string]string{
		"gone": `{"gpus": [{"name": "T4", "id": "small"}]}`,
		"lost": strings.ReplaceAll(all, `"A100-40GB"`, `"A100-40GB", "lost": true`),
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, t.TempDir(), all, func(c *Config) { c.Serve = true })
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- g.Run(ctx) }()
			task := func(id string, gpus int, memory profile.Bytes) Task {
				t := shell("true")
				t.ID, t.GPUs, t.Memory, t.Held = id, gpus, memory, true
				return t
			}
			g.submit(t, task("gang", 2, 10*profile.GiB), task("large", 1, 30*profile.GiB), task("large too", 1, 30*profile.GiB),
				task("too wide", 3, profile.GiB), task("fits", 1, profile.GiB))
			g.rewrite(t, without)
			waitFor(t, func() bool {
				states := g.GPUs()
				return !slices.ContainsFunc(states, func(s GPUState) bool { return s.Device.ID != "small" && !s.Lost })
			})
			if err := g.Release(); err != nil {
				t.Fatal(err)
			}
			g.inState(t, "fits", Succeeded)
			g.inState(t, "too wide", Failed)
			for _, id := range []string{"gang", "large", "large too"} {
				waitFor(t, func() bool { return g.record(t, id).Waiting != "" || g.record(t, id).State.Over() })
				if r := g.record(t, id); r.State != Queued || !strings.HasPrefix(r.Waiting, fleet.ErrAbsent.Error()) {
					t.Errorf("without its GPUs task %s is %v, waits because %q: %s", id, r.State, r.Waiting, r.Err)
				}
			}
			g.rewrite(t, all)
			for _, id := range []string{"gang", "large", "large too"} {
				waitFor(t, func() bool { return g.record(t, id).State.Over() })
				if r := g.record(t, id); r.State != Succeeded {
					t.Errorf("with its GPUs again task %s is %v: %s", id, r.State, r.Err)
				}
			}
			stop()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// TestWarnings: each is told once, until there were too many to remember.
func TestWarnings(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	told := func(key string) bool {
		g.pending = nil
		g.warn(key, nil, "text")
		return len(g.pending) > 0
	}
	if !told("a") || told("a") {
		t.Error("a warning is not told once")
	}
	for i := range maxWarned {
		told(strconv.Itoa(i))
	}
	if !told("a") || told("a") {
		t.Error("after many others a warning is not told once again")
	}
	g.pending = nil
}

// TestSessions: a run whose processes are not known yet has no session, so that nobody else's
// are taken for its.
func TestSessions(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("true"))
	g.mu.Lock()
	starts := g.place()
	g.mu.Unlock()
	entries, sessions := g.inProgress()
	if len(starts) != 1 || len(entries) != 1 || len(sessions) != 0 {
		t.Errorf("%d start, %d run, in the sessions %v", len(starts), len(entries), sessions)
	}
	g.mu.Lock()
	g.unplace(starts)
	g.mu.Unlock()
	g.finish(t)
}

// sleepClock is one whose host sleeps for an hour at the first wait. It notes how long the first
// three waits are to be.
type sleepClock struct {
	stepClock

	waits []time.Duration
}

func (c *sleepClock) NewWaiter() nvmlx.Waiter { return c }

func (c *sleepClock) Wait(_ context.Context, until time.Time) error {
	c.waits = append(c.waits, until.Sub(c.Now()))
	switch len(c.waits) {
	case 1:
		c.step(time.Hour)
	case 3:
		return context.Canceled
	default:
		c.step(c.waits[1])
	}
	return nil
}

// TestWatchAfterSleep: looks that a host slept through are not made up for.
func TestWatchAfterSleep(t *testing.T) {
	c := &sleepClock{stepClock: stepClock{time: time.Unix(1_800_000_000, 0)}}
	g := newRig(t, t.TempDir(), gpuFile(1), func(config *Config) { config.Watch, config.Clock = time.Minute, c })
	g.work.Wait()
	if want := []time.Duration{time.Minute, time.Minute, time.Minute}; !slices.Equal(c.waits, want) {
		t.Errorf("waits are %v, want %v", c.waits, want)
	}
}

// TestCycle: how long a program takes from one beginning to the next is told, on average where
// several were seen at once.
func TestCycle(t *testing.T) {
	c := &stepClock{time: time.Unix(1_800_000_000, 0)}
	g := newRig(t, t.TempDir(), gpuFile(1), func(config *Config) { config.Clock = c })
	e := &backlog.Entry{}
	for i, tt := range []struct {
		after    time.Duration
		restarts int
		want     time.Duration
	}{{0, 0, 0}, {time.Minute, 1, 0}, {30 * time.Second, 3, 15 * time.Second}, {9 * time.Second, 4, 9 * time.Second}} {
		c.step(tt.after)
		g.apply(e, progress.Reading{Step: profile.Some(int64(i)), Restarts: tt.restarts})
		if e.Cycle != tt.want || e.Restarts != tt.restarts {
			t.Errorf("reading %d: every %v, want %v; %d restarts", i, e.Cycle, tt.want, e.Restarts)
		}
	}
}

// TestRunTwice: one Run at a time, and none of a runner that is closed.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	g.submit(t, shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go")))
	done := g.start(t)
	g.inState(t, "1", Running)
	if err := g.Run(t.Context()); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("a second Run: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}
