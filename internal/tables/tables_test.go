package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const invented = `# a day
$ colloc simulate -bound
2 tasks on 1 GPUs.
colloc: makespan as fifo
  policy  makespan, h  mean JCT, h  makespan over bound, x  JCT over bound, x
    fifo         1.00        0.500             1.250±0.100              4.000
  stuck *        1.00        0.500                   1.000              1.000
  colloc         1.00        0.500                   1.000              1.500

$ colloc simulate
nothing is proven
`

// TestParse: files are written as they were read, and figures are found by their headings.
func TestParse(t *testing.T) {
	studies, err := parse(invented)
	if err != nil {
		t.Fatal(err)
	}
	f := file{name: "x", studies: studies}
	if diff := cmp.Diff(invented, string(f.text())); diff != "" {
		t.Errorf("-read +written:\n%s", diff)
	}
	want := []point{{"fifo", 1.25, 4}, {"colloc", 1, 1.5}}
	if got := studies[0].above(); !slices.Equal(got, want) || studies[0].title != "a day" {
		t.Errorf("%v of %q, want %v", got, studies[0].title, want)
	}
	if got := studies[1].above(); len(got) > 0 || studies[1].title != "" {
		t.Errorf("%v of %q, want nothing", got, studies[1].title)
	}
	if _, err := parse("printed\n$ by nobody\n"); err == nil {
		t.Error("what no command printed is read")
	}
	svg := string(draw([]file{f}))
	if strings.Count(svg, "colloc: 1.000") != 1 || strings.Count(svg, "colloc: 1.500") != 1 || strings.Contains(svg, "fifo: ") || !strings.Contains(svg, ">a day</text>") {
		t.Errorf("drawn:\n%s", svg)
	}
}

// TestPicture: the picture is what the tables say.
func TestPicture(t *testing.T) {
	files, err := read(filepath.Join("../..", folder))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no tables")
	}
	for _, f := range files {
		for _, s := range f.studies {
			if s.printed == "" {
				t.Errorf("%s: %s: printed nothing: go run ./internal/tables %s", f.name, s.command, f.name)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join("../..", picture))
	if err != nil || !bytes.Equal(data, draw(files)) {
		t.Errorf("%s is not what the tables say (%v): go run ./internal/tables -draw", picture, err)
	}
}

// TestPage: what docs/policies.md quotes of a table, in a block that names its file, stands there
// in that order; "..." stands for what is left out.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	quoted := map[string]bool{}
	for i, line := range strings.Split(string(page), "\n") {
		switch name, ok := strings.CutPrefix(line, "```policies/"); {
		case ok:
			data, err := os.ReadFile(filepath.Join("../..", folder, name))
			if err != nil {
				t.Errorf("line %d: %v", i+1, err)
			}
			left, quoted[name] = strings.Split(string(data), "\n"), true
		case strings.HasPrefix(line, "```"):
			left = nil
		case left != nil && strings.TrimSpace(line) != "...":
			at := slices.IndexFunc(left, func(s string) bool { return strings.TrimSpace(s) == strings.TrimSpace(line) })
			if at < 0 {
				t.Errorf("line %d: %q does not stand there", i+1, line)
				continue
			}
			left = left[at+1:]
		}
	}
	if len(quoted) < 3 {
		t.Errorf("the page quotes %v: want three tables or more", quoted)
	}
}
