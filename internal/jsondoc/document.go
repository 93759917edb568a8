package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"

	"example.com/colloc/internal/regular"
)

// MaxMembers bounds the values of an object or a list.
const MaxMembers = 1 << 16

// Document is a JSON file while it is decoded.
type Document struct {
	// Name is the file in errors.
	Name string
	// Data is its text.
	Data []byte

	starts []int // of the lines but the first
}

// Part is a value of a document.
type Part struct {
	// Key is that of a member of an object, "" of a list's.
	Key string
	// Offset is where the value begins, in bytes from the start of the document.
	Offset int
	// Raw is its text.
	Raw json.RawMessage
}

// Error is a fault of a document, with its place.
type Error struct {
	// File is the document's name.
	File string
	// Line is where, from 1.
	Line int
	// Err is the fault.
	Err error
}

// Error names place and fault.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Read reads a document of at most so many bytes. O(size).
func Read(r io.Reader, name string, most int) (*Document, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > most {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, most>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as editors on Windows write it
	d := &Document{Name: name, Data: data, starts: make([]int, 0, bytes.Count(data, []byte("\n")))}
	for i, b := range data {
		if b == '\n' {
			d.starts = append(d.starts, i+1)
		}
	}
	return d, nil
}

// ReadFile is Read of a file, which errors then call by the last part of its path.
func ReadFile(path string, most int) (*Document, error) {
	f, err := regular.Named(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a JSON file", path)
	}
	return Read(f, filepath.Base(path), most)
}

// Whole is the document as a part.
func (d *Document) Whole() Part { return Part{Raw: d.Data} }

// Decode reads a part into v. Unknown fields are errors, and so is what follows.
func (d *Document) Decode(p Part, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(p.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return d.fault(p, decoder, err)
	}
	return d.end(p, decoder)
}

// end reports what follows the value.
func (d *Document) end(p Part, decoder *json.Decoder) error {
	if rest := bytes.TrimLeft(p.Raw[decoder.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return d.ErrorAt(p.Offset+len(p.Raw)-len(rest), fmt.Errorf("unexpected %q after the end", rest[:min(len(rest), 20)]))
	}
	return nil
}

// fault gives an error of package json its place.
func (d *Document) fault(p Part, decoder *json.Decoder, err error) error {
	at := int(decoder.InputOffset())
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		err = fmt.Errorf("%s is a JSON %s, want %s", kind.Field, kind.Value, named(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		at = len(p.Raw)
		err = errors.New("the file ends in the middle of a value")
	}
	return d.ErrorAt(p.Offset+at, err)
}

// ErrorAt adds the file and the line of a byte offset.
func (d *Document) ErrorAt(offset int, err error) error {
	return &Error{File: d.Name, Line: d.Line(offset), Err: err}
}

// Line is that of a byte offset, from 1. O(log lines).
func (d *Document) Line(offset int) int {
	n, _ := slices.BinarySearch(d.starts, offset+1)
	return n + 1
}

// Members splits an object into its values, in their order; a list has empty keys.
func (d *Document) Members(p Part) ([]Part, error) {
	decoder := json.NewDecoder(bytes.NewReader(p.Raw))
	var parts []Part
	seen := make(map[string]bool)
	fail := func(err error) ([]Part, error) { return nil, d.fault(p, decoder, err) }
	open, err := decoder.Token()
	if err != nil {
		return fail(err)
	}
	for decoder.More() {
		var m Part
		if open == json.Delim('{') {
			key, err := decoder.Token()
			if err != nil {
				return fail(err)
			}
			m.Key, _ = key.(string) // keys are strings
			if seen[m.Key] {
				return fail(fmt.Errorf("%q is there twice", m.Key))
			}
			seen[m.Key] = true
		}
		if err := decoder.Decode(&m.Raw); err != nil {
			return fail(err)
		}
		m.Offset = p.Offset + int(decoder.InputOffset()) - len(m.Raw)
		parts = append(parts, m)
		if len(parts) > MaxMembers {
			return fail(fmt.Errorf("more than %d values: split the file", MaxMembers))
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fail(err)
	}
	return parts, d.end(p, decoder)
}

// named is a type in the words of who writes JSON.
func named(t reflect.Type) string {
	if t.Kind() != reflect.Slice {
		return t.String()
	}
	if of := t.Elem(); of.PkgPath() == "" && of.Name() != "" {
		return "a list of " + of.Name() + "s"
	}
	return "a list"
}
