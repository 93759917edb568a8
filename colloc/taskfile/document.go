package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// document is a JSON file while it is decoded; errors name file and line.
type document struct {
	name string
	data []byte
}

// part is a value of a document.
type part struct {
	key    string
	offset int
	raw    json.RawMessage
}

// decode reads the part of the document that begins at offset into v. Unknown
// fields are errors, and so is what follows.
func (d *document) decode(p part, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(p.raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return d.fault(p.offset, len(p.raw), int(decoder.InputOffset()), err)
	}
	end := int(decoder.InputOffset())
	if rest := bytes.TrimSpace(p.raw[end:]); len(rest) > 0 {
		return d.errorAt(p.offset+end, fmt.Errorf("unexpected %q after the end", rest[:min(len(rest), 20)]))
	}
	return nil
}

// fault gives an error of package json its place; the value begins at offset and
// reading got as far as at.
func (d *document) fault(offset, length, at int, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		err = fmt.Errorf("%s is a JSON %s, want %s", kind.Field, kind.Value, kind.Type)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		at = length
		err = errors.New("the file ends in the middle of a value")
	}
	return d.errorAt(offset+at, err)
}

// errorAt adds the file and the line of a byte offset.
func (d *document) errorAt(offset int, err error) error {
	return &Error{File: d.name, Line: d.line(offset), Err: err}
}

// line is that of a byte offset.
func (d *document) line(offset int) int {
	offset = max(0, min(offset, len(d.data)))
	return 1 + bytes.Count(d.data[:offset], []byte("\n"))
}

// whole is the document as a part.
func (d *document) whole() part { return part{raw: d.data} }

// maxMembers bounds the values of an object or a list.
const maxMembers = 1 << 16

// members splits an object into its values, in their order; a list has empty keys.
func (d *document) members(p part) ([]part, error) {
	decoder := json.NewDecoder(bytes.NewReader(p.raw))
	var parts []part
	seen := make(map[string]bool)
	fail := func(err error) ([]part, error) {
		return nil, d.fault(p.offset, len(p.raw), int(decoder.InputOffset()), err)
	}
	open, err := decoder.Token()
	if err != nil {
		return fail(err)
	}
	for decoder.More() {
		var m part
		if open == json.Delim('{') {
			key, err := decoder.Token()
			if err != nil {
				return fail(err)
			}
			m.key, _ = key.(string) // keys are strings
			if seen[m.key] {
				return fail(fmt.Errorf("%q is there twice", m.key))
			}
			seen[m.key] = true
		}
		if err := decoder.Decode(&m.raw); err != nil {
			return fail(err)
		}
		m.offset = p.offset + int(decoder.InputOffset()) - len(m.raw)
		parts = append(parts, m)
		if len(parts) > maxMembers {
			return fail(fmt.Errorf("more than %d values", maxMembers))
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fail(err)
	}
	end := int(decoder.InputOffset())
	if rest := bytes.TrimSpace(p.raw[end:]); len(rest) > 0 {
		return nil, d.errorAt(p.offset+end, fmt.Errorf("unexpected %q after the end", rest[:min(len(rest), 20)]))
	}
	return parts, nil
}
