package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// read opens a file of the data folder and reads it.
func read[T any](data, name string, reader func(string, io.Reader) (T, error)) (T, error) {
	path := filepath.Join(data, name)
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, err
	}
	model, err := reader(path, f)
	return model, errors.Join(err, f.Close())
}
