package online

import (
	"context"
	"fmt"
	"math/bits"
	rand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// BenchmarkSchedulerDecide measures one decision on 64 GPUs that are full, with 1,000
// tasks that wait: one task has ended. "greedy" does not look ahead.
func BenchmarkSchedulerDecide(b *testing.B) {
	for _, c := range []struct {
		name   string
		budget int
		widest int
	}{{"greedy", 0, 1}, {"look-ahead", DefaultBudget, 1}, {"look-ahead/gangs", DefaultBudget, 8}} {
		b.Run("gpus=64/waiting=1000/"+c.name, func(b *testing.B) {
			s, decide := busyScheduler(b, 64, 1000, c.budget, c.widest)
			for b.Loop() {
				if err := decide(); err != nil {
					b.Fatal(err)
				}
			}
			_, waiting := s.Tasks()
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/decision")
			b.ReportMetric(float64(waiting), "waiting")
		})
	}
}

// BenchmarkArrival measures how long a scheduler of 1,000 GPUs that does not look ahead, seven eighths full of pairs,
// takes to see one task off and to find a place for another.
func BenchmarkArrival(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("weights="+w, func(b *testing.B) {
			const gpus = 1000
			m := packtest.BenchModel(b, w, 64)
			kinds := packtest.BenchProblem(m).Tasks
			cards := make([]packer.GPU, gpus)
			for i := range cards {
				cards[i] = packer.GPU{ID: fmt.Sprintf("g%04d", i), Memory: 16 * profile.GiB}
			}
			s, err := NewScheduler(cards, m, packer.Limits{MaxSet: 2}, &SchedulerOptions{Budget: profile.Some(0)})
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, gpus))
			at := time.Duration(0)
			arrive := func(id string) {
				k := rng.IntN(len(kinds))
				t := kinds[k]
				t.Kind, t.ID, t.Memory = t.ID, id, profile.Bytes(1+k%4)*profile.GiB
				at += time.Second
				if err := s.Submit(Job{Task: t, Left: profile.Some(time.Hour)}); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Decide(context.Background(), at); err != nil {
					b.Fatal(err)
				}
			}
			ids := make([]string, gpus*7/4)
			for i := range ids {
				ids[i] = fmt.Sprintf("task%05d", i)
				arrive(ids[i])
			}
			turn := func() {
				id := ids[rng.IntN(len(ids))]
				if err := s.Finish(id); err != nil {
					b.Fatal(err)
				}
				arrive(id)
			}
			for range gpus { // warms it up
				turn()
			}
			for b.Loop() {
				turn()
			}
		})
	}
}

// busyScheduler returns a scheduler of gpus cards, on which as many tasks wait, and a
// function that has one task end and another come. Tasks take 1, 2, 4 GPUs and so on up to
// widest, in machines of eight.
func busyScheduler(tb testing.TB, gpus, waiting, budget, widest int) (*Scheduler, func() error) {
	tb.Helper()
	m := packtest.BenchModel(tb, "random", 64)
	kind := packtest.BenchProblem(m).Tasks
	cards, machines := make([]packer.GPU, gpus), make([]int, gpus)
	for i := range cards {
		cards[i], machines[i] = packer.GPU{ID: fmt.Sprintf("g%04d", i), Memory: 16 * profile.GiB}, i/8
	}
	s, err := NewScheduler(cards, m, packer.Limits{MaxSet: 4}, &SchedulerOptions{Budget: profile.Some(budget), Machines: machines})
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	n, at := 0, time.Duration(0)
	var running []string
	submit := func() error {
		t := kind[rng.IntN(len(kind))]
		t.Kind, t.ID, t.Memory = t.ID, fmt.Sprintf("task%06d", n), profile.Bytes(1+n%6)*profile.GiB
		t.GPUs = 1 << rng.IntN(bits.Len(uint(widest)))
		n++
		return s.Submit(Job{Task: t, Left: profile.Some(time.Duration(1+rng.IntN(600)) * time.Minute), Restart: profile.Some(time.Minute)})
	}
	decide := func() error {
		if len(running) > 0 {
			k := rng.IntN(len(running))
			if err := s.Finish(running[k]); err != nil {
				return err
			}
			running = slices.Delete(running, k, k+1)
			if err := submit(); err != nil {
				return err
			}
		}
		at += time.Minute
		ds, err := s.Decide(context.Background(), at)
		for _, d := range ds {
			running = slices.DeleteFunc(running, func(id string) bool { return id == d.Task })
			if d.Placed {
				running = append(running, d.Task)
			}
		}
		return err
	}
	for range waiting {
		if err := submit(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := decide(); err != nil {
		tb.Fatal(err)
	}
	for _, w := s.Tasks(); w < waiting; w++ {
		if err := submit(); err != nil {
			tb.Fatal(err)
		}
	}
	return s, decide
}
