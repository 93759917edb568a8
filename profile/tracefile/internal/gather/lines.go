package gather

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

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
