//go:build linux

package runner

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// TestDiskFloor fills the disk that tasks write to: what fails then is queued again,
// nothing starts, people are told once, and nobody has failed when there is room.
func TestDiskFloor(t *testing.T) {
	t.Parallel()
	disk, dir := t.TempDir(), t.TempDir()
	filler := filepath.Join(disk, "filler")
	g := newRig(t, dir, gpuFile(1), func(c *Config) {
		c.floor, c.Halt = profile.MiB, Halt{}
		c.free = func(of string) (profile.Bytes, bool) {
			if info, err := os.Stat(filler); of == disk && err == nil && info.Size() > 0 {
				return profile.MiB - 1, true
			}
			return profile.MiB, true
		}
	})
	// Of two tasks that start together one fills it: with -C the shell does not write to a file that is there.
	fills := shell(`if (set -C; echo full >"$1") 2>/dev/null; then exit 1; fi`, filler)
	fills.Dir = disk
	for range 10 {
		g.submit(t, fills)
	}
	done := g.start(t)
	waitFor(t, func() bool {
		return slices.ContainsFunc(g.Records(), func(r Record) bool { return r.LostRuns > 0 && strings.Contains(r.Waiting, "is full: ") })
	})
	if err := os.WriteFile(filler, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Records() {
		if r.State != Succeeded || r.Failures != 0 || r.Runs > 3 {
			t.Errorf("task %s is %v after %d runs: %s", r.Task.ID, r.State, r.Runs, r.Err)
		}
	}
}

// TestDiskFullAgain: each time that the disk of the queue has no room, people are told once.
func TestDiskFullAgain(t *testing.T) {
	known := true
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) {
		c.free = func(string) (profile.Bytes, bool) { return profile.GiB, known }
		c.floor = 2 * profile.GiB
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, want := range []int{1, 0, 0, 1} {
		known = i != 2 // what nobody knows may have room
		g.pending = nil
		if g.place(); len(g.pending) != want {
			t.Errorf("look %d tells %+v, want %d events", i, g.pending, want)
		}
	}
	g.pending = nil
}

// TestFullExpects: while the disk of the queue has no room nobody knows when those that wait start; what runs is expected to end.
func TestFullExpects(t *testing.T) {
	var full atomic.Bool
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), func(c *Config) {
		c.PerGPU, c.floor = 1, profile.MiB
		c.free = func(string) (profile.Bytes, bool) {
			if full.Load() {
				return 0, true
			}
			return profile.GiB, true
		}
	})
	ends := filepath.Join(dir, "end")
	waits := shell(`until [ -e "$1" ]; do sleep 0.01; done`, ends)
	g.submit(t, waits, waits)
	done := g.start(t)
	expects := func(want ...string) bool {
		g.mu.Lock()
		g.expected = nil
		g.mu.Unlock()
		return slices.Equal(slices.Sorted(maps.Keys(g.Expect())), want)
	}
	waitFor(t, func() bool { return expects("1", "2") })
	full.Store(true)
	waitFor(t, func() bool { return expects("1") })
	full.Store(false)
	waitFor(t, func() bool { return expects("1", "2") })
	if err := os.WriteFile(ends, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestInARow gives a queue a fault that hits every task: it ends with one sentence,
// and when that is mended all tasks run.
func TestInARow(t *testing.T) {
	t.Parallel()
	const tasks = 30
	dir := t.TempDir()
	mended := filepath.Join(dir, "mended")
	g := newRig(t, dir, gpuFile(2), func(c *Config) { c.Halt = Halt{} })
	for range tasks {
		g.submit(t, shell(`echo "NameError: lerning_rate" >&2; test -e "$1"`, mended))
	}
	err := g.Run(t.Context())
	if !errors.Is(err, ErrHalted) {
		t.Errorf("error is %v, want ErrHalted", err)
	}
	runs := 0
	for _, r := range g.Records() {
		runs += r.Runs
		if r.State != Queued || r.Failures != 0 {
			t.Errorf("task %s is %v with %d failures", r.Task.ID, r.State, r.Failures)
		}
	}
	if runs > DefaultInARow+4 { // two on each GPU run when the last one fails
		t.Errorf("%d runs failed before the queue ended", runs)
	}
	if err := os.WriteFile(mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, r := range g.finish(t) {
		if r.State != Succeeded {
			t.Errorf("task %s is %v: %s", r.Task.ID, r.State, r.Err)
		}
	}
	for _, e := range g.events {
		if e.Kind == EventHalted && strings.HasPrefix(e.Text, "5 tasks in a row failed within 10s of their start, task ") && strings.Contains(e.Text, "exit code 1") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it was told %d times, want once", told)
	}
}

// TestFailuresApart has as many failures, with successes between them or with failures
// that do not come soon after a start: the queue goes on.
func TestFailuresApart(t *testing.T) {
	t.Parallel()
	late := shell("exec sleep 1000")
	late.Timeout = time.Millisecond
	for name, apart := range map[string]struct {
		task  Task
		state State
	}{"by successes": {shell("true"), Succeeded}, "by time limits": {late, Failed}} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) { c.PerGPU, c.Halt = 1, Halt{InARow: 2} })
			for range 4 {
				g.submit(t, shell("false"), apart.task)
			}
			for i, r := range g.finish(t) {
				if want := []State{Failed, apart.state}[i%2]; r.State != want {
					t.Errorf("task %s is %v, want %v", r.Task.ID, r.State, want)
				}
			}
		})
	}
}

