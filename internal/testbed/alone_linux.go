package testbed

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const aloneVariable = "COLLOC_TESTBED_ALONE" // the test that a process is for

// Alone reports whether this process is for the present test alone. If not it runs the
// test in one that is, in a session of its own, and fails as that does. For tests that
// limit their process, because go test keeps a log of the files that tests read, which it
// may write at any time; and for those that kill what shares their session, if they fail.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	return false
}
