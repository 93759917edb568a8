//go:build linux

package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/internal/race"
)

const (
	crashes      = 40
	crashesRaced = 15
	tasksPerLife = 6
)

// helpCrash is a runner that will be killed: it opens the queue in args[0] with
// the GPUs of args[1], submits tasks of the life args[2] that append their names
// to args[3], and runs. It says when it begins and when it submitted.
func helpCrash(args []string) error {
	c, err := testConfig(args[0], args[1])
	if err != nil {
		return err
	}
	c.Watch = 5 * time.Millisecond
	fmt.Println("begin")
	r, err := openSimply(context.Background(), c, &simplePlanner{})
	if err != nil {
		return err
	}
	life, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if _, err := r.Submit(crashTasks(life, args[3])...); err != nil {
		return err
	}
	fmt.Println("submitted")
	return errors.Join(r.Run(context.Background()), r.Close())
}

// crashTasks are short tasks: one in two is over before the next look at it.
func crashTasks(life int, file string) []Task {
	tasks := make([]Task, tasksPerLife)
	for i := range tasks {
		tasks[i] = shell(`echo "$COLLOC_TASK" >>"$1"; sleep "$2"`, file, []string{"0", "0.03"}[i%2])
		tasks[i].ID = fmt.Sprintf("%d-%d", life, i)
	}
	return tasks
}

// TestCrash kills a runner 40 times at random moments, fewer under -race. Every task that was
// recorded takes effect exactly once, and every one whose submission was
// confirmed was recorded.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	state, gpus, effects := filepath.Join(dir, "state"), filepath.Join(dir, "gpus.json"), filepath.Join(dir, "effects")
	if err := os.WriteFile(gpus, []byte(gpuFile(4)), 0o600); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(9, 1))
	confirmed := make(map[string]bool)
	lives := crashes
	if race.Enabled {
		lives = crashesRaced
	}
	for life := range lives {
		from := []string{"begin", "submitted"}[life%2] // a busy machine may take all of the pause to open the queue
		if crash(t, from, rng.Float64(), state, gpus, strconv.Itoa(life), effects) {
			for i := range tasksPerLife {
				confirmed[fmt.Sprintf("%d-%d", life, i)] = true
			}
		}
	}
	g := newRig(t, dir, gpuFile(4), nil)
	adopted := 0
	for _, r := range g.Records() {
		if !r.State.Over() && r.State != Queued {
			adopted++
		}
	}
	records := g.finish(t)
	text, err := os.ReadFile(effects)
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		count[strings.TrimSpace(line)]++
	}
	runs := 0
	for _, r := range records {
		if r.State != Succeeded || count[r.Task.ID] != 1 {
			t.Errorf("task %s %v (%s), took effect %d times in %d runs", r.Task.ID, r.State, r.Err, count[r.Task.ID], r.Runs)
		}
		runs += r.Runs
		delete(confirmed, r.Task.ID)
		delete(count, r.Task.ID)
	}
	for id := range confirmed {
		t.Errorf("task %s was confirmed and is not in the queue", id)
	}
	for id, n := range count {
		t.Errorf("task %s is not in the queue and took effect %d times", id, n)
	}
	if len(records) == 0 {
		t.Error("no task was recorded")
	}
	t.Logf("%d tasks, %d runs recorded, %d tasks adopted after the last crash", len(records), runs, adopted)
	noProcess(t, dir)
}

// crash runs helpCrash and kills it after it said from and a pause, a share of the time that it took to
// say so. It reports whether the submission was confirmed before.
func crash(t *testing.T, from string, share float64, args ...string) (confirmed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, args...)
	command.Env = append(os.Environ(), helperVariable+"=crash")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if confirmed = confirmed || lines.Text() == "submitted"; lines.Text() == from {
			pause := time.Duration(share * float64(time.Since(began)))
			kill := time.AfterFunc(pause, func() { _ = command.Process.Kill() })
			defer kill.Stop()
		}
	}
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("the runner failed by itself: %v", err)
	}
	awaitUnlocked(t, args[0])
	return confirmed
}

// awaitUnlocked waits until the folder of a runner that was killed is free: a process that it
// was starting holds its locks until it is the other program.
func awaitUnlocked(t *testing.T, dir string) {
	t.Helper()
	waitFor(t, func() bool {
		lock, err := supervise.Lock(dir)
		return err == nil && lock.Close() == nil || errors.Is(err, fs.ErrNotExist)
	})
}

// noProcess waits until no process is left whose command line names the folder:
// what was killed is reaped, and supervisors end after their records.
func noProcess(t *testing.T, dir string) {
	t.Helper()
	waitFor(t, func() bool {
		names, err := filepath.Glob("/proc/[0-9]*/cmdline")
		return err == nil && !slices.ContainsFunc(names, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), dir)
		})
	})
}
