package profiler

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

// TestBlanks: of blanks in a row the first is held, so that a trace may be indented at will.
func TestBlanks(t *testing.T) {
	for text, want := range map[string]string{"a  b": "a b", "a\n\nb": "a\nb", "a\t\tb": "a\tb", "a\r\rb": "a\rb", " \t\r\n a b \n": " a b ", "": ""} {
		for _, keep := range []bool{false, true} {
			if keep {
				want = text
			}
			g := &guard{r: bufio.NewReader(strings.NewReader(text)), left: MaxProfile, keep: keep}
			if got, err := io.ReadAll(g); string(got) != want || err != nil {
				t.Errorf("%q, kept %t: got %q, %v, want %q", text, keep, got, err, want)
			}
		}
	}
}
