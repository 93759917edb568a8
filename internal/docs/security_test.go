package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity: every test that docs/security.md names is there.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([^` ]+)`")
	named := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack") {
			continue
		}
		var sources []byte
		for _, m := range word.FindAllStringSubmatch(line[strings.LastIndex(strings.TrimSuffix(line, " |\n"), "|"):], -1) {
			if strings.Contains(m[1], "/") {
				sources = nil
				files, _ := filepath.Glob(filepath.Join("../..", m[1], "*_test.go")) // the pattern is one
				for _, file := range files {
					source, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					sources = append(sources, source...)
				}
				continue
			}
			named++
			if !regexp.MustCompile(`(?m)^func (Test|Example|)` + m[1] + `\b`).Match(sources) {
				t.Errorf("there is no test %s: %s", m[1], line)
			}
		}
	}
	if named < 40 {
		t.Errorf("%d tests are named, want 40 or more: the file is not understood", named)
	}
}