// TestNoRoom gives a task no room for its output: it fails, others do not.
func TestNoRoom(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	g.submit(t, shell("ulimit -f 1; head -c 100000 /dev/zero"), shell("echo fine"))
	records := g.finish(t)
	if r := records[0]; r.State != Failed || r.Err == "" {
		t.Errorf("the task without room is %v: %s", r.State, r.Err)
	}
	if r := records[1]; r.State != Succeeded {
		t.Errorf("the other is %v: %s", r.State, r.Err)
	}
}

// limitFiles is how far this process may write in a file.
func limitFiles(t *testing.T, most uint64) {
	t.Helper()
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	limit.Cur = min(most, limit.Max)
	if err := errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk lets nobody write to the queue file, as on a full disk: nothing starts,
// the listener is told, and once there is room the queue goes on, each task once.
func TestFullDisk(t *testing.T) {
	if !testbed.Alone(t) {
		return
	}
	warned := make(chan string, 100)
	effects := t.TempDir()
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) {
		c.OnEvent = func(e Event) {
			if e.Kind == EventWarning {
				warned <- e.Text
			}
		}
	})
	for range 12 {
		g.submit(t, shell(`mktemp "$1/XXXXXX"`, effects))
	}
	limitFiles(t, 0)
	defer limitFiles(t, math.MaxUint64)
	done := g.start(t)
	if text := <-warned; !strings.Contains(text, "file too large; no task starts until it can be written") {
		t.Errorf("warning is %q", text)
	}
	for _, r := range g.Records() {
		if r.State != Queued || r.Runs > 1 {
			t.Errorf("task %s is %v after %d runs", r.Task.ID, r.State, r.Runs)
		}
	}
	limitFiles(t, math.MaxUint64)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Records() {
		if r.State != Succeeded {
			t.Errorf("task %s is %v: %s", r.Task.ID, r.State, r.Err)
		}
	}
	noProcess(t, g.dir)
	if made, err := os.ReadDir(effects); err != nil || len(made) != 12 {
		t.Errorf("12 tasks made %d files, %v", len(made), err)
	}
}

