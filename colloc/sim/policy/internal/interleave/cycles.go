package interleave

import (
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
)

// Cycles remembers how well tasks of given stages interleave.
type Cycles struct {
	model  speed.Stages
	kinds  map[sim.StageTimes]int32
	stages []sim.StageTimes
	known  map[[4]int32]float64
}

// NewCycles remembers nothing yet.
func NewCycles() *Cycles {
	return &Cycles{kinds: map[sim.StageTimes]int32{}, known: map[[4]int32]float64{}}
}

// Kind numbers stages, from 1.
func (c *Cycles) Kind(st sim.StageTimes) int32 {
	k, ok := c.kinds[st]
	if !ok {
		c.stages = append(c.stages, st)
		k = int32(len(c.stages))
		c.kinds[st] = k
	}
	return k
}

// cycle is the time in which each task does one iteration, in nanoseconds.
func (c *Cycles) cycle(a, b []int32) float64 {
	var key [4]int32
	n := copy(key[:], a)
	n += copy(key[n:], b)
	slices.Sort(key[:n])
	if x, ok := c.known[key]; ok {
		return x
	}
	var times [4]sim.StageTimes
	for i := range n {
		times[i] = c.stages[key[i]-1]
	}
	x := c.model.Cycle(times[:n])
	c.known[key] = x
	return x
}

// resources is the number of resources that a cycle could use at once, as in the
// paper's evaluation.
const resources = 4

// Used is the part of the resources that two groups together would use; 0 if
// they are too many or have no stages.
func (c *Cycles) Used(limit int, a, b []int32) float64 {
	if len(a)+len(b) > limit {
		return 0
	}
	cycle := c.cycle(a, b)
	if cycle <= 0 {
		return 0
	}
	sum := 0.0
	for _, set := range [2][]int32{a, b} {
		for _, kind := range set {
			st := &c.stages[kind-1]
			sum += float64(st.Load + st.Compute + st.Exchange)
		}
	}
	return sum / (cycle * resources)
}

// Gains reports whether tasks together are no slower than one after the other.
func (c *Cycles) Gains(set []int32) bool {
	alone := 0.0
	for i := range set {
		alone += c.cycle(set[i:i+1], nil)
	}
	return c.cycle(set, nil) <= alone
}
