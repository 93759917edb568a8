package colloc_test

import (
	"fmt"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// crowd makes n tasks that differ in use and size; every fourth was never
// observed, so that its use is predicted.
func crowd(tb testing.TB, n int) []colloc.Task {
	tb.Helper()
	tasks := make([]colloc.Task, n)
	for i := range tasks {
		tasks[i] = seen(tb, fmt.Sprintf("task%d", i), 0.1+0.8*float64(i%10)/10, 0.05+0.5*float64(i%7)/7, profile.Bytes(1+i%8)*profile.GiB)
		if i%4 == 3 {
			tasks[i].Profile = describe(tb)
		}
	}
	return tasks
}

func BenchmarkFit(b *testing.B) {
	for _, residents := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("residents=%d", residents), func(b *testing.B) {
			p := newPlanner(b, colloc.Config{MaxSet: residents + 1, MaxSlowdown: 20})
			tasks := crowd(b, residents+1)
			for i := range tasks {
				tasks[i].Reserved = profile.GiB
			}
			gpu := card(b, "g", tasks[1:]...)
			b.ReportAllocs()
			for b.Loop() {
				v, err := p.Fit(tasks[0], gpu)
				if err != nil || !v.Fits {
					b.Fatal(v, err)
				}
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("tasks=%d/gpus=%d", n, n/2), func(b *testing.B) {
			p := shared(b)
			tasks := crowd(b, n)
			gpus := make([]colloc.GPU, n/2)
			for i := range gpus {
				gpus[i] = card(b, fmt.Sprintf("g%d", i))
			}
			b.ReportAllocs()
			var gap float64
			for b.Loop() {
				plan, err := p.Plan(b.Context(), tasks, gpus)
				if err != nil {
					b.Fatal(err)
				}
				gap = plan.Gap
			}
			b.ReportMetric(100*gap, "gap_pct")
		})
	}
}
