package sweep

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTypo sweeps with a program that fails at its start: not all of the queue is
// burnt, one sentence says why, and when it is mended -resume runs every task.
func TestTypo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout := check(t, dir, 1, "-n", "40", "-mem", "1GiB", "-shell", "--", "test -e mended || { echo trace; echo NameError; exit 1; }")
	for _, want := range []string{"5 tasks in a row failed within 10s of their start", "0 of 40 tasks succeeded, 40 left for -resume", "go on with: colloc sweep -logs logs -resume"} {
		if strings.Count(stdout, want) != 1 {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if !regexp.MustCompile(`; the output of run-[0-9]+ is logs/run-[0-9]+\.log and ends with: NameError\n`).MatchString(stdout) {
		t.Errorf("the last words are not told:\n%s", stdout)
	}
	if n := len(statuses(t, dir)); n > 20 {
		t.Errorf("%d of 40 tasks were burnt", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "mended"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout := check(t, dir, 0, "-resume"); !strings.Contains(stdout, "40 of 40 tasks succeeded") {
		t.Errorf("resumed:\n%s", stdout)
	}
	if stdout := check(t, t.TempDir(), 1, "-n", "9", "-halt", "never", "--", "false"); !strings.Contains(stdout, "0 of 9 tasks succeeded, 9 failed") {
		t.Errorf("-halt never:\n%s", stdout)
	}
	alone(t, dir)
}
