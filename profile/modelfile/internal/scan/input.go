package scan

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"example.com/colloc/profile/internal/reading"
)

// Input reads a file forward, knows its offset for messages, and skips without
// reading where the reader can seek.
type Input struct {
	r      *bufio.Reader
	under  io.Reader
	seeker io.Seeker // nil where the reader cannot seek
	base   int64     // offset of the reader at the start
	Offset int64     // from base
	Size   int64     // from base; math.MaxInt64 is unknown
	Path   string    // "" is unknown
}

// NewInput starts at the place where the reader stands.
func NewInput(r io.Reader) *Input {
	in := &Input{r: bufio.NewReaderSize(r, Ahead), under: r, Size: math.MaxInt64}
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
	in.seeker, in.base, in.Size = s, base, end-base
	return in
}

// Ahead is how many bytes Peek can return.
const Ahead = 16 << 10

// Peek returns the next n bytes, at most Ahead, without reading them.
func (in *Input) Peek(n int) ([]byte, error) { return in.r.Peek(n) }

// At returns the whole input for reading anywhere, or nil where it cannot seek.
func (in *Input) At() io.ReaderAt {
	if under, ok := in.under.(io.ReaderAt); ok && in.seeker != nil {
		return io.NewSectionReader(under, in.base, in.Size)
	}
	return nil
}

// Read reads the next bytes.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.Offset += int64(n)
	return n, err
}

// ReadByte reads one byte.
func (in *Input) ReadByte() (byte, error) {
	b, err := in.r.ReadByte()
	if err == nil {
		in.Offset++
	}
	return b, err
}

// Skip passes over n bytes.
func (in *Input) Skip(n int64) error {
	if n < 0 || n > in.Size-in.Offset {
		return in.cut(n)
	}
	if in.seeker != nil && n > int64(in.r.Buffered()) {
		if _, err := in.seeker.Seek(in.base+in.Offset+n, io.SeekStart); err != nil {
			return err
		}
		in.r.Reset(in.under)
		in.Offset += n
		return nil
	}
	for n > 0 {
		step, err := in.r.Discard(int(min(n, 1<<30)))
		in.Offset += int64(step)
		n -= int64(step)
		if err != nil {
			return in.cut(n)
		}
	}
	return nil
}

func (in *Input) cut(n int64) error {
	return fmt.Errorf("offset %d: a length of %d bytes passes the end of the file", in.Offset, n)
}

// Bytes returns the next n bytes, at most limit.
func (in *Input) Bytes(n uint64, limit int64) ([]byte, error) {
	if n > uint64(limit) {
		return nil, fmt.Errorf("offset %d: a length of %d bytes, at most %d are allowed", in.Offset, n, limit)
	}
	if int64(n) > in.Size-in.Offset {
		return nil, in.cut(int64(n))
	}
	start, buf := in.Offset, make([]byte, n)
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, fmt.Errorf("offset %d: %w", start, reading.NoEOF(err))
	}
	return buf, nil
}

// Number reads a little-endian number of the given width in bytes.
func (in *Input) Number(width int) (uint64, error) {
	var buf [8]byte
	if _, err := io.ReadFull(in, buf[:width]); err != nil {
		return 0, fmt.Errorf("offset %d: %w", in.Offset, reading.NoEOF(err))
	}
	return binary.LittleEndian.Uint64(buf[:]), nil
}
