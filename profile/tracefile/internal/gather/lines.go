package gather

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Next returns the next line without its end; it holds until the next call.
func (c *Collector) Next(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("line %d: %w", c.Line+1, err)
		}
		return nil, err
	}
	c.Line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", c.Line, MaxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", c.Line, err)
	}
	return line, nil
}

// Each calls visit for each line with its surrounding blanks removed; empty
// lines are left out. Errors name the line.
func (c *Collector) Each(r *bufio.Reader, visit func(line []byte) error) error {
	for {
		line, err := c.Next(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = Trim(line); len(line) == 0 {
			continue
		}
		if err := visit(line); err != nil {
			return fmt.Errorf("line %d: %w", c.Line, err)
		}
	}
}

// Clip shortens text of a log for a message.
func Clip[T string | []byte](text T) string {
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// Trim cuts the blanks around a text off.
func Trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// Word cuts the first word off. Commas are blanks: dmon writes them on demand.
func Word(line []byte) (first, rest []byte) {
	start := 0
	for start < len(line) && IsGap(line[start]) {
		start++
	}
	end := start
	for end < len(line) && !IsGap(line[end]) {
		end++
	}
	if start == end {
		return nil, nil
	}
	return line[start:end], line[end:]
}

// IsGap reports whether a letter stands between words.
func IsGap[T byte | rune](b T) bool { return b <= ' ' || b == ',' }
