package regular_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/colloc/internal/regular"
)

// TestLine: lines come as they stand, also those that are longer than the buffer; what is left at the end comes with
// io.EOF; a line without end and a failure are errors.
func TestLine(t *testing.T) {
	const buffer, most = 16, 40
	long := strings.Repeat("x", most-1) + "\n"
	in := bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"last"), buffer)
	for _, want := range []string{"a\n", "\n", long} {
		if line, err := regular.Line(in, most); string(line) != want || err != nil {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
	}
	for _, want := range []string{"last", ""} {
		if line, err := regular.Line(in, most); string(line) != want || !errors.Is(err, io.EOF) {
			t.Errorf("%q, %v; want %q and the end", line, err, want)
		}
	}
	in = bufio.NewReaderSize(strings.NewReader("x"+long), buffer)
	if line, err := regular.Line(in, most); line != nil || err == nil || err.Error() != "a line of more than 40 bytes" {
		t.Errorf("of one that is too long %q, %v", line, err)
	}
	failure := errors.New("no disk")
	in = bufio.NewReaderSize(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(failure)), buffer)
	if _, err := regular.Line(in, most); !errors.Is(err, failure) {
		t.Errorf("%v, want the failure", err)
	}
}
