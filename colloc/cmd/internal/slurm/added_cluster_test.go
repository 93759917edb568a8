//go:build slurm

package slurm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/internal/slurmtest"
)

// TestClusterAdded: 30 tasks are added while 30 run, the command is killed at five random moments and begun
// again, a node is drained, and a second command ends at once: each task ends once, and starts once.
func TestClusterAdded(t *testing.T) {
	t.Parallel()
	for _, share := range []string{"", "shard"} {
		t.Run("share "+share, func(t *testing.T) {
			t.Parallel()
			w := &crowd{t: t, tasks: 30, steps: 12, c: slurmtest.Start(t, slurmtest.Options{Nodes: 2, GPUs: 4, Share: share, Pinned: share != ""})}
			w.program = copied(t, w.c)
			w.dir = filepath.Join(w.c.Dir, "added")
			w.prepare()
			w.added()
		})
	}
}

// added plays the day of TestClusterAdded.
func (w *crowd) added() {
	w.t.Helper()
	dir := w.folder("mine", os.Getuid(), 0, w.tasks, false)
	hold := filepath.Join(w.dir, "hold") // or the first have ended on a loaded machine before the last start
	if err := os.WriteFile(hold, nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
	steward, out := w.steward(dir, os.Getuid())
	runs := func() int {
		count, starts, _ := w.ends()
		return starts - len(count)
	}
	slurmtest.AwaitFor(w.t, patience, "30 run", func() bool { return runs() >= w.tasks })
	var lines strings.Builder
	for i := range w.tasks {
		fmt.Fprintf(&lines, "%s %s line-%d %d\n", filepath.Join(w.dir, "work"), w.dir, i+1, w.steps)
	}
	if err := os.WriteFile(filepath.Join(dir, "more.txt"), []byte(lines.String()), 0o644); err != nil {
		w.t.Fatal(err)
	}
	add := w.c.Command(w.t.Context(), w.program, "add", "-cpus", "1", "-gpu", "A100-40GB", "-used", "6GiB", "-busy", "0.3", "-f", "more.txt", "sweep.json")
	add.Dir, add.Env = dir, append(add.Env, asProgram+"=1")
	if said, err := add.CombinedOutput(); err != nil || !strings.Contains(string(said), "30 tasks more, 60 in all") {
		w.t.Fatal(string(said), err)
	}
	if err := os.Remove(hold); err != nil {
		w.t.Fatal(err)
	}
	second, said := w.steward(dir, os.Getuid())
	if err := second.Wait(); err == nil || !strings.Contains(said.String(), "another submit is at work") {
		w.t.Errorf("a second command: %v: %s", err, said)
	}
	rng := rand.New(rand.NewPCG(uint64(w.c.Nodes[0][0]), 44))
	moments := make([]int, 5)
	for i := range moments {
		moments[i] = rng.IntN(2*w.tasks - 5)
	}
	slices.Sort(moments)
	for i, ended := range moments {
		slurmtest.AwaitFor(w.t, patience, fmt.Sprintf("%d have ended", ended), func() bool { count, _, _ := w.ends(); return len(count) >= ended })
		_ = steward.Process.Kill()
		_ = steward.Wait()
		switch i {
		case 1:
			w.c.Run("scontrol", "update", "nodename=g2", "state=drain", "reason=test")
		case 3:
			w.resume("g2")
		}
		steward, out = w.steward(dir, os.Getuid())
	}
	if err := steward.Wait(); err != nil {
		w.t.Errorf("%v: %s", err, out)
	}
	contains(w.t, out.String(), "60 of 60 tasks are done")
	count, starts, _ := w.ends()
	for task, n := range count {
		if n != 1 {
			w.t.Errorf("%s ended %d times", task, n)
		}
	}
	if len(count) != 2*w.tasks || starts != 2*w.tasks {
		w.t.Errorf("%d tasks ended and %d began, want %d\n%s", len(count), starts, 2*w.tasks, out)
	}
	w.t.Logf("killed when %d tasks had ended", moments)
}
