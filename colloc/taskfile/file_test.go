package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"example.com/colloc/internal/golden"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/colloc/profile"
)

// whole is a file with everything in it.
func whole() *File {
	gpu, _ := profile.LookupGPU("A100-40GB")
	slice := gpu
	slice.Name, slice.Memory, slice.SMs = "A100-40GB MIG 1g.5gb", 5*profile.GiB, 14
	layers := []profile.Layer{
		{Name: "fc", Kind: profile.Linear, Neurons: 10, Params: 110, Frozen: 10, Activations: 10, MACs: profile.Some(int64(100))},
		{Name: "head", Kind: profile.Linear, Params: 20, Unknown: profile.ActivationCounts},
	}
	return &File{
		About: "two tasks",
		Slurm: []byte(`{"partition": "main"}`),
		Tasks: []Task{
			{
				ID: "python train.py", About: "seen",
				Spec: profile.Spec{
					Model: profile.Model{Name: "mlp", Family: profile.MLP, Architecture: "MLP", Layers: layers}, Training: profile.Training{BatchSize: 32, Workers: 4},
					Dataset: profile.Dataset{Samples: profile.Some(int64(1000))}, Warnings: []string{"a layer was left out"},
				},
				Missing: []Gap{{"CPU use", "run it on Linux"}},
				Solo: &Solo{
					GPU: "A100-40GB", Source: "colloc profile", GPUBusy: profile.Some(0.5), CPUBusy: profile.Some(0.0), MemUsed: profile.Some(3 * profile.GiB),
					StepTime: profile.Some(Duration(120 * time.Millisecond)), DataWait: profile.Some(0.25), Spread: map[string]float64{"peak_memory": 4 << 30, "p95_gpu_busy": 0.75},
					Run: "run-0", Watched: Duration(30 * time.Second), Startup: profile.Some(Duration(2 * time.Second)),
					CycleTime: profile.Some(Duration(125 * time.Millisecond)), Epochs: 2, Steps: profile.Some(int64(100)), RunTime: profile.Some(Duration(time.Minute)),
				},
				Elsewhere: []Solo{{GPU: "T4", GPUBusy: profile.Some(0.75), StepTime: profile.Some(Duration(300 * time.Millisecond))}},
				Weight:    2, Priority: 3, MaxSlowdown: 1.5, Labels: []string{"team-a"}, Avoid: []string{"noisy"}, Only: []string{"team-a", "team-b"}, On: []string{"rack-1"},
				Home: "gpu0", MoveCost: 0.5, Kind: "train", GPUs: 1, Reserved: 5 * profile.GiB,
				Command: []string{"python", "train.py"}, Env: []string{"A=b"}, Dir: "runs/a", CPUs: 4, Memory: 16 * profile.GiB, Time: Duration(2 * time.Hour),
			},
			{ID: "slice", Alone: true, Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}, Solo: &Solo{GPU: slice.Name, Model: &slice, SMActive: profile.Some(0.125)}},
		},
	}
}

// A file holds what was written, and its text changes only when somebody means it.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, whole()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tasks.json", out.String())
	back, err := ReadFile("testdata/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	same := []cmp.Option{cmpopts.IgnoreUnexported(Task{}), cmpopts.IgnoreFields(File{}, "Slurm")}
	if diff := cmp.Diff(whole(), back, same...); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	var slurm struct {
		Partition string `json:"partition"`
	}
	if err := Section(back.Slurm, &slurm); err != nil || slurm.Partition != "main" {
		t.Errorf("section slurm: %+v, %v", slurm, err)
	}
	if got, want := back.Tasks[1].Place(), "tasks.json:110"; got != want {
		t.Errorf("the second task is at %s, want %s", got, want)
	}
}

// What was seen survives: a profile, what is kept of it, and the profile of that.
func TestSoloOf(t *testing.T) {
	first := whole().Tasks[0]
	p, err := first.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if peak := p.Vector.Or(profile.PeakMemory, 0); peak != 4<<30 {
		t.Errorf("peak %v, want that of the spread, 4 GiB", peak)
	}
	again := Task{ID: "x", Spec: first.Spec, Solo: SoloOf(&p)}
	q, err := again.Profile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, q); diff != "" {
		t.Errorf("observed again (-want +got):\n%s", diff)
	}
	bare, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{}, profile.GPUModel{})
	if got := SoloOf(&bare); err != nil || got != nil {
		t.Errorf("of what nobody saw %+v is kept, %v", got, err)
	}
}

