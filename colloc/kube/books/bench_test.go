package books_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/pods"
)

// BenchmarkDecide decides about one pod, and about 64 at once, in a cluster of which a
// third of the cards has a task, and tells median and 99th percentile per pod, in CPU time
// of the whole process: what a busy machine does to the wall says nothing of collocd.
func BenchmarkDecide(b *testing.B) {
	for _, cards := range []int{800, 8000} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("cards=%d/batch=%d", cards, batch), func(b *testing.B) {
				all := cluster(b, cards, batch)
				n := cards
				if _, err := all.Decide(b.Context()); err != nil { // what is read once is read
					b.Fatal(err)
				}
				var took []time.Duration
				for b.Loop() {
					b.StopTimer()
					for range batch {
						n++
						all.SetPod(taskPod(n, api.AnnotationProfile, []string{"light", "heavy"}[n%2]))
					}
					b.StartTimer()
					start := used(b)
					r, err := all.Decide(b.Context())
					took = append(took, (used(b)-start)/time.Duration(batch))
					b.StopTimer()
					if err != nil || len(r.Decisions) != batch {
						b.Fatal(err, len(r.Decisions), r.Refusals)
					}
					for _, d := range r.Decisions {
						if err := all.Finish(d.Pod.UID, books.Written, nil); err != nil {
							b.Fatal(err)
						}
						all.DropPod(d.Pod.UID)
					}
					b.StartTimer()
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-CPU-µs/pod")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-CPU-µs/pod")
			})
		}
	}
}

// used is the CPU time of the process so far.
func used(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOpen makes the books of 8,000 cards and 5,000 pods, half of which run, as a
// new leader does once its caches are filled, and tells what the books take in memory.
func BenchmarkOpen(b *testing.B) {
	all := open(b, 0)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 1000 {
		all.SetNode(gpuNode(fmt.Sprintf("n%04d", i), a100, 40960, 8))
	}
	for i := range 5000 {
		pod := taskPod(i, api.AnnotationProfile, []string{"light", "heavy"}[i%2])
		if i < 2500 {
			pod.Spec.SchedulingGates = nil
			pod.Annotations[api.AnnotationGPU] = fmt.Sprintf("n%04d/gpu-%d", i/8, i%8)
			pod.Annotations[api.AnnotationReserved] = "9000000000"
		}
		all.SetPod(pods.Trim(pod))
	}
	for b.Loop() {
		all.Open()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(all.Cards()); n != 8000 || all.Pending() != 2500 || all.Check() != nil {
		b.Fatal(n, all.Pending(), all.Check())
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
}

// cluster has cards on nodes of 8, and a task on every third.
func cluster(tb testing.TB, cards, batch int) *books.Books {
	tb.Helper()
	all := open(tb, batch)
	products := []string{"NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4"}
	for i := range cards / 8 {
		all.SetNode(gpuNode(fmt.Sprintf("n%04d", i), products[i%3], []int{40960, 81559, 15360}[i%3], 8))
		for k := range 3 {
			pod := taskPod(i*8+k, api.AnnotationProfile, []string{"light", "heavy"}[k%2])
			pod.Spec.SchedulingGates = nil
			pod.Annotations[api.AnnotationGPU] = fmt.Sprintf("n%04d/gpu-%d", i, k)
			pod.Annotations[api.AnnotationReserved] = "9000000000"
			all.SetPod(pod)
		}
	}
	all.Open()
	return all
}

// BenchmarkAhead decides each time that one of the pods ends that run on 256 cards while 512 wait, which is as much as is
// looked ahead for, and tells what that costs in CPU time of the whole process.
func BenchmarkAhead(b *testing.B) {
	all := open(b, 0)
	for i := range 32 {
		all.SetNode(gpuNode(fmt.Sprintf("n%02d", i), a100, 40960, 8))
	}
	n := 0
	submit := func() {
		n++
		all.SetPod(taskPod(n, api.AnnotationProfile, []string{"light", "heavy"}[n%2], api.AnnotationLength, fmt.Sprintf("%dm", 10+n*37%600)))
	}
	var run []types.UID
	round := func() {
		for more := true; more; {
			r, err := all.Decide(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range r.Decisions {
				if err := all.Finish(d.Pod.UID, books.Written, nil); err != nil {
					b.Fatal(err)
				}
				run = append(run, d.Pod.UID)
			}
			more = r.More && len(r.Decisions) > 0
		}
	}
	for all.Pending() < 512 {
		for range 512 {
			submit()
		}
		round()
	}
	start := used(b)
	for b.Loop() {
		all.DropPod(run[0])
		run = run[1:]
		submit()
		round()
	}
	b.ReportMetric(float64((used(b)-start).Milliseconds())/float64(b.N), "CPU-ms/round")
}

// BenchmarkBurst decides about 10,000 pods that came at once in a cluster of 40,000 cards, of which a third has a task, and
// tells what a pod costs in CPU time of the whole process, and what the heap takes then. A few gangs are among them.
func BenchmarkBurst(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		all := cluster(b, 40000, 0)
		const burst = 10000
		for i := range burst {
			pod := taskPod(50000+i, api.AnnotationProfile, []string{"light", "heavy"}[i%2])
			if i%100 < 4 {
				pod = member(50000+i, fmt.Sprintf("g%d", i/100), 4, 2)
			}
			all.SetPod(pod)
		}
		b.StartTimer()
		start, placed := used(b), 0
		for more := true; more; {
			r, err := all.Decide(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, d := range r.Decisions {
				if err := all.Finish(d.Pod.UID, books.Written, nil); err != nil {
					b.Fatal(err)
				}
			}
			placed, more = placed+len(r.Decisions), r.More
		}
		took := used(b) - start
		if placed != burst {
			b.Fatalf("%d of %d pods are placed", placed, burst)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(took.Microseconds())/burst, "CPU-µs/pod")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(all)
	}
}

// BenchmarkIdle is a second of a cluster of 40,000 cards where 2,000 pods fit nowhere and 17 nodes say that they live: it tells
// which part of a CPU the books take, with what the loop asks them once a second.
func BenchmarkIdle(b *testing.B) {
	all := cluster(b, 40000, 0)
	for i := range 2000 {
		all.SetPod(taskPod(50000+i, api.AnnotationMemory, "200Gi"))
	}
	beat := gpuNode("n0001", "NVIDIA-H100-80GB-HBM3", 81559, 8)
	second := func(n int) {
		for i := range 17 {
			now := beat.DeepCopy()
			now.Status.Conditions[0].LastHeartbeatTime.Time = epoch.Add(time.Duration(17*n+i) * time.Second)
			all.SetNode(now)
			for more := true; more; {
				r, err := all.Decide(b.Context())
				if err != nil || len(r.Decisions) > 0 {
					b.Fatal(err, len(r.Decisions))
				}
				more = r.More
			}
		}
		all.Reopen()
		if n := len(all.Unclear()) + len(all.Unclaimed()) + len(all.Stuck()) + len(all.Broken()); n > 0 {
			b.Fatal(n, "pods need something")
		}
		all.Unsaid()
	}
	second(0)
	start := used(b)
	for n := 1; b.Loop(); n++ {
		second(n)
	}
	b.ReportMetric((used(b)-start).Seconds()/float64(b.N), "CPUs")
}
