//go:build slurm

package slurm

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/internal/slurmtest"
)

// TestClusterKilled: submit is killed again and again at any moment while it submits 40 tasks, also between a job and its
// record, and begun again at once: each task begins once and ends once.
// It runs by itself: what it starts would slow those beside it down, which wait for Slurm.
func TestClusterKilled(t *testing.T) {
	w := &crowd{t: t, tasks: 40, steps: 2, c: slurmtest.Start(t, slurmtest.Options{Nodes: 2, GPUs: 4, Share: "shard", Pinned: true})}
	w.program = copied(t, w.c)
	w.dir = filepath.Join(w.c.Dir, "killed")
	w.prepare()
	dir := w.folder("mine", os.Getuid(), 0, w.tasks, false)
	rng := rand.New(rand.NewPCG(47, 2))
	const kills = 15
	longest := 100 * time.Millisecond
	for range kills {
		cmd, out := w.submit(dir, os.Getuid())
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(longest))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		t.Logf("%v, %v: %.300s", longest, err, out)
		if longest *= 2; err == nil {
			longest /= 4 // all is submitted: earlier moments are left
		}
		longest = max(longest, 10*time.Millisecond)
	}
	cmd, out := w.steward(dir, os.Getuid())
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	contains(t, out.String(), "40 of 40 tasks are done")
	count, starts, _ := w.ends()
	for task, n := range count {
		if n != 1 {
			t.Errorf("%s ended %d times", task, n)
		}
	}
	if len(count) != w.tasks || starts != w.tasks {
		t.Errorf("%d tasks ended and %d began, want %d\n%s", len(count), starts, w.tasks, out)
	}
}
