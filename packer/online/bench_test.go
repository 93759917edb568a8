package online

import (
	"context"
	"fmt"
	rand "math/rand/v2"
	"testing"

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
