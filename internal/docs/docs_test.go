package docs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/internal/testbed"
)

const root = "../.."

func TestMain(m *testing.M) {
	testbed.Prepare()
	os.Exit(m.Run())
}

// block is a fenced block: its first line without the fence, and what it holds.
type block struct {
	line int
	info []string
	text string
}

// read cuts the fenced blocks out of a document.
func read(t *testing.T, file string) []block {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	open := false
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "```") && open:
			open = false
		case strings.HasPrefix(line, "```"):
			open = true
			blocks = append(blocks, block{line: i + 1, info: strings.Fields(line[3:])})
		case open:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	if open {
		t.Errorf("%s: the last block is not closed", file)
	}
	return blocks
}

// documents are README.md and all under docs, but for the decisions.
func documents(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "adr" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCommands runs each block that is marked sh, in order, in a folder of the document's
// own where the program is on the path and examples and colloc are at hand; what begins
// with go, in the checkout. A block marked output after it is what it prints; there, "..." stands for
// any lines. "needs=WHAT" marks what cannot run here: its syntax is checked.
func TestCommands(t *testing.T) {
	if race.Enabled {
		t.Skip("tested without the race detector: the programs that it runs are not the ones under test")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the commands are written for a Linux shell")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./colloc/cmd/colloc")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents(t) {
		t.Run(strings.TrimSuffix(filepath.Base(document), ".md"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"examples", "colloc"} {
				if err := os.Symlink(filepath.Join(checkout, name), filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			var printed []byte
			for _, b := range read(t, filepath.Join(root, document)) {
				switch {
				case len(b.info) == 0:
				case b.info[0] == "sh":
					printed = shell(t, document, &b, bin, dir, checkout)
				case b.info[0] == "output":
					compare(t, document, &b, printed)
				}
			}
		})
	}
}

// shell runs a block and returns what it prints.
func shell(t *testing.T, document string, b *block, bin, dir, checkout string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	args := []string{"-euo", "pipefail", "-c", b.text}
	if slices.ContainsFunc(b.info, func(s string) bool { return strings.HasPrefix(s, "needs=") }) {
		args = append([]string{"-n"}, args...)
	}
	c := exec.CommandContext(ctx, "bash", args...)
	c.Dir = dir
	if strings.HasPrefix(b.text, "go ") {
		c.Dir = checkout
	}
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CGO_ENABLED=0", "HOME="+os.Getenv("HOME"))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Errorf("%s:%d: %v\n%s%s%s", document, b.line, err, b.text, &stdout, &stderr)
	}
	return stdout.Bytes()
}

// compare demands that the lines of b were printed, in this order and without others
// between, except where "..." stands.
func compare(t *testing.T, document string, b *block, printed []byte) {
	t.Helper()
	got := strings.Split(strings.TrimRight(string(printed), "\n"), "\n")
	at, anywhere := 0, false
	for i, line := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		if strings.TrimSpace(line) == "..." {
			anywhere = true
			continue
		}
		begin := at
		for at < len(got) && strings.TrimRight(got[at], " ") != strings.TrimRight(line, " ") {
			at++
		}
		if at == len(got) || at > begin && !anywhere {
			t.Errorf("%s:%d: %q is not what is printed there:\n%s", document, b.line+1+i, line, printed)
			return
		}
		at, anywhere = at+1, false
	}
	if at < len(got) && !anywhere {
		t.Errorf("%s:%d: more is printed: %q", document, b.line, got[at])
	}
}

// TestGo demands that Go in a document, marked "go FILE", stands in that file.
func TestGo(t *testing.T) {
	for _, document := range documents(t) {
		for _, b := range read(t, filepath.Join(root, document)) {
			if len(b.info) == 0 || b.info[0] != "go" {
				continue
			}
			if len(b.info) < 2 {
				t.Errorf("%s:%d: Go that nothing compiles: name the file that holds it, as in \"go colloc/example_test.go\"", document, b.line)
				continue
			}
			data, err := os.ReadFile(filepath.Join(root, b.info[1]))
			if err != nil {
				t.Errorf("%s:%d: %v", document, b.line, err)
				continue
			}
			for part := range strings.SplitSeq(flat(b.text), "\n...\n") {
				if !strings.Contains(flat(string(data)), strings.TrimSpace(part)) {
					t.Errorf("%s:%d: %s does not hold this:\n%s", document, b.line, b.info[1], part)
				}
			}
		}
	}
}

// flat takes indentation and blank lines out.
func flat(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinks demands that each relative link leads to a file.
func TestLinks(t *testing.T) {
	list := append(documents(t), "CONTRIBUTING.md")
	for _, document := range list {
		data, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(document), m[1])); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the link to %s leads nowhere", document, m[1])
			}
		}
	}
}
