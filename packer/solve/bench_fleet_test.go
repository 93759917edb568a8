package solve

import (
	"fmt"
	"testing"

	"example.com/colloc/packer/internal/packtest"
)

// BenchmarkFleet is a large cluster of eight kinds of GPU, with paces: 100,000 tasks
// of 200 types in sets of up to four.
func BenchmarkFleet(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("weights="+w, func(b *testing.B) {
			benchPack(b, ColumnGen{}, fleetProblem(b, w, 100_000, 200, 20_000, 8, 4))
		})
	}
}

// BenchmarkFleetPairs pairs 1000 tasks, each like no other, on 800 GPUs of four kinds.
func BenchmarkFleetPairs(b *testing.B) {
	for _, w := range append([]string{"tied"}, packtest.Weights()...) {
		for _, tol := range []float64{0, 0.0005} {
			b.Run(fmt.Sprintf("weights=%s/tol=%g", w, tol), func(b *testing.B) {
				benchPack(b, Matching{Tol: tol}, fleetProblem(b, w, 1000, 1000, 800, 4, 2))
			})
		}
	}
}
