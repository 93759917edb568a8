package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
)

const quickstart = "../../../../examples/quickstart/"

func call(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(context.Background(), args, &o, &e)
	return status, o.String(), e.String()
}

func good(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := call(args...)
	if status != 0 || errs != "" {
		t.Fatalf("colloc plan %q: exit status %d: %s", args, status, errs)
	}
	return out
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGolden holds the ten lines, and those of other questions.
func TestGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"summary.golden.txt": {"-gpus", quickstart + "gpus.json", quickstart + "tasks.json"},
		"changes.golden.txt": {"-gpus", "2xA100-40GB,H100", "-compare", "-what-if", "gpus+1", "-what-if", "without  gpt2-b8", quickstart + "tasks.json"},
		"models.golden.txt":  {"-gpus", "T4", quickstart + "models/resnet50.txt@32", quickstart + "models/mlp.txt@64", quickstart + "models/mlp.txt"},
		"pairs.golden.txt":   {"-gpus", quickstart + "gpus.json", "-max-set", "2", "-v", quickstart + "tasks.json"},
	} {
		t.Run(name, func(t *testing.T) {
			out := good(t, args...)
			if again := good(t, args...); again != out {
				t.Fatal("two runs print different bytes")
			}
			if n := strings.Count(out, "\n"); !strings.Contains(name, "pairs") && n > 14 {
				t.Errorf("%d lines, want some ten", n)
			}
			golden.Check(t, name, out)
		})
	}
}

// TestJSON: what programs read has the plan, the changed ones and the warnings.
func TestJSON(t *testing.T) {
	var a answer
	if err := json.Unmarshal([]byte(good(t, "-json", "-compare", "-what-if", "gpus+2", "-gpus", "1xT4", quickstart+"models/mlp.txt")), &a); err != nil {
		t.Fatal(err)
	}
	if a.Plan == nil || a.Alone == nil || len(a.WhatIf) != 1 || a.WhatIf[0].Plan.GPUs != 3 || len(a.Warnings) == 0 {
		t.Errorf("got %+v", a)
	}
}

// TestFaults: one line that says what to do, and nothing on standard output.
func TestFaults(t *testing.T) {
	tasks := quickstart + "tasks.json"
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "no tasks: name a task file"},
		{[]string{"-gpus", "T4", write(t, "none.json", `{"tasks": []}`)}, "no tasks"},
		{[]string{"-gpus", "T4", "nowhere.json"}, "nowhere.json: there is no such file"},
		{[]string{"-gpus", "T4", write(t, "noise.bin", "\x00\x01\x02")}, "colloc profile -- python train.py"},
		{[]string{"-gpus", "T4", write(t, "cut.json", `{"tasks": [{"id": "a"`)}, "cut.json:1"},
		{[]string{"-gpus", "4xVoodoo2", tasks}, `"4xVoodoo2" is neither a file nor a GPU of the catalogue`},
		{[]string{"-gpus", "0xT4", tasks}, "want 1 to"},
		{[]string{"-gpus", "70000xT4", tasks}, "want 1 to"},
		{[]string{"-gpus", write(t, "gpus.json", `{"gpus": []}`), tasks}, "gpus.json:1"},
		{[]string{"-gpus", "T4", "-what-if", "nonsense", tasks}, `want gpus+1 or "without TASK"`},
		{[]string{"-gpus", "T4", "-what-if", "gpus+0", tasks}, "want gpus+N"},
		{[]string{"-gpus", "T4", "-what-if", "without nobody", tasks}, `there is no task "nobody"`},
		{[]string{"-gpus", "T4", "-headroom", "2", tasks}, "Headroom is 2"},
		{[]string{"-gpus", "T4", "-method", "magic", tasks}, "want auto, column-generation"},
		{[]string{"-gpus", "T4", "-mechanisms", "magic", tasks}, "magic"},
		{[]string{"-gpus", "A100", "-mechanisms", "mps,mig", tasks}, "a MIG slice is a GPU of its own"},
		{[]string{tasks, "-gpus", "T4"}, "-gpus stands behind a file: flags come first"},
		{[]string{"-gpus", "T4", t.TempDir()}, "says what each file lacks"},
		{[]string{"-gpus", "8xT4", write(t, "faults.json", `{"tasks": [{"id": "a", "training": {"batch_size": 1}, "weight": -1}, {"id": "b", "training": {"batch_size": 1}, "weight": -1}]}`)}, "Weight"},
		{[]string{"-colour"}, "see -h"},
	} {
		status, out, errs := call(test.args...)
		if status != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit status %d, %d bytes, %q; want 2, none, and one line with %q", test.args, status, len(out), errs, test.want)
		}
	}
	if status, out, _ := call("-h"); status != 0 || !strings.Contains(out, "exit status") {
		t.Errorf("-h: %d, %q", status, out)
	}
}

