package main

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/profile"
)

// truth is what the simulation knows of a task, and measuring has to find out.
type truth struct {
	busy, mem     float64 // shares of the GPU and of its bandwidth that it uses alone
	rate          float64 // steps per second alone
	context, peak profile.Bytes
}

// noise is the relative standard deviation of simulated speeds.
const noise = 0.005

// truthOf returns made-up values that differ between tasks.
func truthOf(name string) truth {
	i := slices.IndexFunc(catalogue, func(t task) bool { return t.name == name })
	x := math.Mod(float64(i+1)*math.Phi, 1)
	y := math.Mod(float64(i+1)*math.Sqrt2, 1)
	return truth{
		busy: 0.2 + 0.8*x, mem: 0.1 + 0.8*y, rate: 5 + 195*(1-x),
		context: 480 * profile.MiB, peak: 500*profile.MiB + profile.Bytes(8*y*float64(profile.GiB)),
	}
}

// speed returns how fast member i of a cell really runs, relative to alone.
//
// Under time-slicing busy times add up and switching costs 2 % for each
// neighbour. Under MPS, which itself costs 1 %, half of what is too much is
// hidden, bandwidth is shared, and a cap below the task's own use slows it down.
func speed(c *cell, i int) float64 {
	if c.alone() {
		return 1
	}
	total, bandwidth, own := 0.0, 0.0, truthOf(c.Tasks[i])
	slow := 1.0
	for j, name := range c.Tasks {
		other := truthOf(name)
		if s := c.slot(j); s.threads > 0 && s.threads < other.busy {
			if j == i {
				slow = s.threads / other.busy
			}
			other.busy = s.threads
		}
		total += other.busy
		if j != i {
			bandwidth += float64(own.mem * other.mem)
		}
	}
	if c.Mechanism == profile.MPS {
		return 0.99 * slow / (1 + 0.5*max(0, total-1) + 0.2*bandwidth)
	}
	return (1 - 0.02*float64(len(c.Tasks)-1)) / max(1, total)
}

// noisy returns the speed with the error of one measurement, which depends on
// nothing but the cell.
func noisy(c *cell, i int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.id())) // never fails
	rng := rand.New(rand.NewPCG(h.Sum64(), uint64(i)))
	return speed(c, i) * (1 + noise*rng.NormFloat64())
}
