//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		task   Task
		state  State
		exit   int
		signal int
		err    string
		output string
	}{
		{"output", shell("echo out; echo err >&2"), Succeeded, 0, 0, "", "out\nerr\n"},
		{"no shell", Task{Command: []string{"echo", "$HOME", "a  b", ";"}}, Succeeded, 0, 0, "", "$HOME a  b ;\n"},
		{"arguments of a script", shell(`echo "$2" "$1"`, "a", "b"), Succeeded, 0, 0, "", "b a\n"},
		{"folder", Task{Command: []string{"pwd"}, Dir: "/"}, Succeeded, 0, 0, "", "/\n"},
		{"program beside the task", Task{Command: []string{"./sh"}, Dir: "/bin"}, Succeeded, 0, 0, "", ""},
		{"no input", Task{Command: []string{"cat"}}, Succeeded, 0, 0, "", ""},
		{"exit code", shell("exit 3"), Failed, 3, 0, "exit code 3", ""},
		{"signal", shell("kill -11 $$"), Failed, -1, 11, "ended by signal 11 (segmentation fault)", ""},
		{"no program", Task{Command: []string{"no-such-program"}}, Failed, -1, 0, `command "no-such-program" is not in the PATH of the task`, ""},
		{"no file", Task{Command: []string{"/no/such"}}, Failed, -1, 0, `command "/no/such": no such file or directory`, ""},
		{"not executable", Task{Command: []string{plain}}, Failed, -1, 0, "is not a program that may be executed", ""},
		{"no folder", Task{Command: []string{"pwd"}, Dir: "/no/such"}, Failed, -1, 0, "no such file or directory", ""},
		{"session", shell(`test "$$" = "$(cut -d' ' -f6 /proc/$$/stat)"`), Succeeded, 0, 0, "", ""},
	}
	g := newRig(t, dir, gpuFile(4), nil)
	for _, test := range tests {
		g.submit(t, test.task)
	}
	for i, r := range g.finish(t) {
		test := tests[i]
		t.Run(test.name, func(t *testing.T) {
			if r.State != test.state || r.Exit != test.exit || r.Signal != test.signal {
				t.Errorf("%v with exit code %d, signal %d, want %v, %d, %d", r.State, r.Exit, r.Signal, test.state, test.exit, test.signal)
			}
			if !strings.Contains(r.Err, test.err) || (r.Err == "") != (test.err == "") {
				t.Errorf("error is %q, want %q", r.Err, test.err)
			}
			if r.PID != 0 && output(t, r) != test.output {
				t.Errorf("output is %q, want %q", output(t, r), test.output)
			}
			if r.Started.IsZero() || r.Ended.Before(r.Submitted.Add(-time.Second)) {
				t.Errorf("started %v, ended %v", r.Started, r.Ended)
			}
		})
	}
}

// TestLong: a run may take longer than a supervisor may take to begin one.
func TestLong(t *testing.T) {
	t.Parallel()
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("sleep 11"))
	if r := g.finish(t)[0]; r.State != Succeeded || r.Runs != 1 {
		t.Errorf("%v after %d runs: %s", r.State, r.Runs, r.Err)
	}
}

// TestOrder runs tasks one after the other and looks at the order.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	effects := filepath.Join(dir, "effects")
	task := func(id string, priority int, after ...Dependency) Task {
		s := shell(`echo "$COLLOC_TASK" >>"$1"; test "$COLLOC_TASK" != bad`, effects)
		s.ID, s.Priority, s.After = id, priority, after
		return s
	}
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.PerGPU = 1 })
	g.submit(t,
		task("last", -1),
		task("second", 0, Dependency{Task: "first"}),
		task("first", 0),
		task("bad", 5),
		task("never", 9, Dependency{Task: "bad"}),
		task("nor this", 9, Dependency{Task: "never"}),
		task("anyway", 9, Dependency{Task: "never", Any: true}),
		task("early", 3),
	)
	records := g.finish(t)
	text, err := os.ReadFile(effects)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(string(text)), []string{"bad", "anyway", "early", "first", "second", "last"}; !slices.Equal(got, want) {
		t.Errorf("order is %q, want %q", got, want)
	}
	for id, want := range map[string]string{"never": "bad, which is failed", "nor this": "never, which is cancelled"} {
		i := slices.IndexFunc(records, func(r Record) bool { return r.Task.ID == id })
		if r := records[i]; r.State != Cancelled || r.Err != "it waited for the success of task "+want {
			t.Errorf("task %q is %v: %s", id, r.State, r.Err)
		}
	}
}

func TestRetries(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	fails := shell(`exit "$COLLOC_RUN"`)
	fails.Retries = 2
	mends := shell(`test "$COLLOC_RUN" = 3`)
	mends.Retries = 5
	g.submit(t, fails, mends)
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		state      State
		runs, exit int
	}{{Failed, 3, 3}, {Succeeded, 3, 0}} {
		if r := g.Records()[i]; r.State != want.state || r.Runs != want.runs || r.Exit != want.exit {
			t.Errorf("%v after %d runs with exit code %d, want %+v", r.State, r.Runs, r.Exit, want)
		}
	}
	if err := g.Retry(); err != nil { // what succeeded stays
		t.Fatal(err)
	}
	for i, r := range g.finish(t) {
		if want := []int{6, 3}[i]; r.Runs != want {
			t.Errorf("task %s has %d runs after Retry, want %d", r.Task.ID, r.Runs, want)
		}
	}
}

