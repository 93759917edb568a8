//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

func TestSubmitFaults(t *testing.T) {
	ok := Task{Command: []string{"true"}}
	with := func(change func(*Task)) Task {
		task := ok
		change(&task)
		return task
	}
	tests := []struct {
		name  string
		tasks []Task
		want  string
	}{
		{"no command", []Task{{}}, "Command is empty"},
		{"empty command", []Task{{Command: []string{""}}}, "Command is empty"},
		{"zero byte", []Task{{Command: []string{"a\x00b"}}}, "zero byte"},
		{"twice", []Task{with(func(t *Task) { t.ID = "a" }), with(func(t *Task) { t.ID = "a" })}, `duplicate task: "a"`},
		{"known", []Task{with(func(t *Task) { t.ID = "known" })}, `duplicate task: "known"`},
		{"variable", []Task{with(func(t *Task) { t.Env = []string{"SECRET"} })}, `Env is "SECRET"..., want KEY=value`},
		{"variable without a name", []Task{with(func(t *Task) { t.Env = []string{"=SECRET"} })}, `Env is ""..., want KEY=value`},
		{"variable with a zero byte", []Task{with(func(t *Task) { t.Env = []string{"A=b\x00"} })}, `Env is "A"..., want KEY=value`},
		{"Memory of no GPU", []Task{with(func(t *Task) { t.Memory = 37 * profile.GiB })}, "Memory is 37 GiB, want at most the 36 GiB that the largest GPU offers"},
		{"GPUs", []Task{with(func(t *Task) { t.GPUs = 2 })}, "GPUs is 2, want 0 for one, or up to the 1 that there are"},
		{"GPUs below 0", []Task{with(func(t *Task) { t.GPUs = -1 })}, "GPUs is -1"},
		{"cores", []Task{with(func(t *Task) { t.CPUs = -1 })}, "CPUs is -1"},
		{"steps", []Task{with(func(t *Task) { t.Progress.Total = -1 })}, "Progress.Total is -1"},
		{"memory", []Task{with(func(t *Task) { t.Memory = -1 })}, "Memory is -1"},
		{"slowdown", []Task{with(func(t *Task) { t.MaxSlowdown = 0.5 })}, "MaxSlowdown is 0.5"},
		{"retries", []Task{with(func(t *Task) { t.Retries = -1 })}, "Retries is -1"},
		{"timeout", []Task{with(func(t *Task) { t.Timeout = -1 })}, "Timeout is -1ns"},
		{"pattern", []Task{with(func(t *Task) { t.Progress.Pattern = "(" })}, "Progress.Pattern"},
		{"costly pattern", []Task{with(func(t *Task) { t.Progress.Pattern = "(?P<step>a+)" + strings.Repeat("a{0,999}", 9) })}, "repeat less"},
		{"no group", []Task{with(func(t *Task) { t.Progress.Pattern = "a" })}, "no group named step"},
		{"dependency", []Task{with(func(t *Task) { t.After = []Dependency{{Task: "b"}} })}, `After is "b"`},
		{"dependency twice", []Task{with(func(t *Task) { t.After = []Dependency{{Task: "known"}, {Task: "known"}} })}, `After is "known" twice`},
		{"itself", []Task{with(func(t *Task) { t.ID, t.After = "a", []Dependency{{Task: "a"}} })}, "it waits for itself"},
		{
			"each other",
			[]Task{
				with(func(t *Task) { t.ID, t.After = "a", []Dependency{{Task: "b"}} }),
				with(func(t *Task) { t.ID, t.After = "b", []Dependency{{Task: "a"}} }),
			},
			"it waits for itself",
		},
	}
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, Task{ID: "known", Command: []string{"true"}})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := g.Submit(test.tasks...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			if n := len(g.Records()); n != 1 {
				t.Errorf("%d tasks are in the queue, want 1", n)
			}
		})
	}
	ids := g.submit(t, with(func(t *Task) { t.ID, t.MaxSlowdown = "3", 1 }), ok, ok)
	if want := []string{"3", "4", "5"}; !slices.Equal(ids, want) {
		t.Errorf("IDs are %q, want %q", ids, want)
	}
}

