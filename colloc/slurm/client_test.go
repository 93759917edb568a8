package slurm

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/testbed"
)

func TestClientReads(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"squeue":                  {prints(string(answer(t, "22.05/squeue.json")))},
		"sinfo":                   {prints(string(answer(t, "22.05/sinfo.json")))},
		"sacct":                   {prints(string(answer(t, "22.05/sacct.json")))},
		"scontrol show partition": {prints(string(answer(t, "22.05/partitions.txt")))},
	}}
	c := NewClient(Config{Runner: f})
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Jobs) != 11 || len(s.Nodes) != 2 || len(s.Partitions) != 1 {
		t.Errorf("%d jobs, %d nodes, %d partitions; want 11, 2, 1", len(s.Jobs), len(s.Nodes), len(s.Partitions))
	}
	if j := s.Job(3); j == nil || j.Name != "two" || s.Job(4711) != nil {
		t.Errorf("job 3: %+v; want two, and no job 4711", j)
	}
	want := []string{
		"scontrol show partition", "sinfo --json --Node", "squeue --json --states=all",
	}
	if diff := cmp.Diff(want, f.commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// What users write into their jobs passes for nothing but that.
func TestForgedComment(t *testing.T) {
	f := &fake{answers: map[string][]Output{"squeue": {prints(`{"jobs": [{"job_id": 5, "job_state": "PENDING", "user_name": "mallory",
		"comment": "x JobState=COMPLETED GRES=gpu:9(IDX:0-8) NodeList=g[1-100000]", "name": "a\nJobId=5 JobState=COMPLETED"}]}`)}}}
	jobs, err := NewClient(Config{Runner: f}).Jobs(t.Context())
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if j := jobs[0]; j.State != site.Pending || j.Nodes != nil || j.Held != nil || j.User != "mallory" || SweepOf(&j) != "" {
		t.Errorf("%+v, %v", j, err)
	}
}

func TestSubmit(t *testing.T) {
	job := &script.Job{
		Request: script.Request{Name: "x", NodeList: "g1", Gres: []site.Gres{{Name: "shard", Type: "a100i1", Count: 4}}},
		Body:    "echo \"$(date)\"\n",
	}
	f := &fake{answers: map[string][]Output{"sbatch": {prints("12;cluster\n"), prints("13\n"), prints("Submitted batch job 14\n")}}}
	c := NewClient(Config{Runner: f})
	if id, err := c.Submit(t.Context(), job, &SubmitOptions{After: []site.JobID{3, 4}, Hold: true, Dir: "/data set"}); err != nil || id != 12 {
		t.Errorf("got job %d, %v; want 12", id, err)
	}
	if id, err := c.Submit(t.Context(), job, nil); err != nil || id != 13 {
		t.Errorf("got job %d, %v; want 13", id, err)
	}
	if _, err := c.Submit(t.Context(), job, nil); !errors.Is(err, site.ErrOutput) {
		t.Errorf("not --parsable: got %v, want ErrOutput", err)
	}
	if _, err := c.Submit(t.Context(), &script.Job{Request: script.Request{Name: "a b"}}, nil); err == nil || len(f.ran) != 3 {
		t.Errorf("a bad name: got %v after %d commands, want an error before any command", err, len(f.ran))
	}
	want := []string{`sbatch --parsable --dependency=afterany:3:4 --hold "--chdir=/data set"`, "sbatch --parsable", "sbatch --parsable"}
	if diff := cmp.Diff(want, f.commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if script := f.ran[0].Input; !strings.HasPrefix(script, "#!/bin/bash\n#SBATCH --job-name=x\n") || !strings.HasSuffix(script, "\necho \"$(date)\"\n") {
		t.Errorf("the script is\n%s", script)
	}
}

func TestTest(t *testing.T) {
	f := &fake{answers: map[string][]Output{"sbatch --test-only": {
		{Stderr: []byte("sbatch: Job 15 to start at 2026-11-21T07:19:13 using 3 processors on nodes g[2-3] in partition main\n")},
		{Stderr: []byte("allocation failure: Requested node configuration is not available\n"), Code: 1},
		{},
	}}}
	c := NewClient(Config{Runner: f})
	got, err := c.Test(t.Context(), &script.Job{}, nil)
	want := site.Forecast{Start: time.Date(2026, 11, 21, 7, 19, 13, 0, time.UTC), CPUs: 3, Nodes: []string{"g2", "g3"}, Partition: "main"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := c.Test(t.Context(), &script.Job{}, nil); !errors.Is(err, site.ErrImpossible) {
		t.Errorf("got %v, want ErrImpossible", err)
	}
	if _, err := c.Test(t.Context(), &script.Job{}, nil); !errors.Is(err, site.ErrOutput) {
		t.Errorf("got %v, want ErrOutput", err)
	}
}

func TestCancel(t *testing.T) {
	f := &fake{answers: map[string][]Output{"scancel": {{}}, "scontrol": {{}}}}
	c := NewClient(Config{Runner: f})
	if err := errors.Join(c.Cancel(t.Context()), c.Cancel(t.Context(), 3, 4), c.Release(t.Context(), 5), c.Requeue(t.Context(), 6, 9*time.Second)); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(t.Context(), -1); err == nil {
		t.Error("job -1 was cancelled: scancel would read it as an option")
	}
	if diff := cmp.Diff([]string{"scancel 3 4", "scontrol release 5", "scontrol requeue 6", "scontrol update jobid=6 starttime=now+9"}, f.commands()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestWithdraw takes jobs out of the queue: only what still waits, held by that, is
// cancelled, and what will wait on is let go again.
func TestWithdraw(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"scontrol hold":    {{}},
		"scontrol hold 14": {{Stderr: []byte("Invalid job id specified\n"), Code: 1}},
		"scontrol release": {{}},
		"scancel":          {{}},
		"squeue": {prints(`{"jobs": [
			{"job_id": 11, "job_state": "PENDING", "state_reason": "JobHeldUser"},
			{"job_id": 12, "job_state": "RUNNING", "state_reason": "None"},
			{"job_id": 13, "job_state": "COMPLETED", "state_reason": "JobHeldUser"},
			{"job_id": 15, "job_state": "PENDING", "state_reason": "JobHeldUser"}]}`)},
	}}
	c := NewClient(Config{Runner: f})
	gone, err := c.Withdraw(t.Context(), 11, 12, 13, 14)
	if diff := cmp.Diff([]site.JobID{11}, gone); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	lines := f.commands()
	if want := []string{"scontrol hold 11", "scontrol hold 12", "scontrol hold 13", "scontrol hold 14", "scontrol release 12", "scancel 11"}; !slices.Equal(want, slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "squeue") })) {
		t.Errorf("ran %q, want %q", lines, want)
	}
	f.ran = nil
	if gone, err := c.Withdraw(t.Context(), 14); err != nil || len(gone) > 0 || len(f.ran) != 1 {
		t.Errorf("%v, %v, %q; want nothing and no further question where Slurm knows no job", gone, err, f.commands())
	}
	if _, err := c.Withdraw(t.Context(), 0); err == nil {
		t.Error("job 0 is withdrawn")
	}
}