// TestTimeout lets the time of two tasks pass: one ends when it is told, the other
// is killed when the time of grace is over.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script, end string
		grace       time.Duration
	}{
		"gentle":   {`touch "$1"; exec sleep 1000`, "signal 15 (terminated)", time.Hour},
		"stubborn": {`trap "" TERM; touch "$1"; sleep 1000 & wait; wait; sleep 1000`, "signal 9 (killed)", 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ready := filepath.Join(dir, "ready")
			g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Grace = test.grace })
			task := shell(test.script, ready)
			task.Timeout = time.Hour
			g.submit(t, task)
			done := g.start(t)
			waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
			g.mu.Lock()
			g.queue.ByID["1"].Started = g.now().Add(-2 * time.Hour)
			g.mu.Unlock()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if r := g.record(t, "1"); r.State != Failed || r.Err != "timed out after 1h0m0s (ended by "+test.end+")" {
				t.Errorf("%v: %s, want an end by %s", r.State, r.Err, test.end)
			}
			noProcess(t, g.dir)
		})
	}
}

func TestPlacement(t *testing.T) {
	dir := t.TempDir()
	// 40 GiB less 10 % headroom are 36 GiB; on the second GPU 20 GiB are not ours.
	g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB"}, {"name": "A100-40GB", "foreign": "20GiB"}]}`,
		func(c *Config) { c.PerGPU = 3; c.MemoryFloor = 2 * profile.GiB })
	held := filepath.Join(dir, "go")
	wait := func(memory profile.Bytes, alone bool) Task {
		s := shell(`until [ -e "$1" ]; do sleep 0.02; done`, held)
		s.Memory, s.Alone = memory, alone
		return s
	}
	g.submit(t, wait(30*profile.GiB, false))
	done := make(chan error, 1)
	go func() { done <- g.Run(t.Context()) }()
	g.inState(t, "1", Running)
	g.submit(t, wait(10*profile.GiB, false), wait(5*profile.GiB, false), wait(profile.GiB, false))
	waitFor(t, func() bool { return len(g.GPUs()[0].Tasks)+len(g.GPUs()[1].Tasks) == 4 })
	state := g.GPUs()
	if got := [][]string{state[0].Tasks, state[1].Tasks}; slices.Contains(got[0], "2") {
		t.Errorf("tasks are on %q", got)
	}
	alone := wait(profile.GiB, true)
	alone.ID = "alone"
	g.submit(t, alone)
	waitFor(t, func() bool { return g.record(t, "alone").Waiting != "" })
	if r := g.record(t, "alone"); r.State != Queued || !strings.Contains(r.Waiting, "it must not share") {
		t.Errorf("the task that must be alone is %v: %s", r.State, r.Waiting)
	}
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "alone"); r.State != Succeeded {
		t.Errorf("the task that must be alone is %v: %s", r.State, r.Err)
	}
}

// TestPatience lets small tasks pass a large one that finds no room, but not for
// ever.
func TestPatience(t *testing.T) {
	t.Parallel()
	const small = 80
	dir := t.TempDir()
	var reads atomic.Int64
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.PerGPU, c.Source = 4, countedReads{c.Source, &reads} })
	first := shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go"))
	large := shell("true")
	first.Memory, large.Memory, large.ID = 10*profile.GiB, 30*profile.GiB, "large"
	g.submit(t, first, large)
	for range small {
		g.submit(t, shell("true"))
	}
	done := g.start(t)
	passed := func() (n int, idle bool) {
		for _, r := range g.Records()[2:] {
			if r.State == Succeeded {
				n++
			}
		}
		return n, slices.Equal(g.GPUs()[0].Tasks, []string{"1"})
	}
	waitFor(t, func() bool { n, idle := passed(); return n >= patience && idle })
	before := reads.Load()
	waitFor(t, func() bool { return reads.Load() > before+1 }) // a whole look
	if n, idle := passed(); n > patience+g.config.PerGPU || !idle {
		t.Errorf("%d small tasks passed the large one, want about %d", n, patience)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	records := g.Records()
	if r := records[1]; r.State != Succeeded || !r.Started.Before(records[len(records)-1].Started) {
		t.Errorf("the large task is %v and started at %v, the last small one at %v", r.State, r.Started, records[len(records)-1].Started)
	}
}

// countedReads counts how often the device is read, which every look does once.
type countedReads struct {
	nvmlx.Source

	n *atomic.Int64
}

func (s countedReads) Read(ctx context.Context, id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
	s.n.Add(1)
	return s.Source.Read(ctx, id, what)
}

// TestListener lets the listener call the runner, and hold it up.
func TestListener(t *testing.T) {
	dir := t.TempDir()
	var g *rig
	g = newRig(t, dir, gpuFile(1), func(c *Config) {
		c.queue, c.Sync = 1, true
		c.OnEvent = func(e Event) {
			g.events = append(g.events, e)
			if e.Kind == EventStarted && e.Record.Task.ID == "1" {
				g.submit(t, shell(`touch "$1"`, filepath.Join(dir, "go")))
				if len(g.Records()) < 2 || len(g.GPUs()) != 1 {
					t.Error("the listener sees no tasks")
				}
			}
		}
	})
	g.submit(t, shell(`until [ -e "$1" ]; do sleep 0.01; done`, filepath.Join(dir, "go")))
	g.finish(t)
	var kinds []string
	for _, e := range g.events {
		kinds = append(kinds, e.Kind.String()+" "+e.Record.Task.ID)
	}
	if slices.Index(kinds, "started 2") > slices.Index(kinds, "finished 2") {
		t.Errorf("a task ends before it starts: %q", kinds)
	}
	slices.Sort(kinds[min(3, len(kinds)):]) // the first may see the file before it is told that the second started
	if want := []string{"queued 1", "started 1", "queued 2", "finished 1", "finished 2", "started 2"}; !slices.Equal(kinds, want) {
		t.Errorf("events are %q, want %q", kinds, want)
	}
}

// waitFor waits for what other processes bring about: long, since they may get a
// small part of a machine that does much else.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
		<-tick.C
	}
}
