package modelfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// input reads a file forward, knows its offset for messages, and skips without
// reading where the reader can seek.
type input struct {
	r      *bufio.Reader
	under  io.Reader
	seeker io.Seeker // nil where the reader cannot seek
	base   int64     // offset of the reader at the start
	offset int64     // from base
	size   int64     // from base; math.MaxInt64 is unknown
	path   string    // "" is unknown
}

func newInput(r io.Reader) *input {
	in := &input{r: bufio.NewReaderSize(r, sniffBytes), under: r, size: math.MaxInt64}
	s, ok := r.(io.Seeker)
	if !ok {
		return in
	}
	base, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return in // a pipe
	}
	end, err := s.Seek(0, io.SeekEnd)
	if _, back := s.Seek(base, io.SeekStart); err != nil || back != nil || end <= base {
		return in // a device
	}
	in.seeker, in.base, in.size = s, base, end-base
	return in
}

// Read reads the next bytes.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.offset += int64(n)
	return n, err
}

// ReadByte reads one byte.
func (in *input) ReadByte() (byte, error) {
	b, err := in.r.ReadByte()
	if err == nil {
		in.offset++
	}
	return b, err
}

// skip passes over n bytes.
func (in *input) skip(n int64) error {
	if n < 0 || n > in.size-in.offset {
		return in.cut(n)
	}
	if in.seeker != nil && n > int64(in.r.Buffered()) {
		if _, err := in.seeker.Seek(in.base+in.offset+n, io.SeekStart); err != nil {
			return err
		}
		in.r.Reset(in.under)
		in.offset += n
		return nil
	}
	for n > 0 {
		step, err := in.r.Discard(int(min(n, 1<<30)))
		in.offset += int64(step)
		n -= int64(step)
		if err != nil {
			return in.cut(n)
		}
	}
	return nil
}

func (in *input) cut(n int64) error {
	return fmt.Errorf("offset %d: a length of %d bytes passes the end of the file", in.offset, n)
}

// bytes returns the next n bytes, at most limit.
func (in *input) bytes(n uint64, limit int64) ([]byte, error) {
	if n > uint64(limit) {
		return nil, fmt.Errorf("offset %d: a length of %d bytes, at most %d are allowed", in.offset, n, limit)
	}
	if int64(n) > in.size-in.offset {
		return nil, in.cut(int64(n))
	}
	start, buf := in.offset, make([]byte, n)
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, fmt.Errorf("offset %d: %w", start, noEOF(err))
	}
	return buf, nil
}

// number reads a little-endian number of the given width in bytes.
func (in *input) number(width int) (uint64, error) {
	var buf [8]byte
	if _, err := io.ReadFull(in, buf[:width]); err != nil {
		return 0, fmt.Errorf("offset %d: %w", in.offset, noEOF(err))
	}
	return binary.LittleEndian.Uint64(buf[:]), nil
}

// noEOF turns an end in the middle of something into what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Bounds that every reader keeps. Real files stay far below; beyond them a
// reader returns an error that names the line or the offset.
const (
	// MaxText is the largest text in bytes, and the most that is held of the
	// names and shapes of a binary file.
	MaxText = 64 << 20
	// MaxJSON is the largest JSON document in bytes, also inside an archive.
	MaxJSON = 16 << 20
	// MaxLine is the longest line, and the longest name, in bytes.
	MaxLine = 64 << 10
	// MaxLayers is the largest number of leaves.
	MaxLayers = 1 << 18
	// MaxDepth is the deepest nesting of containers.
	MaxDepth = 64
)

const (
	maxWarnings = 100
	maxDim      = 1 << 40 // one dimension of a shape
	maxRank     = 16
)

// mul multiplies non-negative counts, saturating at the largest int64, which
// profile.Layer.Validate refuses.
func mul(factors ...int64) int64 {
	product := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(product, uint64(max(f, 0)))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		product = lo
	}
	return int64(product)
}

// add adds non-negative counts, saturating at the largest int64.
func add(terms ...int64) int64 {
	var sum int64
	for _, t := range terms {
		if sum > math.MaxInt64-t {
			return math.MaxInt64
		}
		sum += t
	}
	return sum
}

// readText reads a whole JSON document without a byte order mark.
func readText(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxJSON+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > MaxJSON {
		return nil, fmt.Errorf("the document is longer than %d bytes", MaxJSON)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// lines reads text line by line within bounds.
type lines struct {
	r      *bufio.Reader
	number int
	bytes  int64
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, MaxLine)}
}

// each calls visit for each line, without its end, until *done or the end; errors
// name the line.
func (l *lines) each(done *bool, visit func(number int, line []byte) error) error {
	for !*done {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(l.number, line); err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	return nil
}

// next returns the next line without its end; the bytes hold until the next
// call. At the end it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		return nil, err
	}
	l.number++
	l.bytes += int64(len(line))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", l.number, MaxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", l.number, err)
	case l.bytes > MaxText:
		return nil, fmt.Errorf("line %d: the text is longer than %d bytes", l.number, MaxText)
	}
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line, nil
}

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
