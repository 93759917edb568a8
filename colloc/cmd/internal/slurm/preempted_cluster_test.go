//go:build slurm

package slurm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/slurmtest"
)

// saves is a task that goes on after USR2 has made it write a checkpoint, and that has
// nothing to do any more where there is one. $1 is a folder.
const saves = `trap 'touch "$1/saved"' USR2
echo start >>"$1/long"
if [ -e "$1/saved" ]; then echo end >>"$1/long"; exit 0; fi
while :; do sleep 300 & wait $!; kill $! 2>/dev/null; done`

// TestClusterPreempted: a set of low priority makes room for an urgent job: it gets its
// signal, saves, is put back, and each of its tasks ends once, the one that had ended
// before the preemption, too. Nobody looks after it.
func TestClusterPreempted(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, GPUs: 1, Conf: `PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
PartitionName=low Nodes=ALL MaxTime=INFINITE DefMemPerCPU=100 PriorityTier=1 GraceTime=4 State=UP
PartitionName=urgent Nodes=ALL MaxTime=INFINITE DefMemPerCPU=100 PriorityTier=10 State=UP
`})
	w := &crowd{t: t, c: c, program: copied(t, c), dir: filepath.Join(c.Dir, "preempted")}
	w.prepare()
	uid := os.Getuid()
	if uid == 0 {
		uid = nobodyID
	}
	dir := w.folder("theirs", uid, 0, 0, false)
	type object = map[string]any
	task := func(id, code string) object {
		return object{
			"id": id, "command": []string{"bash", "-c", code, id, dir}, "model": object{"name": id}, "training": object{"batch_size": 8},
			"solo": object{"gpu": "A100-40GB", "gpu_busy": 0.2, "mem_busy": 0.1, "mem_used": "4GiB"},
		}
	}
	text, err := json.Marshal(object{"format": "colloc-tasks", "version": 1, "slurm": object{
		"models": object{"a100": "A100-40GB"}, "partition": "low", "time": "10m", "log_dir": "logs", "requeue": true, "signal": "USR2",
	}, "tasks": []object{task("short", `echo end >>"$1/short"`), task("long", saves)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sweep.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name)) // not there yet
		return string(text)
	}
	cmd, out := w.steward(dir, uid)
	slurmtest.Await(t, "one task ended, the other runs", func() bool { return read("short") != "" && read("long") != "" })
	if header := c.Run("scontrol", "show", "job", "1"); !strings.Contains(header, "Requeue=1") {
		t.Errorf("the set cannot be put back:\n%s", header)
	}
	urgent := strings.TrimSpace(c.Run("sbatch", "--parsable", "-p", "urgent", "--gres=gpu:1", "--output=/dev/null", "--wrap=true"))
	slurmtest.Await(t, "the urgent job is over", func() bool {
		return strings.Contains(c.Run("scontrol", "show", "job", urgent), "JobState=COMPLETED")
	})
	if _, err := os.Stat(filepath.Join(dir, "saved")); err != nil {
		t.Error("the task had no signal before its job was put back:", err)
	}
	slurmtest.Await(t, "the set is in the queue again", func() bool {
		return strings.Contains(c.Run("scontrol", "show", "job", "1"), "JobState=PENDING Reason=BeginTime")
	})
	c.Run("scontrol", "update", "jobid=1", "StartTime=now") // Slurm holds it back for two minutes
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	contains(t, out.String(), "2 of 2 tasks are done")
	if short, long := read("short"), read("long"); short != "end\n" || long != "start\nstart\nend\n" {
		t.Errorf("the task that was done says %q, the other %q; want each end once", short, long)
	}
	if strings.Contains(out.String(), "job 3") {
		t.Errorf("a task was submitted anew:\n%s", out)
	}
}

// TestClusterMIG: MIG instances are GPUs of their own: each task goes to one with the
// memory for it, by the instance's type, and sees it.
func TestClusterMIG(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Types: []string{"a100_3g.20gb", "a100_1g.5gb", "a100_1g.5gb"}})
	r := recipe{
		name: "MIG", command: []string{"bash", "-c", tells},
		flags:  []string{"-gpu-memory", "15GiB", "-cpus", "1", "-memory", "100MiB", "-gpu", "A100-40GB", "-used", "12GiB", "-busy", "0.2", "-signal", "SIGTERM@90", "-limit", "1"},
		job:    []string{"NumNodes=1", "TresPerNode=gres:gpu:a100_3g.20gb:1"},
		header: []string{"--gres=gpu:a100_3g.20gb:1", "--signal=B:TERM@90"},
		lines:  []string{"# 0 cpus=1 omp=1 node=/ rank=/ at= from= group= grow= mib=# own="},
	}
	r.run(t, c, "recipe7")
	planned := c.Run("scontrol", "show", "node", "g1")
	contains(t, planned, "gpu:a100_1g.5gb:2")
}
