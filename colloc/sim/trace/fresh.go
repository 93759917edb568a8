package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
)

// Jitter returns a copy of tasks that might as well have been: each arrival moves
// by a normal error of a standard deviation, not before 0, and each length is
// multiplied by exp(spread · z). What a policy gains over such copies by more than
// their spread, it does not owe to the draw. Seed 0 is the trace itself.
func Jitter(tasks []sim.Task, arrival time.Duration, spread float64, seed uint64) []sim.Task {
	out := slices.Clone(tasks)
	if seed == 0 {
		return out
	}
	draw := rand.New(rand.NewPCG(seed, 0x6a6974746572))
	for i := range out {
		t := &out[i]
		t.Arrival = max(0, t.Arrival+time.Duration(round9(clipped(draw))*float64(arrival)))
		t.Work = scaled(t.Work, math.Exp(float64(spread*clipped(draw))))
	}
	return out
}

// clipped draws from a normal distribution without its far ends.
func clipped(draw *rand.Rand) float64 { return max(-4, min(4, draw.NormFloat64())) }

// scaled multiplies a length, within what a trace may hold.
func scaled(work time.Duration, factor float64) time.Duration {
	return max(1, time.Duration(min(float64(round9(factor)*float64(work)), float64(century))))
}

// Day describes fresh days that resemble a trace. Zero fields are those of the
// trace.
type Day struct {
	// Tasks is how many; 0 means as many as the trace has.
	Tasks int
	// Load is the work that arrives over what GPUs could do exclusively. It needs GPUs.
	// 0 keeps the trace's mean time between arrivals.
	Load float64
	GPUs int
	// Diurnal is how much the rate of arrivals swings over 24 hours, in [0, 1], as
	// in [Workload].
	Diurnal float64
	// Seed chooses the day.
	Seed uint64
}

// Fresh draws a day: its tasks are drawn from those of the trace, with
// replacement, each with all that belongs to it, and arrive at random without
// memory. It returns an error for an empty trace and a Day out of range.
func (d Day) Fresh(tasks []sim.Task) ([]sim.Task, error) {
	switch {
	case len(tasks) == 0:
		return nil, errors.New("trace: fresh day: there are no tasks to draw from")
	case d.Tasks < 0 || d.Tasks > 1<<26:
		return nil, fmt.Errorf("trace: fresh day: %d Tasks, want 0 to %d", d.Tasks, 1<<26)
	case !(d.Load >= 0 && d.Load <= 1000) || d.Load > 0 && d.GPUs < 1:
		return nil, fmt.Errorf("trace: fresh day: Load %v on %d GPUs, want 0 to 1000 and the number of GPUs that it is meant for", d.Load, d.GPUs)
	case !(d.Diurnal >= 0 && d.Diurnal <= 1):
		return nil, fmt.Errorf("trace: fresh day: a Diurnal of %v, want 0 to 1", d.Diurnal)
	}
	n := d.Tasks
	if n == 0 {
		n = len(tasks)
	}
	draw := rand.New(rand.NewPCG(d.Seed, 0x66726573682064))
	out := make([]sim.Task, n)
	w := Workload{Between: d.between(tasks), Diurnal: d.Diurnal}
	at := time.Duration(0)
	for i := range out {
		out[i] = tasks[draw.IntN(len(tasks))]
		at = w.arrival(draw, at)
		out[i].ID, out[i].Arrival = strconv.Itoa(i)+"-"+out[i].ID, at
	}
	return out, nil
}

// between is the mean time between arrivals.
func (d Day) between(tasks []sim.Task) time.Duration {
	if d.Load == 0 {
		first := slices.MinFunc(tasks, func(a, b sim.Task) int { return cmp.Compare(a.Arrival, b.Arrival) }).Arrival
		last := slices.MaxFunc(tasks, func(a, b sim.Task) int { return cmp.Compare(a.Arrival, b.Arrival) }).Arrival
		if last == first {
			return -1
		}
		return max(1, (last-first)/time.Duration(max(1, len(tasks)-1)))
	}
	work := 0.0
	for i := range tasks {
		if !tasks[i].HostOnly {
			work += float64(tasks[i].Work) * float64(max(1, tasks[i].GPUs)) / float64(len(tasks))
		}
	}
	return time.Duration(max(1, min(work/d.Load/float64(d.GPUs), float64(century))))
}

// Losses describes GPUs that fail at random, each on its own and without memory.
type Losses struct {
	// GPUs is how many there are, Every the mean time between two failures of one,
	// more than 0, For how long it is away.
	GPUs       int
	Every, For time.Duration
	// Seed chooses when.
	Seed uint64
}

// Until draws the failures up to a moment, GPU by GPU. At most a million are drawn.
func (l Losses) Until(end time.Duration) []sim.Loss {
	if l.Every <= 0 {
		return nil
	}
	draw := rand.New(rand.NewPCG(l.Seed, 0x6c6f73736573))
	var out []sim.Loss
	for g := range l.GPUs {
		at := time.Duration(0)
		for len(out) < 1<<20 {
			at += time.Duration(min(float64(round9(draw.ExpFloat64())*float64(l.Every)), float64(century)))
			if at >= end {
				break
			}
			out = append(out, sim.Loss{GPU: g, At: at, For: l.For})
			at += l.For
		}
	}
	return out
}