// TestLogLimit runs a task that writes much more than its log may take: it goes on to
// its end, the beginning and the end of what it wrote stay, and the record says how
// much is left out. Its progress is followed all the same.
func TestLogLimit(t *testing.T) {
	t.Parallel()
	const limit = 2 * profile.MiB
	dir := filepath.Join(t.TempDir(), "task of a friend")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.LogLimit, c.Noun = limit, "job" })
	task := shell(`echo begin; head -c 20000000 /dev/zero | tr '\0' x; echo; echo "step 7 of 7"; echo end`)
	task.Progress.Pattern = `^step (?P<step>\d+) of (?P<total>\d+)`
	g.submit(t, task, shell("echo little"))
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := g.record(t, "1")
	if r.State != Succeeded || r.LogDropped == 0 || r.Step.Or(0) != 7 {
		t.Errorf("%v at step %v, %v dropped: %s", r.State, r.Step, r.LogDropped, r.Err)
	}
	text := output(t, r)
	if !strings.HasPrefix(text, "begin\nxxx") || !strings.HasSuffix(text, "\nstep 7 of 7\nend\n") || strings.Count(text, "are left out here, for a log may take 2 MiB") != 1 {
		t.Errorf("the log begins with %.20q and ends with %.40q", text, text[max(0, len(text)-40):])
	}
	if other := g.record(t, "2"); other.LogDropped != 0 || output(t, other) != "little\n" {
		t.Errorf("%v dropped of a short log", other.LogDropped)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(g.events, func(e Event) bool {
		return e.Kind == EventWarning && strings.Contains(e.Text, "the output of job 1 became too long") && strings.Contains(e.Text, "task of a friend")
	}) {
		t.Error("nobody was told")
	}
	for _, e := range g.events {
		if strings.Contains(strings.ReplaceAll(e.Text, "task of a friend", ""), "task") || e.Kind == EventStarted && !strings.HasPrefix(e.Text, "job ") {
			t.Errorf("%v: %q; a task is called a job", e.Kind, e.Text)
		}
	}
}

// TestCrowded takes away the room for open files: a task waits for it, and is not lost.
func TestCrowded(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), nil)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}
	defer restore()
	g.submit(t, shell("true"))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	done := g.start(t)
	waitFor(t, func() bool { return strings.Contains(g.record(t, "1").Err, "too many open files") })
	restore()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r := g.record(t, "1"); r.State != Succeeded || r.Runs < 2 || r.LostRuns != 0 || r.Failures != 0 {
		t.Errorf("the task is %v after %d runs, %d of them lost: %s", r.State, r.Runs, r.LostRuns, r.Err)
	}
}

// TestDiskHangs: a folder whose disk never answers keeps nobody waiting, and few questions are left open.
func TestDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		hang := make(chan struct{})
		d := newDisks(func(dir string) (profile.Bytes, bool) {
			if dir == "good" {
				return profile.GiB, true
			}
			asked.Add(1)
			<-hang
			return 1, true
		})
		began := time.Now()
		for range 100 {
			if free, known := d.free("bad"); known || free != 0 {
				t.Errorf("%v are free where nothing answers", free)
			}
			if free, known := d.free("good"); asked.Load() < askedAtOnce && (!known || free != profile.GiB) {
				t.Errorf("%v, %v are free on a good disk", free, known)
			}
		}
		if took := time.Since(began); took != askedAtOnce*diskPatience || asked.Load() != askedAtOnce {
			t.Errorf("%d questions take %v, want %d and %v", asked.Load(), took, askedAtOnce, askedAtOnce*diskPatience)
		}
		close(hang)
		synctest.Wait()
		if free, known := d.free("good"); !known || free != profile.GiB {
			t.Errorf("%v, %v are free once all answer again", free, known)
		}
	})
}

// TestRetriesLeave: of a task that fails again and again little more than the outputs is left.
func TestRetriesLeave(t *testing.T) {
	t.Parallel()
	const retries = 5
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), func(c *Config) { c.Halt = Halt{InARow: -1} })
	task := shell("exit 1")
	task.Retries = retries
	g.submit(t, task)
	if err := <-g.start(t); err != nil {
		t.Fatal(err)
	}
	for end, want := range map[string]int{"log": retries + 1, "claim": 2, "exit": 2, "steps": 0} {
		if found, err := filepath.Glob(filepath.Join(dir, "*", "runs-*", "*."+end)); len(found) > want || end == "log" && len(found) < want || err != nil {
			t.Errorf("%d files of %s, %v, want %d", len(found), end, err, want)
		}
	}
}
