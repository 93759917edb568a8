//go:build slurm

package slurm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/slurmtest"
	"example.com/colloc/internal/testbed"
)

// crowd is a cluster that is full from the beginning: tasks of two users beside jobs of
// others, with what goes wrong on ordinary days.
type crowd struct {
	t              *testing.T
	c              *slurmtest.Cluster
	dir            string // of one run
	program        string
	tasks, foreign int // tasks of both users together
	steps          int // of half a second
}

const (
	nobodyID = 65534
	patience = 8 * time.Minute
)

const asProgram = "COLLOC_TEST_AS_PROGRAM" // makes the test binary colloc slurm

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Program().Run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	testbed.Prepare()
	os.Exit(m.Run())
}

// work is what each task does: steps of half a second that take 1/0.8 of it beside
// another task on the same GPU, and none while there is a file hold.
const work = `#!/bin/bash
dir=$1 task=$2 steps=$3
at=$dir/at/$SLURMD_NODENAME-$CUDA_VISIBLE_DEVICES
mkdir -p "$at"; chmod 1777 "$at" 2>/dev/null
echo "start $task $SLURM_JOB_ID $EPOCHREALTIME" >>"$dir/log"
touch "$at/$task"
trap 'rm -f "$at/$task"' EXIT
while [ -e "$dir/hold" ]; do sleep 0.1; done
for ((i = 0; i < steps; i++)); do
  here=("$at"/*)
  if [ "${#here[@]}" -gt 1 ]; then sleep 0.625; else sleep 0.5; fi
done
rm -f "$at/$task"
echo "end $task $SLURM_JOB_ID $EPOCHREALTIME" >>"$dir/log"
`

// folder makes the folder of a user with a sweep; alone has every task on a GPU of its own.
func (w *crowd) folder(user string, uid, first, n int, alone bool) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, user)
	type object = map[string]any
	var tasks []object
	for i := range n {
		id := fmt.Sprintf("%s-%03d", user, first+i)
		tasks = append(tasks, object{
			"id": id, "command": []string{filepath.Join(w.dir, "work"), w.dir, id, strconv.Itoa(w.steps)}, "cpus": 1, "alone": alone,
			"model": object{"name": fmt.Sprint("kind", i%4)}, "training": object{"batch_size": 32},
			"solo": object{"gpu": "A100-40GB", "gpu_busy": 0.2 + 0.05*float64(i%4), "mem_busy": 0.1, "mem_used": fmt.Sprint(4+2*(i%4), "GiB"), "step_time": "500ms"},
		})
	}
	text, err := json.Marshal(object{"name": filepath.Base(w.dir), "models": object{"a100": "A100-40GB"}, "time": "10m", "log_dir": "logs", "tasks": tasks})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmp.Or(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "sweep.json"), text, 0o644), os.Chown(dir, uid, uid)); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// steward starts submit -wait of one user.
func (w *crowd) steward(dir string, uid int, args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.t.Helper()
	return w.submit(dir, uid, append(args, "-wait")...)
}

