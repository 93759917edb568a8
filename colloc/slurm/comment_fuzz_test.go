package slurm

import (
	"slices"
	"testing"

	"example.com/colloc/colloc/slurm/site"
)

// FuzzComment: whatever another user writes into a comment, it names tasks or none, and what it names has one comment
// that names the same.
func FuzzComment(f *testing.F) {
	for _, text := range []string{"colloc:a,b", "colloc:s:a%2Cb,c+d", "colloc:", "colloc::a", "colloc:a,,b", "colloc:%zz", "colloc:a:b:c", "other", "colloc:%00%1b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		j := &site.JobInfo{Comment: comment}
		sweep, tasks := SweepOf(j), TasksOf(j)
		if len(tasks) == 0 {
			if sweep != "" || tasks != nil {
				t.Fatalf("%q: sweep %q of no task", comment, sweep)
			}
			return
		}
		again := &site.JobInfo{Comment: Comment(sweep, tasks...)}
		if SweepOf(again) != sweep || !slices.Equal(TasksOf(again), tasks) {
			t.Fatalf("%q is sweep %q of %q, whose comment %q is %q of %q", comment, sweep, tasks, again.Comment, SweepOf(again), TasksOf(again))
		}
	})
}
