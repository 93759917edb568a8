package solve

import (
	"context"
	"fmt"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

func benchPack(b *testing.B, method packer.Method, p *packer.Problem) {
	b.Helper()
	b.ReportAllocs()
	var s *packer.Solution
	for b.Loop() {
		var err error
		if s, err = method.Pack(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*s.Gap(), "gap_pct")
	b.ReportMetric(s.Throughput, "objective")
}

func BenchmarkMatching(b *testing.B) {
	for _, w := range packtest.Weights() {
		for _, n := range []int{100, 1000, 2000} {
			b.Run(fmt.Sprintf("weights=%s/n=%d", w, n), func(b *testing.B) {
				benchPack(b, Matching{}, packtest.BenchProblem(packtest.BenchModel(b, w, n), n/2))
			})
		}
	}
}

func BenchmarkMatchingTol(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run(fmt.Sprintf("weights=%s/n=5000", w), func(b *testing.B) {
			benchPack(b, Matching{Tol: 0.0015}, packtest.BenchProblem(packtest.BenchModel(b, w, 5000), 2500))
		})
	}
}

// BenchmarkMatchingLoad has more tasks than seats, and fewer.
func BenchmarkMatchingLoad(b *testing.B) {
	for _, w := range packtest.Weights() {
		for _, gpus := range []int{300, 800} {
			b.Run(fmt.Sprintf("weights=%s/n=1000/gpus=%d", w, gpus), func(b *testing.B) {
				benchPack(b, Matching{}, packtest.BenchProblem(packtest.BenchModel(b, w, 1000), gpus))
			})
		}
	}
}

func BenchmarkTypes(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("n=600/weights="+w, func(b *testing.B) {
			m := packtest.KindModel{MatrixModel: packtest.BenchModel(b, w, 600), Kinds: 3}
			p := packtest.BenchProblem(m.MatrixModel, 100, 100, 100)
			p.Model = m
			benchPack(b, Matching{}, p)
		})
	}
}

// setsProblem has n tasks on just enough GPUs for sets of k.
func setsProblem(tb testing.TB, weights string, n, k int) *packer.Problem {
	tb.Helper()
	p := packtest.BenchProblem(packtest.BenchModel(tb, weights, n), (n+k-1)/k)
	p.Limits.MaxSet = k
	return p
}

func BenchmarkColumnGen(b *testing.B) {
	for _, k := range []int{3, 4} {
		for _, w := range packtest.Weights() {
			b.Run(fmt.Sprintf("k=%d/n=100/weights=%s", k, w), func(b *testing.B) {
				benchPack(b, ColumnGen{}, setsProblem(b, w, 100, k))
			})
		}
	}
}

// BenchmarkLocalSearch reports the gap to the bound of ColumnGen.
func BenchmarkLocalSearch(b *testing.B) {
	for _, k := range []int{3, 4} {
		for _, w := range packtest.Weights() {
			b.Run(fmt.Sprintf("k=%d/n=100/weights=%s", k, w), func(b *testing.B) {
				p := setsProblem(b, w, 100, k)
				proved, err := ColumnGen{Tol: 0.01}.Pack(b.Context(), p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var s *packer.Solution
				for b.Loop() {
					if s, err = (LocalSearch{}).Pack(b.Context(), p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(100*(proved.Bound-s.Throughput)/proved.Bound, "gap_pct")
				b.ReportMetric(s.Throughput, "objective")
			})
		}
	}
}

func BenchmarkTyped(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("tasks=10000/weights="+w, func(b *testing.B) {
			benchPack(b, ColumnGen{}, packtest.TypedProblem(b, w, 10_000, 2_000, 4))
		})
	}
}
