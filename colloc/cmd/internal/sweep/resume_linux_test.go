package sweep

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/nvmlx"
)

// TestRefused resumes a sweep that runs: it is refused, says by whom, and nothing in
// the folder is another file or has another content.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "2", "-shell", "--", "echo ready; until [ -e go ]; do sleep 0.02; done")
	p.until(" | ready")
	own := func() (files []string) {
		for _, name := range []string{jobLogName, argsName, lockName, filepath.Join(fakeName, "colloc")} {
			info, err := os.Lstat(filepath.Join(dir, "logs", name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, name+" "+info.ModTime().String()+" "+strconv.FormatInt(info.Size(), 10))
		}
		return files
	}
	before := own()
	if stderr := refused(t, dir, "-resume"); !strings.Contains(stderr, "in use by another sweep (process "+strconv.Itoa(p.Process.Pid)+")") {
		t.Errorf("refused with %q", stderr)
	}
	if after := own(); !slices.Equal(before, after) {
		t.Errorf("a refused -resume changed\n%q to\n%q", before, after)
	}
	letGo(t, dir)
	if status, stdout := p.end(); status != exitOK {
		t.Errorf("status %d:\n%s", status, stdout)
	}
	alone(t, dir)
}

// TestAgain gives flags again to a sweep that goes on: they replace what they were.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	first := &options{logs: dir}
	if err := first.remember([]string{"-logs", dir, "-gpus", "0", "-gpus", "1", "-share", "mps", "-p", "a=1", "-p", "b=2", "-by", "a", "--", "true"}); err != nil {
		t.Fatal(err)
	}
	again := &options{}
	if err := again.parse([]string{"-logs", dir, "-resume", "-gpus", "2", "-gpus", "3", "-p", "c=3"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := []nvmlx.DeviceID{"2", "3"}; !slices.Equal(again.gpus, want) {
		t.Errorf("GPUs are %q, want %q", again.gpus, want)
	}
	if len(again.grid.Params) != 1 || again.grid.Params[0].Name != "c" || len(again.mechanisms) != 1 || !slices.Equal(again.grid.By, []string{"a"}) {
		t.Errorf("parameters %v, mechanisms %v, by %q", again.grid.Params, again.mechanisms, again.grid.By)
	}
}

// TestHangUp closes the terminal of a sweep: it goes on, and tells in a file.
func TestHangUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, dir, "-follow", "-n", "2", "-per-gpu", "1", "-gpus", "0", "-shell", "--", "echo ready; until [ -e go ]; do sleep 0.02; done")
	p.until(" | ready")
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	told := filepath.Join(dir, "logs", hangUpName)
	for tick := time.Tick(10 * time.Millisecond); !exists(told); <-tick {
	}
	letGo(t, dir)
	if status, _ := p.end(); status != exitOK {
		t.Errorf("status %d: %s", status, &p.stderr)
	}
	text, err := os.ReadFile(told)
	if err != nil || !strings.Contains(string(text), "the sweep goes on, as process "+strconv.Itoa(p.Process.Pid)) || !strings.Contains(string(text), "2 of 2 tasks succeeded") {
		t.Errorf("%v; it tells\n%s", err, text)
	}
	alone(t, dir)
}

// TestUnusable asks for what no GPU has, and for programs that are none: it is said
// before anything starts.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	script, empty := filepath.Join(dir, "t.py"), filepath.Join(dir, "gpus.json")
	for path, text := range map[string]string{script: "#!/bin/sh\n", empty: `{"gpus": []}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		"-mem 100 GiB: no GPU has as much: the largest offers 36 GiB": {"-fake-gpus", gpusFile, "-mem", "100GiB", "--", "true"},
		"may not be executed: chmod +x":                               {"-fake-gpus", gpusFile, "--", script},
		"lists no GPU: write":                                         {"-fake-gpus", empty, "--", "true"},
		"0.1 is the only value":                                       {"-fake-gpus", gpusFile, "-p", "lr=1e-1..1e-4", "--", "true", "{lr}"},
	} {
		if status, _, stderr := call(append([]string{"-dry-run"}, args...)...); status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
}

// TestGang sweeps tasks of two GPUs each: they run one after the other on both.
func TestGang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout := check(t, dir, 0, "-n", "2", "-gpus-per-task", "2", "-shell", "--", "echo $CUDA_VISIBLE_DEVICES > seen-{}")
	if !strings.Contains(stdout, "run-0 started on fake-0,fake-1, ") || jobLogOf(t, dir)["run-1"]["gpu"] != "fake-0,fake-1" {
		t.Errorf("job log %v, output:\n%s", jobLogOf(t, dir)["run-1"], stdout)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "seen-1")); err != nil || string(text) != "fake-0,fake-1\n" {
		t.Errorf("a task sees %q, %v", text, err)
	}
	dir = t.TempDir()
	check(t, dir, 0, "-n", "2", "-gpus-per-task", "2", "--", "burn", "-mem", "4GiB", "-steps", "20", "-seed", "{}")
	if status := statuses(t, dir)["run-1"]; status != joblog.StatusOK {
		t.Errorf("a task with memory on both GPUs: %s", status)
	}
	if stderr := refused(t, t.TempDir(), "-gpus-per-task", "3", "--", "true"); !strings.Contains(stderr, "-gpus-per-task 3: there are 2 GPUs to use") {
		t.Errorf("refused with %q", stderr)
	}
}

// A sweep that sees no memory of its tasks says once why they do not share.
func TestUnseenMemory(t *testing.T) {
	t.Parallel()
	const told = "no GPU memory was seen of the tasks: each keeps a GPU to itself; give -mem\n"
	args := []string{"-p", "k=a,b", "-by", "k", "--", "true", "{k}"}
	if stdout := check(t, t.TempDir(), 0, args...); strings.Count(stdout, told) != 1 {
		t.Errorf("without memory:\n%s", stdout)
	}
	if stdout := check(t, t.TempDir(), 0, append([]string{"-mem", "1GiB"}, args...)...); strings.Contains(stdout, told) {
		t.Errorf("with -mem:\n%s", stdout)
	}
}
