package interleave

import (
	"math"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
)

// TestUsed: what two groups use is their stages over four cycles; too many tasks, and those
// without stages, use nothing.
func TestUsed(t *testing.T) {
	c := NewCycles()
	loads, computes := sim.StageTimes{Load: 3, Iteration: 3}, sim.StageTimes{Compute: 1, Exchange: 1, Iteration: 2}
	a, b, none := c.Kind(loads), c.Kind(computes), c.Kind(sim.StageTimes{})
	if again := c.Kind(loads); a == b || again != a || a != 1 {
		t.Errorf("stages are kinds %d, %d and %d, want 1, another, and 1 again", a, b, again)
	}
	cycle := speed.Stages{}.Cycle([]sim.StageTimes{loads, computes})
	for _, tt := range []struct {
		limit int
		a, b  []int32
		want  float64
	}{
		{2, []int32{a}, []int32{b}, 5 / (4 * cycle)},
		{2, []int32{b}, []int32{a}, 5 / (4 * cycle)},
		{1, []int32{a}, []int32{b}, 0},
		{4, []int32{none}, []int32{none}, 0},
	} {
		for range 2 { // the second time from memory
			if got := c.Used(tt.limit, tt.a, tt.b); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("kinds %v and %v, at most %d, use %v, want %v", tt.a, tt.b, tt.limit, got, tt.want)
			}
		}
	}
}

// TestGains: tasks of other stages gain, also in a cycle of one after the other, and those
// that all need one thing do not.
func TestGains(t *testing.T) {
	c := NewCycles()
	c.model.Overhead = [4]float64{1, 1, 1, 1}
	loads, computes := c.Kind(sim.StageTimes{Load: 4, Iteration: 4}), c.Kind(sim.StageTimes{Compute: 4, Iteration: 4})
	if !c.Gains([]int32{loads, computes}) {
		t.Error("two that do not disturb each other do not gain")
	}
	if !c.Gains([]int32{computes, computes}) {
		t.Error("two that are as fast together as one after the other are slower")
	}
	c = NewCycles() // with the overheads that were measured
	if computes = c.Kind(sim.StageTimes{Compute: 1, Iteration: 1}); c.Gains([]int32{computes, computes}) {
		t.Error("two that need the same gain in spite of the overhead")
	}
}
