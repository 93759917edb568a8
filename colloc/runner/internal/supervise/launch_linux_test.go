package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// TestMain lets the test binary be a supervisor, what becomes an owner's command, and a
// process whose first thread has ended.
func TestMain(m *testing.M) {
	testbed.Prepare()
	if isHeadless() {
		beHeadless()
	}
	if runsAsOwner() && slices.Contains(os.Args, endsBefore) {
		_, _ = os.Stderr.WriteString(noThread)
		os.Exit(2)
	}
	Main()
	os.Exit(m.Run())
}

const nobody = 65534

// endsBefore is the argument of a command that lets the process that is to become it end before.
const endsBefore = "ends-before"

// start starts the supervisor of a run in a folder of its own.
func start(t *testing.T, l Launch) (*Launch, *Supervisor) {
	t.Helper()
	l.Stem = filepath.Join(t.TempDir(), "000001.1")
	l.Dir, l.Env = or(l.Dir, "/"), append(os.Environ(), l.Env...)
	s, err := l.Start()
	if err != nil {
		t.Fatal(err)
	}
	return &l, s
}

func or(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

// shell is how a shell runs a script.
func shell(script string, args ...string) Launch {
	return Launch{Key: "key", Path: "/bin/sh", Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// wait waits for the end of a run and returns its output, too.
func (l *Launch) wait(t *testing.T, s *Supervisor) (Outcome, string) {
	t.Helper()
	o, ok := s.Wait()
	text, err := os.ReadFile(l.Stem + LogEnd)
	if !ok || err != nil {
		t.Fatalf("no end, or no output: %v", err)
	}
	return o, string(text)
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

// TestLaunch runs a command: who supervises it stands in its claim, how it ended in its
// outcome, and it has the environment of the task, its own setting of what the supervisor
// uses included.
func TestLaunch(t *testing.T) {
	in := shell(`echo "$A $GOMAXPROCS"; pwd; exit 3`)
	in.Env, in.Dir = []string{"A=b", "GOMAXPROCS=7"}, "/proc"
	l, s := start(t, in)
	task, ok := s.Task()
	if !ok || task.PID == s.PID() || task.Start == 0 {
		t.Errorf("the process is %v, %v", task, ok)
	}
	c, claimed, err := ReadClaim(l.Stem)
	if err != nil || !claimed || c.PID != s.PID() || c.Key != "key" || c.Space.ID != ThisSpace().ID {
		t.Errorf("claim %v, %v, %v; want that of process %d", c, claimed, err, s.PID())
	}
	o, text := l.wait(t, s)
	if o.Exit != 3 || o.Took <= 0 || o.Dropped != 0 || text != "b 7\n/proc\n" {
		t.Errorf("%+v, output %q", o, text)
	}
	if again, ok := ReadExit(l.Stem); !ok || again != o {
		t.Errorf("the record says %+v, %v; want %+v", again, ok, o)
	}
}

// noThread is what a program says that gets no thread at its start.
const noThread = "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n"

// TestNoRoom: a supervisor that ends because there is no room for another thread, before or after its claim, says so of a
// command that did not begin; its log and its claim go, for there is one a second. What a command prints counts for nothing.
func TestNoRoom(t *testing.T) {
	for _, tt := range []struct {
		log            string
		claimed, began bool
		want           bool
	}{
		{noThread, false, false, true},
		{noThread, true, false, true},
		{"runtime: failed to create new OS thread (have 2 already; errno=11)\n", false, false, true},
		{noThread, true, true, false},
		{"panic\n", false, false, false},
		{"panic\n", true, false, false},
	} {
		stem := filepath.Join(t.TempDir(), "1.1")
		report, told, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		child, ended := os.StartProcess("/bin/false", []string{"false"}, &os.ProcAttr{})
		if err := errors.Join(ended, told.Close(), os.WriteFile(stem+LogEnd, []byte(tt.log), 0o600)); err != nil {
			t.Fatal(err)
		}
		if tt.claimed {
			if err := claim(stem, Claim{}.String()); err != nil {
				t.Fatal(err)
			}
		}
		s := &Supervisor{process: child, pipe: report, stem: stem, report: bufio.NewReader(report)}
		if tt.began {
			s.task = Process{PID: child.Pid, Start: 1}
		}
		o, ok := s.Wait()
		left, err := filepath.Glob(stem + ".*")
		if !ok || o.Crowded != tt.want || o.OK() || (len(left) == 0) != tt.want || tt.want && !strings.Contains(o.Err, "ulimit -u") {
			t.Errorf("%+v: %+v, %v, %v", tt, o, ok, err)
		}
	}
	stem := filepath.Join(t.TempDir(), "1.1")
	want := Outcome{Exit: -1, Err: "the command does not start", Crowded: true}
	if err := writeExit(stem, want); err != nil {
		t.Fatal(err)
	}
	if o, ok := ReadExit(stem); !ok || o != want {
		t.Errorf("the record says %+v, %v; want %+v", o, ok, want)
	}
}

// TestFull: it is a user's own processes that leave no room where there are as many as there may be, and else the host.
func TestFull(t *testing.T) {
	uid := order().UID
	s := exec.Command("sleep", "1000")
	if os.Getuid() == 0 {
		s.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(s.Process.Kill(), s.Wait()) })
	for most, want := range map[int64]bool{1: true, 1 << 40: false, -1: false} {
		if got := full(uid, map[string][2]int64{"nproc": {most, most}}); got != want {
			t.Errorf("where a user may have %d processes: %v, want %v", most, got, want)
		}
	}
	for err, want := range map[error]bool{syscall.EAGAIN: true, syscall.ENOENT: false, errUnbegun: true} { // nobody has so many here
		stem := filepath.Join(t.TempDir(), "1.1")
		if err := os.WriteFile(stem+LogEnd, []byte(noThread), 0o600); err != nil {
			t.Fatal(err)
		}
		notStarted(stem, &Order{UID: uid}, err)
		if o, ok := ReadExit(stem); !ok || o.Crowded != want || o.OK() {
			t.Errorf("after %v: %+v, %v; want room to be awaited: %v", err, o, ok, want)
		}
	}
}

// TestUnbegun: a process that gets no thread before it becomes a user's command is not taken for the command.
func TestUnbegun(t *testing.T) {
	in := shell("echo must not run", endsBefore)
	in.Path, in.Order = "", order()
	_, s := start(t, in)
	if o, ok := s.Wait(); !ok || o.OK() || !strings.HasSuffix(o.Err, errUnbegun.Error()) || !o.Crowded {
		t.Errorf("%+v, %v", o, ok)
	}
}

// TestStartCrowded: a start for which there is no room leaves no log.
func TestStartCrowded(t *testing.T) {
	l := shell("true")
	l.Stem = filepath.Join(t.TempDir(), "000001.1")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	free := uint64(null.Fd())
	_ = null.Close() // it was only opened
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: free + 1, Max: was.Max}); err != nil { // for the log alone
		t.Fatal(err)
	}
	_, err = l.Start()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if _, there := os.Stat(l.Stem + LogEnd); !Crowded(err) || !errors.Is(there, fs.ErrNotExist) {
		t.Errorf("%v, and of its log %v", err, there)
	}
}

// TestExpose: of a daemon that the kernel is to spare the runs are not spared; another score stays.
func TestExpose(t *testing.T) {
	score := filepath.Join(t.TempDir(), "score")
	for was, want := range map[string]string{"-900\n": "0", "300\n": "300\n"} {
		if err := os.WriteFile(score, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		expose(score)
		if text, err := os.ReadFile(score); err != nil || string(text) != want {
			t.Errorf("%q becomes %q, %v; want %q", was, text, err, want)
		}
	}
}

// TestSignalled: who signals the supervisor means the command, which may do about it what it
// likes.
func TestSignalled(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	l, s := start(t, shell(`exec 2>/dev/null; trap 'echo TERM' TERM; trap 'echo INT' INT; trap 'echo HUP' HUP; trap 'echo QUIT; exit 5' QUIT; touch "$1"; while :; do sleep 0.01; done`, ready))
	await(t, func() bool { _, err := os.Stat(ready); return err == nil })
	for name, signal := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP} {
		if err := syscall.Kill(s.PID(), signal); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool {
			text, err := os.ReadFile(l.Stem + LogEnd)
			return err == nil && strings.Contains(string(text), name)
		})
	}
	if err := syscall.Kill(s.PID(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if o, text := l.wait(t, s); o.Lost || o.Exit != 5 || strings.Count(text, "\n") != 4 || !strings.HasSuffix(text, "QUIT\n") {
		t.Errorf("%+v, output %q", o, text)
	}
}

// TestRoom: the output of a command that goes on is cut to its limit; without a limit all of
// it stays.
func TestRoom(t *testing.T) {
	const much = 3 << 20
	held := filepath.Join(t.TempDir(), "go")
	in := shell(`head -c $1 /dev/zero | tr '\0' x; until [ -e "$2" ]; do sleep 0.01; done`, strconv.Itoa(much), held)
	in.LogLimit = profile.MiB
	l, s := start(t, in)
	await(t, func() bool { // while it runs
		var info syscall.Stat_t
		err := syscall.Stat(l.Stem+LogEnd, &info)
		return err == nil && info.Size >= much && info.Blocks*512 <= int64(in.LogLimit)+4*block
	})
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o, _ := l.wait(t, s); !o.OK() || o.Dropped < profile.MiB {
		t.Errorf("%+v, want that much is left out", o)
	}
	in.LogLimit = 0
	l, s = start(t, in)
	if o, text := l.wait(t, s); !o.OK() || o.Dropped != 0 || text != strings.Repeat("x", much) {
		t.Errorf("%+v, %d bytes, want all", o, len(text))
	}
}

// order is what a command runs as: as nobody where this user may say so.
func order() *Order {
	if os.Getuid() != 0 {
		return &Order{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Umask: 0o027}
	}
	return &Order{UID: nobody, GID: nobody, Umask: 0o027}
}

// TestOrdered runs a command as a user, with limits, who owns what it writes.
func TestOrdered(t *testing.T) {
	in := shell(`id -u; umask; ulimit -Sn; ulimit -Hn; pwd; echo "$A"; tr '\0' '\n' <"/proc/$PPID/environ" | grep -c ^A=`)
	in.Env, in.Path = []string{"A=b"}, ""
	in.Order = order()
	in.Order.Limits = map[string][2]int64{"nofile": {64, 128}}
	l, s := start(t, in)
	o, text := l.wait(t, s)
	want := fmt.Sprintf("%d\n0027\n64\n128\n/\nb\n", in.Order.UID)
	if !strings.HasPrefix(text, want) || o.Err != "" || strings.HasSuffix(text, "b\n1\n") {
		t.Errorf("%+v, output %q, want %q, and nothing of it in the supervisor's environment", o, text, want)
	}
	for _, end := range []string{StepsEnd, LogEnd} {
		var info syscall.Stat_t
		if err := syscall.Stat(l.Stem+end, &info); err != nil || info.Uid != in.Order.UID {
			t.Errorf("%s belongs to user %d, %v; want %d", end, info.Uid, err, in.Order.UID)
		}
	}
}

// TestOrderFaults: what keeps a user's command from its start is said, and it does not run.
func TestOrderFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Launch)
		want   string
	}{
		"no folder":   {func(l *Launch) { l.Dir = "/no/such" }, "its folder: chdir /no/such"},
		"no program":  {func(l *Launch) { l.Argv[0] = "no-such-program" }, `command "no-such-program" is not in the PATH`},
		"not a limit": {func(l *Launch) { l.Order.Limits = map[string][2]int64{"nofile": {5, 3}} }, "limit nofile: "},
		"a text":      {func(l *Launch) { l.Argv[0] = "/etc/passwd" }, `command "/etc/passwd" is not a program`},
	} {
		t.Run(name, func(t *testing.T) {
			in := shell("echo must not run")
			in.Path, in.Order = "", order()
			tt.change(&in)
			l, s := start(t, in)
			if o, text := l.wait(t, s); o.Lost || !strings.Contains(o.Err, "the command does not start: "+tt.want) || strings.Contains(text, "must not run\n") {
				t.Errorf("%+v, output %q; want %q", o, text, tt.want)
			}
		})
	}
}