func TestConfigFaults(t *testing.T) {
	_, err := Open(t.Context(), Config{
		PerGPU: -1, Headroom: profile.Some(1.0), MemoryFloor: -1, Grace: -1, Watch: -1, Window: -1,
		Overrun: 9, Beside: 1.1, Keep: -1, Halt: Halt{Failures: -1}, Mechanisms: []profile.Mechanism{profile.MIG},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Dir", "Source", "PerGPU", "Headroom", "MemoryFloor", "Grace", "Watch", "Window", "Overrun", "Beside", "Keep", "Halt.Failures", "Mechanisms"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("error does not name %s: %v", field, err)
		}
	}
	c, err := testConfig(t.TempDir(), writeGPUs(t, gpuFile(1)))
	if err != nil {
		t.Fatal(err)
	}
	c.GPUs = []nvmlx.DeviceID{"no such"}
	if _, err := openSimply(t.Context(), c, &simplePlanner{}); !errors.Is(err, nvmlx.ErrNoDevice) {
		t.Errorf("error is %v, want ErrNoDevice", err)
	}
}

// TestConfigDefaults: what is not said is as documented.
func TestConfigDefaults(t *testing.T) {
	var c Config
	if err := c.fill(); err != nil {
		t.Fatal(err)
	}
	for name, right := range map[string]bool{
		"PerGPU": c.PerGPU == colloc.DefaultMaxSet, "Headroom": c.Headroom == profile.Some(packer.DefaultHeadroom),
		"Grace": c.Grace == DefaultGrace, "Watch": c.Watch == DefaultWatch, "Window": c.Window == DefaultWindow, "Noun": c.Noun == "task",
		"Steady":   c.Steady == DefaultSteady,
		"LogLimit": c.LogLimit == DefaultLogLimit, "Halt.InARow": c.Halt.InARow == DefaultInARow,
		"Mechanisms": slices.Equal(c.Mechanisms, []profile.Mechanism{profile.TimeSlice}),
	} {
		if !right {
			t.Errorf("%s is not its default in %+v", name, c)
		}
	}
}

// TestConfigBeside: Beside takes Steady, which takes OverrunStop.
func TestConfigBeside(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		want float64
	}{
		{Config{Beside: 0.5, Overrun: OverrunReport, Steady: time.Minute}, 0},
		{Config{Beside: 0.5, Overrun: OverrunStop, Steady: -1}, 0},
		{Config{Beside: 0.5, Overrun: OverrunStop, Steady: 1}, 0.5},
	} {
		if got := tt.c.beside(); got != tt.want {
			t.Errorf("%v with %v, %v: %v, want %v", tt.c.Beside, tt.c.Overrun, tt.c.Steady, got, tt.want)
		}
	}
}

// helpOwner fails unless a user may submit tasks of that user alone.
func helpOwner([]string) error {
	r := &Runner{fleet: &fleet.Fleet{}}
	own := uint32(os.Geteuid())
	err := r.checkTask(&Task{Command: []string{"true"}, Owner: &Owner{UID: own}}, nil, 0)
	if other := r.checkTask(&Task{Command: []string{"true"}, Owner: &Owner{UID: own + 1}}, nil, 0); other == nil {
		err = errors.Join(err, errors.New("a task of another user is taken"))
	}
	return err
}

