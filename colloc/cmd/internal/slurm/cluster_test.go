//go:build slurm

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/slurm/decisions"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/slurmtest"
)

// TestClusterSweep: a sweep is planned, submitted and watched on a real cluster.
func TestClusterSweep(t *testing.T) {
	folder(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, GPUs: 2, Share: "shard", Pinned: true})
	r := slurm.Exec{Conf: c.Conf}
	text, err := os.ReadFile("sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	// Long enough that a second more until the other starts, on a loaded machine, leaves them together.
	where := strings.ReplaceAll(string(text), "sleep 2", "echo $SLURMD_NODENAME/$CUDA_VISIBLE_DEVICES; sleep 15")
	if err := os.WriteFile("sweep.json", []byte(where), 0o644); err != nil {
		t.Fatal(err)
	}
	planned, _ := call(t, r, 0, "plan", "-sweep", "sweep.json")
	contains(t, planned, "g1/0", "resnet lr=0.1", "bert")
	submitted, _ := call(t, r, 0, "submit", "-sweep", "sweep.json")
	contains(t, submitted, "job 1: ", "job 2: ", "job 3: ")
	again, _ := call(t, r, 0, "submit", "-sweep", "sweep.json")
	if strings.Contains(again, "\njob ") {
		t.Errorf("a task was submitted twice:\n%s", again)
	}
	watched, _ := call(t, r, 0, "watch", "-sweep", "sweep.json")
	contains(t, watched, "COMPLETED", "resnet lr=0.1 on g1/", ", seen 0.80", "learned from ")
	rec, err := files.Load("submitted.json", readRecord, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range rec.Sets {
		for _, m := range set.Members {
			if m.Task == "big" { // prints nothing
				continue
			}
			log, err := os.ReadFile(filepath.Join("logs", strings.NewReplacer(" ", "+", "=", "%3D").Replace(m.Task)+".log"))
			if err != nil || !strings.Contains(string(log), set.GPU+"\n") {
				t.Errorf("%s: the log is %q, %v; want GPU %s", m.Task, log, err, set.GPU)
			}
		}
	}
	if _, err := os.Stat(filepath.Join("models", "learned.json")); err != nil {
		t.Error(err)
	}
}

// TestClusterFull: where a stranger has all GPUs, the sweep waits in Slurm's queue,
// one job at a time as its limit says, when they are free, and a task that failed is
// planned again, through slurmrestd, after Slurm forgot it.
func TestClusterFull(t *testing.T) {
	folder(t)
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, GPUs: 2, Conf: "MinJobAge=2\n"})
	r := slurm.Exec{Conf: c.Conf}
	stranger := strings.TrimSpace(c.Run("sbatch", "--parsable", "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 600"))
	slurmtest.Await(t, "the stranger runs", func() bool { return strings.Contains(c.Run("squeue", "-h", "-o", "%T"), "RUNNING") })
	text, err := os.ReadFile("sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	failing := strings.NewReplacer("sleep 2", "exit 7", `"name": "mine",`, `"format": "colloc-tasks", "version": 1, "slurm": {"name": "mine", "limit": 1,`, `"logs",`, `"logs"},`).Replace(string(text))
	if err := os.WriteFile("sweep.json", []byte(failing), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := call(t, r, 0, "submit", "-sweep", "sweep.json")
	contains(t, out, "In Slurm's queue", "job 2: ", "job 3: ")
	contains(t, c.Run("squeue", "-h", "-o", "%i %j %E"), "2 mine.0 ", "3 mine.0 singleton(unfulfilled)")
	c.Run("scancel", stranger)
	watched, _ := call(t, r, 1, "watch", "-sweep", "sweep.json")
	contains(t, watched, "said last", "colloc: exit 7: bert", "COMPLETED")
	slurmtest.Await(t, "Slurm has forgotten", func() bool { return c.Run("squeue", "-h", "-t", "all") == "" })
	again, _ := call(t, r, 0, "submit", "-sweep", "sweep.json", "-rest", "unix:"+c.StartREST())
	contains(t, again, "2 tasks failed: planned again", "1 tasks done", "job 4: ")
}

// TestClusterPlugin: job_submit.lua asks decide, and lets jobs through untouched
// when the decider is slow, broken or gone.
func TestClusterPlugin(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "colloc")
	if out, err := exec.Command("go", "build", "-o", program, "../../colloc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := decisions.File{Made: time.Now(), UID: os.Getuid(), Tasks: map[string]decisions.Decision{"s:bert lr=0.1": {Node: "g2", Gres: "shard:a100i3:5"}}}
	if err := all.Write(dir); err != nil {
		t.Fatal(err)
	}
	lua, err := os.ReadFile("../../../slurm/job_submit.lua")
	if err != nil {
		t.Fatal(err)
	}
	decider := filepath.Join(dir, "decider")
	const installed = "/usr/local/bin/colloc slurm decide -decisions /var/lib/colloc/decisions"
	plugin := strings.Replace(string(lua), installed, decider, 1)
	if plugin == string(lua) {
		t.Fatalf("job_submit.lua does not call %s", installed)
	}
	if n := strings.Count(string(lua), "\n"); n > 80 {
		t.Errorf("job_submit.lua has %d lines", n)
	}
	c := slurmtest.Start(t, slurmtest.Options{Share: "shard", Pinned: true, Lua: plugin, Conf: "PartitionName=other Nodes=g1 State=UP\n"})
	right := "exec " + program + " slurm decide -decisions " + dir + ` "$@"`
	const task = "colloc:s:bert+lr%3D0.1"
	client := slurm.NewClient(slurm.Config{Runner: slurm.Exec{Conf: c.Conf}})
	for _, tt := range []struct {
		name, decider, comment string
		args                   []string
		want                   string
	}{
		{"decided", right, task, nil, "[g2] [shard:a100i3:5]"},
		{"expired", "exec " + program + " slurm decide -age 1ns -decisions " + dir + ` "$@"`, task, nil, "[] []"},
		{"the site changed since", "exec " + program + " slurm decide -conf " + c.Conf + " -decisions " + dir + ` "$@"`, task, nil, "[] []"},
		{"no wish", right, "colloc:s:other", nil, "[] []"},
		{"not ours", right, "mine", nil, "[] []"},
		{"its own gres", right, task, []string{"--gres=gpu:1"}, "[] [gpu:1]"},
		{"its own GPUs", right, task, []string{"--gpus=1"}, "[] []"},
		{"its own GPUs per task", right, task, []string{"--gpus-per-task=1", "-n1"}, "[] []"},
		{"not that node", right, task, []string{"-x", "g2"}, "[] []"},
		{"its own node", right, task, []string{"-w", "g1"}, "[g1] []"},
		{"the node is in another partition", right, task, []string{"-p", "other"}, "[] []"},
		{"several nodes", right, task, []string{"-N2"}, "[] []"},
		{"array", right, task, []string{"--array=0-1"}, "[] []"},
		{"no such node", "echo node=nosuch gres=shard:a100i3:5", task, nil, "[] []"},
		{"the node is no longer there", "echo node=g3 gres=shard:a100i3:5", task, nil, "[] []"},
		{"hostile name", "echo node=g2 gres=shard:a100i3:5", "colloc:$(touch${IFS}x)';x", nil, "[] []"},
		{"slow", "sleep 20; echo node=g2 gres=shard:a100i3:5", task, nil, "[] []"},
		{"broken", "kill -SEGV $$", task, nil, "[] []"},
		{"babbling", "echo node=g2 gres=$(id); yes", task, nil, "[] []"},
		{"gone", "", task, nil, "[] []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.Remove(decider); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if tt.decider != "" {
				if err := os.WriteFile(decider, []byte("#!/bin/sh\n"+tt.decider+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			begin := time.Now()
			args := []string{"sbatch", "--parsable", "--hold", "--comment=" + tt.comment, "--wrap=true"}
			args = append(args[:len(args)-1], append(tt.args, args[len(args)-1])...)
			var id site.JobID
			if _, err := fmt.Sscan(c.Run(args...), &id); err != nil {
				t.Fatal(err)
			}
			t.Logf("submitted in %v", time.Since(begin).Round(time.Millisecond))
			state, err := client.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			j := state.Job(id)
			if got := fmt.Sprint(j.Required, j.Asked); got != tt.want {
				t.Errorf("the job wants %s, should want %s", got, tt.want)
			}
		})
	}
}
