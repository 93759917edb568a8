package simulated

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/profile"
)

// Truth is what the simulation knows of a task, and measuring has to find out.
type Truth struct {
	Busy, Mem     float64 // shares of the GPU and of its bandwidth that it uses alone
	Rate          float64 // steps per second alone
	Context, Peak profile.Bytes
}

// Noise is the relative standard deviation of simulated speeds.
const Noise = 0.005

// TruthOf returns made-up values that differ between tasks.
func TruthOf(name string) Truth {
	i := slices.IndexFunc(plan.Catalogue, func(t plan.Task) bool { return t.Name == name })
	x := math.Mod(float64(i+1)*math.Phi, 1)
	y := math.Mod(float64(i+1)*math.Sqrt2, 1)
	return Truth{
		Busy: 0.2 + 0.8*x, Mem: 0.1 + 0.8*y, Rate: 5 + 195*(1-x),
		Context: 480 * profile.MiB, Peak: 500*profile.MiB + profile.Bytes(8*y*float64(profile.GiB)),
	}
}

// Speed returns how fast member i of a cell really runs, relative to alone.
//
// Under time-slicing busy times add up and switching costs 2 % for each
// neighbour. Under MPS, which itself costs 1 %, half of what is too much is
// hidden, bandwidth is shared, and a cap below the task's own use slows it down.
func Speed(c *plan.Cell, i int) float64 {
	if c.Alone() {
		return 1
	}
	total, bandwidth, own := 0.0, 0.0, TruthOf(c.Tasks[i])
	slow := 1.0
	for j, name := range c.Tasks {
		other := TruthOf(name)
		if s := c.Slot(j); s.Threads > 0 && s.Threads < other.Busy {
			if j == i {
				slow = s.Threads / other.Busy
			}
			other.Busy = s.Threads
		}
		total += other.Busy
		if j != i {
			bandwidth += float64(own.Mem * other.Mem)
		}
	}
	if c.Mechanism == profile.MPS {
		return 0.99 * slow / (1 + 0.5*max(0, total-1) + 0.2*bandwidth)
	}
	return (1 - 0.02*float64(len(c.Tasks)-1)) / max(1, total)
}

// noisy returns the speed with the error of one measurement, which depends on
// nothing but the cell.
func noisy(c *plan.Cell, i int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.ID())) // never fails
	rng := rand.New(rand.NewPCG(h.Sum64(), uint64(i)))
	return Speed(c, i) * (1 + Noise*rng.NormFloat64())
}
