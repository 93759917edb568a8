package slurm

import (
	"os"
	"strings"
	"testing"
)

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
