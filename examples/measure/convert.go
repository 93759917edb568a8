package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/internal/replace"
)

// convert makes a tidy table of a raw file, and beside it a file of the tasks'
// descriptions.
func convert(from, to string) error {
	c, err := raw.Load(from)
	if err != nil {
		return err
	}
	if c.Header != nil && c.Header.Simulated && inDataFolder(to) {
		return errDataFolder
	}
	specs, err := json.MarshalIndent(c.Specs, "", " ")
	if err != nil {
		return err
	}
	err = replace.File(to, func(f *os.File) error { return errors.Join(table.WriteCSV(f, table.Tidy(c)), f.Chmod(0o644)) })
	if err != nil {
		return err
	}
	return replace.File(tasksFile(to), func(f *os.File) error {
		_, err := f.Write(append(specs, '\n'))
		return errors.Join(err, f.Chmod(0o644))
	})
}

// tasksFile names the file of descriptions beside a table: x.csv has
// x.tasks.json, an object from task to profile.Spec.
func tasksFile(table string) string { return strings.TrimSuffix(table, ".csv") + ".tasks.json" }
