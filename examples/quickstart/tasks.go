package main

import (
	"io/fs"
	"os"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/taskfile"
)

// workload is the tasks to plan and where each was described, by ID.
type workload struct {
	Tasks []colloc.Task
	place map[string]string
}

// loadTasks reads the tasks at path, or the built-in ones.
func loadTasks(path string) (*workload, error) {
	file, err := taskFile(path)
	if err != nil {
		return nil, err
	}
	w := &workload{place: make(map[string]string)}
	for i := range file.Tasks {
		t := &file.Tasks[i]
		task, err := t.Colloc()
		if err != nil {
			return nil, err
		}
		w.place[t.ID] = t.Place()
		w.Tasks = append(w.Tasks, task)
	}
	return w, nil
}

func taskFile(path string) (*taskfile.File, error) {
	if path != "" {
		return taskfile.ReadFile(path)
	}
	f, err := builtin.Open("tasks.json")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return taskfile.Read(f, &taskfile.Options{Name: "tasks.json", Open: builtin.Open})
}

// loadGPUs reads the GPUs at path, or the built-in ones.
func loadGPUs(path string) (_ *taskfile.Cluster, err error) {
	var f fs.File
	if path != "" {
		f, err = os.Open(path)
	} else {
		path = "gpus.json"
		f, err = builtin.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return taskfile.ReadGPUs(f, path)
}
