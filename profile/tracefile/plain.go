package tracefile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"

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
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) { // PowerShell's redirection
		in = bufio.NewReaderSize(&wide{r: in}, gather.MaxLine)
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

// wide turns UTF-16 with a byte order mark into UTF-8.
type wide struct {
	r     *bufio.Reader
	begun bool
	big   bool
	high  rune   // the first half of a pair
	out   []byte // not yet read
}

// Read implements io.Reader.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.out) < min(len(p), 4096) {
		var pair [2]byte
		if _, err := io.ReadFull(w.r, pair[:]); err != nil {
			if len(w.out) > 0 {
				break
			}
			return 0, io.EOF // half a unit at the end is none
		}
		if !w.begun {
			w.begun, w.big = true, pair[0] == 0xfe
			continue
		}
		unit := rune(pair[0]) | rune(pair[1])<<8
		if w.big {
			unit = rune(pair[1]) | rune(pair[0])<<8
		}
		switch {
		case w.high != 0:
			w.out = append(w.out, string(utf16.DecodeRune(w.high, unit))...)
			w.high = 0
		case utf16.IsSurrogate(unit):
			w.high = unit
		default:
			w.out = append(w.out, string(unit)...)
		}
	}
	n := copy(p, w.out)
	w.out = w.out[:copy(w.out, w.out[n:])]
	return n, nil
}
