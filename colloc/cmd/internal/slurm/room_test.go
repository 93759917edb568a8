package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm"
)

// A job that a node could not start, and that Slurm holds for it, is released, three times
// at most; a job that its user holds is not, and both are told of.
func TestFreed(t *testing.T) {
	folder(t)
	s := &cluster{gres: whole}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	s.jobs = []string{
		`{"job_id": 1, "job_state": "PENDING", "state_reason": "launch failed requeued held"}`,
		`{"job_id": 2, "job_state": "PENDING", "state_reason": "JobHeldUser"}`,
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.watch = func(c slurm.Command) {
		if c.Args[0] == "squeue" {
			if s.looks++; s.looks > 12 {
				cancel()
			}
		}
		if c.Args[0] == "scontrol" && c.Args[1] == "release" {
			s.released = append(s.released, c.Args[2])
		}
	}
	var out bytes.Buffer
	p := &program{client: slurm.NewClient(slurm.Config{Runner: s}), stdout: &out, stderr: &out, every: time.Millisecond, slowest: time.Millisecond}
	if code := p.run(ctx, []string{"submit", "-sweep", "sweep.json", "-wait"}); code != 1 {
		t.Errorf("exit status %d", code)
	}
	if got := strings.Join(s.released, " "); got != "1 1 1" {
		t.Errorf("released %q, want job 1 three times", got)
	}
	for _, want := range []string{"waits in Slurm: launch failed requeued held", "waits in Slurm: JobHeldUser"} {
		if n := strings.Count(out.String(), want); n != 1 {
			t.Errorf("%q is said %d times, want once:\n%s", want, n, &out)
		}
	}
}

// A job that goes to any GPU and got none goes back to its place in the queue, twice at most; the tasks of one that is
// bound to a node are planned anew.
func TestPlaceKept(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		kept       bool
	}{
		{"any GPU", `"restart_cnt": 1`, true},
		{"for the third time", `"restart_cnt": 2`, false},
		{"bound to a node", `"required_nodes": "n"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			s := &cluster{gres: whole}
			call(t, s, 0, "submit", "-sweep", "sweep.json")
			if err := os.WriteFile("logs/colloc-1.out", []byte("colloc: GPUs needed: 1, CUDA_VISIBLE_DEVICES is ''\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			const others = `{"job_id": 2, "job_state": "COMPLETED"}`
			s.jobs = []string{`{"job_id": 1, "job_state": "FAILED", ` + tt.more + `}`, others}
			was := len(s.scripts)
			var said []string
			s.watch = func(c slurm.Command) {
				if c.Args[0] == "scontrol" && (c.Args[1] == "requeue" || c.Args[1] == "update") {
					said = append(said, c.String())
					s.jobs[0] = `{"job_id": 1, "job_state": "COMPLETED"}`
				}
				if c.Args[0] == "sbatch" {
					s.jobs = append(s.jobs, fmt.Sprintf(`{"job_id": %d, "job_state": "COMPLETED"}`, len(s.scripts)+1))
				}
			}
			out, _ := call(t, s, 0, "submit", "-sweep", "sweep.json", "-wait")
			var want []string
			if tt.kept {
				want = []string{"scontrol requeue 1", "scontrol update jobid=1 starttime=now+10"}
			}
			if kept := len(s.scripts) == was; kept != tt.kept || !slices.Equal(said, want) || strings.Contains(out, "back in its place") != tt.kept {
				t.Errorf("%q, %d jobs and then %d; want %q\n%s", said, was, len(s.scripts), want, out)
			}
		})
	}
}

// What the file says of every job is in every header, and only nodes that have the
// features are planned for.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		name, settings, features string
		want                     []string
		says                     string
		code                     int
	}{
		{"all", `"qos": "high", "reservation": "r1", "account": "lab", "requeue": true, "warn": "1m",`, "", []string{"--qos=high", "--reservation=r1", "--account=lab", "--requeue", "--signal=B:USR1@60"}, "job 1", 0},
		{"features", `"constraint": "nvlink&a100|h100",`, "a100,nvlink", []string{"--constraint=nvlink&a100|h100", "--nodelist=n"}, "job 1", 0},
		{"no such features", `"constraint": "nvlink&a100|h100",`, "a100", nil, "no node of the partition has these features", 2},
		{"not read", `"constraint": "[a|b]",`, "a100", nil, "want features joined by & and |", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			text, err := os.ReadFile("sweep.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("sweep.json", []byte(strings.NewReplacer(`"name": "mine"`, `"format": "colloc-tasks", "version": 1, "slurm": {`+tt.settings+` "name": "mine"`, `"logs",`, `"logs"},`).Replace(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
			s := &cluster{gres: pinned, node: `, "features": "` + tt.features + `"`}
			out, stderr := call(t, s, tt.code, "submit", "-sweep", "sweep.json")
			contains(t, out+stderr, tt.says)
			for _, script := range s.scripts {
				for _, line := range tt.want {
					contains(t, script, "#SBATCH "+line+"\n")
				}
			}
			if len(s.scripts) == 0 != (tt.want == nil) {
				t.Errorf("%d jobs\n%s", len(s.scripts), out)
			}
		})
	}
}

// What a node has left of CPUs and memory decides how many jobs are bound to it, and a
// job that Slurm would refuse is not written.
func TestRoom(t *testing.T) {
	const unlimited = " DefMemPerNode=UNLIMITED"
	for _, tt := range []struct {
		name, node, partition string
		change                []string // of the sweep
		bound                 int      // jobs
		says                  string
		code                  int
	}{
		{name: "room for all", bound: 3},
		{name: "CPUs for two", node: `, "alloc_cpus": 6`, bound: 2, says: "its node has 2 CPUs and 62.5 GiB free"},
		{name: "no CPU", node: `, "alloc_cpus": 8`, bound: 0, says: "its node has 0 CPUs"},
		{name: "memory for one", change: []string{`"cpus": 1`, `"cpus": 1, "memory": "40GiB"`, `"alone"`, `"memory": "40GiB", "alone"`}, bound: 1},
		{name: "no memory stated", partition: unlimited, bound: 1, says: `3 tasks state no "memory"`},
		{name: "the memory of another", partition: unlimited, node: `, "alloc_memory": 100`, bound: 0},
		{name: "too long", partition: " MaxTime=00:05:00", says: "the partition ends jobs after 5m0s", code: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			text, err := os.ReadFile("sweep.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("sweep.json", []byte(strings.NewReplacer(tt.change...).Replace(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
			s := &cluster{gres: pinned, node: tt.node, partition: tt.partition}
			out, stderr := call(t, s, tt.code, "submit", "-sweep", "sweep.json")
			contains(t, out+stderr, tt.says)
			if got := strings.Count(strings.Join(s.scripts, ""), "#SBATCH --nodelist="); got != tt.bound {
				t.Errorf("%d jobs are bound to the node, want %d\n%s", got, tt.bound, out)
			}
		})
	}
}

// A log can be made for every task, and none for two.
func TestLogName(t *testing.T) {
	long := strings.Repeat("x", 300)
	if a, b := logName(long+"a"), logName(long+"b"); a == b || len(a) > 250 {
		t.Errorf("%q and %q", a, b)
	}
	if got := logName("lr=0.1 b"); got != "lr%3D0.1+b" {
		t.Errorf("%q", got)
	}
}

// restless is a cluster whose controller is away the second time it is asked and gives
// half an answer the third, and whose user has had enough at the fifth.
type restless struct {
	cluster
	asked int
	stop  context.CancelFunc
}

func (r *restless) Run(ctx context.Context, c slurm.Command) (slurm.Output, error) {
	if c.Args[0] == "sinfo" {
		r.asked++
	}
	switch {
	case r.asked == 3 && c.Args[0] == "sinfo": // half an answer
		return slurm.Output{Stdout: []byte(`{"nodes": [`)}, nil
	case r.asked == 2 && c.Args[0] == "sinfo":
		return slurm.Output{Stderr: []byte("squeue: error: Unable to contact slurm controller (connect failure)\n"), Code: 1}, nil
	case r.asked >= 5:
		r.stop()
	}
	return r.cluster.Run(ctx, c)
}

// Decisions are kept fresh until the user ends it.
func TestPlanEvery(t *testing.T) {
	folder(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r := &restless{cluster: cluster{gres: pinned}, stop: stop}
	var out, errs bytes.Buffer
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &program{client: slurm.NewClient(slurm.Config{Runner: r}), stdout: &out, stderr: &errs, clock: func() time.Time { return now.Add(time.Duration(r.asked) * time.Minute) }}
	if code := p.run(ctx, []string{"plan", "-sweep", "sweep.json", "-decisions", ".", "-every", "1ns"}); code != 0 || r.asked < 5 {
		t.Fatalf("exit status %d after %d plans\n%s%s", code, r.asked, &out, &errs)
	}
	contains(t, errs.String(), "trying again")
	text, err := os.ReadFile(fmt.Sprint(os.Getuid(), ".json"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(text), `"made": "2026-01-01T00:0`, `"node": "n"`)
	if strings.Contains(string(text), "00:01:00") {
		t.Errorf("it is the first:\n%s", text)
	}
	call(t, &cluster{gres: pinned}, 2, "plan", "-sweep", "sweep.json", "-every", "1m")
}
