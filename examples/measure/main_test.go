package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/examples/measure/internal/rigtest"

	"go.uber.org/goleak"
)

// mainEnv makes the test binary the program.
const mainEnv = "COLLOC_MEASURE_MAIN"

// The test binary plays the workloads and the programs of a machine with a GPU, and
// the program itself.
func TestMain(m *testing.M) {
	rigtest.Play()
	if os.Getenv(mainEnv) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// program runs the program and returns its exit status and what it printed.
func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want string // in the output
	}{
		{"help", []string{"-h"}, 0, "usage: measure"},
		{"flag", []string{"-nothing"}, 2, "not defined"},
		{"argument", []string{"now"}, 2, `unexpected argument "now"`},
		{"task", []string{"-tasks", "resnet51"}, 2, `no task "resnet51"`},
		{"mechanism", []string{"-mechanisms", "mig"}, 2, `"mig" is neither`},
		{"all faults", []string{"-measure", "0s", "-repeats", "0", "-keep", "-1"}, 2, "-repeats is 0, want at least 1\n-keep is -1"},
		{"simulated data", []string{"-fake", "-out", "data/x.jsonl"}, 2, "do not belong into a folder called data"},
		{"list", []string{"-list", "-tasks", "gpt2,lstm"}, 0, "* lstm"},
		{"plan", []string{"-plan"}, 0, "pairs of the core tasks: 80 cells"},
		{"no table", []string{"-report", "there-is-none.csv"}, 1, "there-is-none.csv"},
		{"no raw file", []string{"-out", "there-is-none.jsonl", "-csv", "x.csv"}, 1, "there-is-none.jsonl"},
		{"no GPU", []string{"-gpu", "99"}, 1, "measure: "},
	}
	t.Setenv("PATH", t.TempDir()) // no nvidia-smi
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			code, stdout, stderr := program(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit status %d, want %d; output, which should contain %q:\n%s%s", code, tt.code, tt.want, stdout, stderr)
			}
		})
	}
}

// TestStopped is a program that was told to stop before it began.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, []string{"-fake", "-out", filepath.Join(t.TempDir(), "raw.jsonl")}, &out, &errs)
	if code != 130 || !strings.Contains(errs.String(), "the same command goes on") {
		t.Errorf("exit status %d:\n%s", code, errs.String())
	}
}

// TestHangUp stops in good order when the terminal goes away, as with ssh, and not
// under nohup.
func TestHangUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		command []string
		signals []os.Signal
	}{
		{"terminal", []string{self}, []os.Signal{syscall.SIGHUP}},
		{"nohup", []string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, self}, []os.Signal{syscall.SIGHUP, syscall.SIGTERM}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), tt.command[0], append(tt.command[1:], "-fake", "-keep", "4", "-out", filepath.Join(t.TempDir(), "raw.jsonl"))...)
			cmd.Env = append(os.Environ(), mainEnv+"=1")
			stderr, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stderr)
			for _, s := range tt.signals {
				if _, err := lines.ReadString('\n'); err != nil { // of a cell: it is at work
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			rest, _ := io.ReadAll(lines) // up to its end
			err = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 || !bytes.Contains(rest, []byte("measure: stopped")) {
				t.Errorf("exit status %d (%v):\n%s", code, err, rest)
			}
		})
	}
}

// TestWhole goes the way of a user, simulated: measure, go on, table, report.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	raw, table := filepath.Join(dir, "raw.jsonl"), filepath.Join(dir, "table.csv")
	measure := []string{
		"-fake", "-out", raw, "-tasks", "resnet18-cifar,lstm,dlrm", "-triples", "1", "-threads=false",
		"-repeats", "2", "-keep", "8", "-measure", "1s", "-warmup", "1s", "-budget",
	}
	code, _, first := program(t, append(measure, "3m")...)
	if code != 0 || !strings.Contains(first, "the budget of 3m0s is used up") {
		t.Fatalf("exit status %d:\n%s", code, first)
	}
	code, _, second := program(t, append(measure, "0s")...)
	if code != 0 {
		t.Fatalf("exit status %d:\n%s", code, second)
	}
	for line := range strings.Lines(second) {
		if _, cell, ok := strings.Cut(line, "left] "); ok && strings.Contains(first, cell[:strings.Index(cell, ":")]+":") {
			t.Errorf("measured again: %s", line)
		}
	}
	if code, _, stderr := program(t, "-out", raw, "-csv", table); code != 0 {
		t.Fatalf("-csv: exit status %d:\n%s", code, stderr)
	}
	_, want, _ := program(t, "-report", raw)
	code, got, stderr := program(t, "-report", table)
	if code != 0 {
		t.Fatalf("-report: exit status %d:\n%s", code, stderr)
	}
	if got != want {
		t.Errorf("the table says something else than the raw file:\n%s\nwant:\n%s", got, want)
	}
	if n := len(specs(t, table)); n != 3 {
		t.Errorf("%d descriptions", n)
	}
	for _, part := range []string{"SIMULATED: nothing here was measured", "noise floor", "set throughput (exclusive = 1)", "MPS over time-slicing"} {
		if !strings.Contains(got, part) {
			t.Errorf("the report lacks %q:\n%s", part, got)
		}
	}
	if code, _, stderr := program(t, append(measure, "1m", "-seed", "2", "-measure", "2s")...); code != 1 || !strings.Contains(stderr, "other conditions") {
		t.Errorf("other settings in the same file: exit status %d:\n%s", code, stderr)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := program(t, "-out", raw, "-csv", filepath.Join(data, "x.csv")); code != 1 {
		t.Error("a simulated table went into a folder called data")
	}
}
