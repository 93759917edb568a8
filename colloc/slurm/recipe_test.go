//go:build slurm

package slurm_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
	"example.com/colloc/internal/slurmtest"
	"example.com/colloc/profile"
)

// bash is a task of bash code whose log is called like it.
func bash(name, code string) script.Task {
	return script.Task{Name: name, Command: []string{"bash", "-c", code}, Log: name + ".log", Memory: 100 * profile.MiB}
}

const (
	showGPU = `echo "$SLURMD_NODENAME/$CUDA_VISIBLE_DEVICES"`
	// saving takes half a second to write a file when it is told to stop. What
	// it waits for may be told, and end, before itself; it leaves no child, for
	// without cgroups Slurm would wait for that.
	saving = `trap 'kill $! 2>/dev/null; sleep 0.5; echo saved >>$0.saved; exit 7' TERM USR1; echo ready >$0.ready; while :; do sleep 300 & wait $!; done`
	// meet waits until three tasks have come here.
	meet = showGPU + `; touch here.$0; until [ -e here.a ] && [ -e here.b ] && [ -e here.c ]; do sleep 0.05; done`
)

// named makes $0 in the code of bash tasks the task's name.
func named(tasks ...script.Task) []script.Task {
	for i, t := range tasks {
		tasks[i].Command = append(slices.Clone(t.Command), t.Name)
	}
	return tasks
}

// room is a folder of its own for one job: names of files repeat.
type room struct {
	t   *testing.T
	c   *slurmtest.Cluster
	dir string
}

func newRoom(t *testing.T, c *slurmtest.Cluster, name string) *room {
	t.Helper()
	r := &room{t: t, c: c, dir: filepath.Join(c.Dir, "room-"+name)}
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return r
}

// submit asks Slurm first whether it could run the job.
func (r *room) submit(job script.Job, err error) site.JobID {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	if job.Request.Time == 0 {
		job.Request.Time = time.Minute
	}
	if _, err := clientOf(r.c).Test(r.t.Context(), &job, nil); err != nil {
		r.t.Fatalf("sbatch --test-only: %v", err)
	}
	return submit(r.t, r.c, &job, &slurm.SubmitOptions{Dir: r.dir})
}

// ends waits for the end of a job and for that of all its processes.
func (r *room) ends(id site.JobID, state site.JobState, exit int) {
	r.t.Helper()
	jobs := finished(r.t, r.c, id)
	if jobs[0].State != state || jobs[0].Exit != exit {
		r.t.Errorf("job %d is %s with exit code %d, want %s with %d; it printed:\n%s", id, jobs[0].State, jobs[0].Exit, state, exit, r.read("slurm-"+fmt.Sprint(id)+".out"))
	}
	slurmtest.Await(r.t, fmt.Sprintf("job %d has no processes", id), func() bool {
		return !slices.ContainsFunc(r.c.Processes(), func(pid int) bool {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			return err == nil && bytes.Contains(env, fmt.Appendf(nil, "\x00SLURM_JOB_ID=%d\x00", id))
		})
	})
}

func (r *room) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

func (r *room) ready(names ...string) {
	r.t.Helper()
	for _, name := range names {
		slurmtest.Await(r.t, name+" runs", func() bool {
			_, err := os.Stat(filepath.Join(r.dir, name+".ready"))
			return err == nil
		})
	}
}

// onGPUs checks which tasks were on the same GPU: groups of names.
func (r *room) onGPUs(groups ...[]string) {
	r.t.Helper()
	seen := map[string]string{}
	for _, g := range groups {
		where := r.read(g[0] + ".log")
		if !strings.HasPrefix(where, "g") || strings.HasSuffix(where, "/\n") || strings.Contains(where, ",") || seen[where] != "" {
			r.t.Errorf("%s is on %q, want one GPU of its own; there is %s", g[0], where, seen[where])
		}
		seen[where] = g[0]
		for _, other := range g[1:] {
			if got := r.read(other + ".log"); got != where {
				r.t.Errorf("%s is on %q, but %s on %q", g[0], where, other, got)
			}
		}
	}
}

