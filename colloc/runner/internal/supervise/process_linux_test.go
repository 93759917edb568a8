package supervise

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// sleeper starts a process in a session of its own, or in that of a shell.
func sleeper(t *testing.T, env []string, script string) *exec.Cmd {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", script)
	c.Env = env
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	return c
}

// TestKillRest leaves processes of a run behind, with their mark and without, and a
// stranger that has the number of the run's group: only the latter stays.
func TestKillRest(t *testing.T) {
	stem := filepath.Join(t.TempDir(), "000001.1")
	marked := sleeper(t, []string{Mark(stem)}, "env -i sleep 1000 & wait") // one of the session lost the mark
	stranger := sleeper(t, []string{Mark(stem + "1"), "X=" + Mark(stem)}, "exec sleep 1000")
	KillRest(stem)
	if err := marked.Wait(); err == nil {
		t.Error("what is left of the run lives")
	}
	p, err := Find(stranger.Process.Pid)
	if err != nil || !p.Alive() {
		t.Errorf("a stranger was killed: %v", err)
	}
	if took, err := (Process{PID: p.PID, Start: p.Start + 1}).SignalGroup(syscall.SIGKILL); took || err != nil || !p.Alive() {
		t.Errorf("a stranger with the number of a process was signalled: %v, %v", took, err)
	}
	if took, err := p.SignalGroup(syscall.SIGKILL); !took || err != nil {
		t.Errorf("the process itself was not: %v", err)
	}
	p.AwaitEnd()
	if p.Alive() {
		t.Error("it was waited for and lives")
	}
	Process{PID: os.Getpid(), Start: p.Start}.AwaitEnd() // another one has its number
	if _, ok := ChildOf(1 << 30); ok || Variable(os.Getpid(), "NO_SUCH_VARIABLE") != "" {
		t.Error("something was found that is not there")
	}
}

func isHeadless() bool { return os.Args[0] == "headless" }

// The function main, which calls TestMain, runs on the first thread then, and no other does.
func init() { //nolint:gochecknoinits // before main is too late or too early for another place
	if isHeadless() {
		runtime.LockOSThread()
	}
}

