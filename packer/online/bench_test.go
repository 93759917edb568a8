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

// steadySession fills gpus cards to load tasks each with tasks of some kinds and
// returns the session and a function that has one task finish and another
// arrive.
func steadySession(tb testing.TB, weights string, gpus, k, kinds int, named bool) (*Session, func() error) {
	tb.Helper()
	m := packtest.BenchModel(tb, weights, kinds)
	kind := packtest.BenchProblem(m).Tasks
	for i := range kind {
		kind[i].Memory = profile.Bytes(1+i%4) * profile.GiB
		if named {
			kind[i].Kind = kind[i].ID
		}
	}
	cards := make([]packer.GPU, gpus)
	for i := range cards {
		cards[i] = packer.GPU{ID: fmt.Sprintf("g%04d", i), Memory: 16 * profile.GiB}
	}
	s, err := NewSession(cards, m, packer.Limits{MaxSet: k}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(gpus)))
	ids := make([]string, gpus*k*7/8)
	for i := range ids {
		ids[i] = fmt.Sprintf("task%05d", i)
		t := kind[rng.IntN(kinds)]
		t.ID = ids[i]
		if _, err := s.Arrive(t); err != nil {
			tb.Fatal(err)
		}
	}
	return s, func() error {
		id := ids[rng.IntN(len(ids))]
		if _, err := s.Finish(id); err != nil {
			return err
		}
		t := kind[rng.IntN(kinds)]
		t.ID = id
		_, err := s.Arrive(t)
		return err
	}
}

// BenchmarkSessionArrive measures one arrival and one departure on GPUs that are
// seven eighths full. Tasks are of 64 kinds; "distinct" does not tell the
// session so.
func BenchmarkSessionArrive(b *testing.B) {
	for _, c := range []struct {
		name  string
		k     int
		named bool
	}{{"k=2", 2, true}, {"k=3", 3, true}, {"k=4", 4, true}, {"k=2/distinct", 2, false}, {"k=4/distinct", 4, false}} {
		b.Run("gpus=1000/"+c.name, func(b *testing.B) {
			s, turn := steadySession(b, "random", 1000, c.k, 64, c.named)
			for range 20000 {
				if err := turn(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := turn(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N), "us/arrival")
			running, waiting := s.Tasks()
			b.ReportMetric(float64(running)/1000, "tasks/gpu")
			b.ReportMetric(float64(waiting), "waiting")
		})
	}
}

// BenchmarkSessionRebalance moves at most a tenth of the tasks of a cluster that
// filled up one task at a time.
func BenchmarkSessionRebalance(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("weights="+w+"/gpus=250", func(b *testing.B) {
			m := packtest.BenchModel(b, w, 500)
			gain, moves := 0.0, 0
			for b.Loop() {
				b.StopTimer()
				s, err := NewSession(packtest.BenchProblem(m, 250).GPUs, m, packer.Limits{}, nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range packtest.BenchProblem(m).Tasks {
					t.MoveCost = 0.01
					if _, err := s.Arrive(t); err != nil {
						b.Fatal(err)
					}
				}
				before := s.Throughput()
				b.StartTimer()
				steps, err := s.Rebalance(context.Background(), 50)
				if err != nil {
					b.Fatal(err)
				}
				gain, moves = s.Throughput()/before-1, len(steps)
			}
			b.ReportMetric(100*gain, "gain_pct")
			b.ReportMetric(float64(moves), "steps")
		})
	}
}

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