// TestClusterScripts runs every kind of script on a real Slurm.
func TestClusterScripts(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{GPUs: 4})
	together := func(tasks ...script.Task) script.Set {
		return script.Set{Mechanism: profile.TimeSlice, Tasks: named(tasks...)}
	}
	sets := func() []script.Set {
		return []script.Set{together(bash("a", showGPU), bash("b", showGPU)), together(bash("c", showGPU))}
	}
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t, c, "shared")
		r.ends(r.submit(script.Shared(sets(), nil)), site.Completed, 0)
		r.onGPUs([]string{"a", "b"}, []string{"c"})
	})
	t.Run("steps", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t, c, "steps")
		tasks := named(bash("a", meet), bash("b", meet), bash("c", meet))
		for i := range tasks {
			tasks[i].CPUs, tasks[i].GPUs = 2+i, 1
		}
		r.ends(r.submit(script.Steps(tasks, nil)), site.Completed, 0)
		r.onGPUs([]string{"a"}, []string{"b"}, []string{"c"})
	})
	t.Run("hostile arguments of a step", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t, c, "hostile")
		words := []string{":", "--", "-n", "a b", "'\"$HOME", "a\nb", "", "*", "--gres=gpu:1"}
		task := bash("a", `printf '%s\0' "$@"`)
		task.Name, task.Command = "a : 'b' $(x)\n", append(append(task.Command, "bash"), words...)
		r.ends(r.submit(script.Steps([]script.Task{task}, nil)), site.Completed, 0)
		if diff := cmp.Diff(strings.Join(words, "\x00")+"\x00", r.read("a.log")); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
	})
	t.Run("torchrun", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t, c, "torchrun")
		gang := script.Gang{Task: script.Task{Name: "a", Log: "a.log", Command: []string{"train.py", "a b"}, CPUs: 4}, Nodes: 2, GPUs: 2}
		stub := "torchrun() { echo \"$SLURM_PROCID ${CUDA_VISIBLE_DEVICES//[0-9]/} $OMP_NUM_THREADS $MASTER_ADDR:$MASTER_PORT $*\"; }\n"
		path := filepath.Join(r.dir, "torchrun")
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+stub+"torchrun \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		id := r.submit(script.Distributed(gang, &script.Options{Setup: "PATH=.:$PATH"}))
		r.ends(id, site.Completed, 0)
		meet := fmt.Sprintf("g1:%d", 10000+id%20000)
		var want []string
		for rank := range 2 {
			want = append(want, fmt.Sprintf("%d , 2 %s --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=%d --rdzv_endpoint=%s train.py a b", rank, meet, id, meet))
		}
		got := strings.Split(strings.TrimSpace(r.read("a.log")), "\n")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("torchrun was called with (-want +got):\n%s", diff)
		}
	})
	t.Run("ranks", func(t *testing.T) {
		t.Parallel()
		r := newRoom(t, c, "ranks")
		task := bash("a", `echo "$RANK $LOCAL_RANK $WORLD_SIZE $SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES//[0-9]/}"; exit $((RANK == 3 ? 6 : 0))`)
		task.CPUs = 4
		r.ends(r.submit(script.Distributed(script.Gang{Task: task, Nodes: 2, GPUs: 2, Launcher: script.Ranks}, nil)), site.Failed, 6)
		got := strings.Split(strings.TrimSpace(r.read("a.log")), "\n")
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "s") }) // srun and slurmstepd
		slices.Sort(got)
		if diff := cmp.Diff([]string{"0 0 4 g1 ,", "1 1 4 g1 ,", "2 0 4 g2 ,", "3 1 4 g2 ,"}, got); diff != "" {
			t.Errorf("ranks (-want +got):\n%s", diff)
		}
	})
}

