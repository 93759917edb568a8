package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestGolden compares what people see, and what programs read, with what was
// printed when it was last looked at.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		file string
		args []string
	}{
		{"summary.golden.txt", nil},
		{"plan.golden.txt", []string{"-v"}},
		{"plan.golden.json", []string{"-json"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			got := succeed(t, tt.args...)
			if again := succeed(t, tt.args...); again != got {
				t.Fatal("two runs print different bytes")
			}
			golden.Check(t, tt.file, got)
		})
	}
}

// TestPlanHelps checks the promise of the first command in README.
func TestPlanHelps(t *testing.T) {
	var plan colloc.Plan
	if err := json.Unmarshal([]byte(succeed(t, "-json")), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Throughput < 1.5*plan.Exclusive || plan.Exclusive != 4 || plan.Gap > 0.01 {
		t.Errorf("throughput %v, exclusive %v, gap %v; want at least 1.5 times the 4 of exclusive, within 1 %% of the bound", plan.Throughput, plan.Exclusive, plan.Gap)
	}
	if len(plan.Tasks) != 12 || len(plan.Placements) != 4 {
		t.Errorf("%d tasks on %d GPUs, want 12 on 4", len(plan.Tasks), len(plan.Placements))
	}
	placed := 0
	for _, p := range plan.Placements {
		placed += len(p.Members)
		if p.Reserved > p.Usable {
			t.Errorf("GPU %s: %v reserved of %v", p.GPU, p.Reserved, p.Usable)
		}
	}
	waiting := 0
	for _, n := range plan.Notes {
		if !n.Placed {
			waiting++
		}
	}
	if placed+waiting != len(plan.Tasks) {
		t.Errorf("%d placed and %d explained of %d tasks", placed, waiting, len(plan.Tasks))
	}
}

// TestOwnFiles plans from files of the user's own, with a model file named by
// a relative and by an absolute path.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	model, err := builtin.ReadFile("models/mlp.txt")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "mlp.txt", string(model))
	deep := filepath.Join(dir, "deep")
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	tasks := write(t, deep, "tasks.json", `{"tasks": [
		{"id": "a", "model_file": "../mlp.txt", "training": {"batch_size": 64}, "solo": {"gpu": "RTX 3090", "gpu_busy": 0.2, "mem_busy": 0.1}},
		{"id": "b", "model_file": "`+filepath.ToSlash(filepath.Join(dir, "mlp.txt"))+`", "training": {"batch_size": 128}, "solo": {"gpu": "RTX 3090", "gpu_busy": 0.3, "mem_busy": 0.1}}
	]}`)
	gpus := write(t, dir, "gpus.json", `{"host": {"context_bytes": "500MiB"}, "gpus": [{"id": "card", "model": "RTX 3090"}]}`)
	out := succeed(t, "-tasks", tasks, "-gpus", gpus)
	for _, want := range []string{"card", "time-slicing", "1 GPU: 1.", "instead of 1.00"} {
		if !strings.Contains(out, want) {
			t.Errorf("output has no %q:\n%s", want, out)
		}
	}
}

