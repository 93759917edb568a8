package find

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

const (
	dmon   = "# gpu   sm   mem    fb\n# Idx    %     %    MB\n    0   40    20  3000\n    0   60    30  4000\n"
	two    = "# gpu   sm   mem    fb\n# Idx    %     %    MB\n    0   40    20  3000\n    1   60    30  4000\n"
	kineto = `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000, "dur": 928},
{"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 1000, "dur": 280},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1300, "dur": 300, "args": {"device": 0}}]}`
	task = `{"format": "colloc-tasks", "version": 1, "tasks": [{"id": "mine", "training": {"batch_size": 8}, "missing": [{"what": "the layers of the model"}, {"what": "x"}],
  "solo": {"gpu": "T4", "gpu_busy": 0.4}}]}`
	several = `{"tasks": [{"id": "a", "training": {"batch_size": 1}}, {"id": "b", "training": {"batch_size": 1}}]}`
	smi     = "timestamp, name, utilization.gpu [%], memory.used [MiB]\n2025/01/01 10:00:00.000, Tesla T4, 50 %, 3000 MiB\n"
)

// tensors is a checkpoint of one tensor.
func tensors(n string) string {
	header := `{"w": {"dtype": "F32", "shape": [` + n + `], "data_offsets": [0, 0]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header
}

// The files of a folder make one description, which says what each gave.
func TestFolder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		files   map[string]string
		batch   int
		params  int64
		sources []string
		notes   []string
	}{
		{
			"a run of a trainer",
			map[string]string{
				"config.json": config, "checkpoint-5/config.json": config, "model.safetensors": tensors("108544"), "train.py": "import torch",
				"trainer_state.json": `{"train_batch_size": 16, "max_steps": 500, "log_history": []}`, "trace.json": kineto, "gpu.log": dmon, "optimizer.pt": "\x80\x02}q",
				"notes.txt": "it went well", "train.log": "step 1 loss 3",
			},
			16, 108544,
			[]string{
				"trace.json: what was seen (data_wait, gpu_busy, ",
				"trainer_state.json: batch 16, 500 steps (what the training wrote)",
				"config.json: model (a model's configuration: layers and outputs follow from it)",
				"checkpoint-5/config.json: not used: config.json tells more; its 108544 parameters are those",
				"notes.txt: not used: format not recognised",
				"model.safetensors: not used: config.json tells more; its 108544 parameters are those",
				"gpu.log: what was seen (mem_busy, mem_used, ",
				"train.log: not used: ",
				"optimizer.pt: not used: a Python pickle",
			},
			nil,
		},
		{
			"a task file and a model",
			map[string]string{"colloc-task.json": task, "config.json": config, "model.safetensors": tensors("7"), "smi.csv": smi, "trace.json": kineto, "adapter_config.json": `{"peft_type": "LORA", "r": 8}`},
			8, 108544,
			[]string{
				"colloc-task.json: training, what was seen (it states them itself)", "adapter_config.json: not used: settings of an adapter",
				"trace.json: not used: seen on A100", "config.json: model (", "model.safetensors: not used: config.json tells more, and of another model: 108544 parameters, not 7",
				"smi.csv: what was seen (mem_used, ",
			},
			[]string{"an adapter (LORA) is trained, which is not described", "config.json has 108544 parameters, model.safetensors 7: one of them is not of this training"},
		},
		{
			"what does not tell which",
			map[string]string{"tasks.json": several, "a.log": two, "model-00001-of-00002.safetensors": tensors("7"), "m.txt": summary, "ds.json": `{"train_micro_batch_size_per_gpu": "auto"}`},
			4, 110,
			[]string{
				"tasks.json: not used: it holds 2 tasks", "ds.json: not used: an object with the keys train_micro_batch_size_per_gpu", "m.txt: model (a summary",
				"model-00001-of-00002.safetensors: not used: a part of a checkpoint", "a.log: not used: it tells of 2 GPUs or processes",
			},
			nil,
		},
		{
			"a specification",
			map[string]string{"out/spec.json": spec, "ds.json": `{"train_micro_batch_size_per_gpu": 2}`, "other.json": `{"a": 1}`, "old.json": spec},
			16, 7,
			[]string{"old.json: model, training (it states them itself)", "out/spec.json: not used: old.json is newer, or lies higher", "ds.json: not used: old.json states the batch", "other.json: not used: an object with the keys a"},
			nil,
		},
		{"what was seen alone", map[string]string{"dmon.log": dmon, "b.log": dmon}, 4, 0, []string{"b.log: what was seen (", "dmon.log: not used: b.log tells that already"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run-7")
			fill(t, dir, tt.files)
			f, err := ReadFolder(dir, 4, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Task.Training.BatchSize != tt.batch || f.Task.Model.Params() != tt.params || f.Task.ID != "run-7" && f.Task.ID != "mine" && f.Task.ID != "old" {
				t.Errorf("%s: batch %d, %d parameters; want %d, %d", f.Task.ID, f.Task.Training.BatchSize, f.Task.Model.Params(), tt.batch, tt.params)
			}
			starts(t, "source", tt.sources, texts(f.Sources))
			for _, want := range tt.notes {
				if !strings.Contains(strings.Join(f.Task.Warnings, "\n"), want) {
					t.Errorf("no %q among %q", want, f.Task.Warnings)
				}
			}
			if len(f.Task.Warnings) != len(tt.notes) {
				t.Errorf("warnings %q, want %d", f.Task.Warnings, len(tt.notes))
			}
		})
	}
}

func texts(sources []Source) (all []string) {
	for _, s := range sources {
		all = append(all, s.String())
	}
	return all
}

// starts compares texts as far as they are wanted.
func starts(t *testing.T, what string, want, got []string) {
	t.Helper()
	short := append([]string(nil), got...)
	for i := range min(len(want), len(got)) {
		short[i] = got[i][:min(len(got[i]), len(want[i]))]
	}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("%s (-want +got):\n%s\n%s", what, diff, strings.Join(got, "\n"))
	}
}

// fill writes files of one age.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

// What was seen by two is one: the first wins, the other fills in.
func TestSeenByTwo(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"trace.json": kineto, "gpu.log": dmon, "config.json": config, "trainer_state.json": `{"max_steps": 9}`})
	f, err := ReadFolder(dir, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Task.Solo
	busy, _ := s.GPUBusy.Get()
	if g, ok := s.Product(); !ok || g.Name != "A100-40GB" || busy != 1 || s.MemBusy != profile.Some(0.25) || s.MemUsed.IsZero() || s.Source != "trace.json, gpu.log" || s.Steps != profile.Some(int64(9)) {
		t.Errorf("%+v", s)
	}
	if _, err := f.Task.Colloc(); err != nil {
		t.Error(err)
	}
}

// A folder of many files ends, and says so.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"config.json": config}
	for i := range maxFolder {
		files["log"+strings.Repeat("x", i)+".csv"] = smi
	}
	fill(t, dir, files)
	f, err := ReadFolder(dir, 1, nil)
	if err != nil || len(f.Sources) != maxFolder+1 || !strings.Contains(f.Sources[maxFolder].Why, "more than 64 files") {
		t.Errorf("%v, %+v", err, f.Sources[len(f.Sources)-1])
	}
	if _, err := ReadFolder(t.TempDir(), 1, nil); err == nil || !strings.Contains(err.Error(), "nothing here describes a model") {
		t.Errorf("an empty folder: %v", err)
	}
}
