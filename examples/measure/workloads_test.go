package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCatalogue compares the tasks listed here with those of the scripts.
func TestCatalogue(t *testing.T) {
	files, err := scripts.ReadDir("workloads")
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?m)^(?:TASKS = \{|    )"([a-z0-9-]+)": Task\(`)
	var have, want []string
	for _, f := range files {
		text, err := scripts.ReadFile("workloads/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range entry.FindAllSubmatch(text, -1) {
			have = append(have, string(m[1]))
		}
	}
	core := 0
	for _, task := range catalogue {
		want = append(want, task.name)
		if task.core {
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
	names, err := filepath.Glob("workloads/*.py")
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
			w, err := startWorker(exec.Command(program, filepath.Join("workloads", "worker.py"), name), slot{task: name})
			if err != nil {
				t.Fatal(err)
			}
			defer w.kill()
			for range 2 { // a process measures more than once
				runOnce(t, w)
			}
			w.quit(time.Minute)
			if w.err != nil {
				t.Errorf("ended with %v: %s", w.err, w.stderr.Quoted())
			}
		})
	}
}

// runOnce prepares and measures, and checks what comes back.
func runOnce(t *testing.T, w *worker) {
	t.Helper()
	for _, step := range []struct {
		command command
		want    string
	}{
		{command{Cmd: "prepare"}, eventReady},
		{command{Cmd: "go", Warmup: 0.05, Measure: 0.05}, eventDone},
	} {
		if step.want == eventReady && w.runs == 0 {
			if e := expect(t, w, eventHello); e.Torch == "" {
				t.Errorf("hello %+v names no version", e)
			}
		}
		w.runs++
		if err := w.send(step.command); err != nil {
			t.Fatal(err)
		}
		e := expect(t, w, step.want)
		if step.want != eventReady {
			continue
		}
		if err := e.Spec.Validate(); err != nil || len(e.Spec.Model.Layers) == 0 || e.Spec.Model.Params() == 0 {
			t.Errorf("spec with %d layers and %d parameters: %v", len(e.Spec.Model.Layers), e.Spec.Model.Params(), err)
		}
	}
}

func expect(t *testing.T, w *worker, want string) event {
	t.Helper()
	e, err := w.await(context.Background(), want, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestGarbageOnStdout checks that prints of libraries do not reach the protocol.
func TestGarbageOnStdout(t *testing.T) {
	text, err := scripts.ReadFile("workloads/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "import torch")
	if !found || !strings.Contains(before, "OUT = open_protocol()") {
		t.Error("worker.py imports torch before it has moved standard output away")
	}
}