// patient gives what is told to stop more time than a busy machine needs.
func patient(t *testing.T, c *slurmtest.Cluster) {
	t.Helper()
	conf, err := os.ReadFile(c.Conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Conf, append(conf, "KillWait=30\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Run("scontrol", "reconfigure")
	slurmtest.Await(t, "KillWait has changed", func() bool {
		return strings.Contains(c.Run("scontrol", "show", "config"), "KillWait                = 30 sec")
	})
}

// TestClusterScriptEnds: every way in which a job can end early tells its tasks,
// leaves the right exit code, and no process.
func TestClusterScriptEnds(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{GPUs: 4})
	patient(t, c)
	makers := map[string]func(o script.Options, tasks ...script.Task) (script.Job, error){
		"processes": func(o script.Options, tasks ...script.Task) (script.Job, error) {
			return script.Shared([]script.Set{{Mechanism: profile.TimeSlice, Tasks: named(tasks...)}}, &o)
		},
		"exact": func(o script.Options, tasks ...script.Task) (script.Job, error) {
			return script.Steps(named(tasks...), &o)
		},
	}
	for kind, job := range makers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			t.Run("failure", func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, c, kind+"-failure")
				stray := "echo done"
				if kind == "processes" { // of steps it is Slurm that sees to them, where it has cgroups
					stray += "; sleep 300 &"
				}
				r.ends(r.submit(job(script.Options{}, bash("a", "exit 5"), bash("b", stray))), site.Failed, 5)
				if got := r.read("b.log"); got != "done\n" {
					t.Errorf("b wrote %q", got)
				}
			})
			t.Run("scancel", func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, c, kind+"-scancel")
				id := r.submit(job(script.Options{}, bash("a", saving), bash("b", saving)))
				r.ready("a", "b")
				if err := clientOf(c).Cancel(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				r.ends(id, site.Cancelled, 143)
				r.read("a.saved")
				r.read("b.saved")
			})
			t.Run("warning", func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, c, kind+"-warning")
				// Slurm looks at limits twice a minute, and may be early.
				o := script.Options{Request: script.Request{Time: 2 * time.Minute, Warn: 119 * time.Second}}
				r.ends(r.submit(job(o, bash("a", saving))), site.Failed, 7)
				r.read("a.saved")
			})
			t.Run("time limit", func(t *testing.T) {
				t.Parallel()
				r := newRoom(t, c, kind+"-limit")
				r.ends(r.submit(job(script.Options{}, bash("a", saving), bash("b", "exec sleep 300"))), site.TimedOut, 143)
				r.read("a.saved")
			})
		})
	}
}

// TestClusterScriptPreempted: a job that has to make room saves, ends, and runs
// again.
func TestClusterScriptPreempted(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{
		Nodes: 1, GPUs: 1,
		Conf: "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10 State=UP\n",
	})
	r := newRoom(t, c, "preempted")
	again := `if [ -e $0.saved ]; then echo again; exit 0; fi; ` + saving
	set := script.Set{Mechanism: profile.TimeSlice, Tasks: named(bash("a", again))}
	id := r.submit(script.Shared([]script.Set{set}, &script.Options{Request: script.Request{Requeue: true}}))
	r.ready("a")
	urgent := script.Request{Partition: "urgent"}
	r.ends(r.submit(script.Shared([]script.Set{{Tasks: named(bash("b", showGPU))}}, &script.Options{Request: urgent})), site.Completed, 0)
	slurmtest.Await(t, "the job is in the queue again", func() bool {
		return strings.Contains(c.Run("scontrol", "show", "job", fmt.Sprint(id)), "JobState=PENDING Reason=BeginTime")
	})
	c.Run("scontrol", "update", "jobid="+fmt.Sprint(id), "StartTime=now") // Slurm holds a requeued job back for two minutes
	r.ends(id, site.Completed, 0)
	if got := r.read("a.log"); !strings.HasSuffix(got, "again\n") {
		t.Errorf("the second run wrote %q", got)
	}
}

// TestClusterAdvise: what is advised for the cluster as it is, it takes.
func TestClusterAdvise(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{GPUs: 4})
	state, err := clientOf(c).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, gpus := range []int{1, 4, 8} {
		a, err := sizing.Advise(sizing.Need{
			Scaling: []advise.ScalingPoint{{GPU: "A100-40GB", GPUs: gpus, Throughput: 1}}, Work: 60, GPUMemory: 20 * profile.GiB,
		}, state.Cluster())
		if err != nil {
			t.Fatal(err)
		}
		f, err := clientOf(c).Test(t.Context(), &script.Job{Request: a.Request, Body: "true\n"}, nil)
		if err != nil || len(f.Nodes) != (gpus+3)/4 {
			t.Errorf("%d GPUs: got nodes %v, %v for\n%s", gpus, f.Nodes, err, a)
		}
	}
	_, err = sizing.Advise(sizing.Need{Scaling: []advise.ScalingPoint{{GPUs: 16, Throughput: 1}}}, state.Cluster())
	if !errors.Is(err, site.ErrImpossible) {
		t.Errorf("16 of 8 GPUs: got %v, want ErrImpossible", err)
	}
}
