package reading

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
)

// IsUTF16 recognises a text that begins with a byte order mark, as PowerShell writes what
// a program prints.
func IsUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// UTF8 turns UTF-16 with a byte order mark into UTF-8. Half a pair is replaced.
func UTF8(r io.Reader) io.Reader { return &wide{r: bufio.NewReader(r)} }

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
			w.flush()
			switch {
			case len(w.out) > 0:
			case errors.Is(err, io.ErrUnexpectedEOF):
				return 0, io.EOF // half a unit at the end is none
			default:
				return 0, err
			}
			break
		}
		if !w.begun {
			w.begun, w.big = true, pair[0] == 0xfe
			continue
		}
		unit := rune(pair[0]) | rune(pair[1])<<8
		if w.big {
			unit = rune(pair[1]) | rune(pair[0])<<8
		}
		whole := utf16.DecodeRune(w.high, unit)
		switch {
		case whole != '\ufffd':
			w.out, w.high = append(w.out, string(whole)...), 0
			continue
		case w.high != 0:
			w.flush()
		}
		if utf16.IsSurrogate(unit) && unit < 0xdc00 {
			w.high = unit
		} else {
			w.out = append(w.out, string(unit)...)
		}
	}
	n := copy(p, w.out)
	w.out = w.out[:copy(w.out, w.out[n:])]
	return n, nil
}

// flush puts out a first half that no second one follows.
func (w *wide) flush() {
	if w.high != 0 {
		w.out, w.high = append(w.out, "\ufffd"...), 0
	}
}