// A file can say whatever a user may say of a task, and a plan then hears it: only
// what is decided elsewhere has no key.
func TestColloc(t *testing.T) {
	first := whole().Tasks[0]
	got, err := first.Colloc()
	if err != nil {
		t.Fatal(err)
	}
	for v, i := reflect.ValueOf(got), 0; i < v.NumField(); i++ {
		switch name := v.Type().Field(i).Name; name {
		case "Foreign": // of residents that nobody registered
		case "Alone": // the second task says so
			if second, err := whole().Tasks[1].Colloc(); err != nil || !second.Alone {
				t.Errorf("Alone: %t, %v", second.Alone, err)
			}
		default:
			if v.Field(i).IsZero() {
				t.Errorf("%s is not carried", name)
			}
		}
	}
	if len(got.Elsewhere) != 1 || got.Elsewhere[0].GPU.Name != "T4" || got.Elsewhere[0].Vector.Or(profile.MedianStepTime, 0) != 0.3 {
		t.Errorf("elsewhere %+v", got.Elsewhere)
	}
	for _, wait := range []float64{0, 1} {
		bound := whole().Tasks[0]
		bound.Solo.DataWait = profile.Some(wait)
		if _, err := bound.Profile(); err != nil {
			t.Errorf("a wait of %v: %v", wait, err)
		}
	}
	infinite := whole()
	infinite.Tasks[0].MaxSlowdown = math.Inf(1)
	if err := Write(io.Discard, infinite); err == nil || !strings.Contains(err.Error(), "1e9 bears any") {
		t.Errorf("an infinite slowdown: %v", err)
	}
}

// BenchmarkRead reads a file of many tasks: the time of a task stays the same.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000} {
		f := &File{}
		for i := range n {
			f.Tasks = append(f.Tasks, Task{ID: strconv.Itoa(i), Spec: profile.Spec{Training: profile.Training{BatchSize: 8}}, Solo: &Solo{GPU: "T4", GPUBusy: profile.Some(0.5)}})
		}
		var text bytes.Buffer
		if err := Write(&text, f); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(text.Bytes()), nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
		})
	}
}

