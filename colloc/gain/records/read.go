package records

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/colloc/internal/regular"
)

// Options set what a log does not say. The zero value, or nil, is ready to use.
type Options struct {
	// Location is where times without a zone were written; nil is UTC.
	Location *time.Location
}

func (o *Options) location() *time.Location {
	if o == nil || o.Location == nil {
		return time.UTC
	}
	return o.Location
}

// MaxLine is the longest line in bytes.
const MaxLine = 1 << 20

// Read recognises the form of a log from its beginning and reads it. It returns an error
// for what is no such log. O(size); memory is proportional to the jobs on GPUs.
func Read(r io.Reader, o *Options) (*Log, error) {
	log, err := read(r, o)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return log, nil
}

// ReadFile reads a log as [Read] does; errors name the path.
func ReadFile(path string, o *Options) (*Log, error) {
	f, err := regular.Named(path)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	log, err := read(f, o)
	if err != nil {
		return nil, fmt.Errorf("records: %s: %w", path, err)
	}
	return log, nil
}

func read(r io.Reader, o *Options) (*Log, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		head, err := in.Peek(1)
		if err != nil {
			return nil, errors.New("the log is empty")
		}
		if !strings.ContainsRune(" \t\r\n", rune(head[0])) {
			break
		}
		if _, err := in.Discard(1); err != nil {
			return nil, err
		}
	}
	head, _ := in.Peek(1) // was there
	if head[0] == '{' || head[0] == '[' {
		return readJSON(in)
	}
	if head, _ := in.Peek(4096); fixed(head) {
		return nil, errors.New("columns of a fixed width, in which fields are cut off: add --parsable2 to sacct")
	}
	return readTable(in, o)
}

// fixed recognises what sacct prints without --parsable: a line of dashes under the header.
func fixed(head []byte) bool {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.HasPrefix(second, []byte("-")) && len(bytes.Trim(second, "- \r")) == 0
}

// line returns the next line without its end; io.EOF after the last.
func line(in *bufio.Reader) (string, error) {
	text, err := regular.Line(in, MaxLine)
	if errors.Is(err, io.EOF) && len(text) > 0 {
		err = nil
	}
	return strings.TrimRight(string(text), "\r\n"), err
}
