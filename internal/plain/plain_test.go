package plain

import (
	"strings"
	"testing"
	"unicode"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"loss 0.5\t✓":                             "loss 0.5\t✓",
		"CUDA \x1b[31mred\x1b[0m\x1b[2J":          "CUDA red",
		"\x1b]0;a title\x07text":                  "text",
		"\x1b]8;;http://x\x1b\\link":              "link",
		"\x1bcreset \x1b(B":                       "reset ",
		"bell\a back\b null\x00 del\x7f c1\u009b": "bell back null del c1",
		"cut \x1b[3":                              "cut 3",
		"bad \xff\xfe bytes":                      "bad  bytes",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	if got, want := Lines("a\x1b[2J\n\x1b]0;t\ab\r\n"), "a\nb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[1mx\x1b]0;t\a")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) || Text(got) != got {
			t.Errorf("%q: %q", text, got)
		}
	})
}
