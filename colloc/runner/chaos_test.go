//go:build linux

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/internal/filelock"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// RUNNER_CHAOS is how many tasks TestChaos runs, RUNNER_CHAOS_SEED what it draws from:
//
//	RUNNER_CHAOS=1000 RUNNER_CHAOS_SEED=7 go test ./colloc/runner -run '^TestChaos$' -v -timeout 30m
const (
	chaosTasks = 40
	chaosSeed  = 1
)

// steppedClock is the system's, which somebody sets forth and back.
type steppedClock struct{ offset *atomic.Int64 }

type steppedWaiter struct {
	nvmlx.Waiter

	clock steppedClock
}

func (c steppedClock) step() time.Duration { return time.Duration(c.offset.Load()) }

func (c steppedClock) Now() time.Time { return nvmlx.SystemClock().Now().Add(c.step()) }

func (c steppedClock) NewWaiter() nvmlx.Waiter {
	return steppedWaiter{nvmlx.SystemClock().NewWaiter(), c}
}

func (w steppedWaiter) Wait(ctx context.Context, t time.Time) error {
	return w.Waiter.Wait(ctx, t.Add(-w.clock.step()))
}

// helpChaos is a runner among the faults of TestChaos: of the queue in args[0] with the
// GPUs of args[1], with args[2] tasks that leave their traces in args[3], under the boot
// that the file args[4] names unless that is empty. SIGUSR1 sets its clock.
func helpChaos(args []string) error {
	if args[4] != "" {
		if err := syscall.Mount(args[4], "/proc/sys/kernel/random/boot_id", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	c, err := testConfig(args[0], args[1])
	if err != nil {
		return err
	}
	clock := steppedClock{new(atomic.Int64)}
	steps := make(chan os.Signal, 1)
	signal.Notify(steps, syscall.SIGUSR1)
	go func() {
		for range steps {
			clock.offset.Store(int64(time.Duration(rand.Int64N(int64(4*time.Hour))) - 2*time.Hour))
		}
	}()
	c.Clock, c.floor, c.Watch, c.PerGPU = clock, profile.MiB, 10*time.Millisecond, 2
	r, err := openSimply(context.Background(), c, &simplePlanner{})
	if err != nil {
		return err
	}
	if tasks, err := strconv.Atoi(args[2]); err != nil || len(r.Records()) == 0 {
		self, _ := os.Executable()
		all := make([]Task, tasks)
		for i := range all {
			all[i] = Task{
				ID: fmt.Sprintf("t%d", i), Command: []string{self, args[3], "work"}, Memory: profile.GiB, Retries: 2,
				Env: []string{helperVariable + "=work"},
			}
		}
		if _, err := r.Submit(all...); err != nil {
			return err
		}
	}
	return errors.Join(r.Run(context.Background()), r.Close())
}

// helpWork is a task: it says that it begins, works a moment with memory of its GPU, and
// says that it did its work. That nobody does the same beside it a lock shows, which
// the kernel lets go of with its process.
func helpWork(args []string) error {
	task, run := os.Getenv("COLLOC_TASK"), os.Getenv("COLLOC_RUN")
	say := func(what string) error {
		file, err := os.OpenFile(filepath.Join(args[0], "traces"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(file, what, task, run)
		}
		return errors.Join(err, file.Close())
	}
	lock, err := os.OpenFile(filepath.Join(args[0], task), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := filelock.Take(lock); err != nil {
		return errors.Join(say("overlap"), err)
	}
	fmt.Println("step", run)
	if err := say("begin"); err != nil {
		return err
	}
	free, err := fakegpu.Allocate(profile.MiB)
	if err != nil {
		return err
	}
	pause := nvmlx.SystemClock().NewWaiter()
	err = pause.Wait(context.Background(), time.Now().Add(time.Duration(rand.Int64N(int64(200*time.Millisecond)))))
	return errors.Join(err, say("end"), free())
}

// chaos is a host on which everything goes wrong.
type chaos struct {
	*testing.T
	*rand.Rand

	state, gpus, traces, boot, disk string

	tasks  int
	runner *exec.Cmd
	over   chan error // of the runner's present life
	count  map[string]int
}

// live starts the runner.
func (c *chaos) live() {
	c.Helper()
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	c.runner = exec.Command(self, c.state, c.gpus, strconv.Itoa(c.tasks), c.traces, c.boot)
	c.runner.Env = append(os.Environ(), helperVariable+"=chaos")
	var said bytes.Buffer
	c.runner.Stderr = &said
	if c.boot != "" {
		c.runner.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	if err := c.runner.Start(); err != nil {
		c.Fatal(err)
	}
	c.over = make(chan error, 1)
	go func(runner *exec.Cmd, over chan error) {
		err := runner.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			err = fmt.Errorf("the runner failed by itself: %s", said.String())
		} else if exit != nil {
			err = errKilled
		}
		over <- err
	}(c.runner, c.over)
	c.count["lives"]++
}

var errKilled = errors.New("killed")

// processes lists those of the sweep: supervisors and tasks.
func (c *chaos) processes() (supervisors, tasks []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte(c.traces+"\x00work")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if bytes.HasPrefix(text, []byte("colloc-supervisor\x00")) {
			supervisors = append(supervisors, pid)
		} else {
			tasks = append(tasks, pid)
		}
	}
	return supervisors, tasks
}

// held reports whether a task holds its lock: a process that was killed has no command line
// any more a moment before the kernel lets go of its files, which no start of a host outlives.
func (c *chaos) held() bool {
	names, err := filepath.Glob(filepath.Join(c.traces, "t[0-9]*"))
	if err != nil {
		c.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		file, err := os.Open(name)
		if err != nil {
			c.Fatal(err)
		}
		defer func() { _ = file.Close() }() // with its lock
		return filelock.Take(file) != nil
	})
}

// killOne ends one of the processes, as nobody expects it.
func (c *chaos) killOne(what string, pids []int) {
	if len(pids) > 0 && syscall.Kill(pids[c.IntN(len(pids))], syscall.SIGKILL) == nil {
		c.count[what]++
	}
}

// killRunner ends the runner and starts another one.
func (c *chaos) killRunner() {
	c.Helper()
	_ = c.runner.Process.Kill()
	if err := <-c.over; errors.Is(err, errKilled) {
		c.count["runners killed"]++
	} else if err != nil {
		c.Fatal(err)
	}
	awaitUnlocked(c.T, c.state)
	c.live()
}

// reboot ends all processes at once, and the next ones run after another start of the
// host.
func (c *chaos) reboot() {
	c.Helper()
	_ = c.runner.Process.Kill()
	if err := <-c.over; err != nil && !errors.Is(err, errKilled) {
		c.Fatal(err)
	}
	waitFor(c.T, func() bool { // more than once: what was just being started
		supervisors, tasks := c.processes()
		for _, pid := range slices.Concat(supervisors, tasks) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(supervisors)+len(tasks) == 0 && !c.held()
	})
	c.count["reboots"]++
	c.write(c.boot, fmt.Sprintf("boot %d\n", c.count["reboots"]))
	c.live()
}

func (c *chaos) write(path, text string) {
	c.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		c.Fatal(err)
	}
}

// kinds is how many faults a round has; each thing goes wrong in each round.
const kinds = 20

// fault lets one thing go wrong.
func (c *chaos) fault(n int) {
	c.Helper()
	supervisors, tasks := c.processes()
	switch {
	case n < 4:
		c.killRunner()
	case n < 9:
		c.killOne("supervisors killed", supervisors)
	case n < 14:
		c.killOne("tasks killed", tasks)
	case n < 15:
		if c.runner.Process.Signal(syscall.SIGUSR1) == nil {
			c.count["clock steps"]++
		}
	case n < 17:
		lost := strings.Split(gpuFile(4), "},")
		i := c.IntN(len(lost))
		lost[i] = strings.Replace(lost[i], `"A100-40GB"`, `"A100-40GB", "lost": true`, 1)
		c.write(c.gpus, strings.Join(lost, "},"))
		c.pause(50 * time.Millisecond)
		c.write(c.gpus, gpuFile(4))
		c.count["GPUs lost and back"]++
	case n < 19 && c.disk != "":
		filler := filepath.Join(c.disk, "filler")
		if os.WriteFile(filler, make([]byte, 64<<20), 0o600) != nil { // it is full
			c.count["full disks"]++
		}
		c.pause(50 * time.Millisecond)
		if err := os.Remove(filler); err != nil {
			c.Fatal(err)
		}
	case n == 19 && c.boot != "":
		c.reboot()
	}
}

// pause lets the host go on undisturbed, for at most so long.
func (c *chaos) pause(most time.Duration) {
	waiter := nvmlx.SystemClock().NewWaiter()
	defer waiter.Stop()
	_ = waiter.Wait(c.Context(), time.Now().Add(time.Duration(c.Int64N(int64(most)))))
}

// run lets the sweep come to its end among so many faults.
func (c *chaos) run(faults int) {
	c.Helper()
	c.live()
	var round []int
	for range faults {
		if len(round) == 0 {
			round = c.Perm(kinds)
		}
		c.pause(40 * time.Millisecond)
		c.fault(round[0])
		round = round[1:]
	}
	if err := <-c.over; err != nil {
		c.Fatal(err)
	}
}

// check compares what the tasks did with what is on record.
func (c *chaos) check(records []Record) {
	c.Helper()
	traces := lines(c.T, filepath.Join(c.traces, "traces"))
	for trace, n := range traces {
		if n > 1 || strings.HasPrefix(trace, "overlap") {
			c.Errorf("%s: %d times", trace, n)
		}
	}
	for _, r := range records {
		began, did := 0, 0
		for run := range r.Runs + 1 {
			began += traces[fmt.Sprintf("begin %s %d", r.Task.ID, run)]
			did += traces[fmt.Sprintf("end %s %d", r.Task.ID, run)]
		}
		told := r.LostRuns + r.Failures // runs that are known not to have ended well
		switch {
		case !r.State.Over(), began > r.Runs, r.State == Succeeded && did == 0, did > 1+told, r.State == Failed && r.Err == "":
			c.Errorf("task %s is %v (%s): %d runs on record, %d lost, %d failed; %d began, %d did it", r.Task.ID, r.State, r.Err, r.Runs, r.LostRuns, r.Failures, began, did)
		case r.State == Succeeded && did == 1:
			c.count["tasks done once"]++
		case r.State == Succeeded:
			c.count["tasks done again after a run that is reported"]++
		default:
			c.count["tasks reported as failed"]++
		}
	}
	if len(records) != c.tasks {
		c.Errorf("%d tasks on record, want %d", len(records), c.tasks)
	}
}

// TestChaos runs tasks while everything goes wrong, at random: runner, supervisors and
// tasks are killed, the host starts again, its clock is set, its disk is full, GPUs go
// and come back. What a task did is once, or on record as lost or failed; no two runs
// of one take place at a time; strangers are left alone.
func TestChaos(t *testing.T) {
	tasks, seed := chaosTasks, uint64(chaosSeed)
	if text := os.Getenv("RUNNER_CHAOS"); text != "" {
		n, err := strconv.Atoi(text)
		s, err2 := strconv.ParseUint("0"+os.Getenv("RUNNER_CHAOS_SEED"), 10, 64)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		tasks, seed = n, s
	}
	dir := t.TempDir()
	c := &chaos{
		T: t, Rand: rand.New(rand.NewPCG(seed, 3)), tasks: tasks, count: make(map[string]int),
		state: filepath.Join(dir, "disk", "state"), gpus: filepath.Join(dir, "gpus.json"), traces: filepath.Join(dir, "traces"),
	}
	for _, d := range []string{filepath.Join(dir, "disk"), c.traces} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	disk := filepath.Join(dir, "disk")
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=48m"); err == nil { // who may, has a disk that fills and starts the host again
		t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
		c.boot, c.disk = filepath.Join(dir, "boot"), disk
		c.write(c.boot, "boot 0\n")
	} else {
		t.Logf("no disk is mounted (%v): it never fills, and the host does not start again", err)
	}
	c.write(c.gpus, gpuFile(4))
	var strangers []supervise.Process
	for range 5 {
		stranger := exec.Command("/bin/sh", "-c", "sleep 100000 & exec sleep 100000")
		stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := stranger.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-stranger.Process.Pid, syscall.SIGKILL); _ = stranger.Wait() })
		p, err := supervise.Find(stranger.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, p)
	}
	c.run(tasks)
	config, err := testConfig(c.state, c.gpus)
	if err != nil {
		t.Fatal(err)
	}
	r, err := openSimply(t.Context(), config, &simplePlanner{})
	if err != nil {
		t.Fatal(err)
	}
	c.check(r.Records())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	noProcess(t, c.traces)
	for _, p := range strangers {
		if !p.Alive() {
			t.Errorf("process %d, a stranger, is gone", p.PID)
		}
	}
	t.Logf("seed %d, %d tasks: %v", seed, tasks, c.count)
}
