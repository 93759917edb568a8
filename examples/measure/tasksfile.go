package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"example.com/colloc/profile"
)

// tasksFile names the file of descriptions beside a table: x.csv has
// x.tasks.json.
func tasksFile(table string) string { return strings.TrimSuffix(table, ".csv") + ".tasks.json" }

// writeTasks writes an object from task to profile.Spec.
func writeTasks(w io.Writer, specs map[string]*profile.Spec) error {
	text, err := json.MarshalIndent(specs, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// loadTasks reads the descriptions beside a table; there may be none.
func loadTasks(table string) (map[string]*profile.Spec, error) {
	text, err := os.ReadFile(tasksFile(table))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var specs map[string]*profile.Spec
	if err := json.Unmarshal(text, &specs); err != nil {
		return nil, fmt.Errorf("%s: %w", tasksFile(table), err)
	}
	return specs, nil
}
