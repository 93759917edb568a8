package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds what is read of one file.
const maxFile = 64 << 20

// folder opens the files that a document refers to.
type folder func(name string) (fs.File, error)

// beside opens files by their path relative to that of a document, or by an
// absolute path.
func beside(document string) folder {
	return func(name string) (fs.File, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(document), name)
		}
		return os.Open(name)
	}
}

// source returns the folder and the name of a document: that at path, or the
// built-in one.
func source(path, builtinName string) (folder, string, error) {
	if path == "" {
		return builtin.Open, builtinName, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if info.IsDir() {
		return nil, "", fmt.Errorf("%s is a folder, want a JSON file", path)
	}
	return beside(path), filepath.Base(path), nil
}

func readAll(files folder, name string) ([]byte, error) {
	f, err := files(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// document is one JSON file while it is decoded; errors name file and line.
type document struct {
	name string
	data []byte
}

// open reads a whole JSON file into v: that at path, or the built-in one. It
// returns the document and the folder it is in.
func open(path, builtinName string, v any) (*document, folder, error) {
	files, name, err := source(path, builtinName)
	if err != nil {
		return nil, nil, err
	}
	data, err := readAll(files, name)
	if err != nil {
		return nil, nil, err
	}
	d := &document{name: name, data: data}
	return d, files, d.decode(0, data, v)
}

// decode reads the part of the document that begins at offset into v. Unknown
// fields are errors.
func (d *document) decode(offset int, part []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(part))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		at := int(decoder.InputOffset())
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			at = int(syntax.Offset)
		case errors.As(err, &kind):
			at = int(kind.Offset)
			err = fmt.Errorf("%s is a JSON %s, want %s", kind.Field, kind.Value, kind.Type)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			at = len(part)
			err = errors.New("the file ends in the middle of a value")
		}
		return d.errorAt(offset+at, err)
	}
	if rest := bytes.TrimSpace(part[decoder.InputOffset():]); len(rest) > 0 {
		return d.errorAt(offset+int(decoder.InputOffset()), fmt.Errorf("unexpected %q after the end", rest[:min(len(rest), 20)]))
	}
	return nil
}

// errorAt adds the file and the line of a byte offset.
func (d *document) errorAt(offset int, err error) error {
	return fmt.Errorf("%s: %w", d.place(offset), err)
}

// place names the file and the line of a byte offset.
func (d *document) place(offset int) string {
	offset = max(0, min(offset, len(d.data)))
	return fmt.Sprintf("%s:%d", d.name, 1+bytes.Count(d.data[:offset], []byte("\n")))
}

// each decodes the elements of a JSON list one by one, so that a fault is
// reported with the line it is on. use gets the element and its place.
func each[T any](d *document, list []json.RawMessage, use func(v *T, place string) error) error {
	offset := 0
	for _, raw := range list {
		offset += bytes.Index(d.data[offset:], raw)
		at := offset
		var v T
		if err := d.decode(at, raw, &v); err != nil {
			return err
		}
		if err := use(&v, d.place(at)); err != nil {
			return fmt.Errorf("%s: %w", d.place(at), err)
		}
		offset += len(raw)
	}
	return nil
}