// program writes a shell script that stands for one of Slurm's programs.
func program(t *testing.T, name, code string) (bin string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins are shell scripts")
	}
	bin = t.TempDir()
	if err := testbed.Program(filepath.Join(bin, name), []byte("#!/bin/sh\n"+code)); err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestExec(t *testing.T) {
	t.Setenv("SQUEUE_FORMAT", "%i")
	t.Setenv("SLURM_TIME_FORMAT", "relative")
	t.Setenv("SBATCH_ACCOUNT", "ml")
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("LC_ALL", "ja_JP.UTF-8")
	const variables = `printf '%s|' "$SLURM_CONF" "$TZ" "$LC_ALL" "$SBATCH_ACCOUNT" "$SQUEUE_FORMAT" "$SLURM_TIME_FORMAT"`
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"one that prints", []string{"squeue", "$(id)", "a b"}, "$(id)|a b|/etc/x.conf|UTC|C|ml|||"},
		{"one whose environment the job gets", []string{"sbatch", "--parsable"}, "--parsable|/etc/x.conf|Asia/Tokyo|ja_JP.UTF-8|ml|%i|relative|"},
		{"sbatch that prints a time", []string{"sbatch", "--test-only"}, "--test-only|/etc/x.conf|UTC|C|ml|||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Exec{Bin: program(t, tt.args[0], `cat; printf '%s|' "$@"; `+variables+"; echo oops >&2; exit 3"), Conf: "/etc/x.conf"}
			got, err := e.Run(t.Context(), Command{Args: tt.args, Input: "script;"})
			want := Output{Stdout: []byte("script;" + tt.want), Stderr: []byte("oops\n"), Code: 3}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := (Exec{}).Run(t.Context(), Command{}); err == nil {
		t.Error("no program was run, and that is no error")
	}
}

