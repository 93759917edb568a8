package bound_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// busyDay draws made-up tasks, some of which are gangs, that come a fifth faster than GPUs
// that share nothing could do them.
func busyDay(n, gpus int) []sim.Task {
	r := rand.New(rand.NewPCG(1, 2))
	var tasks []sim.Task
	at := 0.0
	for i := range n {
		kind := r.IntN(12)
		t := sim.Task{
			ID: strconv.Itoa(i), Arrival: time.Duration(at * float64(time.Hour)), Work: time.Duration((0.1 + r.ExpFloat64()) * float64(time.Hour)),
			Type: strconv.Itoa(kind), Class: []string{"light", "medium", "heavy"}[kind%3], Memory: profile.Bytes(2+kind) * profile.GiB, Startup: time.Minute,
		}
		if r.IntN(10) == 0 {
			t.GPUs = 2
		}
		tasks = append(tasks, t)
		at += r.ExpFloat64() * 1.2 / float64(gpus)
	}
	return tasks
}

// BenchmarkFind bounds busy days and tells how far a day of gfill-4 is from what is proven.
func BenchmarkFind(b *testing.B) {
	for _, size := range []struct {
		tasks   int
		cluster string
	}{{60, "4xA100-40GB"}, {1000, "8x8xA100-40GB"}} {
		b.Run(fmt.Sprintf("%d tasks on %s", size.tasks, size.cluster), func(b *testing.B) {
			cluster, err := sim.ParseCluster(size.cluster)
			if err != nil {
				b.Fatal(err)
			}
			tasks := busyDay(size.tasks, cluster.GPUs())
			truth := speed.Contention{}
			result, err := sim.Run(b.Context(), cluster, tasks, policy.Greedy{MaxSet: 4, Overtake: true}, sim.Options{Truth: truth})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f, err := bound.Find(b.Context(), cluster, tasks, bound.Options{Truth: truth})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*(result.Makespan.Seconds()/f.Makespan.Seconds()-1), "%makespan")
				b.ReportMetric(100*(result.MeanJCT.Seconds()/f.MeanJCT.Seconds()-1), "%JCT")
			}
		})
	}
}
