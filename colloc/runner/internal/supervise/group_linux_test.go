package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeTree is a folder that looks like a tree of control groups, with one that is
// delegated.
func fakeTree(t *testing.T) (tree, dir string) {
	t.Helper()
	tree = t.TempDir()
	dir = filepath.Join(tree, "user.slice", "me")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fakeFile(t, dir, groupEvents, "populated 1\n")
	return tree, dir
}

func fakeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFindGroup reads what processes of several kinds of hosts have in /proc.
func TestFindGroup(t *testing.T) {
	tree, dir := fakeTree(t)
	for text, want := range map[string]string{
		"0::/user.slice/me\n":                     dir,
		"4:memory:/a\n1:cpu:/\n0::/user.slice/me": dir,
		"0::/\n":                        "", // the host's topmost one
		"0::/user.slice\n":              "", // no group
		"0::/user.slice/me (deleted)\n": "",
		"0::/../user.slice/me\n":        "", // outside of what this container sees
		"4:memory:/user.slice/me\n":     "", // version 1
		"":                              "",
	} {
		if got := findGroup(text, filepath.Join(tree, "none"), tree); string(got) != want {
			t.Errorf("%q is in %q, want %q", text, got, want)
		}
	}
	if g := groupOf("0"); g != "" {
		t.Errorf("no process is in %s", g)
	}
}

// TestGroupFake starts and ends runs where groups look delegated and the kernel knows of
// none: the command runs all the same, and what the group lists ends, by the kernel if
// it can do that.
func TestGroupFake(t *testing.T) {
	_, dir := fakeTree(t)
	g := group(dir).child("colloc-1")
	if info, err := os.Stat(filepath.Join(dir, "colloc-1")); g == "" || err != nil || !info.IsDir() {
		t.Fatalf("no group: %v", err)
	}
	if again := group(dir).child("colloc-1"); again != "" {
		t.Error("a group that is there already is taken")
	}
	if none := group("").child("colloc-2"); none != "" {
		t.Errorf("without a group of our own there is %s", none)
	}
	pid, err := g.start("/bin/true", []string{"true"}, syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "colloc-1")); err == nil || g != "" {
		t.Errorf("a group that the command is not in stays: %q", g)
	}
	g.end() // there is none

	g = group(dir).child("colloc-3")
	one, two := sleeper(t, nil, "exec sleep 1000"), sleeper(t, nil, "exec sleep 1000")
	below := filepath.Join(string(g), "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	fakeFile(t, string(g), groupProcs, strconv.Itoa(one.Process.Pid)+"\n0\n") // 0 would be this process and all beside it
	fakeFile(t, below, groupProcs, strconv.Itoa(two.Process.Pid)+"\n")
	g.end()
	for _, c := range []*os.Process{one.Process, two.Process} {
		if p, err := Find(c.Pid); err == nil && p.Alive() {
			t.Errorf("process %d lives", c.Pid)
		}
	}
	fakeFile(t, string(g), groupKill, "")
	g.end() // its members have ended
	if text, err := os.ReadFile(filepath.Join(string(g), groupKill)); err != nil || strings.Trim(string(text), "1") != "" || len(text) == 0 {
		t.Errorf("the kernel was told %q, %v", text, err)
	}
}

// TestMembers: of a group the processes are listed that are seen here, and never the first one.
func TestMembers(t *testing.T) {
	_, dir := fakeTree(t)
	fakeFile(t, dir, groupProcs, "0\n1\n2\n77\n")
	if pids, dirs := group(dir).members(); !slices.Equal(pids, []int{2, 77}) || !slices.Equal(dirs, []string{dir}) {
		t.Errorf("%v in %q", pids, dirs)
	}
}

// TestSweepGroups leaves groups as supervisors do that are killed: the empty ones go, and
// nothing else does.
func TestSweepGroups(t *testing.T) {
	_, dir := fakeTree(t)
	left := groupName("stem", Claim{})
	made := group(dir).child(left)
	fresh := time.Now()
	for name, stays := range map[string]bool{
		left: false, left + "/below": false,
		"colloc-0123456789":        true, // somebody is in it
		"colloc-0123456789/below":  true,
		"colloc-00ff00ff00/nested": true, // somebody is below it
		"colloc-station":           true, // not a run's
		"colloc-0123":              true,
		"0123456789":               true,
		"user-0123456789":          true,
		"colloc-aaaaaaaaaa":        os.Getuid() == 0, // another user's, where one can be made
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if stays && strings.HasSuffix(name, "0123456789") && strings.HasPrefix(name, "colloc") || strings.HasSuffix(name, "nested") {
			fakeFile(t, path, groupProcs, strconv.Itoa(os.Getpid())+"\n")
		}
		if name == "colloc-aaaaaaaaaa" && stays {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) != stays {
				t.Errorf("group %s: %v, want that it stays: %t", name, err, stays)
			}
		}()
	}
	group(dir).sweep(fresh.Add(-time.Hour))
	if _, err := os.Stat(string(made)); err != nil {
		t.Errorf("a group that may be about to be filled is gone: %v", err)
	}
	group(dir).sweep(fresh.Add(time.Hour))
	group("").sweep(fresh)                         // no group
	group(filepath.Join(dir, "none")).sweep(fresh) // one that is gone
	SweepGroups()                                  // ours, whatever that is here
}

