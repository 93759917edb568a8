package describe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kineto is a trace in which the loop waits 280 µs of each step of 928 for its loader.
const kineto = `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000, "dur": 928},
{"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 1000, "dur": 280},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1300, "dur": 300, "args": {"device": 0, "blocks per SM": 2, "est. achieved occupancy %": 40}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1900, "dur": 28, "args": {"device": 0, "blocks per SM": 2, "est. achieved occupancy %": 40}}
]}`

const dmon = `# gpu   sm   mem    fb
# Idx    %     %    MB
    0   40    20  3000
    0   60    30  4000
`

const task = `{"format": "colloc-tasks", "version": 1, "tasks": [{"id": "mine", "training": {"batch_size": 8}, "warnings": ["w"],
  "missing": [{"what": "the layers", "get": "-model"}], "solo": {"gpu": "A100-40GB", "gpu_busy": 0.4, "mem_used": "3GiB", "data_wait": 0.3}}]}`

func TestSeen(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("folder/train.py", "import torch")
	file("folder/config.json", `{"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_layer": 2, "n_positions": 32, "vocab_size": 100}`)
	file("run/config.json", `{"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_layer": 2, "n_positions": 32, "vocab_size": 100}`)
	file("run/trainer_state.json", `{"train_batch_size": 16, "max_steps": 9}`)
	file("run/model.safetensors", "x")
	file("run/dmon.log", dmon)
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"a profiler's trace", []string{file("trace.json", kineto)}, []string{
			"kineto, 1 samples, GPU 0", `"data_wait":0.30172`, "bottleneck: few-workers (data_wait 0.3 >= 0.1", "try add-workers: load data in 4 worker processes", "throughput x1.43",
		}},
		{"a log", []string{"-gpu", "A100", file("dmon.log", dmon)}, []string{"table, 2 samples", `"gpu_busy":0.5`, "on A100", "beside a copy of itself at "}},
		{"a log of no GPU", []string{file("dmon.log", dmon)}, []string{`"gpu":""`, "note: the log does not name the GPU"}},
		{"a log to paste", []string{"-gpu", "A100-40GB", "-spec", file("dmon.log", dmon)}, []string{`{"gpu":"A100-40GB"`, `"peak_memory":`}},
		{"a task file", []string{file("task.json", task)}, []string{`task "mine", unknown parameters, batch 8`, "reserve", "GPU busy 40 % (measured)", "bottleneck: few-workers", "note: w", "note: missing: the layers: -model"}},
		{"a folder", []string{"-batch", "4", filepath.Join(dir, "folder")}, []string{"config.json: model (a model's configuration", "108,544", `"folder"`, "batch 4"}},
		{"a folder with a log", []string{"-gpu", "A100", "-precision", "bf16", filepath.Join(dir, "run")}, []string{
			"config.json: model", "trainer_state.json: batch 16", "dmon.log: what was seen", "model.safetensors: not used: ", "training at batch 16 in bf16", `"solo": {"gpu":"A100"`, "GPU busy 50 % (measured)",
		}},
		{"a log of no GPU in a folder", []string{filepath.Join(dir, "run")}, []string{"note: what was seen does not name the GPU"}},
		{"a model on a GPU", []string{"-gpu", "A100", filepath.Join(dir, "folder", "config.json")}, []string{"on A100", "peak ", "reserve ", "beside a copy of itself at "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(tt.args, &out, &errs); code != 0 {
				t.Fatal(code, errs.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
	for _, path := range []string{"trace.json", "dmon.log", "task.json", "folder", "run"} {
		var out, errs bytes.Buffer
		if code := run([]string{"-json", "-gpu", "A100", filepath.Join(dir, path)}, &out, &errs); code != 0 || !json.Valid(bytes.TrimSpace(out.Bytes())) || !strings.Contains(out.String(), `"speed_beside_a_copy"`) && !strings.Contains(out.String(), `"action":"add-workers"`) {
			t.Errorf("%s as JSON: %d, %s%s", path, code, &out, &errs)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-optimizer", "sgd", "task.json"}, "-optimizer is for model files"},
		{[]string{"-precision", "bf16", "task.json"}, "-precision is for model files"},
		{[]string{"-batch", "1", "task.json"}, "-batch is for model files"},
		{[]string{"-gpu", "V100", "trace.json"}, "the log names NVIDIA A100-SXM4-40GB, -gpu V100"},
	} {
		var out, errs bytes.Buffer
		tt.args[2] = filepath.Join(dir, tt.args[2])
		if run(tt.args, &out, &errs) != 2 || !strings.Contains(errs.String(), tt.want) {
			t.Errorf("%v: got %s%s, want %q", tt.args, &out, &errs, tt.want)
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"-gpu", "V100", filepath.Join(dir, "task.json")}, &out, &errs); code != 0 || strings.Contains(out.String(), "(measured)") || !strings.Contains(out.String(), "note: seen on A100-40GB: what is said of V100") {
		t.Errorf("a task on another GPU: %d, %s%s", code, &out, &errs)
	}
	if code := run([]string{file("et.json", `{"schema": "1.0.1", "pid": 1, "nodes": [{"name": "aten::add", "id": 2}]}`)}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "an execution trace of PyTorch") {
		t.Errorf("an execution trace: %d, %s", code, &errs)
	}
	errs.Reset()
	if code := run([]string{t.TempDir()}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "nothing here describes a model") {
		t.Errorf("an empty folder: %d, %s", code, &errs)
	}
}
