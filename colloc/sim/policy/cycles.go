package policy

import (
	"slices"

	"example.com/colloc/colloc/sim"
)

// cycles remembers how well tasks of given stages interleave.
type cycles struct {
	model  sim.Stages
	kinds  map[sim.StageTimes]int32
	stages []sim.StageTimes
	known  map[[4]int32]float64
}

func newCycles() *cycles {
	return &cycles{kinds: map[sim.StageTimes]int32{}, known: map[[4]int32]float64{}}
}

// kind numbers stages, from 1.
func (c *cycles) kind(st sim.StageTimes) int32 {
	k, ok := c.kinds[st]
	if !ok {
		c.stages = append(c.stages, st)
		k = int32(len(c.stages))
		c.kinds[st] = k
	}
	return k
}

// cycle is the time in which each task does one iteration, in nanoseconds.
func (c *cycles) cycle(a, b []*muriTask) float64 {
	var key [4]int32
	n := 0
	for _, t := range a {
		key[n] = t.kind
		n++
	}
	for _, t := range b {
		key[n] = t.kind
		n++
	}
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

// used is the part of the resources that two groups together would use; 0 if
// they are too many or have no stages.
func (c *cycles) used(limit int, a, b []*muriTask) float64 {
	if len(a)+len(b) > limit {
		return 0
	}
	cycle := c.cycle(a, b)
	if cycle <= 0 {
		return 0
	}
	sum := 0.0
	for _, set := range [2][]*muriTask{a, b} {
		for _, t := range set {
			sum += float64(t.Stages.Load + t.Stages.Compute + t.Stages.Exchange)
		}
	}
	return sum / (cycle * resources)
}

// gains reports whether tasks together are no slower than one after the other.
func (c *cycles) gains(set []*muriTask) bool {
	alone := 0.0
	for _, t := range set {
		alone += c.cycle([]*muriTask{t}, nil)
	}
	return c.cycle(set, nil) <= alone
}
