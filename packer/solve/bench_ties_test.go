package solve

import (
	"fmt"
	"testing"

	"example.com/colloc/packer/internal/packtest"
)

// BenchmarkMatchingTies: many pairs are worth no more than their members apart,
// or all the same.
func BenchmarkMatchingTies(b *testing.B) {
	for _, w := range []string{"k80", "tied"} {
		for _, size := range [][2]int{{1000, 500}, {3000, 1500}, {1000, 300}, {1000, 800}} {
			b.Run(fmt.Sprintf("weights=%s/n=%d/gpus=%d", w, size[0], size[1]), func(b *testing.B) {
				benchPack(b, Matching{}, packtest.BenchProblem(packtest.BenchModel(b, w, size[0]), size[1]))
			})
		}
	}
}