// outerGroup makes a group of the kernel's where this user may, which ends with the test.
func outerGroup(t *testing.T) group {
	t.Helper()
	for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		made := group(tree).child("colloc-test-" + strconv.Itoa(os.Getpid()))
		if _, err := os.Stat(filepath.Join(string(made), groupEvents)); made != "" && err == nil {
			t.Cleanup(made.end)
			return made
		} else if made != "" {
			_ = os.Remove(string(made)) // it is a folder
		}
	}
	t.Log("no groups may be made here: TestGroupFake stands for them")
	return ""
}

// enter puts this process into a group until the test ends.
func (g group) enter(t *testing.T) {
	t.Helper()
	move := func(to group) error {
		return os.WriteFile(filepath.Join(string(to), groupProcs), []byte("0"), 0)
	}
	if err := move(g); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := move(group(filepath.Dir(string(g)))); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupOfRun starts a run from within a group: it has one below, which is gone after it,
// and so is that of a run whose supervisor is gone.
func TestGroupOfRun(t *testing.T) {
	outer := outerGroup(t)
	if outer == "" {
		return
	}
	outer.enter(t)
	l, s := start(t, shell("cat /proc/self/cgroup"))
	o, text := l.wait(t, s)
	if !o.OK() || !strings.Contains(text, "0::/"+filepath.Base(string(outer))+"/"+groupPrefix) {
		t.Errorf("%+v, the command was in %q", o, text)
	}
	l, s = start(t, Launch{Key: "key", Argv: []string{"/no/such/program"}, Order: order()})
	if o, text := l.wait(t, s); o.Err == "" {
		t.Errorf("%+v, %q, want that it does not start", o, text)
	}
	if _, dirs := outer.members(); len(dirs) != 1 {
		t.Errorf("groups %q of what did not start stay", dirs[1:])
	}
	stem := filepath.Join(t.TempDir(), "000002.1")
	c := Claim{Process: Process{PID: 1 << 29, Start: 7}}
	if err := claim(stem, c.String()); err != nil {
		t.Fatal(err)
	}
	g := outer.child(groupName(stem, c))
	pid, err := g.start("/bin/sleep", []string{"sleep", "1000"}, syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = syscall.Wait4(pid, nil, 0, nil) }()
	KillRest(stem)
	if p, err := Find(pid); err == nil && p.Alive() {
		t.Errorf("process %d of the group lives", pid)
	}
	if _, dirs := outer.members(); len(dirs) != 1 {
		t.Errorf("groups %q stay", dirs[1:])
	}
}

// TestGroup does it with the kernel, where this user may make groups: a process that has
// neither the run's mark nor its session ends with the run, and nothing else does.
func TestGroup(t *testing.T) {
	stem := filepath.Join(t.TempDir(), "000001.1")
	c := Claim{Process: Process{PID: 1 << 29, Start: 7}}
	if err := claim(stem, c.String()); err != nil {
		t.Fatal(err)
	}
	KillRest(stem) // where there is no group that is all
	outer := outerGroup(t)
	if outer == "" {
		return
	}
	g := outer.child(groupName(stem, c))
	attr := syscall.ProcAttr{Env: []string{Mark(stem)}, Sys: &syscall.SysProcAttr{Setsid: true}}
	pid, err := g.start("/bin/sh", []string{"sh", "-c", "env -i setsid sleep 1000 & wait"}, attr)
	if err != nil {
		t.Fatal(err)
	}
	if g == "" {
		t.Log("the kernel starts nothing in a group")
	}
	defer func() { _, _ = syscall.Wait4(pid, nil, 0, nil) }()
	stranger := sleeper(t, nil, "exec sleep 1000")
	var members []int
	waiter, err := Find(pid)
	for lost := false; err == nil && g != "" && !lost && waiter.Alive(); { // until one has no mark
		members, _ = g.members()
		for _, pid := range members {
			lost = lost || Variable(pid, ProgressVariable) == "" && isSleep(pid)
		}
	}
	KillRest(stem)
	for _, pid := range members {
		if p, err := Find(pid); err == nil && p.Alive() {
			t.Errorf("process %d of the group lives", pid)
		}
	}
	if p, err := Find(stranger.Process.Pid); err != nil || !p.Alive() {
		t.Errorf("a stranger is gone: %v", err)
	}
	if _, err := os.Stat(string(g)); err == nil && g != "" {
		t.Error("the group stays")
	}
	empty, full := outer.child("colloc-0123456789"), outer.child("colloc-9876543210")
	pid2, err := full.start("/bin/sleep", []string{"sleep", "1000"}, syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = syscall.Wait4(pid2, nil, 0, nil) }()
	defer func() { _ = syscall.Kill(pid2, syscall.SIGKILL) }()
	outer.sweep(time.Now().Add(time.Hour))
	if _, err := os.Stat(string(empty)); err == nil {
		t.Error("an empty group stays")
	}
	if p, err := Find(pid2); err != nil || !p.Alive() {
		t.Errorf("a process of another run is gone: %v", err)
	}
	if _, err := os.Stat(string(full)); err != nil && full != "" {
		t.Errorf("the group of another run is gone: %v", err)
	}
}

func isSleep(pid int) bool {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && string(name) == "sleep\n"
}
