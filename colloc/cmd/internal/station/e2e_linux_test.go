package station

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/colloc/station/api"
)

// lab is a station that runs as a process of its own.
type lab struct {
	t      testing.TB
	dir    string
	daemon *exec.Cmd
}

// serve starts the daemon and waits until it listens.
func (l *lab) serve(args ...string) {
	l.t.Helper()
	l.daemon = l.command(append([]string{"serve", "-dir", filepath.Join(l.dir, "state"), "-fake-gpus", filepath.Join(l.dir, "gpus.json"), "-watch", "20ms"}, args...)...)
	l.daemon.Stderr = os.Stderr
	out, err := l.daemon.StdoutPipe()
	if err == nil {
		err = l.daemon.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "listening on "+l.socket()) {
		l.t.Fatalf("the daemon says %q, %v", line, err)
	}
}

func (l *lab) socket() string { return filepath.Join(l.dir, "s") }

// command is the program as a process in the folder of the lab.
func (l *lab) command(args ...string) *exec.Cmd {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	c := exec.Command(self, append([]string{"station"}, args...)...)
	c.Dir = l.dir
	c.Env = append(os.Environ(), mainEnv+"=1", api.SocketVariable+"="+l.socket())
	if args[0] == "serve" {
		c.Args = append(c.Args, "-socket", l.socket())
	}
	return c
}

// say runs a subcommand, which must end with the status, and returns what it printed.
func (l *lab) say(status int, args ...string) string {
	l.t.Helper()
	out, err := l.command(args...).CombinedOutput()
	got := 0
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is one, or none
		got, err = exit.ExitCode(), nil
	}
	if err != nil || got != status {
		l.t.Fatalf("%q: status %d, %v, want %d: %s", args, got, err, status, out)
	}
	return string(out)
}

// kill ends the daemon with a signal.
func (l *lab) kill(s syscall.Signal) error {
	l.t.Helper()
	if err := l.daemon.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
	return l.daemon.Wait()
}

// A day in a lab: jobs are queued from shells, share GPUs, are looked at, cancelled and
// run again, and survive the daemon's death.
func TestDay(t *testing.T) {
	l := &lab{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB"}, {"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l.serve()
	if got := l.say(0, "submit", "-mem", "4GiB", "-p", "lr=1..4", "--", "burn", "-steps", "40", "-mem", "2GiB", "-lr", "{lr}"); got != "1\n2\n3\n4\n" {
		t.Errorf("submit prints %q", got)
	}
	l.say(0, "wait", "1", "2", "3", "4")
	if got := l.say(0, "logs", "-f", "2"); !strings.Contains(got, "step 40/40") {
		t.Errorf("logs print %q", got)
	}
	var jobs []api.Job
	if err := json.Unmarshal([]byte(l.say(0, "list", "-json")), &jobs); err != nil || len(jobs) != 4 || jobs[1].Name != "burn-lr=2" && jobs[1].Name != "lr=2" {
		t.Errorf("list: %v, %+v", err, jobs)
	}
	if got := l.say(1, "submit", "-wait", "-mem", "1GiB", "--", "sh", "-c", "exit 7"); !strings.HasPrefix(got, "5\n") || !strings.Contains(got, "exit code 7") {
		t.Errorf("submit -wait prints %q", got)
	}
	l.say(0, "drain", "0", "1")
	l.say(0, "submit", "-mem", "1GiB", "--", "sh", "-c", "umask; test -e gate || exec sleep 1000")
	l.say(0, "cancel", "6")
	l.say(1, "wait", "6")
	l.say(0, "undrain", "0", "1")
	l.say(0, "requeue", "6")
	l.until("6", "running")
	_ = l.kill(syscall.SIGKILL)
	if got := l.say(1, "list"); !strings.Contains(got, "does not run any more") {
		t.Errorf("list without a daemon prints %q", got)
	}
	l.serve()
	if got := l.say(0, "show", "6"); !strings.Contains(got, "running") || !strings.Contains(got, "user") {
		t.Errorf("show prints %q", got)
	}
	if got := l.say(0, "top"); !strings.Contains(got, "1 running, 0 waiting") || !strings.Contains(got, "A100-40GB") {
		t.Errorf("top prints %q", got)
	}
	if got := l.say(1, "requeue", "6"); !strings.Contains(got, "cancel it first") {
		t.Errorf("requeue prints %q", got)
	}
	l.say(0, "cancel", "6")
	l.say(1, "wait", "6")
	if err := l.kill(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// until waits until a job's state is shown.
func (l *lab) until(id, state string) {
	l.t.Helper()
	for !strings.Contains(l.say(0, "show", id), state) {
	}
}
