//go:build slurm

package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/internal/slurmtest"
)

// TestClusterTurnedAway: a slurmctld that restarts forgets which shares are in use, and
// starts jobs that wait for them without a GPU. That costs their tasks no retry.
func TestClusterTurnedAway(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, GPUs: 2, Share: "shard", Pinned: true, Conf: "PartitionName=other Nodes=ALL State=UP\n"})
	w := &crowd{t: t, c: c, steps: 1, program: copied(t, c), dir: filepath.Join(c.Dir, "turned")}
	w.prepare()
	dir := w.folder("mine", os.Getuid(), 0, 4, false)
	c.Run("scontrol", "update", "partitionname=main", "state=down")
	cmd, out := w.steward(dir, os.Getuid(), "-retries", "0")
	queued := func() string { return c.Run("squeue", "-h", "-p", "main", "-o", "%i %T %b") }
	slurmtest.Await(t, "all tasks wait for shares", func() bool { return strings.Count(queued(), "PENDING gres:shard") == 4 })
	var strangers []string
	for _, gpu := range []string{"a100i0", "a100i1"} {
		strangers = append(strangers, strings.TrimSpace(c.Run("sbatch", "--parsable", "-p", "other", "--mem=100", "--gres=shard:"+gpu+":8", "--output=/dev/null", "--wrap=sleep 600")))
	}
	slurmtest.Await(t, "the strangers run", func() bool { return strings.Count(c.Run("squeue", "-h", "-p", "other", "-o", "%T"), "RUNNING") == 2 })
	c.StopController()
	c.StartController()
	c.Run("scontrol", "update", "partitionname=main", "state=up")
	slurmtest.Await(t, "a job without a GPU ended", func() bool {
		logs, _ := filepath.Glob(filepath.Join(dir, "logs", "colloc-*.out"))
		for _, l := range logs {
			if text, err := os.ReadFile(l); err == nil && script.NoDevice(text) {
				return true
			}
		}
		return false
	})
	c.Run(append([]string{"scancel"}, strangers...)...)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	contains(t, out.String(), "got no GPU from Slurm", "4 of 4 tasks are done")
	if count, starts, _ := w.ends(); len(count) != 4 || starts != 4 {
		t.Errorf("%v, %d starts; want 4 tasks once\n%s", count, starts, out)
	}
}
