package station

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd takes the units, and they leave jobs alone when the daemon ends.
func TestUnits(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: install the package systemd to test the units")
	}
	for name, scope := range map[string]string{"colloc-station.service": "--system", "colloc-station-user.service": "--user"} {
		text := unit(t, name)
		for _, line := range []string{"KillMode=process", "OOMPolicy=continue", "ExecStart=/usr/local/bin/colloc station serve"} {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("%s has no %s", name, line)
			}
		}
		if out, err := verify(t, program, scope, name, text); err != nil || out != "" {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if out, _ := verify(t, program, scope, name, strings.Replace(text, "KillMode=process", "KillMode=sometimes", 1)); !strings.Contains(out, "sometimes") {
			t.Errorf("%s: a KillMode that there is not is no fault: %q", name, out)
		}
	}
}

// verify has systemd read a unit whose program is there.
func verify(t *testing.T, program, scope, name, text string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/local/bin/colloc", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "verify", scope, "--man=no", "--recursive-errors=no", file)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// unit reads one of the files that are to be installed.
func unit(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../station/deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
