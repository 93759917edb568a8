package workload

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
)

// TestCatalogue compares the tasks of package plan with those of the scripts.
func TestCatalogue(t *testing.T) {
	files, err := scripts.ReadDir("scripts")
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?m)^(?:TASKS = \{|    )"([a-z0-9-]+)": Task\(`)
	var have, want []string
	for _, f := range files {
		text, err := scripts.ReadFile("scripts/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range entry.FindAllSubmatch(text, -1) {
			have = append(have, string(m[1]))
		}
	}
	core := 0
	for _, task := range plan.Catalogue {
		want = append(want, task.Name)
		if task.Core {
			core++
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("scripts have %q\nwant %q", have, want)
	}
	if len(want) != 16 || core != 8 {
		t.Errorf("%d tasks with a core of %d, want 16 and 8", len(want), core)
	}
}

// python returns the interpreter or skips the test.
func python(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3; the program needs it with PyTorch")
	}
	return program
}

// TestCompile compiles the scripts, without leaving files.
func TestCompile(t *testing.T) {
	program := python(t)
	names, err := filepath.Glob("scripts/*.py")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	code := "import sys\nfor f in sys.argv[1:]: compile(open(f, encoding='utf-8').read(), f, 'exec')"
	if out, err := exec.CommandContext(t.Context(), program, append([]string{"-c", code}, names...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTorch runs small workloads on the CPU, through the same processes and the
// same protocol as on a GPU.
func TestTorch(t *testing.T) {
	program := python(t)
	if out, err := exec.CommandContext(t.Context(), program, "-c", "import torch").CombinedOutput(); err != nil {
		t.Skipf("needs PyTorch for %s: %s", program, bytes.TrimSpace(out))
	}
	t.Setenv("MEASURE_DEVICE", "cpu")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	for _, name := range []string{"mlp-small", "rl-cartpole"} {
		t.Run(name, func(t *testing.T) {
			w, err := Start(exec.Command(program, filepath.Join("scripts", "worker.py"), name), plan.Slot{Task: name})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Kill()
			for range 2 { // a process measures more than once
				runOnce(t, w)
			}
			w.Quit(time.Minute)
			if w.err != nil {
				t.Errorf("ended with %v: %s", w.err, w.stderr.Quoted())
			}
		})
	}
}

// runOnce prepares and measures, and checks what comes back.
func runOnce(t *testing.T, w *Process) {
	t.Helper()
	for _, step := range []struct {
		command Command
		want    string
	}{
		{Command{Cmd: "prepare"}, EventReady},
		{Command{Cmd: "go", Warmup: 0.05, Measure: 0.05}, EventDone},
	} {
		if step.want == EventReady && w.Runs == 0 {
			if e := expect(t, w, EventHello); e.Torch == "" {
				t.Errorf("hello %+v names no version", e)
			}
		}
		w.Runs++
		if err := w.Send(step.command); err != nil {
			t.Fatal(err)
		}
		e := expect(t, w, step.want)
		if step.want != EventReady {
			continue
		}
		if err := e.Spec.Validate(); err != nil || len(e.Spec.Model.Layers) == 0 || e.Spec.Model.Params() == 0 {
			t.Errorf("spec with %d layers and %d parameters: %v", len(e.Spec.Model.Layers), e.Spec.Model.Params(), err)
		}
	}
}

func expect(t *testing.T, w *Process, want string) Event {
	t.Helper()
	e, err := w.Await(context.Background(), want, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestGarbageOnStdout checks that prints of libraries do not reach the protocol.
func TestGarbageOnStdout(t *testing.T) {
	text, err := scripts.ReadFile("scripts/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "import torch")
	if !found || !strings.Contains(before, "OUT = open_protocol()") {
		t.Error("worker.py imports torch before it has moved standard output away")
	}
}

// TestUnpack checks that the workloads can be written where Python finds them.
func TestUnpack(t *testing.T) {
	worker, err := Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker.py", "tasks.py"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(worker), name)); err != nil {
			t.Error(err)
		}
	}
	if filepath.Base(worker) != "worker.py" {
		t.Errorf("the script to run is %s", worker)
	}
}
