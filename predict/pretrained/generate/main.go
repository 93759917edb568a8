// Command generate fits the pretrained models and writes their files.
//
//	COLLOC_DATA=DIR go generate ./predict/pretrained
//
// DIR holds the measurement files that package dataset reads. The same files
// give the same bytes. The exit status is 2 for bad input.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// job fits one model from the files in a folder and writes it.
type job struct {
	file string
	fit  func(data string, w io.Writer) error
}

func jobs() []job {
	return []job{
		{"memory.json", fitMemory},
		{"utilization.json", fitUtilization},
		{"interference.json", fitInterference},
		{"mig.json", fitMIG},
		{"pace.json", fitPace},
	}
}

func main() {
	if err := run(os.Getenv("COLLOC_DATA"), ".", os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(2)
	}
}

// run fits every model first and writes afterwards, so that a failure leaves
// all files as they were.
func run(data, out string, log io.Writer) error {
	if data == "" {
		return errors.New("COLLOC_DATA is not set: name the folder with the measurement files")
	}
	list := jobs()
	models := make([]bytes.Buffer, len(list))
	for i, j := range list {
		if err := j.fit(data, &models[i]); err != nil {
			return fmt.Errorf("%s: %w", j.file, err)
		}
	}
	for i, j := range list {
		if err := os.WriteFile(filepath.Join(out, j.file), models[i].Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(log, "generate: %s: %d bytes\n", j.file, models[i].Len())
	}
	return nil
}
