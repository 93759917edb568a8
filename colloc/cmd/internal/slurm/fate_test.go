package slurm

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

// TestWrote: what a job that is not recorded wrote is found, whatever its folder is called, and what lies beside it.
func TestWrote(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*?")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"colloc-7.out":     "loss 1\ncolloc: exit 0: mine\n",
		"colloc-8.out":     "colloc: exit 1: other\n",
		"colloc-9.out.bak": "colloc: exit 0: other\n",
		"colloc-x.out":     "colloc: exit 0: other\n",
		"something-9.out":  "colloc: exit 0: other\n",
		"colloc-10.out":    "colloc: exit 0: recorded\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "colloc-11.out"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &sweep{dir: dir}
	recorded := map[site.JobID][]string{10: {"recorded"}}
	for task, want := range map[string]struct {
		job site.JobID
		end fate
	}{"mine": {7, done}, "other": {8, failed}, "recorded": {0, fresh}, "none": {0, fresh}} {
		if job, end := s.wrote(task, time.Now(), recorded); job != want.job || end != want.end {
			t.Errorf("%s: job %d, %v; want %d, %v", task, job, end, want.job, want.end)
		}
	}
	if job, _ := s.wrote("mine", time.Now().Add(time.Hour), recorded); job != 0 {
		t.Errorf("job %d ran an hour before", job)
	}
}
