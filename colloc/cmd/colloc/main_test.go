package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/runner"
)

// mainEnv makes the test binary the program.
const mainEnv = "COLLOC_MAIN"

func TestMain(m *testing.M) {
	runner.Supervise()
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program in this process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return status, out.String(), errs.String()
}

// process runs the program as a process in dir.
func process(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), mainEnv+"=1", "GORACE=atexit_sleep_ms=0")
	_ = cmd.Run() // the status tells
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		args           string // split at blanks
		status         int
		stdout, stderr string // parts of what is printed; "" is nothing
	}{
		{"", 0, "Available Commands:", ""},
		{"swep", 2, "", "Did you mean this?\n\tsweep\n"},
		{"nothing-like-it", 2, "", `unknown command "nothing-like-it"`},
		{"-x", 2, "", "unknown shorthand flag"},
		{"version", 0, "colloc ", ""},
		{"version x", 2, "", `"x": no argument is expected`},
		{"--version", 0, "colloc ", ""},
		{"help slurm plan", 0, "usage: colloc slurm plan [flags]", ""},
		{"slurm", 2, "", "advise, decide or shadow"},
		{"slurm pln", 2, "", `not "pln"`},
		{"slurm plan", 2, "", "-sweep names no file"},
		{"sweep", 2, "", "no command: write it after --"},
		{"sweep -fake-gpus", 2, "", "flag needs an argument: -fake-gpus"},
		{"describe missing.onnx", 2, "", "missing.onnx"},
		{"simulate", 2, "", "no trace"},
		{"gpuinfo -replay missing.jsonl", 2, "", "missing.jsonl"},
		{"burn -steps 3 -gpu 0s", 0, "step 3/3", ""},
		{"burn -steps 3 -fail-at 2 -exit 7", 7, "step 2/3", "failed as told"},
		{"completion fish", 0, "complete -c colloc", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := call(t, strings.Fields(tt.args)...)
			if status != tt.status || !within(tt.stdout, stdout) || !within(tt.stderr, stderr) {
				t.Errorf("status %d, %q, %q; want %d, %q, %q", status, stdout, stderr, tt.status, tt.stdout, tt.stderr)
			}
		})
	}
}

// within reports whether text has the part, or neither is anything.
func within(part, text string) bool {
	return strings.Contains(text, part) && (part == "") == (text == "")
}

// Every command explains itself on standard output, in its own words, whichever
// way it is asked.
func TestHelp(t *testing.T) {
	for _, p := range programs() {
		for _, args := range [][]string{{p.Name, "-h"}, {p.Name, "--help"}, {"help", p.Name}} {
			status, stdout, stderr := call(t, args...)
			if status != 0 || stderr != "" || !strings.Contains(stdout, "usage: colloc "+p.Name) {
				t.Errorf("%q: status %d, %q, %q", args, status, stdout, stderr)
			}
		}
		_, listed, _ := call(t, "help")
		if strings.Contains(listed, p.Short) == p.Hidden {
			t.Errorf("%s: hidden is %t, but the help says\n%s", p.Name, p.Hidden, listed)
		}
	}
}