// TestOwnerOfOthers: who is not root runs no tasks of other users.
func TestOwnerOfOthers(t *testing.T) {
	c := exec.CommandContext(t.Context(), "/proc/self/exe")
	c.Env = append(os.Environ(), helperVariable+"=owner")
	if os.Geteuid() == 0 {
		const nobody = 65534
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func writeGPUs(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpus.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPlanner runs tasks with the real planner: of those of which nothing is
// known each gets a GPU to itself, the others share.
func TestPlanner(t *testing.T) {
	dir := t.TempDir()
	c, err := testConfig(filepath.Join(dir, "state"), writeGPUs(t, gpuFile(1)))
	if err != nil {
		t.Fatal(err)
	}
	running := make(map[string]bool)
	c.OnEvent = func(e Event) {
		switch e.Kind {
		case EventStarted:
			running[e.Record.Task.ID] = true
			if len(running) > 1 && (running["3"] || running["4"]) {
				t.Errorf("%v run at once, and nothing is known of 3 and 4", running)
			}
		case EventFinished:
			delete(running, e.Record.Task.ID)
		default:
		}
	}
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	// Each of two tasks waits for the other one to be there.
	meet := `touch "$1/$COLLOC_TASK"; until [ "$(ls "$1" | wc -l)" -ge 2 ]; do sleep 0.01; done`
	beside := filepath.Join(dir, "beside")
	if err := os.Mkdir(beside, 0o700); err != nil {
		t.Fatal(err)
	}
	known, unknown := shell(meet, beside), shell("true")
	known.Profile, unknown.Memory = newProfile(t), 0
	if err := known.Profile.Vector.Set(profile.MeanGPUBusy, 0.3); err != nil {
		t.Fatal(err)
	}
	known.Memory, known.Timeout = 2*profile.GiB, time.Minute
	if _, err := r.Submit(known, known, unknown, unknown); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range r.Records() {
		if rec.State != Succeeded {
			t.Errorf("task %s is %v: %s", rec.Task.ID, rec.State, rec.Err)
		}
	}
}

// TestUnsupervised starts a program whose main forgets Supervise: the runner
// in it works until it starts a task, and that program refuses to be one.
func TestUnsupervised(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, filepath.Join(t.TempDir(), "state"), writeGPUs(t, gpuFile(1)))
	command.Env = append(os.Environ(), helperVariable+"=forget")
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "failed: the supervisor (exit status 1) did not take the run; "+supervise.ErrUnsupervised.Error()) {
		t.Errorf("error is %v, output:\n%s", err, out)
	}
}

// helpForget is a main that runs a task and does not call Supervise.
func helpForget(args []string) error {
	if len(args) < 2 {
		return errors.New("want a folder and a file")
	}
	c, err := testConfig(args[0], args[1])
	if err != nil {
		return err
	}
	r, err := Open(context.Background(), c) // refuses to work in a supervisor
	if err != nil {
		return err
	}
	if _, err := r.Submit(shell("echo must not run")); err != nil {
		return err
	}
	if err := r.Run(context.Background()); err != nil {
		return err
	}
	fmt.Println(r.Records()[0].State.String() + ": " + r.Records()[0].Err)
	return r.Close()
}

// TestNoLimit submits a task that bears any slowdown, which the queue file must hold,
// and which the real planner takes.
func TestNoLimit(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	task := shell("true")
	task.MaxSlowdown = math.Inf(1)
	g.submit(t, task)
	r := g.finish(t)[0]
	if r.State != Succeeded || r.Task.MaxSlowdown != math.MaxFloat64 {
		t.Errorf("%v with %g: %s", r.State, r.Task.MaxSlowdown, r.Err)
	}
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limitless := colloc.Task{ID: "1", Reserved: profile.GiB, MaxSlowdown: r.Task.MaxSlowdown}
	gpu := colloc.GPU{ID: "a", Model: profile.GPUModel{Name: "A100-40GB", Memory: 40 * profile.GiB}, Memory: 40 * profile.GiB, Mechanisms: []profile.Mechanism{profile.TimeSlice}}
	if v, err := p.Fit(limitless, gpu); err != nil || !v.Fits {
		t.Errorf("the planner says %v, %v", v, err)
	}
}

// TestOldPattern: a queue that an earlier version left with a pattern that is refused today goes on; nobody knows its steps.
func TestOldPattern(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	task := shell("echo step 7")
	task.Progress.Pattern = `step (?P<step>\d+)`
	g.submit(t, task)
	e := g.queue.ByID["1"]
	e.Task.Progress.Pattern += strings.Repeat("a{0,999}", 9)
	if err := errors.Join(g.store.Put([]*backlog.Entry{e}), g.Close()); err != nil {
		t.Fatal(err)
	}
	if r := newRig(t, dir, gpuFile(1), nil).finish(t)[0]; r.State != Succeeded || !r.Step.IsZero() {
		t.Errorf("the task is %v at step %v: %s", r.State, r.Step, r.Err)
	}
}
