package probe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// mainEnv makes the test binary the program.
const mainEnv = "COLLOC_PROBE_MAIN"

func TestMain(m *testing.M) {
	testbed.Prepare() // burners heed SIGINT
	if os.Getenv(mainEnv) != "" {
		program := Program()
		if os.Args[1] == "burn" {
			program = burn.Program()
		}
		os.Exit(program.Run(context.Background(), os.Args[2:], cli.OS()))
	}
	os.Exit(m.Run())
}

// host is a folder with fake GPUs, one of which somebody else uses.
func host(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(mainEnv, "1") // for burners
	write(t, "gpus.json", `{"gpus": [{"id": "used", "name": "A100-40GB", "foreign": "2GiB"}, {"id": "free", "name": "A100-40GB"}]}`)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil { // somebody may read it
		t.Fatal(err)
	}
}

// call runs the command in this process; seen is called with what it wrote to
// standard error so far.
func call(t *testing.T, seen func(text string, signals chan<- os.Signal), args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	errs := &watcher{seen: seen, signals: make(chan os.Signal, 4)}
	status = run(t.Context(), append([]string{"-fake-gpus", "gpus.json"}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: errs}, errs.signals)
	return status, out.String(), errs.text.String()
}

// watcher is told what is written to it, by the program and by the task whose output it passes on.
type watcher struct {
	mu      sync.Mutex
	text    bytes.Buffer
	seen    func(string, chan<- os.Signal)
	signals chan os.Signal
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	n, err := w.text.Write(p)
	w.mu.Unlock()
	if w.seen != nil {
		w.seen(string(p), w.signals)
	}
	return n, err
}

// one reads the task that was written.
func one(t *testing.T) taskfile.Task {
	t.Helper()
	f, err := taskfile.ReadFile("colloc-task.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Tasks) != 1 {
		t.Fatalf("%d tasks, want one", len(f.Tasks))
	}
	return f.Tasks[0]
}

const summary = `----------------------------------------------------------------
        Layer (type)               Output Shape         Param #
================================================================
            Linear-1                   [-1, 10]             110
================================================================
Total params: 110
----------------------------------------------------------------
`

// enough is how long something must be seen: a program has twice as long to come to its first step, on a machine
// with much else to do.
const enough = "4s"

// A training is watched on the GPU that nobody uses, its output passes through, what
// it is and what was seen are in the file.
func TestTask(t *testing.T) {
	host(t)
	write(t, "summary.txt", summary)
	status, stdout, stderr := call(t, func(text string, _ chan<- os.Signal) {
		if strings.Contains(text, "wrote") {
			write(t, "seen", "")
		}
	}, "-time", enough, "-id", "mine", "--", "burn", "-steps", "300", "-mem", "3GiB", "-wait", "1ms", "-until", "seen")
	if status != 0 || !strings.Contains(stdout, "step 1/300") || !strings.Contains(stdout, "step 300/300") {
		t.Fatalf("status %d, %s", status, stderr)
	}
	task := one(t)
	s := task.Solo
	peak := s.Spread["peak_memory"]
	if task.ID != "mine" || s.GPU != "A100-40GB" || peak != float64(3*profile.GiB) || s.StepTime.IsZero() || s.GPUBusy.IsZero() || s.Steps != profile.Some(int64(300)) {
		t.Errorf("%+v, %+v", task, s)
	}
	if task.Model.Params() != 110 || !strings.Contains(stderr, "described by "+filepath.Join(task.Dir, "summary.txt")) || !strings.Contains(stderr, "on free for") {
		t.Errorf("%d parameters; %s", task.Model.Params(), stderr)
	}
	if len(task.Missing) == 0 || task.Missing[0].What != "the batch size, taken to be 1" || !strings.Contains(stderr, "missing: the batch size") {
		t.Errorf("missing %v", task.Missing)
	}
	if task.Command[0] != "burn" || s.CPUBusy.IsZero() {
		t.Errorf("command %q, CPU %v", task.Command, s.CPUBusy)
	}
}

