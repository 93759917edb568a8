package scan

import (
	"errors"
	"fmt"
	"io"
	"math"

	"example.com/colloc/profile/internal/reading"
)

// Wire scans protobuf messages without a schema and without holding them:
// whoever does not want a field does nothing, and it is skipped.
type Wire struct {
	In   *Input
	held int64 // bytes of text and shapes kept so far
}

// Field is one field of a message. A varint or fixed field has value; a field
// with a length has end, the offset behind it.
type Field struct {
	Number int
	Kind   int // of wire type
	Value  uint64
	End    int64
}

const (
	// WireVarint is a number.
	WireVarint  = 0
	wireFixed64 = 1
	// WireBytes is a field with a length.
	WireBytes   = 2
	wireFixed32 = 5
)

func (w *Wire) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b, err := w.In.ReadByte()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("offset %d: a varint longer than 64 bits", w.In.Offset)
}

// Message calls visit for each field up to the offset end.
func (w *Wire) Message(end int64, visit func(Field) error) error {
	for w.In.Offset < end {
		start := w.In.Offset
		tag, err := w.varint()
		if errors.Is(err, io.EOF) && end == math.MaxInt64 && w.In.Offset == start {
			return nil // the whole file, of unknown length
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", start, reading.NoEOF(err))
		}
		f := Field{Number: int(min(tag>>3, 1<<30)), Kind: int(tag & 7)}
		if err := w.value(&f, start, end); err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		if f.Kind == WireBytes {
			if err := w.In.Skip(f.End - w.In.Offset); err != nil {
				return err
			}
		}
	}
	if w.In.Offset > end {
		return fmt.Errorf("offset %d: a field passes the end of its message", w.In.Offset)
	}
	return nil
}

func (w *Wire) value(f *Field, start, end int64) (err error) {
	switch f.Kind {
	case WireVarint:
		f.Value, err = w.varint()
	case wireFixed64:
		f.Value, err = w.In.Number(8)
	case wireFixed32:
		f.Value, err = w.In.Number(4)
	case WireBytes:
		f.Value, err = w.varint()
		if err == nil && f.Value > uint64(end-w.In.Offset) {
			return fmt.Errorf("offset %d: field %d of %d bytes passes the end of its message", start, f.Number, f.Value)
		}
		f.End = w.In.Offset + int64(f.Value)
	default:
		return fmt.Errorf("offset %d: wire type %d is not known: no protobuf", start, f.Kind)
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", start, reading.NoEOF(err))
	}
	return nil
}

// Hold counts what is kept in memory.
func (w *Wire) Hold(n int64) error {
	if w.held += n; w.held > MaxText {
		return fmt.Errorf("offset %d: names and shapes take more than %d bytes", w.In.Offset, MaxText)
	}
	return nil
}

// Text reads a field with a length as a string; what keeping it costs on top
// of its bytes counts too.
func (w *Wire) Text(f Field) (string, error) {
	if f.Kind != WireBytes {
		return "", fmt.Errorf("offset %d: field %d is no text", w.In.Offset, f.Number)
	}
	if err := w.Hold(int64(f.Value) + 64); err != nil {
		return "", err
	}
	b, err := w.In.Bytes(f.Value, int64(MaxLine))
	return string(b), err
}

// Numbers appends the values of a repeated integer field, packed or not.
func (w *Wire) Numbers(to []int64, f Field) ([]int64, error) {
	if f.Kind == WireVarint {
		return append(to, int64(f.Value)), w.Hold(8)
	}
	if f.Kind != WireBytes {
		return to, fmt.Errorf("offset %d: field %d is no list of integers", w.In.Offset, f.Number)
	}
	for w.In.Offset < f.End {
		v, err := w.varint()
		if err != nil {
			return to, fmt.Errorf("offset %d: %w", w.In.Offset, reading.NoEOF(err))
		}
		if err := w.Hold(8); err != nil {
			return to, err
		}
		to = append(to, int64(v))
	}
	return to, nil
}
