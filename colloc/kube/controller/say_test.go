package controller

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is cut off ends with a character, however many bytes these have.
func TestShort(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("x", 5000), "x" + strings.Repeat("\u00e9", 5000), "xx" + strings.Repeat("\U0001f600", 5000)} {
		got := short(text)
		if !utf8.ValidString(got) || !strings.HasPrefix(text, got) || len(got) < min(len(text), maxMessage-3) || len(got) > maxMessage {
			t.Errorf("%d bytes of %d, %q", len(got), len(text), got[max(0, len(got)-8):])
		}
	}
}