// beHeadless ends the first thread; the others wait for the end of standard input.
func beHeadless() {
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// headless starts a process and waits until its first thread has ended.
func headless(t *testing.T, env ...string) Process {
	t.Helper()
	c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"headless"}, Env: env, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = syscall.Kill(c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait() // it was killed
	})
	await(t, func() bool { fields, err := readStat(c.Process.Pid); return err == nil && fields[statState] == "Z" })
	p, err := Find(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHeadless: a program whose first thread has ended, as main may with pthread_exit, runs
// until its last one does: it can be signalled, it is found by its mark and killed with the
// rest of its run, and nobody takes it for one that is about to end.
func TestHeadless(t *testing.T) {
	p := headless(t, "X=y")
	if !p.Alive() || isEnding(p.PID) || Variable(p.PID, "X") != "y" {
		t.Errorf("alive %v, ending %v, X is %q", p.Alive(), isEnding(p.PID), Variable(p.PID, "X"))
	}
	if took, err := p.SignalGroup(syscall.SIGKILL); !took || err != nil {
		t.Errorf("signalled %v, %v", took, err)
	}
	if p.AwaitEnd(); p.Alive() {
		t.Error("it was killed and lives")
	}
	stem := filepath.Join(t.TempDir(), "000001.1")
	p = headless(t, Mark(stem))
	KillRest(stem)
	if fields, err := readStat(p.PID); err != nil || fields[statThreads] > "1" {
		t.Error("what is left of a run lives")
	}
}

// TestChildOf finds what a process started first, and not what others did.
func TestChildOf(t *testing.T) {
	parent := sleeper(t, nil, "sleep 1000 & echo $! >&2; sleep 1001 & wait")
	first, found := ChildOf(parent.Process.Pid)
	for !found || first.PID == 0 {
		first, found = ChildOf(parent.Process.Pid)
	}
	for range 3 { // also when the second one is there
		again, found := ChildOf(parent.Process.Pid)
		if fields, err := readStat(again.PID); !found || again != first || err != nil || fields[statParent] != strconv.Itoa(parent.Process.Pid) {
			t.Errorf("%v, then %v, %v", first, again, err)
		}
	}
}

// TestAwaitEnd waits for a process that ends by itself, and does not ask again and again.
func TestAwaitEnd(t *testing.T) {
	c := sleeper(t, nil, "exec sleep 0.1")
	p, err := Find(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for ; p.Alive(); calls++ {
		p.AwaitEnd()
	}
	if calls > 20 { // of three seconds
		t.Errorf("%d calls until the end of a process", calls)
	}
	if isEnding(p.PID) || isEnding(os.Getpid()) {
		t.Error("what has ended, or goes on, is about to end")
	}
}

// TestOwner: a process belongs to the session that it is in, or else to that of its nearest
// ancestor that is in one.
func TestOwner(t *testing.T) {
	parent := sleeper(t, nil, "setsid sleep 1000 & wait")
	outer, inner := parent.Process.Pid, 0
	await(t, func() bool {
		first, found := ChildOf(outer)
		fields, err := readStat(first.PID)
		inner = first.PID
		return found && err == nil && fields[statSession] == strconv.Itoa(inner)
	})
	for _, tt := range []struct {
		pid      int
		sessions map[int]string
		want     string
	}{
		{outer, map[int]string{outer: "outer", inner: "inner"}, "outer"},
		{inner, map[int]string{outer: "outer", inner: "inner"}, "inner"},
		{inner, map[int]string{outer: "outer"}, "outer"},
		{outer, map[int]string{inner: "inner"}, ""},
		{1 << 30, map[int]string{outer: "outer"}, ""}, // there is none
	} {
		if got, found := Owner(tt.pid, tt.sessions); got != tt.want || found != (tt.want != "") {
			t.Errorf("process %d of the sessions %v belongs to %q, %v; want %q", tt.pid, tt.sessions, got, found, tt.want)
		}
	}
}

// TestFreePort passes over ports that are taken and those that somebody listens on.
func TestFreePort(t *testing.T) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()     // nothing was sent
	used := listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // it is of TCP
	free := FreePort(used, nil)
	if free <= used {
		t.Fatalf("port %d is said to be free, and %d is used", free, used)
	}
	if next := FreePort(used, map[int]bool{free: true}); next <= free {
		t.Errorf("port %d is said to be free, and %d is taken", next, free)
	}
	if port := FreePort(1<<16, nil); port != 0 {
		t.Errorf("there is no port %d", port)
	}
}

// TestFreeSpace tells as much as df does, and of no folder nothing.
func TestFreeSpace(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command("df", "-B1", "--output=avail", dir).Output()
	if err != nil {
		t.Skip("no df that tells bytes: ", err)
	}
	fields := strings.Fields(string(out))
	want, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	if got, ok := FreeSpace(dir); err != nil || !ok || math.Abs(float64(got)-want) > want/2 { // others write as well
		t.Errorf("%v are free, %v; df says %v, %v", got, ok, want, err)
	}
	if got, ok := FreeSpace(filepath.Join(dir, "none")); ok || got != 0 {
		t.Errorf("%v are free in no folder", got)
	}
}

// TestReadStat reads what kernels write of a program with any name, and leaves no file open.
func TestReadStat(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]bool{
		"7 (a) b) S" + strings.Repeat(" 1", statFields-1): true,
		"7 (a) S" + strings.Repeat(" 1", statFields-2):    false, // too few
		"": false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fields, err := readStatIn(dir)
		if (err == nil) != want || want && (fields[statState] != "S" || len(fields) != statFields) {
			t.Errorf("%q: %q, %v", text, fields, err)
		}
	}
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := open()
	for range 100 {
		if _, err := readStat(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+50 {
		t.Errorf("%d files were open, now %d", before, after)
	}
}

// TestKillRestSpares: who shares a session with the caller is no task's, whatever its environment.
func TestKillRestSpares(t *testing.T) {
	if !testbed.Alone(t) { // else it takes the shell along, if it fails
		return
	}
	stem := filepath.Join(t.TempDir(), "000001.1")
	c := exec.Command("sleep", "1000")
	c.Env = []string{Mark(stem)}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	KillRest(stem)
	if p, err := Find(c.Process.Pid); err != nil || !p.Alive() {
		t.Errorf("it was killed: %v", err)
	}
	_ = c.Process.Kill()
	_ = c.Wait() // it was killed
}

// TestKillRestOfUser: who writes the mark of a run into his environment does not so have others killed in whose session he
// is, as where they became him.
func TestKillRestOfUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // nobody else's process can be started, nor killed
	}
	stem := filepath.Join(t.TempDir(), "000001.1")
	script := fmt.Sprintf("chroot --userspec=%[1]d:%[1]d / env %[2]s sleep 1000 & wait; exec sleep 1000", nobody, Mark(stem))
	root := sleeper(t, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, script)
	await(t, func() bool {
		p, ok := ChildOf(root.Process.Pid)
		return ok && Variable(p.PID, ProgressVariable) != "" && isSleep(p.PID)
	})
	user, _ := ChildOf(root.Process.Pid)
	KillRest(stem)
	if user.Alive() {
		t.Error("the process with the mark lives")
	}
	if p, err := Find(root.Process.Pid); err != nil || !p.Alive() {
		t.Errorf("root's was killed: %v", err)
	}
}

// TestKillRestWaits: what is left of a run has ended when KillRest returns, also where that
// takes a moment, as it does under a tracer that holds it.
func TestKillRestWaits(t *testing.T) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	stem := filepath.Join(t.TempDir(), "000001.1")
	c := exec.Command("sleep", "1000")
	c.Env = []string{Mark(stem)}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Ptrace: true}
	if err := c.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("no process may trace another here: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	var status syscall.WaitStatus
	pid := c.Process.Pid
	_, err := syscall.Wait4(pid, &status, 0, nil) // until it begins
	if err := errors.Join(err, syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACEEXIT), syscall.PtraceCont(pid, 0)); err != nil {
		t.Fatal(err)
	}
	returned := make(chan bool)
	go func() {
		KillRest(stem)
		close(returned)
	}()
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.TrapCause() != syscall.PTRACE_EVENT_EXIT {
		t.Errorf("it is not about to end: %#x, %v", status, err)
	}
	select {
	case <-returned:
		t.Error("what was killed has not ended yet")
	case <-time.After(100 * time.Millisecond):
	}
	_ = syscall.PtraceDetach(pid) // it ends now
	<-returned
}

// TestSpaceOf: a disk without room for files has none for anything, unless it does not count them.
func TestSpaceOf(t *testing.T) {
	for _, tt := range []struct {
		files, free uint64
		want        profile.Bytes
	}{{1000, 500, 40 << 10}, {1000, 64, 40 << 10}, {1000, 63, 0}, {1000, 0, 0}, {0, 0, 40 << 10}} {
		if got := spaceOf(&syscall.Statfs_t{Blocks: 20, Bavail: 10, Bsize: 4 << 10, Files: tt.files, Ffree: tt.free}); got != tt.want {
			t.Errorf("%d of %d files are free: %d bytes, want %d", tt.free, tt.files, got, tt.want)
		}
	}
}
