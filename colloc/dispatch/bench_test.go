package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// crowd is a cluster of machines of eight GPUs, where users submit jobs of twenty kinds.
type crowd struct {
	*site
	rng  *rand.Rand
	next int
	runs []string
}

func newCrowd(tb testing.TB, gpus, budget int) *crowd {
	tb.Helper()
	s := newSite(tb, 0, dispatch.Options{Scheduler: online.SchedulerOptions{Budget: profile.Some(budget)}})
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	events := make([]dispatch.Event, gpus)
	for i := range events {
		events[i] = dispatch.GPUAdded{GPU: colloc.GPU{ID: fmt.Sprintf("gpu%d", i), Model: model}, Machine: i / 8}
	}
	s.tell(events...)
	return &crowd{site: s, rng: rand.New(rand.NewPCG(1, 1))}
}

// come submits jobs.
func (c *crowd) come(n int) {
	events := make([]dispatch.Event, n)
	for i := range events {
		kind := c.rng.IntN(20)
		c.next++
		events[i] = dispatch.Submitted{Job: dispatch.Job{
			Task: colloc.Task{ID: fmt.Sprintf("job%d", c.next), Kind: fmt.Sprintf("kind%d", kind), Reserved: profile.GiB * profile.Bytes(4+kind)},
			User: fmt.Sprintf("user%d", c.next%9), Left: profile.Some(time.Duration(10+c.rng.IntN(600)) * time.Minute),
		}}
	}
	c.tell(events...)
}

// turn lets a job end and another come, and decides.
func (c *crowd) turn() {
	at := c.rng.IntN(len(c.runs))
	id := c.runs[at]
	c.runs[at] = c.runs[len(c.runs)-1]
	c.runs = c.runs[:len(c.runs)-1]
	c.now += 10 * time.Second
	c.end(id)
	delete(c.on, id)
	c.come(1)
	c.runs = append(c.runs, c.decide()...)
}

// BenchmarkDecide: what an event and the decision after it cost.
func BenchmarkDecide(b *testing.B) {
	for _, bb := range []struct {
		gpus, waiting, budget int
	}{{64, 1000, online.DefaultBudget}, {64, 1000, 0}, {8000, 10000, 0}, {8000, 10000, online.DefaultBudget}} {
		b.Run(fmt.Sprintf("gpus=%d/waiting=%d/budget=%d", bb.gpus, bb.waiting, bb.budget), func(b *testing.B) {
			c := newCrowd(b, bb.gpus, bb.budget)
			c.come(3 * bb.gpus)
			c.runs = c.decide()
			c.come(bb.waiting - (3*bb.gpus - len(c.runs)))
			c.runs = append(c.runs, c.decide()...)
			b.ReportAllocs()
			for b.Loop() {
				c.turn()
			}
		})
	}
	b.Run("gpus=800/burst=1000", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			c := newCrowd(b, 800, online.DefaultBudget)
			b.StartTimer()
			c.come(1000)
			c.decide()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "us/job")
	})
	for name, event := range map[string]func(job string, run uint64) dispatch.Event{
		"nothing": func(string, uint64) dispatch.Event { return dispatch.Foreign{GPU: "gpu1"} },
		"progress": func(job string, run uint64) dispatch.Event {
			return dispatch.Progress{Job: job, Run: run, Left: profile.Some(time.Hour)}
		},
	} {
		b.Run("gpus=8000/"+name, func(b *testing.B) {
			c := newCrowd(b, 8000, online.DefaultBudget)
			c.come(8000)
			c.runs = c.decide()
			b.ReportAllocs()
			for b.Loop() {
				c.now += time.Second
				id := c.runs[c.rng.IntN(len(c.runs))]
				c.tell(event(id, c.on[id]))
				c.decide()
			}
		})
	}
}
