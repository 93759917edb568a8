package solve

import (
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer/internal/packtest"
)

// TestColumnGenSmoothed has more rows than the simplex method is used for.
func TestColumnGenSmoothed(t *testing.T) {
	gpus := 257
	if race.Enabled {
		gpus = 128
	}
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 2*gpus), gpus)
	s, exact := packtest.Solve(t, ColumnGen{Steps: 500}, p), packtest.Solve(t, Matching{}, p)
	if s.Bound < exact.Throughput || s.Bound > 1.004*exact.Throughput {
		t.Errorf("bound %v, best %v", s.Bound, exact.Throughput)
	}
}