// TestLost: a supervisor that was killed leaves a run that is lost, and its command ends; also
// where another runner of this process has waited for it.
func TestLost(t *testing.T) {
	for _, reaped := range []bool{false, true} {
		l, s := start(t, shell("exec sleep 1000"))
		task, ok := s.Task()
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		if reaped {
			if _, err := syscall.Wait4(s.PID(), nil, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if o, _ := l.wait(t, s); !o.Lost || o.Final || o.OK() || !strings.HasPrefix(o.Err, "the supervisor is lost") {
			t.Errorf("reaped %v: %+v", reaped, o)
		}
		if task.Alive() {
			t.Errorf("reaped %v: the command lives", reaped)
		}
	}
}

// TestLostRest: what the command of a lost run had started ends as well.
func TestLostRest(t *testing.T) {
	l := shell("sleep 1000 & echo $!; wait")
	l.Stem, l.Dir = filepath.Join(t.TempDir(), "000001.1"), "/"
	l.Env = append(os.Environ(), Mark(l.Stem))
	s, err := l.Start()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	await(t, func() bool {
		text, _ := os.ReadFile(l.Stem + LogEnd) // there is none at first
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o, _ := l.wait(t, s); !o.Lost {
		t.Errorf("%+v", o)
	}
	if p, err := Find(pid); err == nil && p.Alive() {
		t.Error("what the command started lives")
	}
}

// TestOrphan: what loses its parent and ends does not end the run, and the command has no file of
// the supervisor's.
func TestOrphan(t *testing.T) {
	l, s := start(t, shell("(true &); sleep 0.2; test -e /proc/$$/fd/3 || exit 3"))
	if o, _ := l.wait(t, s); o.Exit != 3 {
		t.Errorf("%+v", o)
	}
}

// TestSupervisorOutcome: where a supervisor leaves no record its own end tells.
func TestSupervisorOutcome(t *testing.T) {
	for script, want := range map[string]Outcome{
		"exit 0": {}, "exit 3": {Exit: 3}, "exit 128": {Exit: 128}, "exit 137": {Exit: -1, Signal: 9},
		"kill -9 $$": {Exit: -1, Lost: true, Err: "the supervisor is lost (signal: killed)"},
	} {
		c := exec.Command("/bin/sh", "-c", script)
		_ = c.Run() // its state tells
		if got := supervisorOutcome(c.ProcessState); got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
	for status, want := range map[syscall.WaitStatus]int{0: 0, 3 << 8: 3, 9: 137} {
		if code := record(filepath.Join(t.TempDir(), "stem"), status, Outcome{}); code != want {
			t.Errorf("status %#x: code %d, want %d", uint32(status), code, want)
		}
	}
}

// TestLock: a folder has one runner.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Lock(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("locked twice: %v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close() // nothing was written
	if _, err := Lock(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestCheckLimit takes what the kernel takes.
func TestCheckLimit(t *testing.T) {
	for _, tt := range []struct {
		name       string
		soft, hard int64
		ok         bool
	}{
		{"nofile", 0, 0, true},
		{"nofile", 5, 5, true},
		{"nofile", -1, -1, true},
		{"nofile", 5, -1, true},
		{"nofile", 6, 5, false},
		{"nofile", -1, 5, false},
		{"nofile", -2, -1, false},
		{"nofile", -1, -2, false},
		{"files", 5, 5, false},
	} {
		if err := CheckLimit(tt.name, tt.soft, tt.hard); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestOrderedCloses starts commands of users; no file stays open.
func TestOrderedCloses(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector closes files, too
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	const n = 6
	before := open()
	for range n {
		in := shell("true")
		in.Path, in.Order = "", order()
		l, s := start(t, in)
		if o, _ := l.wait(t, s); !o.OK() {
			t.Errorf("%+v", o)
		}
	}
	if after := open(); after >= before+n {
		t.Errorf("%d files were open, now %d", before, after)
	}
}

// TestLeftBehind: what a command starts in a session of its own, and leaves, ends with it.
func TestLeftBehind(t *testing.T) {
	l, s := start(t, shell("setsid sleep 1000 >/dev/null 2>&1 & echo $!"))
	o, text := l.wait(t, s)
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if !o.OK() || err != nil {
		t.Fatalf("%+v, %v", o, err)
	}
	if p, err := Find(pid); err == nil && p.Alive() {
		t.Error("what the command left behind lives")
	}
}

// TestMainOfOthers: a program that nobody started as a supervisor is none, whatever its arguments.
func TestMainOfOthers(t *testing.T) {
	out, err := exec.Command("/proc/self/exe", "-test.run", "^$", "-test.count", "1", "-test.cpu", "1", "-test.timeout", "10m").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOrderedTells: that a user's command began is told while it runs.
func TestOrderedTells(t *testing.T) {
	in := shell("exec sleep 1000")
	in.Path, in.Order = "", order()
	l, s := start(t, in)
	task, ok := s.Task()
	if took, err := task.SignalGroup(syscall.SIGTERM); !ok || !took || err != nil {
		t.Errorf("told %v, signalled %v, %v", ok, took, err)
	}
	if o, _ := l.wait(t, s); o.Signal != int(syscall.SIGTERM) {
		t.Errorf("%+v", o)
	}
}

// TestReap ends the zombie of a child that nobody waited for, and no other: not that of a process that has its number
// now, and not, of a run that nobody claimed, whatever child there is.
func TestReap(t *testing.T) {
	child := exec.Command("/bin/true") // in the group of this process, unlike a supervisor
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { fields, err := readStat(child.Process.Pid); return err == nil && fields[statState] == "Z" })
	p, err := Find(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	Reap(Process{})
	Reap(Process{PID: p.PID, Start: p.Start + 1})
	if _, err := Find(p.PID); err != nil {
		t.Errorf("a child of somebody else is gone: %v", err)
	}
	Reap(p)
	if fields, err := readStat(p.PID); err == nil && fields[statParent] == strconv.Itoa(os.Getpid()) {
		t.Errorf("process %d is there in state %s", p.PID, fields[statState])
	}
	_ = child.Wait() // it is gone
}

// TestLookPath finds programs as a shell in the folder does.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"bin/run": 0o700, "text": 0o600} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	run := filepath.Join(dir, "bin", "run")
	for _, tt := range []struct{ name, search, want string }{
		{"bin/run", "", "bin/run"},
		{run, "", run},
		{"run", "PATH=/no/such:bin", run},
		{"run", "PATH=" + filepath.Dir(run), run},
		{"run", "PATH=/bin", ""},
		{"run", "OLDPATH=bin", ""},
		{"text", "PATH=.", ""},
		{"./text", "", ""},
		{"./bin", "", ""},
		{"./none", "", ""},
	} {
		path, err := LookPath(tt.name, dir, []string{"PATH=/no/such", tt.search})
		if (err == nil) != (tt.want != "") || err == nil && path != tt.want {
			t.Errorf("%s with %s is %s, %v; want %q", tt.name, tt.search, path, err, tt.want)
		}
	}
}