// The exit status is the command's; a run that ends before anything was seen leaves
// the file alone.
func TestStatus(t *testing.T) {
	host(t)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   string
		file   bool
	}{
		{"well", []string{"--", "burn", "-steps", "3", "-mem", "1GiB"}, 0, "wrote", true},
		{"in time", []string{"-time", "1ns", "--", "burn", "-steps", "5"}, 0, "wrote", true},
		{"fails late", []string{"-time", "2s", "--", "burn", "-steps", "200", "-mem", "1GiB", "-fail-at", "150", "-exit", "7"}, 7, "wrote", true},
		{"fails early", []string{"--", "sh", "-c", "exit 3"}, 3, "before anything was seen", false},
		{"by a signal", []string{"--", "sh", "-c", "kill -KILL $$"}, 137, "before anything was seen", false},
		{"no such program", []string{"--", "no-such-program"}, 2, "executable file not found", false},
		{"watched and ended", []string{"-time", "300ms", "-stop", "--", "burn", "-steps", "1000000"}, 0, "wrote", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "task.json")
			status, _, stderr := call(t, nil, append([]string{"-o", out}, tt.args...)...)
			_, err := os.Stat(out)
			if status != tt.status || !strings.Contains(stderr, tt.says) || (err == nil) != tt.file {
				t.Errorf("status %d, file %v, %s; want status %d and %q", status, err, stderr, tt.status, tt.says)
			}
		})
	}
}

// A file that could not be written is told by the exit status, also where -stop ends the command.
func TestNotWritten(t *testing.T) {
	host(t)
	if err := os.Mkdir("gone", 0o700); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := call(t, func(text string, _ chan<- os.Signal) {
		if strings.Contains(text, "watching") {
			if err := os.Remove("gone"); err != nil {
				t.Error(err)
			}
		}
	}, "-o", "gone/task.json", "-time", "300ms", "-stop", "--", "burn", "-steps", "1000000", "-quiet")
	if status != 1 || !strings.Contains(stderr, "gone") {
		t.Errorf("status %d, %s; want 1", status, stderr)
	}
}

// Who reads the output may go, as head does: what was seen is written all the same.
func TestReaderGone(t *testing.T) {
	host(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "profile", "-fake-gpus", "gpus.json", "-time", enough, "-stop", "--", "burn", "-steps", "1000000", "-mem", "1GiB")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if one(t).Solo.StepTime.IsZero() {
		t.Error("nothing was seen")
	}
}

// What was seen is written on Ctrl-C, which the command gets.
func TestInterrupt(t *testing.T) {
	host(t)
	status, _, stderr := call(t, func(text string, signals chan<- os.Signal) {
		if strings.Contains(text, "watching") {
			signals <- syscall.SIGINT
		}
	}, "--", "sh", "-c", "trap 'exit 9' INT; while :; do sleep 0.01; done")
	if status != 9 && status != 130 || !strings.Contains(stderr, "wrote colloc-task.json") { // the shell may not have come to its trap
		t.Errorf("status %d, %s", status, stderr)
	}
	if task := one(t); len(task.Missing) < 3 {
		t.Errorf("nothing was seen, and missing is %v", task.Missing)
	}
}

// A GPU that is not alone is refused, or measured loudly.
func TestAlone(t *testing.T) {
	host(t)
	status, _, stderr := call(t, nil, "-gpu", "used", "--", "burn", "-steps", "3")
	if status != 2 || !strings.Contains(stderr, "used is used by the program foreign (2 GiB)") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if _, err := os.Stat("colloc-task.json"); err == nil {
		t.Error("there is a file")
	}
	status, _, stderr = call(t, nil, "-gpu", "used", "-shared", "-time", "300ms", "--", "burn", "-steps", "100", "-mem", "1GiB")
	if status != 0 || !strings.Contains(stderr, "WARNING: used is not alone") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if task := one(t); len(task.Warnings) != 1 || !strings.Contains(task.Warnings[0], "not alone") {
		t.Errorf("warnings %q", task.Warnings)
	}
}

// Somebody who comes later is told, and what is seen meanwhile is left out.
func TestCompany(t *testing.T) {
	host(t)
	came := false
	status, _, stderr := call(t, func(text string, signals chan<- os.Signal) {
		switch {
		case strings.Contains(text, "watching"):
			write(t, "gpus.json", `{"gpus": [{"id": "used", "name": "A100-40GB"}, {"id": "free", "name": "A100-40GB", "foreign": "5GiB"}]}`)
		case strings.Contains(text, "came to free"):
			came = true
			signals <- syscall.SIGINT
		}
	}, "-gpu", "free", "--", "burn", "-steps", "1000000", "-quiet", "-mem", "1GiB")
	if status == 0 || !came {
		t.Fatalf("status %d, %s", status, stderr)
	}
	task := one(t)
	if len(task.Warnings) != 1 || !strings.Contains(task.Warnings[0], "others came to the GPU (the program foreign (5 GiB))") {
		t.Errorf("warnings %q", task.Warnings)
	}
}

