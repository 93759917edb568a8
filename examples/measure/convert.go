package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
	var rows bytes.Buffer
	if err := table.WriteCSV(&rows, table.Tidy(c)); err != nil {
		return err
	}
	const mode = 0o644 // for others to read
	return errors.Join(replace.Shared(to, mode, rows.Bytes()), replace.Shared(tasksFile(to), mode, append(specs, '\n')))
}

// tasksFile names the file of descriptions beside a table: x.csv has
// x.tasks.json, an object from task to profile.Spec.
func tasksFile(table string) string { return strings.TrimSuffix(table, ".csv") + ".tasks.json" }
