package plain

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// escapes are sequences that terminals obey: CSI, OSC and the like, and those of two
// characters. They are compiled when there is something to show: processes that show
// nothing import this too.
//
//nolint:gochecknoglobals // a read-only expression
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]`)
})

// Lines is [Text] for each line of a text.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// Text returns the text without what a terminal would obey: escape sequences and
// control characters, C0 and C1, but for tabs. What is no UTF-8 is left out. O(n).
func Text(s string) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, ""), "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, s)
}
