//go:build linux

package station

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/profile"
)

// A job of a program that nobody knows joins one that asked for some of a GPU. Once it was
// watched there, it counts with what it used.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	end := filepath.Join(dir, "end")
	task := api.Task{Command: []string{self, "train", end}, Dir: dir, Env: []string{"COLLOC_TESTBED=" + os.Getenv("COLLOC_TESTBED")}}
	task.Progress.Pattern = `step (?P<step>\d+)/(?P<total>\d+)`
	g := newRig(t, dir, 1, func(c *Config) {
		source, _ := c.Source.(*fakegpu.Source)
		c.Source, c.Profiling = lightly{source}, 1
	})
	if err := os.WriteFile(end+".begin", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := task
	told.Memory, told.Kind = 4*profile.GiB, "told"
	ids := g.add(t, told)
	g.running(t, ids[0])
	task.Kind = "unknown"
	ids = append(ids, g.add(t, task)...)
	if j := g.running(t, ids[1]); !slices.Equal(j.Beside, ids[:1]) {
		t.Errorf("the job runs beside %v, want %v", j.Beside, ids[:1])
	}
	for end := time.Now().Add(5 * time.Minute); ; {
		changed := g.change()
		j, err := g.Job(t.Context(), ids[1])
		if err != nil || time.Now().After(end) {
			t.Fatalf("the job reserves %v, %v; want what it was seen to use", j.Reserved, err)
		}
		if j.Reserved >= 2*profile.GiB && j.Reserved < 4*profile.GiB {
			break
		}
		<-changed
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, j := range g.over(t, ids...) {
		if j.State != runner.Succeeded || j.Runs != 1 {
			t.Errorf("job %s is %v after %d runs: %s", j.ID, j.State, j.Runs, j.Err)
		}
	}
}
