package main

import (
	"bytes"

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
	files, name, err := source(path, "tasks.json")
	if err != nil {
		return nil, err
	}
	data, err := readAll(files, name)
	if err != nil {
		return nil, err
	}
	file, err := taskfile.Read(bytes.NewReader(data), &taskfile.Options{Name: name, Open: files})
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