func TestCompletion(t *testing.T) {
	const files, none, folders = ":0", ":4", ":16"
	for _, tt := range []struct {
		args []string // the last one is the word under the cursor
		want string   // the first words, without what explains them, and what the shell does then
	}{
		{[]string{"sw"}, "sweep " + none},
		{[]string{"sweep", "-f"}, "-f -fake-gpus -follow " + none},
		{[]string{"sweep", "--re"}, "--restart --resume --resume-failed --retries " + none},
		{[]string{"sweep", "-n", "8", "-dr"}, "-dry-run " + none},
		{[]string{"sweep", "-dry-run", "-dr"}, "-dry-run " + none}, // takes no value
		{[]string{"sweep", "-fake-gpus", ""}, files},
		{[]string{"sweep", "-fake-gpus", "-"}, files},
		{[]string{"sweep", "-fake-gpus=x"}, files},
		{[]string{"sweep", "-fake-gpus=x", "-j"}, "-json " + none},
		{[]string{"sweep", "-logs", ""}, folders},
		{[]string{"sweep", "-n", ""}, none},
		{[]string{"sweep", "-share", ""}, "time-slicing mps exclusive " + none},
		{[]string{"sweep", "--", "-f"}, files},
		{[]string{"sweep", "train", "-f"}, files},
		{[]string{"describe", ""}, files},
		{[]string{"slurm", "s"}, "submit shadow " + none},
		{[]string{"slurm", "plan", "-s"}, "-scripts -sweep " + none},
		{[]string{"slurm", "decide", "-decisions", ""}, files},
		{[]string{"gpuinfo", ""}, none},
		{[]string{"version", ""}, none},
	} {
		_, stdout, _ := call(t, append([]string{"__complete"}, tt.args...)...)
		var words []string
		for line := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
}

// A shell reads the script for it.
func TestCompletionScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	_, script, _ := call(t, "completion", "bash")
	cmd := exec.CommandContext(t.Context(), bash, "-c", "source /dev/stdin && complete -p colloc")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "__start_colloc colloc") {
		t.Errorf("%v: %s", err, out)
	}
}

// One process of each kind that a sweep consists of: the program, supervisors and
// burners are all the same file.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	const fakes = `{"gpus": [{"name": "A100-40GB"}, {"name": "A100-40GB"}]}`
	if err := os.WriteFile(filepath.Join(dir, "gpus.json"), []byte(fakes), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"sweep", "-fake-gpus", "gpus.json", "-profile", "300ms", "-n", "3"}
	status, stdout, stderr := process(t, dir, append(args, "--", "burn", "-steps", "20", "-seed", "{}")...)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "3 of 3 tasks succeeded") {
		t.Errorf("status %d, %s\n%s", status, stderr, stdout)
	}
	status, stdout, _ = process(t, dir, append(args, "--", "burn", "-steps", "5", "-fail-at", "3")...)
	if status != 1 || !strings.Contains(stdout, "3 failed") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	status, stdout, stderr = process(t, dir, "sweep", "-logs", "sweep-1", "-resume")
	if status != 0 || stderr != "" || !strings.Contains(stdout, "3 of 3 tasks succeeded") {
		t.Errorf("resumed: status %d, %s\n%s", status, stderr, stdout)
	}
}

// TestLean has a supervisor tell which packages are initialised in it: what it does not
// need is not, for each task pays for that.
func TestLean(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODEBUG", "inittrace=1")
	if status, stdout, _ := process(t, dir, "sweep", "-fake-gpus", "gpus.json", "-profile", "1s", "-n", "1", "--", "true"); status != 0 {
		t.Errorf("status %d\n%s", status, stdout)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "sweep-1", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil || !strings.Contains(string(text), "\ninit example.com/colloc/profile/internal/catalogue @") {
		t.Fatalf("%v: no trace of a supervisor in\n%s", err, text)
	}
	for _, name := range []string{"github.com/prometheus/client_golang/prometheus", "github.com/schollz/progressbar/v3"} {
		if strings.Contains(string(text), "\ninit "+name+" @") {
			t.Errorf("%s is initialised in a supervisor", name)
		}
	}
}

// Commands can come from standard input.
func TestStandardInput(t *testing.T) {
	var out, errs bytes.Buffer
	s := cli.Streams{In: strings.NewReader("echo one\n"), Out: &out, Err: &errs}
	fakes := filepath.Join(t.TempDir(), "gpus.json")
	if err := os.WriteFile(fakes, []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := run(t.Context(), []string{"sweep", "-dry-run", "-fake-gpus", fakes, "-f", "-"}, s); status != 0 || !strings.Contains(out.String(), "line-1") {
		t.Errorf("status %d, %s, %s", status, &out, &errs)
	}
}
