package script

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// stubSrun writes its options into srun.log, pretends to give the step GPUs as
// Slurm does, and becomes the command.
const stubSrun = `#!/bin/bash
echo "$*" >>"$STUBS/srun.log"
read -r _ _ _ _ group _ </proc/$$/stat
echo "$group" >>"$STUBS/steps"
while [[ $1 == --* ]]; do shift; done
CUDA_VISIBLE_DEVICES=by-srun exec -- "$@"
`

// stubScancel signals all steps.
const stubScancel = `#!/bin/bash
while read -r pid; do kill -s "${1#--signal=}" -- "-$pid"; done <"$STUBS/steps" 2>/dev/null
`

// stubMPS listens in a FIFO in place of a socket, and writes what it was told.
const stubMPS = `#!/bin/bash
if [ "$1" = -f ]; then
  echo "start GPU $CUDA_VISIBLE_DEVICES mode $(stat -c %a "$CUDA_MPS_PIPE_DIRECTORY" "${CUDA_MPS_PIPE_DIRECTORY%/*}" | xargs)" >>"$STUBS/mps.log"
  mkfifo "$CUDA_MPS_PIPE_DIRECTORY/control"
  read -r line <"$CUDA_MPS_PIPE_DIRECTORY/control"
else
  read -r line
  echo "$line" >"$CUDA_MPS_PIPE_DIRECTORY/control"
fi
echo "$line" >>"$STUBS/mps.log"
`

// bench is a folder in which one script runs as Slurm would run it, on a
// machine without Slurm and GPUs.
type bench struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	out bytes.Buffer
	// alive is the end of a pipe that every process of the script inherits and
	// none knows of: it ends when the last of them does.
	alive *os.File
}