// A MIG slice by the name that NVML has for it is no whole card.
func TestSlice(t *testing.T) {
	path := write(t, t.TempDir(), "gpus.json", `{"gpus": [{"id": "g", "model": "NVIDIA A100-SXM4-40GB MIG 1g.5gb"}]}`)
	c, err := readGPUs(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.GPUs[0].Total(); got != 5*profile.GiB {
		t.Errorf("%v of memory, want 5 GiB", got)
	}
}

func TestBadInput(t *testing.T) {
	const good = `{"id": "a", "model": {"name": "m", "layers": [{"kind": "linear", "params": 10, "activations": 10}]}, "training": {"batch_size": 1}}`
	edit := func(old, by string) string { return `{"tasks": [` + "\n" + strings.Replace(good, old, by, 1) + "]}" }
	gpus := `{"gpus": [{"id": "g", "model": "T4"}]}`
	for _, tt := range []struct {
		name        string
		tasks, gpus string
		want        []string
	}{
		{"unknown field", edit(`"id"`, `"weigth": 1, "id"`), gpus, []string{"tasks.json:2", "weigth"}},
		{"negative batch", edit(`"batch_size": 1`, `"batch_size": -4`), gpus, []string{"tasks.json:2", `"a"`, "training.batch_size is -4"}},
		{"NaN utilisation", edit(`"training"`, `"solo": {"gpu": "T4", "gpu_busy": NaN}, "training"`), gpus, []string{"tasks.json:2", "invalid character 'N'"}},
		{"utilisation in per cent", edit(`"training"`, `"solo": {"gpu": "T4", "gpu_busy": 45}, "training"`), gpus, []string{"tasks.json:2", "gpu_busy is 45, want 0 to 1"}},
		{"wrong type", edit(`"batch_size": 1`, `"batch_size": "one"`), gpus, []string{"tasks.json:2", "batch_size", "string"}},
		{"unknown kind", edit(`"linear"`, `"liniar"`), gpus, []string{"tasks.json:2", "liniar"}},
		{"missing model file", edit(`"training"`, `"model_file": "nowhere.txt", "training"`), gpus, []string{"tasks.json:2", "model"}},
		{"unknown GPU of a solo run", edit(`"training"`, `"solo": {"gpu": "Voodoo 2"}, "training"`), gpus, []string{"tasks.json:2", "Voodoo 2"}},
		{"no batch size", `{"tasks": [{"id": "a"}]}`, gpus, []string{"tasks.json:1", `"a"`, "training.batch_size is 0"}},
		{"no id", edit(`"id": "a", `, ""), gpus, []string{"tasks.json:2", "id is missing"}},
		{"duplicate id", `{"tasks": [` + good + ",\n" + good + "]}", gpus, []string{"tasks.json:2", `"a"`, "used before"}},
		{"cut off", `{"tasks": [` + good, gpus, []string{"tasks.json:1", "ends in the middle"}},
		{"garbage after the end", edit("", "") + "{}", gpus, []string{"tasks.json:2", "after the end"}},
		{"no list", `{}`, gpus, []string{"tasks.json:1", `"tasks" list`}},
		{"no tasks", `{"tasks": []}`, gpus, []string{"tasks.json:1", "no tasks"}},
		{"empty file", ``, gpus, []string{"tasks.json:1"}},
		{"no GPU list", edit("", ""), `{}`, []string{"gpus.json:1", `"gpus" list`}},
		{"no GPUs", edit("", ""), `{"gpus": []}`, []string{"gpus.json:1", "no GPUs"}},
		{"duplicate GPU", edit("", ""), `{"gpus": [{"id": "g", "model": "T4"}, {"id": "g", "model": "T4"}]}`, []string{"gpus.json:1", `"g"`, "used before"}},
		{"unknown GPU", edit("", ""), `{"gpus": [{"id": "g", "model": "Voodoo 2"}]}`, []string{"gpus.json:1", "Voodoo 2", "give its memory"}},
		{"unknown mechanism", edit("", ""), `{"gpus": [{"id": "g", "model": "T4", "mechanisms": ["magic"]}]}`, []string{"gpus.json:1", "magic"}},
		{"negative memory", edit("", ""), `{"gpus": [{"id": "g", "model": "T4", "memory": -5}]}`, []string{"gpus.json:1", "-5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"-tasks", write(t, dir, "tasks.json", tt.tasks), "-gpus", write(t, dir, "gpus.json", tt.gpus)}
			fail(t, tt.want, args...)
		})
	}
	fail(t, []string{"nowhere.json"}, "-tasks", "nowhere.json")
	fail(t, []string{"is a folder"}, "-tasks", t.TempDir())
	fail(t, []string{"unexpected argument"}, "tasks.json")
}

// TestTooLarge plans a task that fits no GPU beside one that does: the plan is
// whole, and the message names the task.
func TestTooLarge(t *testing.T) {
	tasks := write(t, t.TempDir(), "tasks.json", `{"tasks": [
		{"id": "small", "training": {"batch_size": 1}, "solo": {"gpu": "A100", "mem_used": "3GiB"}},
		{"id": "large", "training": {"batch_size": 1}, "solo": {"gpu": "A100", "mem_used": "39.9GiB"}}
	]}`)
	var out bytes.Buffer
	if err := run([]string{"-v", "-tasks", tasks}, &out); err == nil || !strings.Contains(err.Error(), `"large" needs 40.7 GiB, the largest GPU offers 36 GiB`) {
		t.Errorf("the message is %v", err)
	}
	for _, want := range []string{"gpu0  small", "large waits: it needs", "would place it."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan has no %q:\n%s", want, &out)
		}
	}
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(args, &out); err != nil {
		t.Fatalf("quickstart %q: %v", args, err)
	}
	return out.String()
}

// fail expects an error with all of want, and no output.
func fail(t *testing.T, want []string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	err := run(args, &out)
	if err == nil || out.Len() > 0 {
		t.Fatalf("quickstart %q: %v, %d bytes of output; want an error and none", args, err, out.Len())
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("quickstart %q says %q; want it to name %q", args, err, w)
		}
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