// A command outlives the program that watches it, however much it writes then.
func TestKilled(t *testing.T) {
	host(t)
	pipe := func(name string) *os.File {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0) // does not wait for the other end
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	said, told := pipe("said"), pipe("told")
	line := func() string {
		text, err := bufio.NewReader(said).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := "echo begun; echo ready > said; read word < told; for i in 1 2 3 4 5 6 7 8 9; do echo $word; echo $word >&2; done; echo lived > said"
	cmd := exec.CommandContext(t.Context(), self, "profile", "-fake-gpus", "gpus.json", "--", "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(out).ReadString('\n'); text != "begun\n" || line() != "ready\n" {
		t.Fatalf("its output is %q, %v", text, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // was killed
	if _, err := told.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	if got := line(); got != "lived\n" {
		t.Errorf("the command said %q", got)
	}
	logs, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "colloc-profile*", "std*"))
	if err != nil || len(logs) != 2 || strings.Count(read(t, logs[0])+read(t, logs[1]), "more\n") != 18 {
		t.Errorf("its output is in %v, %v", logs, err)
	}
}

// What was passed on and is not read again takes no room.
func TestRelay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	in, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var got bytes.Buffer
	r := &relay{in: in, out: out, to: &got}
	part := strings.Repeat("some output\n", 100_000)
	for i := range 4 {
		if _, err := in.WriteString(part); err != nil {
			t.Fatal(err)
		}
		r.pass(i > 0)
	}
	if got.String() != strings.Repeat(part, 4) || r.freed != int64(4*len(part)) {
		t.Errorf("%d bytes were passed on, %d given back; want %d", got.Len(), r.freed, 4*len(part))
	}
	r.to = failing{}
	for range 2 {
		if _, err := in.WriteString(part); err != nil {
			t.Fatal(err)
		}
		r.pass(true)
	}
	if r.to != io.Discard {
		t.Error("a writer that fails is asked again")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A process that runs already is watched, and left alone.
func TestProcess(t *testing.T) {
	host(t)
	dir, err := fakeDir("gpus.json")
	if err != nil {
		t.Fatal(err)
	}
	source, err := burn.OpenGPUs("gpus.json", dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create("train.log")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), self, "burn", "-steps", "1000000", "-mem", "2GiB", "-once", "batch-size-is-not-here")
	cmd.Env = append(append(os.Environ(), source.Env()...), "CUDA_VISIBLE_DEVICES=free")
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for text := ""; !strings.Contains(text, "step"); { // it has its memory
		if text = read(t, "train.log"); t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
	}
	status, _, stderr := call(t, nil, "-time", "1s", "-pid", strconv.Itoa(cmd.Process.Pid))
	if status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	task := one(t)
	if task.Solo.Spread["peak_memory"] != float64(2*profile.GiB) || task.Solo.StepTime.IsZero() || len(task.Command) < 2 || task.Command[1] != "burn" {
		t.Errorf("%+v, %+v", task, task.Solo)
	}
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process is not left alone: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // was killed
	status, _, stderr = call(t, nil, "-time", "300ms", "-pid", strconv.Itoa(cmd.Process.Pid))
	if status != 2 {
		t.Errorf("a process that is gone: status %d, %s", status, stderr)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUsage(t *testing.T) {
	host(t)
	write(t, "notes.json", `{"a": 1}`)
	for _, tt := range []struct{ args, says string }{
		{"", "no command: write it after --"},
		{"-pid 1 -- true", "want one of them"},
		{"-pid 1 -stop", "is not ended"},
		{"-time 0s -- true", "-time 0s"},
		{"-o notes.json -- true", "is no task file"},
		{"-o . -- true", "is no file"},
		{"-o nowhere/task.json -- true", "cannot be written"},
		{"-gpu 7 -- true", `there is no GPU "7"`},
		{"-step x -- true", "no group named step"},
		{"-colour", "see -h"},
	} {
		status, stdout, stderr := call(t, nil, strings.Fields(tt.args)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: status %d, %q; want 2 and %q", tt.args, status, stderr, tt.says)
		}
	}
}