// TestTooLarge: the plan is whole, a line names the task, and the status tells.
func TestTooLarge(t *testing.T) {
	tasks := write(t, "tasks.json", `{"tasks": [
		{"id": "small", "training": {"batch_size": 1}, "solo": {"gpu": "A100", "mem_used": "3GiB"}},
		{"id": "large", "training": {"batch_size": 1}, "solo": {"gpu": "A100", "mem_used": "79GiB"}},
		{"id": "huge", "training": {"batch_size": 1}, "solo": {"gpu": "A100", "mem_used": "78GiB"}}]}`)
	status, out, errs := call("-gpus", "A100-40GB", tasks)
	if status != 2 || !strings.Contains(out, "2 of 3 tasks wait: large, huge (larger than every GPU)") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "the largest GPU offers 36 GiB") || !strings.Contains(errs, "and 1 more") {
		t.Errorf("%d\n%s\n%s", status, out, errs)
	}
}

// TestCrowd: 70,000 tasks in one file are refused in a line that says what to do, and so are
// as many as nobody can plan in the time given.
func TestCrowd(t *testing.T) {
	file := func(name string, tasks int) string {
		var text strings.Builder
		for i := range tasks {
			fmt.Fprintf(&text, `,{"id":"%s%d","kind":"k","training":{"batch_size":1},"solo":{"gpu":"T4","gpu_busy":0.2,"mem_used":"1GiB"}}`, name, i)
		}
		return write(t, name, `{"tasks": [`+text.String()[1:]+"]}")
	}
	all, half := 70_000, 10_000
	if race.Enabled {
		all, half = 1, 1_000
	}
	for _, test := range []struct {
		status int
		files  []string
		want   string
	}{
		{2, []string{file("all", all)}, "all:1: more than 65536 values: split the file"},
		{1, []string{file("one", half), file("two", half)}, fmt.Sprintf("nothing was planned within 1ms: %d tasks on 8 GPUs are much for one plan; name those that could start next", 2*half)},
	} {
		if test.status == 2 && race.Enabled {
			continue // it reads for seconds
		}
		status, out, errs := call(append([]string{"-gpus", "8xT4", "-within", "1ms"}, test.files...)...)
		if status != test.status || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("%d\n%.500s\n%.500s; want %d, %s", status, out, errs, test.status, test.want)
		}
	}
}

// TestPictures: the page names every task once in its table, and the SVG file is XML.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	page, picture := filepath.Join(dir, "plan.html"), filepath.Join(dir, "plan.svg")
	hostile := write(t, "tasks.json", `{"tasks": [{"id": "</svg><script>alert(1)</script>", "training": {"batch_size": 1}, "solo": {"gpu": "T4", "mem_used": "1GiB", "gpu_busy": 0.1}}]}`)
	good(t, "-gpus", "3xA100", "-html", page, "-svg", picture, quickstart+"tasks.json", hostile)
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(html), `<th scope="row">`); n != 13 || strings.Contains(string(html), "<script") || strings.Contains(string(html), "http://") {
		t.Errorf("%d rows, or a script, or an address", n)
	}
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := xml.NewDecoder(f)
	for {
		if _, err := d.Token(); err == io.EOF { //nolint:errorlint // as documented
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadme: README's picture is what its command draws.
//
//	colloc plan -gpus 4xA100-40GB -svg docs/plan.svg examples/quickstart/tasks.json
func TestReadme(t *testing.T) {
	drawn := filepath.Join(t.TempDir(), "plan.svg")
	good(t, "-gpus", "4xA100-40GB", "-svg", drawn, quickstart+"tasks.json")
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("../../../../docs/plan.svg"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/plan.svg is another picture (%v): draw it anew", err)
	}
}

// TestPaint: colours change nothing but colour.
func TestPaint(t *testing.T) {
	text := good(t, "-gpus", quickstart+"gpus.json", quickstart+"tasks.json")
	painted := string(paint([]byte(text)))
	if plain := strings.NewReplacer("\x1b[1m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(painted); plain != text || strings.Count(painted, "\x1b[0m") != 3 {
		t.Errorf("%q", painted)
	}
	o := options{}
	if got := o.painted([]byte(text), io.Discard); string(got) != text {
		t.Error("a pipe gets colours")
	}
}
