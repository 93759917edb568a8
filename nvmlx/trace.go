package nvmlx

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The header's format name and the version that this package writes.
const (
	traceFormat  = "nvmlx-trace"
	traceVersion = 1
)

// traceHeader is the first line of a recording.
type traceHeader struct {
	Format  string       `json:"format"`
	Version int          `json:"version"`
	System  SystemInfo   `json:"system"`
	Devices []DeviceInfo `json:"devices"`
}

// traceRow is every other line: a sample, unless one of the further fields is
// there.
type traceRow struct {
	Sample
	Error     *cause        `json:"error,omitempty"`
	Processes *[]Process    `json:"processes,omitempty"`
	MIG       *MIGInventory `json:"mig,omitempty"`
	Event     *Event        `json:"event,omitempty"`
}

// isReading reports whether the row is the outcome of a Read: a sample or an
// error.
func (r *traceRow) isReading() bool {
	return r.Processes == nil && r.MIG == nil && r.Event == nil
}

// lineReader hands out lines of bounded length and knows their numbers.
type lineReader struct {
	scanner *bufio.Scanner
	line    int  // number of the line last returned, from 1
	torn    bool // that line had no newline at its end
	fast    rowScanner
}

// maxLine is the length in bytes of the longest line of a recording.
const maxLine = 1 << 20

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{scanner: bufio.NewScanner(r)}
	l.scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	l.scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			l.torn = true
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return l
}

// next returns the next line that is not blank, valid until the next call, or
// io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for l.scanner.Scan() {
		l.line++
		if text := bytes.TrimSpace(l.scanner.Bytes()); len(text) > 0 {
			return text, nil
		}
	}
	switch err := l.scanner.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, l.fail(errors.New("line is longer than 1 MiB"))
	default:
		return nil, l.fail(err)
	}
}

// header reads and checks the first line.
func (l *lineReader) header() (traceHeader, error) {
	var h traceHeader
	text, err := l.next()
	if errors.Is(err, io.EOF) {
		return h, errors.New("nvmlx: replay: the recording is empty: it has no header line")
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, l.fail(fmt.Errorf("header: %w", err))
	}
	if h.Format != traceFormat {
		return h, l.fail(fmt.Errorf("header: format is %q, want %q: not a recording of this package", h.Format, traceFormat))
	}
	if h.Version != traceVersion {
		return h, l.fail(fmt.Errorf("header: version is %d, this program reads version %d: use the one that wrote the recording", h.Version, traceVersion))
	}
	seen := map[DeviceID]bool{}
	for _, d := range h.Devices {
		if d.ID == "" || seen[d.ID] {
			return h, l.fail(fmt.Errorf("header: device ID %q is empty or listed twice", d.ID))
		}
		seen[d.ID] = true
	}
	l.know(h.Devices)
	return h, nil
}

// row reads the next row into *row, or returns io.EOF.
func (l *lineReader) row(row *traceRow) error {
	text, err := l.next()
	if err != nil {
		return err
	}
	*row = traceRow{}
	if l.fast.scan(text, row) {
		return l.checked(row)
	}
	*row = traceRow{}
	if err := json.Unmarshal(text, row); err != nil {
		if cut := l.scanner.Err(); l.torn && cut != nil {
			return l.fail(cut)
		}
		if syntax := (*json.SyntaxError)(nil); l.torn && errors.As(err, &syntax) {
			return l.fail(fmt.Errorf("the recording ends in the middle of this line: %w", err))
		}
		return l.fail(err)
	}
	return l.checked(row)
}

func (l *lineReader) checked(row *traceRow) error {
	if err := row.check(); err != nil {
		return l.fail(err)
	}
	return nil
}

// know lists the devices whose IDs rows may have.
func (l *lineReader) know(devices []DeviceInfo) {
	l.fast.ids = make(map[DeviceID]DeviceID, len(devices))
	for _, d := range devices {
		l.fast.ids[d.ID] = d.ID
	}
}

// fail says at which line err happened.
func (l *lineReader) fail(err error) error {
	line := l.line
	if line == 0 || errors.Is(l.scanner.Err(), bufio.ErrTooLong) {
		line++
	}
	return fmt.Errorf("nvmlx: replay: %w: line %d: %w", ErrDamaged, line, err)
}
