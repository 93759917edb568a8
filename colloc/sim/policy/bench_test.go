package policy_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/profile"
)

// large is a cluster of 8-GPU machines.
func large(tb testing.TB, gpus int) *sim.Cluster {
	tb.Helper()
	c, err := sim.ParseCluster(fmt.Sprintf("%dx8xA100-40GB", gpus/8))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// stream generates tasks of 24 types that keep a cluster busy at a load, in
// units of what it can do exclusively.
func stream(tb testing.TB, tasks, gpus int, load float64) []sim.Task {
	tb.Helper()
	classes := []string{"light", "medium", "heavy"}
	w := trace.Workload{Tasks: tasks, Seed: 1, MeanLength: time.Hour, Between: time.Duration(float64(time.Hour) / float64(gpus) / load)}
	for i := range 24 {
		w.Types = append(w.Types, trace.Type{Name: fmt.Sprintf("%s%d", classes[i%3], i), Memory: profile.Bytes(2+i/2) * profile.GiB})
	}
	ts, err := trace.Generate(w)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range ts {
		ts[i].Class = classes[0]
		for _, c := range classes {
			if len(ts[i].Type) > len(c) && ts[i].Type[:len(c)] == c {
				ts[i].Class = c
			}
		}
	}
	return ts
}

// BenchmarkEvents is the engine's speed under a cheap policy: arrivals, starts
// and finishes of tasks a second.
func BenchmarkEvents(b *testing.B) {
	for _, gpus := range []int{8, 1000} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			c := large(b, gpus)
			tasks := stream(b, 200_000, gpus, 0.95)
			events := 0
			b.ReportAllocs()
			for b.Loop() {
				r, err := sim.Run(context.Background(), c, tasks, policy.FIFO{}, sim.Options{})
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkPlain100k is colloc's own policy without look-ahead, learning, on 1,000 GPUs.
func BenchmarkPlain100k(b *testing.B) {
	for _, load := range []float64{0.9, 1.3} {
		b.Run(fmt.Sprintf("load=%.1f", load), func(b *testing.B) {
			c := large(b, 1000)
			tasks := stream(b, 100_000, 1000, load)
			decisions := 0
			for b.Loop() {
				r, err := sim.Run(context.Background(), c, tasks, policy.Colloc{Budget: profile.Some(0)}, sim.Options{
					Truth: speed.Contention{}, Predicted: speed.Noisy{Model: speed.Contention{}, SD: 0.1}, ObserveError: 0.05,
				})
				if err != nil {
					b.Fatal(err)
				}
				if r.Finished != len(tasks) {
					b.Fatalf("%d of %d tasks finished", r.Finished, len(tasks))
				}
				decisions += r.Decisions
			}
			b.ReportMetric(float64(decisions)/b.Elapsed().Seconds(), "decisions/s")
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
		})
	}
}

// BenchmarkCollocDay is a day of 1,000 tasks on 32 GPUs that are asked for more than they
// can do, under the policy that looks ahead: what a day costs, and its decisions.
func BenchmarkCollocDay(b *testing.B) {
	for _, load := range []float64{1, 1.4, 2} {
		b.Run(fmt.Sprintf("gpus=32/tasks=1000/load=%.1f", load), func(b *testing.B) {
			c := large(b, 32)
			tasks := stream(b, 1000, 32, load)
			decisions := 0
			for b.Loop() {
				r := simulate(b, c, tasks, policy.Colloc{}, sim.Options{Truth: speed.Contention{Scale: 2}})
				if r.Finished != len(tasks) {
					b.Fatalf("%d of %d tasks finished", r.Finished, len(tasks))
				}
				decisions += r.Decisions
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/day")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(decisions), "ms/decision")
		})
	}
}
