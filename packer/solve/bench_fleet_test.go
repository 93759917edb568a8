package solve

import (
	"testing"

	"example.com/colloc/packer/internal/packtest"
)

// BenchmarkFleet is a large cluster of eight kinds of GPU, with paces: 100,000 tasks
// of 200 types in sets of up to four.
func BenchmarkFleet(b *testing.B) {
	for _, w := range packtest.Weights() {
		b.Run("weights="+w, func(b *testing.B) {
			benchPack(b, ColumnGen{}, packtest.FleetProblem(b, w, 100_000, 200, 20_000, 8, 4))
		})
	}
}

// BenchmarkFleetPairs pairs 1000 tasks, each like no other, on 800 GPUs of four kinds.
func BenchmarkFleetPairs(b *testing.B) {
	for _, w := range append([]string{"tied"}, packtest.Weights()...) {
		b.Run("weights="+w, func(b *testing.B) {
			benchPack(b, Matching{}, packtest.FleetProblem(b, w, 1000, 1000, 800, 4, 2))
		})
	}
}