// TestForms: forms without format and version mean what they say.
func TestForms(t *testing.T) {
	models := fstest.MapFS{"m.txt": {Data: []byte("----\n        Layer (type)               Output Shape         Param #\n====\n            Linear-1                   [-1, 10]             110\n====\nTotal params: 110\n")}}
	for _, tt := range []struct {
		name, text string
		check      func(f *File) bool
	}{
		{
			"list", `{"about": "x", "tasks": [{"id": "a", "model_file": "m.txt", "model": {"name": "mine", "architecture": "net"}, "training": {"batch_size": 2}, "solo": {"gpu": "T4", "gpu_busy": 0.5, "step_time": "5ms"}}]}`,
			func(f *File) bool {
				return f.About == "x" && f.Tasks[0].Model.Params() == 110 && f.Tasks[0].Model.Name == "mine" && f.Tasks[0].Model.Architecture == "net" && f.Tasks[0].ModelFile == ""
			},
		},
		{
			"slurm", `{"name": "s", "partition": "main", "time": "2h", "tasks": [{"id": "a", "command": ["x"], "training": {"batch_size": 2}}]}`,
			func(f *File) bool { return string(f.Slurm) == `{"name":"s","partition":"main","time":"2h"}` },
		},
		{
			"spec", `{"model": {"name": "resnet"}, "training": {"batch_size": 2}, "warnings": ["w"]}`,
			func(f *File) bool { return f.Tasks[0].ID == "resnet" && f.Tasks[0].Warnings[0] == "w" },
		},
		{"spec without a name", `{"model": {}, "training": {"batch_size": 2}}`, func(f *File) bool { return f.Tasks[0].ID == "old" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(tt.text), &Options{Name: "old.json", Open: models.Open})
			if err != nil || !tt.check(f) {
				t.Fatalf("%+v, %v", f, err)
			}
			var out bytes.Buffer
			if err := Write(&out, f); err != nil { // without the model file
				t.Fatal(err)
			}
			if back, err := Read(&out, nil); err != nil || !tt.check(&File{About: back.About, Tasks: back.Tasks, Slurm: f.Slurm}) {
				t.Errorf("written and read: %v", err)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	const good = `{"id": "a", "training": {"batch_size": 1}, "solo": {"gpu": "T4"}}`
	of := func(tasks string) string {
		return `{"format": "colloc-tasks", "version": 1,` + "\n" + `"tasks": [` + tasks + `]}`
	}
	edit := func(old, by string) string { return of("\n" + strings.Replace(good, old, by, 1)) }
	for _, tt := range []struct {
		name, text string
		line       int
		task, part string
	}{
		{"nothing", "", 1, "", "not a task file"},
		{"no JSON", "hello", 1, "", "not a task file"},
		{"another format", `{"format": "nvmlx-trace", "version": 1, "tasks": []}`, 1, "", "not a task file"},
		{"no version", `{"format": "colloc-tasks", "tasks": []}`, 1, "", "version is missing"},
		{"a later version", "{\"format\": \"colloc-tasks\",\n\"version\": 2, \"tasks\": []}", 2, "", "version 2, this program reads 1"},
		{"neither list nor model", `{}`, 1, "", `want a "tasks" list`},
		{"a list and a model", `{"model": {}, "tasks": [` + good + `]}`, 1, "", `unknown field "model"`},
		{"no list", `{"format": "colloc-tasks", "version": 1}`, 1, "", `want a "tasks" list`},
		{"no tasks", of(""), 2, "", "no tasks"},
		{"tasks that are no list", `{"tasks": {"id": "a"}}`, 1, "", "no tasks"},
		{"an unknown key", `{"format": "colloc-tasks", "version": 1, "partition": "main", "tasks": [` + good + `]}`, 1, "", `unknown field "partition"`},
		{"a key twice", `{"tasks": [` + good + `], "tasks": []}`, 1, "", "twice"},
		{"an unknown field", edit(`"id"`, `"weigth": 1, "id"`), 3, "", "weigth"},
		{"a wrong type", edit(`1}`, `"1"}`), 3, "", "batch_size is a JSON string"},
		{"cut off", edit("", "")[:60], 3, "", "ends in the middle"},
		{"more after the end", edit("", "") + "{}", 3, "", "after the end"},
		{"no id", edit(`"id": "a", `, ""), 3, "", "id is missing"},
		{"an id twice", of(good + ",\n" + good), 3, "a", "used before, at tasks:2"},
		{"no batch", edit(`"batch_size": 1`, ""), 3, "a", "training.batch_size is 0"},
		{"an unknown GPU", edit("T4", "Voodoo 2"), 3, "a", `"Voodoo 2" is not in the catalogue`},
		{"a share in per cent", edit(`"T4"`, `"T4", "gpu_busy": 45`), 3, "a", "gpu_busy is 45"},
		{"a wait below 0", edit(`"T4"`, `"T4", "data_wait": -0.01`), 3, "a", "data_wait is -0.01"},
		{"less than no cpus", edit(`"id"`, `"cpus": -1, "id"`), 3, "a", "want 0 or more"},
		{"a time limit below 0", edit(`"id"`, `"time": "-1s", "id"`), 3, "", ""},
		{"a wait in per cent", edit(`"T4"`, `"T4", "data_wait": 45`), 3, "a", "data_wait is 45"},
		{"no such spread", edit(`"T4"`, `"T4", "spread": {"mean_gpu_busy": 0.5}`), 3, "a", "no 95th percentile or peak"},
		{"a spread out of range", edit(`"T4"`, `"T4", "spread": {"peak_gpu_busy": 5}`), 3, "a", "peak_gpu_busy is 5"},
		{"a time below 0", edit(`"T4"`, `"T4", "step_time": "-1s"`), 3, "", "not more than 0"},
		{"a label of two lines", edit(`"id"`, `"labels": ["a\nb"], "id"`), 3, "a", "Labels"},
		{"a cost to move below 0", edit(`"id"`, `"move_cost": -1, "id"`), 3, "a", "MoveCost"},
		{"fewer than no GPUs", edit(`"id"`, `"gpus": -1, "id"`), 3, "a", "GPUs"},
		{"a weight below 0", edit(`"id"`, `"weight": -1, "id"`), 3, "a", "Weight"},
		{"a home of a gang", edit(`"id"`, `"home": "g", "gpus": 2, "id"`), 3, "a", "Home"},
		{"an unknown GPU elsewhere", edit(`"id"`, `"elsewhere": [{"gpu": "Voodoo 2"}], "id"`), 3, "a", `elsewhere: gpu "Voodoo 2"`},
		{"a slowdown below 1", edit(`"id"`, `"max_slowdown": 0.5, "id"`), 3, "a", "MaxSlowdown"},
		{"a model file and layers", edit(`"id"`, `"model_file": "x", "model": {"layers": [{"kind": "linear"}]}, "id"`), 3, "a", "both given"},
		{"no folder", edit(`"id"`, `"model_file": "x", "id"`), 3, "a", "no folder"},
		{"a slurm section that is none", `{"format": "colloc-tasks", "version": 1, "slurm": 1, "tasks": [` + good + `]}`, 1, "", "wants an object"},
		{"an empty list", `[]`, 1, "", "not a task file"},
		{"a list alone", `[{"kind": "x"}]`, 1, "", "not a task file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.text), nil)
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("%v is no *Error", err)
			}
			if fault.Line != tt.line || fault.Task != tt.task || !strings.Contains(err.Error(), tt.part) || !strings.HasPrefix(err.Error(), "tasks:") {
				t.Errorf("line %d, task %q: %v; want line %d, task %q and %q", fault.Line, fault.Task, err, tt.line, tt.task, tt.part)
			}
		})
	}
	if _, err := Read(strings.NewReader(`{"format": "colloc-tasks", "version": 9}`), nil); !errors.Is(err, ErrVersion) {
		t.Errorf("%v is no ErrVersion", err)
	}
	if _, err := Read(strings.NewReader(`x`), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("%v is no ErrFormat", err)
	}
	if _, err := ReadFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := ReadFile("nowhere.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// opened is a file, and whether it was closed.
type opened struct {
	fs.File
	closed *bool
}

func (o opened) Close() error {
	*o.closed = true
	return o.File.Close()
}

// A model file fills in what the task does not say, and is closed.
func TestModelFile(t *testing.T) {
	const bert = `{"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 100, "max_position_embeddings": 32}`
	for stated, want := range map[string]int64{"": 32, `"dataset": {"sample_elements": 7}, `: 7} {
		closed := false
		f, err := Read(strings.NewReader(`{"tasks": [{"id": "a", "model_file": "bert.json", `+stated+`"training": {"batch_size": 2}}]}`), &Options{Open: func(name string) (fs.File, error) {
			file, err := fstest.MapFS{"bert.json": {Data: []byte(bert)}}.Open(name)
			return opened{file, &closed}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		task := f.Tasks[0]
		if task.Model.Architecture != "bert" || task.Dataset.SampleElements != profile.Some(want) || !closed {
			t.Errorf("architecture %q, %+v, closed %t", task.Model.Architecture, task.Dataset, closed)
		}
	}
}

func TestGapString(t *testing.T) {
	if got := (Gap{What: "no model"}).String() + "|" + (Gap{What: "no peak", Get: "run it"}).String(); got != "no model|no peak: run it" {
		t.Error(got)
	}
}

// A file that is not written is as it was.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.json")
	if err := WriteFile(path, whole()); err != nil {
		t.Fatal(err)
	}
	bad := whole()
	bad.Tasks[1].ID = bad.Tasks[0].ID
	if err := WriteFile(path, bad); err == nil || !strings.Contains(err.Error(), "used before") {
		t.Errorf("two tasks with one id: %v", err)
	}
	if f, err := ReadFile(path); err != nil || f.Tasks[1].ID != "slice" {
		t.Errorf("%+v, %v", f, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		`{"about": {"x": [null, {}]}, "tasks": [{"id`:                       true,
		`{"about": {"x": {"y": 1}, "z": 2}, "tasks": [{"id`:                 true,
		` {"format": "colloc-tasks", "ver`:                                  true,
		"\ufeff" + `{"format": "colloc-tasks", "ver`:                        true,
		`{"format": "layers-model", "modelTopology": {}}`:                   false,
		`{"model": {"name": "x", "layers": [`:                               true,
		`{"model": {}, "training": {}}`:                                     true,
		`{"model": {"type": "BPE"}}`:                                        false,
		`{"model_type": "bert", "hidden_size": 768}`:                        false,
		`[{"kind": "train.py", "prof`:                                       false,
		`[{"kid": 1}]`:                                                      false,
		`{"id": "a", "arrival_s": 0, "work_s": 1}` + "\n" + `{"tasks": []}`: false,
		`{"a": null, "b": [null`:                                            false,
		"":                                                                  false,
		"hello":                                                             false,
	} {
		if Sniff([]byte(text)) != want {
			t.Errorf("%s: want %t", text, want)
		}
	}
}

// Whatever is read can be written, and is then read as the same.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/tasks.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"tasks": [{"id": "a", "training": {"batch_size": 1}, "solo": {"gpu": "T4", "step_time": "5ms"}}], "partition": "x"}`))
	f.Add([]byte(`{"model": {"layers": [{"kind": "conv", "params": 9}]}, "training": {"batch_size": 2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := Read(bytes.NewReader(text), nil)
		_ = Sniff(text) // ends
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := Write(&first, read); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(first.Bytes()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%v: written twice:\n%s\n%s", err, &first, &second)
		}
	})
}
