package modelfile

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// wire scans protobuf messages without a schema and without holding them:
// whoever does not want a field does nothing, and it is skipped.
type wire struct {
	in   *input
	held int64 // bytes of text and shapes kept so far
}

// field is one field of a message. A varint or fixed field has value; a field
// with a length has end, the offset behind it.
type field struct {
	number int
	kind   int // of wire type
	value  uint64
	end    int64
}

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func (w *wire) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b, err := w.in.ReadByte()
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
	return 0, fmt.Errorf("offset %d: a varint longer than 64 bits", w.in.offset)
}

// message calls visit for each field up to the offset end.
func (w *wire) message(end int64, visit func(field) error) error {
	for w.in.offset < end {
		start := w.in.offset
		tag, err := w.varint()
		if errors.Is(err, io.EOF) && end == math.MaxInt64 && w.in.offset == start {
			return nil // the whole file, of unknown length
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", start, noEOF(err))
		}
		f := field{number: int(min(tag>>3, 1<<30)), kind: int(tag & 7)}
		if err := w.value(&f, start, end); err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		if f.kind == wireBytes {
			if err := w.in.skip(f.end - w.in.offset); err != nil {
				return err
			}
		}
	}
	if w.in.offset > end {
		return fmt.Errorf("offset %d: a field passes the end of its message", w.in.offset)
	}
	return nil
}

func (w *wire) value(f *field, start, end int64) (err error) {
	switch f.kind {
	case wireVarint:
		f.value, err = w.varint()
	case wireFixed64:
		f.value, err = w.in.number(8)
	case wireFixed32:
		f.value, err = w.in.number(4)
	case wireBytes:
		f.value, err = w.varint()
		if err == nil && f.value > uint64(end-w.in.offset) {
			return fmt.Errorf("offset %d: field %d of %d bytes passes the end of its message", start, f.number, f.value)
		}
		f.end = w.in.offset + int64(f.value)
	default:
		return fmt.Errorf("offset %d: wire type %d is not known: no protobuf", start, f.kind)
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", start, noEOF(err))
	}
	return nil
}

// hold counts what is kept in memory.
func (w *wire) hold(n int64) error {
	if w.held += n; w.held > MaxText {
		return fmt.Errorf("offset %d: names and shapes take more than %d bytes", w.in.offset, MaxText)
	}
	return nil
}

// text reads a field with a length as a string; what keeping it costs on top
// of its bytes counts too.
func (w *wire) text(f field) (string, error) {
	if f.kind != wireBytes {
		return "", fmt.Errorf("offset %d: field %d is no text", w.in.offset, f.number)
	}
	if err := w.hold(int64(f.value) + 64); err != nil {
		return "", err
	}
	b, err := w.in.bytes(f.value, int64(MaxLine))
	return string(b), err
}

// numbers appends the values of a repeated integer field, packed or not.
func (w *wire) numbers(to []int64, f field) ([]int64, error) {
	if f.kind == wireVarint {
		return append(to, int64(f.value)), w.hold(8)
	}
	if f.kind != wireBytes {
		return to, fmt.Errorf("offset %d: field %d is no list of integers", w.in.offset, f.number)
	}
	for w.in.offset < f.end {
		v, err := w.varint()
		if err != nil {
			return to, fmt.Errorf("offset %d: %w", w.in.offset, noEOF(err))
		}
		if err := w.hold(8); err != nil {
			return to, err
		}
		to = append(to, int64(v))
	}
	return to, nil
}
