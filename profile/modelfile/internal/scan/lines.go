package scan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Document reads a whole JSON document without a byte order mark.
func Document(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxJSON+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > MaxJSON {
		return nil, fmt.Errorf("the document is longer than %d bytes", MaxJSON)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// Lines reads text line by line within bounds.
type Lines struct {
	r      *bufio.Reader
	number int
	bytes  int64
}

// NewLines reads the lines of r.
func NewLines(r io.Reader) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, MaxLine)}
}

// Each calls visit for each line, without its end, until *done or the end; errors
// name the line.
func (l *Lines) Each(done *bool, visit func(number int, line []byte) error) error {
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
func (l *Lines) next() ([]byte, error) {
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
