package scan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/profile/internal/reading"
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
	reading.Lines
	r     *bufio.Reader
	bytes int64
}

// NewLines reads the lines of r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, MaxLine)} }

// Each calls visit for each line, without its end, until *done or the end; errors
// name the line.
func (l *Lines) Each(done *bool, visit func(number int, line []byte) error) error {
	for !*done {
		line, err := l.Next(l.r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.bytes += int64(len(line)); l.bytes > MaxText {
			return fmt.Errorf("line %d: the text is longer than %d bytes", l.Line, MaxText)
		}
		if err := visit(l.Line, bytes.TrimRight(line, "\r\n")); err != nil {
			return fmt.Errorf("line %d: %w", l.Line, err)
		}
	}
	return nil
}