// submit starts submit of one user.
func (w *crowd) submit(dir string, uid int, args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.t.Helper()
	cmd := w.c.Command(w.t.Context(), append([]string{w.program, "submit", "-sweep", "sweep.json"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, asProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd, out
}

func (w *crowd) strangers(n int) {
	for range n {
		w.c.Run("sbatch", "--parsable", "--gres=gpu:1", "--output=/dev/null", fmt.Sprintf("--wrap=sleep %g; date +%%s.%%N >>%s", float64(w.steps)*0.5, filepath.Join(w.dir, "foreign")))
	}
}

// queued is how many tasks jobs have or had.
func (w *crowd) queued() int {
	all, _, _ := w.ends()
	for line := range strings.Lines(w.c.Run("squeue", "-h", "-o", "%k")) {
		for _, t := range slurm.TasksOf(&site.JobInfo{Comment: strings.TrimSpace(line)}) {
			all[t] = 1
		}
	}
	return len(all)
}

// others is when the jobs of others ended, on average; not before all have.
func (w *crowd) others() (mean float64) {
	w.t.Helper()
	var ends []float64
	slurmtest.AwaitFor(w.t, patience, "the jobs of others end", func() bool {
		text, _ := os.ReadFile(filepath.Join(w.dir, "foreign"))
		ends = ends[:0]
		for f := range strings.FieldsSeq(string(text)) {
			if at, err := strconv.ParseFloat(f, 64); err == nil {
				ends = append(ends, at)
			}
		}
		return len(ends) == w.foreign
	})
	for _, at := range ends {
		mean += at / float64(len(ends))
	}
	return mean
}

// ends counts how often each task ended, and when the last one did.
func (w *crowd) ends() (count map[string]int, starts int, last float64) {
	text, _ := os.ReadFile(filepath.Join(w.dir, "log")) // not there yet
	count = make(map[string]int)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		at, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			w.t.Errorf("%q: %v", line, err)
		}
		if f[0] == "end" {
			count[f[1]]++
			last = max(last, at)
		} else {
			starts++
		}
	}
	return count, starts, last
}

// prepare makes the folder of a run.
func (w *crowd) prepare() {
	w.t.Helper()
	for _, d := range []string{w.dir, filepath.Join(w.dir, "at")} {
		if err := cmp.Or(os.Mkdir(d, 0o755), os.Chmod(d, 0o1777)); err != nil {
			w.t.Fatal(err)
		}
	}
	log := filepath.Join(w.dir, "log")
	if err := cmp.Or(os.WriteFile(filepath.Join(w.dir, "work"), []byte(work), 0o755), os.WriteFile(log, nil, 0o666), os.Chmod(log, 0o666)); err != nil {
		w.t.Fatal(err)
	}
}

// resume lets a node take jobs again that was drained. Slurm takes that only of one that is down or drained, and says
// "Invalid node state specified" of one that came back meanwhile.
func (w *crowd) resume(node string) {
	w.t.Helper()
	slurmtest.Await(w.t, node+" takes jobs", func() bool {
		said, err := w.c.Command(w.t.Context(), "scontrol", "update", "nodename="+node, "state=resume").CombinedOutput()
		state := w.c.Run("sinfo", "-h", "-N", "-n", node, "-o", "%T")
		if err != nil {
			w.t.Logf("%s is %s: %v: %s", node, strings.TrimSpace(state), err, said)
		}
		return !strings.Contains(state, "drain") && !strings.Contains(state, "down")
	})
}

// administrator counts GPUs anew where Slurm counts some as used that no job has, as colloc says: with a restart of
// slurmctld it may lose any number of them, with us and without, and then no two runs compare.
func (w *crowd) administrator(ctx context.Context) {
	client := slurm.NewClient(slurm.Config{Runner: slurm.Exec{Conf: w.c.Conf}})
	var was []string
	for ctx.Err() == nil {
		if state, err := client.State(ctx); err == nil { // slurmctld may be away
			now := state.Miscounted()
			if slices.ContainsFunc(now, func(node string) bool { return slices.Contains(was, node) }) {
				said, err := w.c.Command(ctx, "scontrol", "reconfigure").CombinedOutput()
				w.t.Logf("GPUs of %v are counted anew: %v %s", now, err, said)
				now = nil
			}
			was = now
		}
		rest(ctx, 2*time.Second)
	}
}

// run plays one day and returns how long the users' tasks took, from the first
// submission on, and after how long the jobs of others ended, on average.
func (w *crowd) run(name string, alone bool) (ours, others float64) {
	w.t.Helper()
	w.dir = filepath.Join(w.c.Dir, name)
	w.prepare()
	second := os.Getuid()
	if second == 0 {
		second = nobodyID
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var admin sync.WaitGroup
	admin.Go(func() { w.administrator(ctx) })
	defer admin.Wait()
	defer cancel()
	half := w.tasks / 2
	mine := w.folder("mine", os.Getuid(), 0, half, alone)
	theirs := w.folder("theirs", second, half, w.tasks-half, alone)
	w.strangers(w.foreign / 2)
	begin := float64(time.Now().UnixNano()) / 1e9
	one, out1 := w.steward(mine, os.Getuid(), "-again")
	two, out2 := w.steward(theirs, second)
	slurmtest.AwaitFor(w.t, patience, "all of it is in the queue", func() bool { return w.queued() >= w.tasks })
	w.strangers(w.foreign - w.foreign/2)
	done := make(chan struct{})
	var err1, err2 error
	go func() {
		err1, err2 = one.Wait(), two.Wait()
		close(done)
	}()
	defer func() {
		if w.t.Failed() { // what the jobs and both users' commands say, also if they never end
			w.t.Log(w.c.Run("squeue", "-o", "%i %T %r %b %N %k"))
			_, _ = one.Process.Kill(), two.Process.Kill()
			<-done
			w.t.Logf("%s\n--- theirs\n%s", out1, out2)
		}
	}()
	over := func(share float64) func() bool {
		return func() bool {
			select {
			case <-done:
				return true
			default:
			}
			count, _, _ := w.ends()
			return float64(len(count)) >= share*float64(w.tasks)
		}
	}
	slurmtest.AwaitFor(w.t, patience, "a fifth is done", over(0.2))
	w.c.StopController()
	w.c.StartController()
	slurmtest.AwaitFor(w.t, patience, "two fifths are done", over(0.4))
	w.c.Run("scontrol", "update", "nodename=g2", "state=drain", "reason=test")
	slurmtest.AwaitFor(w.t, patience, "half is done", over(0.5))
	for line := range strings.Lines(w.c.Run("squeue", "-h", "-o", "%i %k", "--me", "-t", "PENDING,RUNNING")) {
		if id, comment, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(comment, "colloc:"+name+":mine") {
			w.c.Run("scancel", id)
			w.t.Logf("%s: job %s is cancelled: %s", name, id, comment)
			break
		}
	}
	slurmtest.AwaitFor(w.t, patience, "all is over", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	w.resume("g2")
	if err1 != nil || err2 != nil {
		w.t.Errorf("%s: %v, %v", name, err1, err2)
	}
	count, starts, last := w.ends()
	for user, first := range map[string]int{"mine": 0, "theirs": half} {
		n := half
		if first > 0 {
			n = w.tasks - half
		}
		for i := range n {
			if id := fmt.Sprintf("%s-%03d", user, first+i); count[id] != 1 {
				w.t.Errorf("%s: %s ended %d times, want once", name, id, count[id])
			}
		}
	}
	others = w.others() - begin
	w.t.Logf("%s: %d tasks of two users beside %d jobs of others: %.1f s; %d starts; those of others end after %.1f s on average", name, w.tasks, w.foreign, last-begin, starts, others)
	return last - begin, others
}

// TestClusterCrowd: on a full cluster, from submit to the last end, without a human,
// through a restart of the controller, a drained node and a cancelled job, every task
// ends exactly once; and how long that takes against a GPU for each. COLLOC_SLURM_CROWD=200 is the
// large form, of some ten minutes.
func TestClusterCrowd(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: both users are the same")
	}
	w := &crowd{t: t, tasks: 24, foreign: 12, steps: 6}
	o := slurmtest.Options{Nodes: 2, GPUs: 3, Share: os.Getenv("COLLOC_SLURM_SHARE"), Pinned: os.Getenv("COLLOC_SLURM_SHARE") != ""}
	if n, err := strconv.Atoi(os.Getenv("COLLOC_SLURM_CROWD")); err == nil {
		w.tasks, w.foreign, w.steps = n, n/2, 20
		o.Nodes, o.GPUs = 4, 4
	}
	w.c = slurmtest.Start(t, o)
	w.program = copied(t, w.c)
	alone, before := w.run("alone", true)
	shared, after := w.run("shared", false)
	t.Logf("%d GPUs: one task a GPU %.1f s, colloc %.1f s: ratio %.2f; jobs of others end after %.2f of the time", o.Nodes*o.GPUs, alone, shared, shared/alone, after/before)
}

// TestClusterSites: as another user, on sites where jobs of others are private, where a job
// that states no memory gets all of a node, and where CPUs are short: nothing is put on
// GPUs in use, nothing is refused, and all of it runs.
func TestClusterSites(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, GPUs: 2, Share: "shard", Pinned: true, Conf: "PrivateData=jobs\nMinJobAge=2\nPartitionName=other Nodes=ALL State=UP\n"})
	w := &crowd{t: t, c: c, steps: 1, program: copied(t, c)}
	c.Run("sbatch", "--parsable", "--gres=gpu:a100i0:1", "-w", "g1", "--output=/dev/null", "--wrap=sleep 600")
	slurmtest.Await(t, "the stranger runs", func() bool { return strings.Contains(c.Run("squeue", "-h", "-o", "%T"), "RUNNING") })
	for _, tt := range []struct {
		name   string
		change []string
		says   []string
	}{
		{"private", nil, []string{"not used: g1/0: it is in use, or may be"}},
		{"unlimited", []string{`"time"`, `"partition":"other","time"`}, []string{`state no "memory": here a job that states none gets all of a node`, "its node has "}},
		{"CPUs", []string{`"cpus":1`, `"cpus":20`}, []string{"not enough for one more task"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.dir, w.t = filepath.Join(c.Dir, tt.name), t
			w.tasks = 4
			w.prepare()
			dir := w.folder("theirs", nobodyID, 0, w.tasks, false)
			path := filepath.Join(dir, "sweep.json")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.NewReplacer(tt.change...).Replace(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd, out := w.steward(dir, nobodyID)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			contains(t, out.String(), append(tt.says, "4 of 4 tasks are done")...)
			if count, starts, _ := w.ends(); len(count) != 4 || starts != 4 {
				t.Errorf("%v, %d starts; want 4 tasks once\n%s", count, starts, out)
			}
		})
	}
}

// copied is this test binary where every user gets at it.
func copied(t *testing.T, c *slurmtest.Cluster) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir, "colloc")
	// A process of its own writes it: what another test starts meanwhile would hold it open, and it could not be run.
	if out, err := exec.Command("install", "-m", "755", self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}
