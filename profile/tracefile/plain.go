package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
	"example.com/colloc/profile/tracefile/internal/profiler"
)

// plain undoes UTF-16 and gzip; head is the beginning of the text.
func plain(r io.Reader) (in *bufio.Reader, head []byte, err error) {
	in = bufio.NewReaderSize(r, gather.MaxLine)
	head, err = in.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if reading.IsUTF16(head) {
		in = bufio.NewReaderSize(reading.UTF8(in), gather.MaxLine)
		if head, err = in.Peek(4 << 10); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		if _, err := in.Discard(len(mark)); err != nil {
			return nil, nil, err
		}
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		in = bufio.NewReaderSize(&unpacked{r: z, left: profiler.MaxProfile}, gather.MaxLine)
		if head, err = in.Peek(4 << 10); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
	}
	return in, head, nil
}

// unpacked bounds what comes out of gzip, of which a little may hold very much.
type unpacked struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, fmt.Errorf("gzip: more than %d bytes unpacked", profiler.MaxProfile)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("gzip: the file is cut off: %w", err)
	}
	return n, err
}
