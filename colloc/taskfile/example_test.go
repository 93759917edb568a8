package taskfile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

func ExampleRead() {
	f, err := taskfile.Read(strings.NewReader(`{
		"format": "colloc-tasks", "version": 1,
		"tasks": [{"id": "bert-1", "training": {"batch_size": 8}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.89, "mem_used": "9.5GiB"}}]
	}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := f.Tasks[0].Colloc() // for a Planner
	if err != nil {
		fmt.Println(err)
		return
	}
	peak, known := task.Profile.Vector.Get(profile.PeakMemory)
	fmt.Println(task.ID, profile.BytesOf(peak), known)
	// Output: bert-1 9.5 GiB true
}

func ExampleWrite() {
	err := taskfile.Write(os.Stdout, &taskfile.File{Tasks: []taskfile.Task{{
		ID: "train.py", Spec: profile.Spec{Training: profile.Training{BatchSize: 32}},
		Missing: []taskfile.Gap{{What: "the layers of the model", Get: "colloc describe config.json"}},
	}}})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {
	//   "format": "colloc-tasks",
	//   "version": 1,
	//   "tasks": [
	//     {
	//       "id": "train.py",
	//       "model": {},
	//       "training": {
	//         "batch_size": 32
	//       },
	//       "missing": [
	//         {
	//           "what": "the layers of the model",
	//           "get": "colloc describe config.json"
	//         }
	//       ]
	//     }
	//   ]
	// }
}

// What a task file lacks may come from a run: SoloOf keeps it beside the description.
func ExampleWriteFile() {
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	gpu, _ := profile.LookupGPU("A100-40GB")
	seen, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 8}}, profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(0.4)}}}, gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, "tasks.json")
	err = taskfile.WriteFile(path, &taskfile.File{Tasks: []taskfile.Task{{ID: "bert-1", Spec: seen.Spec, Solo: taskfile.SoloOf(&seen)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := os.ReadFile(path)
	fmt.Println("a task file:", taskfile.Sniff(head), err)
	f, err := taskfile.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Tasks[0].ID, "on", f.Tasks[0].Solo.GPU)
	// Output:
	// a task file: true <nil>
	// bert-1 on A100-40GB
}

// A tool keeps its own settings in a section of the file and reads them strictly.
func ExampleSection() {
	var settings struct {
		Account string `json:"account"`
	}
	fmt.Println(taskfile.Section(json.RawMessage(`{"account": "vision"}`), &settings), settings.Account)
	fmt.Println(taskfile.Section(json.RawMessage(`{"acount": "vision"}`), &settings))
	// Output:
	// <nil> vision
	// settings:1: json: unknown field "acount"
}

// A list of GPUs as programs and people write it.
func ExampleReadGPUs() {
	c, err := taskfile.ReadGPUs(strings.NewReader(`{"gpus": [{"model": "A100-40GB"}, {"id": "old", "model": "T4", "memory": "15GiB"}]}`), "gpus.json")
	if err != nil {
		panic(err)
	}
	for i := range c.GPUs {
		fmt.Println(c.GPUs[i].ID, c.GPUs[i].Model.Name, c.GPUs[i].Total())
	}
	// Output:
	// gpu0 A100-40GB 40 GiB
	// old T4 15 GiB
}
