package modelfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
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
