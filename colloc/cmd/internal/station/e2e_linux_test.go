package station

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/nvmlx"
)

// lab is a station that runs as a process of its own.
type lab struct {
	t       testing.TB
	dir     string
	program string // empty is this one
	daemon  *exec.Cmd
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
	program := l.program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			l.t.Fatal(err)
		}
	}
	c := exec.Command(program, append([]string{"station"}, args...)...)
	c.Dir = l.dir
	c.Env = append(os.Environ(), mainEnv+"=1", api.SocketVariable+"="+l.socket())
	if args[0] == "serve" {
		c.Args = append(c.Args, "-socket", l.socket())
	}
	return c
}

// say runs a subcommand, which must end with the status, and returns what it printed: in this process, unless
// the program is another one.
func (l *lab) say(status int, args ...string) string {
	l.t.Helper()
	if l.program == "" {
		l.t.Chdir(l.dir)
		l.t.Setenv(api.SocketVariable, l.socket())
		got, stdout, stderr := call(l.t, args...)
		if got != status {
			l.t.Fatalf("%q: status %d, want %d: %s%s", args, got, status, stdout, stderr)
		}
		return stdout + stderr
	}
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
	l.serve("-limit", "nobody-at-all:gpus=1") // who has no account any more
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
	var gpus []api.GPU
	if err := json.Unmarshal([]byte(l.say(0, "drain", "-json", "0", "1")), &gpus); err != nil || len(gpus) != 2 || !gpus[1].Drained {
		t.Errorf("drain -json: %v, %+v", err, gpus)
	}
	l.say(0, "submit", "-mem", "1GiB", "--", "sh", "-c", "umask; test -e gate || exec sleep 1000")
	if err := json.Unmarshal([]byte(l.say(0, "cancel", "-json", "6")), &jobs); err != nil || len(jobs) != 1 || jobs[0].State != queue.Cancelled {
		t.Errorf("cancel -json: %v, %+v", err, jobs)
	}
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

// The fake GPUs of a daemon that is root are there for the jobs of all users.
func TestFakeForAll(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may run tasks as other users")
	}
	dir, err := os.MkdirTemp("", "lab") // which others may pass through, unlike the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l := &lab{t: t, dir: dir, program: filepath.Join(dir, "colloc")}
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"gpus.json": []byte(`{"gpus": [{"name": "A100-40GB"}]}`), "colloc": text} {
		if err := testbed.Program(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "gpus.json"), filepath.Join(dir, "colloc")} { // whatever the umask
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // others are to use it
			t.Fatal(err)
		}
	}
	l.serve("-me=false")
	for i, uid := range []uint32{54321, 54322} {
		id := strconv.Itoa(i + 1)
		submit := l.command("submit", "-wait", "-mem", "4GiB", "--", "burn", "-steps", "5", "-mem", "2GiB")
		submit.Dir, submit.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := submit.CombinedOutput(); err != nil || string(out) != id+"\n" {
			t.Errorf("a job of user %d: %v: %s%s", uid, err, out, l.say(0, "logs", id))
		}
		if got := l.say(0, "show", id); !strings.Contains(got, strconv.Itoa(int(uid))) || !strings.Contains(got, "succeeded") {
			t.Errorf("show prints %q", got)
		}
	}
	if err := l.kill(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// Who starts a station of his own is told that the machine's has the same GPUs.
func TestOther(t *testing.T) {
	l := &lab{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l.serve()
	for _, tt := range []struct {
		socket string
		gpus   []nvmlx.DeviceID
		notes  int
	}{{l.socket(), nil, 1}, {l.socket(), []nvmlx.DeviceID{"GPU-fake-0"}, 1}, {l.socket(), []nvmlx.DeviceID{"another"}, 0}, {"/nowhere/s", nil, 0}} {
		var o serving
		o.noteOther(t.Context(), tt.socket, tt.gpus)
		if len(o.notes) != tt.notes {
			t.Errorf("%v at %s: %q, want %d notes", tt.gpus, tt.socket, o.notes, tt.notes)
		}
	}
	if err := l.kill(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}