// What the environment says of a job loses against its header, and what would
// make it another job is not said at all.
func TestExecEnvironment(t *testing.T) {
	for _, v := range []string{"ARRAY_INX=0-2", "GRES=gpu:4", "TIMELIMIT=1", "ACCOUNT=mine", "QOS=low"} {
		name, value, _ := strings.Cut("SBATCH_"+v, "=")
		t.Setenv(name, value)
	}
	e := Exec{Bin: program(t, "sbatch", `printf '%s|' "$SBATCH_ARRAY_INX" "$SBATCH_GRES" "$SBATCH_TIMELIMIT" "$SBATCH_ACCOUNT" "$SBATCH_QOS"`)}
	got, err := e.Run(t.Context(), Command{Args: []string{"sbatch"}, Input: "#!/bin/bash\n#SBATCH --qos=high\n"})
	if want := "|||mine||"; err != nil || string(got.Stdout) != want {
		t.Errorf("the environment is %q, %v; want %q", got.Stdout, err, want)
	}
}

// late is a context that ends while a program does.
type late struct{ context.Context }

func (late) Done() <-chan struct{} { return nil }
func (late) Err() error            { return context.DeadlineExceeded }

// TestExecKeepsSuccess checks that the number of a job is not lost because the
// time was over a moment after sbatch had submitted it.
func TestExecKeepsSuccess(t *testing.T) {
	e := Exec{Bin: program(t, "sbatch", "echo 12")}
	got, err := e.Run(late{t.Context()}, Command{Args: []string{"sbatch"}})
	if err != nil || got.Code != 0 || string(got.Stdout) != "12\n" {
		t.Errorf("got %d, %q, %v; want what the program printed", got.Code, got.Stdout, err)
	}
}

func TestExecStops(t *testing.T) {
	bin := program(t, "squeue", "exec sleep 60")
	c := NewClient(Config{Runner: Exec{Bin: bin}, Timeout: 20 * time.Millisecond})
	if _, err := c.Jobs(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, site.ErrNoCluster) {
		t.Errorf("got %v, want ErrNoCluster because of the deadline", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Jobs(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestEnded asks for jobs that the controller does not list any more.
func TestEnded(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"sacct --json --jobs=12,13": {prints(`{"jobs": [{"job_id": 12, "state": {"current": "FAILED"}, "exit_code": {"return_code": 4}}]}`)},
	}}
	c := NewClient(Config{Runner: f})
	if jobs := c.Ended(t.Context(), 12, 13); jobs[0].State != site.Failed || jobs[0].Exit != 4 || jobs[1].ID != 13 || jobs[1].State != site.Forgotten {
		t.Errorf("got %+v, want job 12 that failed with 4 and job 13 of which the accounts know nothing", jobs)
	}
}
