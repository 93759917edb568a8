package sweep

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
)

// TestRefused resumes a sweep that runs: it is refused, says by whom, and nothing in
// the folder is another file or has another content.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "2", "-shell", "--", "echo ready; until [ -e go ]; do sleep 0.02; done")
	p.until(" | ready")
	own := func() (files []string) {
		for _, name := range []string{jobLogName, argsName, lockName, filepath.Join(fakeName, "colloc")} {
			info, err := os.Lstat(filepath.Join(dir, "logs", name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, name+" "+info.ModTime().String()+" "+strconv.FormatInt(info.Size(), 10))
		}
		return files
	}
	before := own()
	if stderr := refused(t, dir, "-resume"); !strings.Contains(stderr, "in use by another sweep (process "+strconv.Itoa(p.Process.Pid)+")") {
		t.Errorf("refused with %q", stderr)
	}
	if after := own(); !slices.Equal(before, after) {
		t.Errorf("a refused -resume changed\n%q to\n%q", before, after)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, stdout := p.end(); status != exitOK {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	alone(t, dir)
}

// TestAgain gives flags again to a sweep that goes on: they replace what they were.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	first := &options{logs: dir}
	if err := first.remember([]string{"-logs", dir, "-gpus", "0", "-gpus", "1", "-share", "mps", "-p", "a=1", "-p", "b=2", "-by", "a", "--", "true"}); err != nil {
		t.Fatal(err)
	}
	again := &options{}
	if err := again.parse([]string{"-logs", dir, "-resume", "-gpus", "2", "-gpus", "3", "-p", "c=3"}); err != nil {
		t.Fatal(err)
	}
	if want := []nvmlx.DeviceID{"2", "3"}; !slices.Equal(again.gpus, want) {
		t.Errorf("GPUs are %q, want %q", again.gpus, want)
	}
	if len(again.grid.Params) != 1 || again.grid.Params[0].Name != "c" || len(again.mechanisms) != 1 || !slices.Equal(again.grid.By, []string{"a"}) {
		t.Errorf("parameters %v, mechanisms %v, by %q", again.grid.Params, again.mechanisms, again.grid.By)
	}
}
