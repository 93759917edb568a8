package reading

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the longest line in bytes; buffers that lines are read from have it.
const MaxLine = 64 << 10

// Lines counts the lines of a text.
type Lines struct {
	// Line is the number of the line that was read last, from 1.
	Line int
}

// Next returns the next line with its end; it holds until the next call. Errors name the
// line; after the last it returns io.EOF.
func (l *Lines) Next(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("line %d: %w", l.Line+1, err)
		}
		return nil, err
	}
	l.Line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", l.Line, MaxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", l.Line, err)
	}
	return line, nil
}

// Clip shortens text of a file for a message.
func Clip[T string | []byte](text T) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// NoEOF turns an end in the middle of something into what it is.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Warning is something that a reader left out or had to assume; line 0 is the file as a
// whole.
type Warning struct {
	Line int
	Text string
}

// Warnings are those of one file.
type Warnings []Warning

// MaxWarnings is the largest number of warnings; one more says that there are more.
const MaxWarnings = 100

// Add adds a warning about a line.
func (w *Warnings) Add(line int, format string, args ...any) {
	switch {
	case len(*w) < MaxWarnings:
		*w = append(*w, Warning{Line: line, Text: fmt.Sprintf(format, args...)})
	case len(*w) == MaxWarnings:
		*w = append(*w, Warning{Line: line, Text: "further warnings are left out"})
	}
}
