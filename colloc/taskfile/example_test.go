package taskfile_test

import (
	"fmt"
	"os"
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