// newBench starts a script in a folder of its own. GPUs are "3,5".
func newBench(t *testing.T, job Job, env ...string) *bench {
	t.Helper()
	text, err := job.Text()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir()}
	for name, stub := range map[string]string{"srun": stubSrun, "scancel": stubScancel, "nvidia-cuda-mps-control": stubMPS, "job.sh": text} {
		if err := testbed.Program(filepath.Join(b.dir, name), []byte(stub)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "up"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start(env...)
	return b
}

// start starts the script.
func (b *bench) start(env ...string) {
	b.t.Helper()
	t := b.t
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.alive = r
	t.Cleanup(func() { _ = r.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a script that hangs fails by its exit code
	t.Cleanup(cancel)
	b.cmd = exec.CommandContext(ctx, "bash", "job.sh")
	b.cmd.WaitDelay = time.Second
	b.cmd.Dir = b.dir
	b.cmd.Env = append(os.Environ(), "PATH="+b.dir+":"+os.Getenv("PATH"), "STUBS="+b.dir, "TMPDIR="+b.dir,
		"CUDA_VISIBLE_DEVICES=3,5", "SLURM_JOB_ID=42")
	b.cmd.Env = append(b.cmd.Env, env...)
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	b.cmd.ExtraFiles = []*os.File{w}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// end waits for the script, checks its exit code and that nothing is left: no
// process, no folder.
func (b *bench) end(want int) {
	b.t.Helper()
	var exit *exec.ExitError
	if err := b.cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		b.t.Fatal(err)
	}
	if got := b.cmd.ProcessState.ExitCode(); got != want {
		b.t.Errorf("exit code is %d, want %d; it printed:\n%s", got, want, &b.out)
	}
	if err := b.alive.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		b.t.Errorf("a process of the script is still there: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "colloc.*")); len(left) > 0 || err != nil {
		b.t.Errorf("left behind: %v, %v", left, err)
	}
}

func (b *bench) file(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Errorf("%v; the script printed:\n%s", err, &b.out)
	}
	return string(text)
}

// signal waits until n tasks said that they are ready, in the FIFO "up", and
// sends a signal to the script alone.
func (b *bench) signal(n int, s os.Signal) {
	b.t.Helper()
	b.ready(n)
	if err := b.cmd.Process.Signal(s); err != nil {
		b.t.Fatal(err)
	}
}

// ready waits for n lines in the FIFO "up" and returns them.
func (b *bench) ready(n int) []string {
	b.t.Helper()
	up, err := os.OpenFile(filepath.Join(b.dir, "up"), os.O_RDWR, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = up.Close() }()
	lines := make([]string, n)
	scan := bufio.NewReader(up)
	for i := range lines {
		if lines[i], err = scan.ReadString('\n'); err != nil {
			b.t.Fatal(err)
		}
	}
	return lines
}

// sh is a task that runs bash code. Each line it writes to the FIFO "up" says
// that it is ready.
func sh(name, code string) Task {
	return Task{Name: name, Command: []string{"bash", "-c", code}, Log: name + ".log"}
}

// forEver waits for a signal and dies of it.
const forEver = `echo ready >up; exec sleep 1000`

// saves waits for a signal, writes the file "saved" and ends. Not with read:
// bash loses a signal that comes just before it blocks.
func saves(signal string, code int) string {
	return fmt.Sprintf(`trap 'echo saved >>saved; kill $child 2>/dev/null; wait $child; exit %d' %s; sleep 1000 & child=$!; echo ready >up; wait`, code, signal)
}

func apart(tasks ...Task) []Set {
	sets := make([]Set, len(tasks))
	for i, t := range tasks {
		sets[i].Tasks = []Task{t}
	}
	return sets
}

func TestScriptRuns(t *testing.T) {
	together := func(tasks ...Task) []Set { return []Set{{Mechanism: profile.TimeSlice, Tasks: tasks}} }
	tests := []struct {
		name string
		sets []Set
		o    Options
		want int
		logs map[string]string
	}{
		{name: "all well", sets: together(sh("a", "echo 1; echo 2 >&2"), sh("b", "echo $CUDA_VISIBLE_DEVICES")), logs: map[string]string{"a": "1\n2\n", "b": "3\n"}},
		{name: "each its GPU", sets: apart(sh("a", "echo $CUDA_VISIBLE_DEVICES"), sh("b", "echo $CUDA_VISIBLE_DEVICES")), logs: map[string]string{"a": "3\n", "b": "5\n"}},
		{name: "the first failure counts", sets: together(sh("a", ":"), sh("b", "exit 5"), sh("c", "exit 7")), want: 5},
		{name: "killed by a signal", sets: together(sh("a", "kill -KILL $$")), want: 137},
		{name: "no such program", sets: []Set{{Tasks: []Task{{Name: "a", Command: []string{"no-such-program"}}}}}, want: 127},
		{name: "no such folder", sets: []Set{{Tasks: []Task{{Name: "a", Command: []string{"true"}, Dir: "nowhere"}}}}, want: 1},
		{name: "log cannot be written", sets: []Set{{Tasks: []Task{{Name: "a", Command: []string{"true"}, Log: "nowhere/x"}}}}, want: 1},
		{name: "children left running", sets: together(sh("a", `(exec 2>/dev/null; trap 'echo told; exit' TERM; echo ready >up; while :; do sleep 0.1; done) & read -r line <up; exit 3`)), want: 3, logs: map[string]string{"a": "told\n"}},
		{name: "the others run on", sets: together(sh("a", "exit 4"), sh("b", "echo done")), want: 4, logs: map[string]string{"b": "done\n"}},
		{name: "a setup line fails", sets: apart(sh("a", ":")), o: Options{Setup: "true\nmodule_load nothere\ntrue"}, want: 127},
		{name: "a setup line may fail", sets: apart(sh("a", ":")), o: Options{Setup: "f() { false; true; }\nf\nfalse || true\nif false; then :; fi"}, want: 0},
		{name: "no GPUs", sets: apart(sh("a", ":")), o: Options{Setup: "CUDA_VISIBLE_DEVICES=NoDevFiles"}, want: 1},
		{name: "too few GPUs", sets: apart(sh("a", ":"), sh("b", ":"), sh("c", ":")), want: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job, err := Shared(tt.sets, &tt.o)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, job)
			b.end(tt.want)
			for name, want := range tt.logs {
				if got := b.file(name + ".log"); got != want {
					t.Errorf("%s wrote %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestScriptSignals(t *testing.T) {
	graceful := saves("TERM", 0)
	tests := []struct {
		name   string
		tasks  []Task
		steps  bool
		o      Options
		signal os.Signal
		want   int
		saved  string
	}{
		{name: "TERM", tasks: []Task{sh("a", forEver), sh("b", forEver)}, signal: syscall.SIGTERM, want: 143},
		{name: "TERM, with time to save", tasks: []Task{sh("a", graceful), sh("b", graceful)}, signal: syscall.SIGTERM, want: 143, saved: "saved\nsaved\n"},
		{name: "TERM to the grandchildren", tasks: []Task{sh("a", "bash -c '"+strings.ReplaceAll(graceful, "'", `'\''`)+"'; :")}, signal: syscall.SIGTERM, want: 143, saved: "saved\n"},
		{name: "TERM, steps", tasks: []Task{sh("a", graceful)}, steps: true, signal: syscall.SIGTERM, want: 143, saved: "saved\n"},
		{name: "INT", tasks: []Task{sh("a", saves("INT", 3))}, signal: syscall.SIGINT, want: 130},
		{name: "USR1: saves and ends well", tasks: []Task{sh("a", saves("USR1", 0))}, signal: syscall.SIGUSR1, saved: "saved\n"},
		{name: "USR1: saves and fails later", tasks: []Task{sh("a", saves("USR1", 6))}, signal: syscall.SIGUSR1, want: 6, saved: "saved\n"},
		{name: "USR2", tasks: []Task{sh("a", saves("USR2", 0))}, o: Options{Request: Request{Signal: "USR2"}}, signal: syscall.SIGUSR2, saved: "saved\n"},
		{name: "HUP, steps", tasks: []Task{sh("a", saves("HUP", 6))}, steps: true, o: Options{Request: Request{Signal: "HUP"}}, signal: syscall.SIGHUP, want: 6, saved: "saved\n"},
		{name: "USR1 beside another", tasks: []Task{sh("a", saves("USR1", 0))}, o: Options{Request: Request{Signal: "URG"}}, signal: syscall.SIGUSR1, saved: "saved\n"},
		{name: "TERM as the warning", tasks: []Task{sh("a", graceful)}, o: Options{Request: Request{Signal: "TERM"}}, signal: syscall.SIGTERM, want: 143, saved: "saved\n"},
		{name: "USR1: unknown to the task", tasks: []Task{sh("a", forEver)}, signal: syscall.SIGUSR1, want: 138},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := Set{Mechanism: profile.TimeSlice, Tasks: tt.tasks}
			job, err := Shared([]Set{set}, &tt.o)
			if tt.steps {
				tt.tasks[0].Memory = profile.GiB
				job, err = Steps(tt.tasks, &tt.o)
			}
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, job)
			b.signal(len(tt.tasks), tt.signal)
			b.end(tt.want)
			if tt.saved != "" && b.file("saved") != tt.saved {
				t.Errorf("tasks saved %q, want %q", b.file("saved"), tt.saved)
			}
		})
	}
}

// A job whose share Slurm gave away a second time does not begin beside those that fill
// the GPU, as far as nvidia-smi can tell.
func TestScriptRoom(t *testing.T) {
	for _, tt := range []struct {
		smi  string // what it does
		want int
	}{
		{"echo 4096", 0},
		{"echo 4095", 1},
		{"echo '[N/A]'", 0},
		{"return 9", 0},
	} {
		task := sh("a", "echo ran")
		task.GPUMemory = 4 * profile.GiB
		set := Set{Mechanism: profile.TimeSlice, Tasks: []Task{task}, Neighbours: true}
		job, err := Shared([]Set{set}, &Options{Setup: "nvidia-smi() { [ \"$1\" = --id=3 ] && " + tt.smi + "; }"})
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, job)
		b.end(tt.want)
		if _, err := os.Stat(filepath.Join(b.dir, "a.log")); (err == nil) != (tt.want == 0) || NoDevice(b.out.Bytes()) != (tt.want == 1) {
			t.Errorf("%s: the task ran: %t; the script printed\n%s", tt.smi, err == nil, &b.out)
		}
	}
}

// A job that Slurm starts again does only what did not end well before, and keeps the
// logs; one that is new begins with empty logs, whatever an old one left.
func TestScriptAgain(t *testing.T) {
	job, err := Shared([]Set{{Mechanism: profile.TimeSlice, Tasks: []Task{sh("a", "echo a; echo >>runs"), sh("b", `echo b $SLURM_RESTART_COUNT; until [ -e a.log.42.ended ] && [ "$(wc -l <runs)" -eq "$RUNS" ]; do sleep 0.01; done; `+saves("TERM", 9))}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, job, "RUNS=1")
	b.signal(1, syscall.SIGTERM)
	b.end(143)
	for i, tt := range []struct {
		env, runs string
		a, b      string
	}{
		{"SLURM_RESTART_COUNT=1", "RUNS=1", "a\n", "b\nb 1\n"},
		{"SLURM_RESTART_COUNT=2", "RUNS=1", "a\n", "b\nb 1\nb 2\n"},
		{"SLURM_RESTART_COUNT=0", "RUNS=2", "a\n", "b 0\n"},
	} {
		again := *b
		again.out.Reset()
		again.start(tt.env, tt.runs)
		again.signal(1, syscall.SIGTERM)
		again.end(143)
		if first, second := b.file("a.log"), b.file("b.log"); first != tt.a || second != tt.b {
			t.Errorf("run %d: a wrote %q, b %q; want %q, %q", i+2, first, second, tt.a, tt.b)
		}
		if !strings.Contains(again.out.String(), "colloc: exit 0: a\ncolloc: exit 9: b\n") {
			t.Errorf("run %d printed\n%s", i+2, &again.out)
		}
	}
}

// A task that is suspended, as Slurm does to make room for others, has not
// ended. It waits for a second task: job control, under which a stopped task counts
// as ended, is on while the first one starts, and off again before the second.
func TestScriptSuspended(t *testing.T) {
	job, err := Shared(apart(
		sh("a", "echo $$ >up; until [ -e go ]; do sleep 0.01; done; kill -STOP $$; exit 5"),
		sh("b", "echo b >up"),
	), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, job)
	pid := ""
	for _, line := range b.ready(2) {
		if line = strings.TrimSpace(line); line != "b" {
			pid = line
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for state := ""; state != "T"; {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		state = strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[0]
	}
	if out, err := exec.Command("kill", "-CONT", pid).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.end(5)
}

// A task whose memory nobody knows is watched: what its processes hold is told whenever it is more, not what
// others hold.
func TestScriptPeak(t *testing.T) {
	task := sh("a b", "echo $$ >pid; for m in 300 700 200; do echo $m >holds; until [ -e saw$m ]; do sleep 0.01; done; done")
	task.Peak = true
	const smi = `nvidia-smi() {
  local m; m=$(cat holds 2>/dev/null) || return
  echo "$(cat pid), $m"; echo "1, 9000"; echo "$(cat pid), [N/A]"
  : >"saw$m"
}
`
	job, err := Shared([]Set{{Mechanism: profile.Exclusive, Tasks: []Task{task}}}, &Options{Setup: smi})
	if err != nil {
		t.Fatal(err)
	}
	job.Body = strings.Replace(job.Body, "read -r -t 5 ", "read -r -t 0.02 ", 1)
	b := newBench(t, job)
	b.end(0)
	const want = "colloc: peak 300 MiB: a\\ b\ncolloc: peak 700 MiB: a\\ b\ncolloc: exit 0: a\\ b\n"
	if got := b.out.String(); got != want {
		t.Errorf("the script printed\n%s\nwant\n%s", got, want)
	}
}
