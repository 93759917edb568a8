package modelfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Limits are the bounds that every reader keeps. Real files stay far below.
//
//nolint:gochecknoglobals // constants with names, grouped for the reader
var Limits = struct {
	// Text is the largest text in bytes, and the most that is held of names
	// and shapes.
	Text int64
	// JSON is the largest JSON document in bytes.
	JSON int64
	// Line is the longest line in bytes.
	Line int
	// Layers is the largest number of leaves.
	Layers int
	// Depth is the deepest nesting of containers.
	Depth int
}{Text: 64 << 20, JSON: 16 << 20, Line: 64 << 10, Layers: 1 << 18, Depth: 64}

const (
	maxWarnings = 100
	maxDim      = 1 << 40 // one dimension of a shape
	maxRank     = 16
)

// mul multiplies non-negative counts, saturating at the largest int64, which
// profile.Layer.Validate refuses.
func mul(factors ...int64) int64 {
	product := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(product, uint64(max(f, 0)))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		product = lo
	}
	return int64(product)
}

// add adds non-negative counts, saturating at the largest int64.
func add(terms ...int64) int64 {
	var sum int64
	for _, t := range terms {
		if sum > math.MaxInt64-t {
			return math.MaxInt64
		}
		sum += t
	}
	return sum
}

// readText reads a whole JSON document without a byte order mark.
func readText(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, Limits.JSON+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > Limits.JSON {
		return nil, fmt.Errorf("the document is longer than %d bytes", Limits.JSON)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// lines reads text line by line within Limits.
type lines struct {
	r      *bufio.Reader
	number int
	bytes  int64
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, Limits.Line)}
}

// next returns the next line without its end; the bytes hold until the next
// call. At the end it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		return nil, err
	}
	l.number++
	l.bytes += int64(len(line))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", l.number, Limits.Line)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", l.number, err)
	case l.bytes > Limits.Text:
		return nil, fmt.Errorf("line %d: the text is longer than %d bytes", l.number, Limits.Text)
	}
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line, nil
}
