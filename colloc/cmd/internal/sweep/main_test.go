package sweep

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"

	"example.com/colloc/colloc/cmd/internal/burn"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/testbed"
)

// mainEnv makes the test binary the program.
const mainEnv = "COLLOC_SWEEP_MAIN"

func TestMain(m *testing.M) {
	testbed.Prepare()
	runner.Supervise()
	if os.Getenv(mainEnv) != "" {
		program := Program()
		if os.Args[1] == "burn" {
			program = burn.Program()
		}
		os.Exit(program.Run(context.Background(), os.Args[2:], cli.OS()))
	}
	os.Exit(m.Run())
}

// call runs the program in this process.
func call(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(args, strings.NewReader(""), &out, &errs, nil)
	return status, out.String(), errs.String()
}

const gpusFile = "testdata/gpus.json"

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := filepath.Join(dir, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	write("old/joblog.csv", "number,task\n1,a\n")
	for _, tt := range []struct {
		name   string
		args   string // split at blanks
		status int
		want   []string
	}{
		{"help", "-h", 0, nil},
		{"nothing", "", 2, []string{"no command: write it after --"}},
		{"unknown flag", "-colour -- true", 2, []string{"-colour", "see -h"}},
		{"parameter", "-p lr=1,,2 -- true {lr}", 2, []string{`invalid value "lr=1,,2" for flag -p: column 6`}},
		{"halt", "-halt soon,fail=x -- true", 2, []string{"flag -halt: column 11"}},
		{"memory", "-mem-floor lots -- true", 2, []string{"flag -mem-floor"}},
		{"memory without unit", "-mem 6 -- true", 2, []string{"-mem 6 B: want 1 MiB or more"}},
		{"negative", "-n -1 -- true", 2, []string{`invalid value "-1" for flag -n: want 1 to 100000`}},
		{"none", "-n 0 -- true", 2, []string{`"0" for flag -n: want 1 to 100000`}},
		{"no number", "-per-gpu two -- true", 2, []string{`invalid value "two" for flag -per-gpu: want a number; see -h`}},
		{"no unit", "-profile 30 -- true", 2, []string{`invalid value "30" for flag -profile: want a time with its unit, such as 90s or 2h; see -h`}},
		{"two sources", "-f x -- true", 2, []string{"a command and -f FILE"}},
		{"no file", "-f nowhere.txt", 2, []string{"nowhere.txt"}},
		{"pattern", "-step ( -- true", 2, []string{"flag -step"}},
		{"pattern without step", "-step [0-9]+ -- true", 2, []string{"a group named step"}},
		{"mechanism", "-share magic -- true", 2, []string{"flag -share", "magic"}},
		{"resume nothing", "-resume", 2, []string{"-resume needs -logs DIR"}},
		{"resume nowhere", "-resume -logs " + dir, 2, []string{"is not the folder of a sweep"}},
		{"there is one", "-logs " + old + " -- true", 2, []string{"there is a sweep already: -resume goes on"}},
		{"below a file", "-logs " + filepath.Join(old, "joblog.csv") + " -fake-gpus " + gpusFile + " -- true", 2, []string{"-logs " + filepath.Join(old, "joblog.csv") + ": not a directory"}},
		{"no such GPU", "-fake-gpus 2xVoodoo2 -dry-run -- true", 2, []string{`-fake-gpus 2xVoodoo2: "2xVoodoo2" is neither a file nor a GPU of the catalogue`}},
		{"no GPU", "-dry-run -- true", 2, []string{"no GPU", "-fake-gpus 2xA100-40GB runs without one"}},
		{"no fake GPUs", "-dry-run -fake-gpus nowhere.json -- true", 2, []string{"-fake-gpus", "nowhere.json"}},
		{"no such GPU", "-dry-run -fake-gpus " + gpusFile + " -gpus 0,7 -- true", 2, []string{`-gpus: there is no GPU "7"; there are 0 (fake-0), 1 (fake-1)`}},
		{"no such command", "-dry-run -fake-gpus " + gpusFile + " -- no-such-program", 2, []string{`task task: the command "no-such-program" does not exist`}},
		{"a profile of others", "-dry-run -fake-gpus " + gpusFile + " -known " + write("others.json", `{"tasks": [{"id": "x", "training": {"batch_size": 1}}, {"id": "y", "training": {"batch_size": 1}}]}`) + " -- true", 2, []string{"-known", `["x" "y"]`, `kind "true"`}},
		{"bad profile", "-dry-run -fake-gpus " + gpusFile + " -known " + write("profile.json", `{"tasks": [{"kind":"x"}]}`) + " -- true", 2, []string{"-known", "profile.json:1", "id is missing"}},
		{"metrics", "-metrics x -logs " + filepath.Join(dir, "m") + " -fake-gpus " + gpusFile + " -- true", 2, []string{"-metrics x: want HOST:PORT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.name, "no GPU") && exists("/dev/nvidia0") {
				t.Skip("there is a GPU")
			}
			status, stdout, stderr := call(strings.Fields(tt.args)...)
			if status != tt.status || status == 2 && stdout != "" {
				t.Errorf("status %d, %q, %q; want %d", status, stdout, stderr, tt.status)
			}
			for _, w := range tt.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("%q says %q; want it to name %q", tt.args, stderr, w)
				}
			}
		})
	}
	if exists(filepath.Join(dir, "m")) {
		t.Error("wrong usage leaves a folder behind")
	}
}

// threads depend on the machine.
var threads = regexp.MustCompile(`OMP_NUM_THREADS=[1-9][0-9]*`)

func TestDryRun(t *testing.T) {
	for name, args := range map[string][]string{
		"plan-unknown.txt": {"-n", "3", "-priority", "2", "--", "burn", "-seed", "{}"},
		"plan-known.txt": {
			"-known", "testdata/profile.json", "-p", "lr=0.1,1", "-p", "stage=a,b c", "-after", "stage", "-group", "trial", "-mem", "7GiB",
			"--", "burn", "-lr", "{lr}", "-seed", "{stage}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := call(append([]string{"-dry-run", "-fake-gpus", gpusFile}, args...)...)
			if status != 0 || stderr != "" {
				t.Fatalf("status %d, %s", status, stderr)
			}
			golden.Check(t, name, threads.ReplaceAllString(stdout, "OMP_NUM_THREADS=N"))
		})
	}
}
