package speed

import (
	"fmt"
	"math"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Stages is the model of Muri (Zhao et al., SIGCOMM 2022,
// doi:10.1145/3544216.3544224): tasks of a set take turns, such that while one
// loads data another computes and a third exchanges gradients. A set of k tasks
// finishes one iteration of each in a cycle of
//
//	T = Overhead[k-1] · min over the orders of the tasks of T(order)
//
// where T(order) is the period of the pipeline in which, at each step, the tasks
// of the set stand one stage apart, and speed(i) = Iteration(i) / T. A pair may
// also swap as wholes: max(load₁, compute₂ + exchange₂) + max(load₂, compute₁ +
// exchange₁). Of more than four tasks, which Muri never groups, fours take turns:
// their cycles add up. Tasks without stages are refused.
//
// The zero value has the overheads that the authors measured, 1.015 alone and
// 1.33, 1.5, 1.37 over 1.015 for two, three and four (their simulator,
// github.com/Rivendile/Muri 7264b1a, jobs.py).
type Stages struct {
	Overhead [4]float64
}

var _ sim.Model = Stages{}

// The overheads that the authors measured, see Stages.
const (
	muriAlone = 1.015
	muriTwo   = 1.33 / 1.015
	muriThree = 1.5 / 1.015
	muriFour  = 1.37 / 1.015
)

// Speeds implements [sim.Model].
func (m Stages) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	cycle := 0.0
	for four := range slices.Chunk(set, 4) {
		var times [4]sim.StageTimes
		for i, t := range four {
			if times[i] = t.Stages; t.Stages.Iteration <= 0 {
				return fmt.Errorf("Stages: task %q has no stages", t.ID)
			}
		}
		cycle += m.Cycle(times[:len(four)])
	}
	if cycle <= 0 {
		return fmt.Errorf("Stages: no stage of the set of task %q takes any time", set[0].ID)
	}
	for i, t := range set {
		dst[i] = gpu.Compute() * float64(t.Stages.Iteration) / cycle
	}
	return nil
}

// Cycle is the time in which each of one to four tasks does one iteration, in
// nanoseconds, overhead included; 0 for any other number. O(tasks!).
func (m Stages) Cycle(times []sim.StageTimes) float64 {
	k := len(times)
	if k == 0 || k > 4 {
		return 0
	}
	overhead := m.Overhead
	if overhead == [4]float64{} {
		overhead = [4]float64{muriAlone, muriTwo, muriThree, muriFour}
	}
	if k == 1 {
		return float64(times[0].Iteration) * overhead[0]
	}
	var st [4][3]float64
	for i, t := range times {
		st[i] = [3]float64{float64(t.Load), float64(t.Compute), float64(t.Exchange)}
	}
	best := math.Inf(1)
	permute(st[:k], 0, func() { best = min(best, period(st[:k])) })
	if k == 2 {
		a, b := st[0], st[1]
		best = min(best, max(a[0], b[1]+b[2])+max(b[0], a[1]+a[2]))
	}
	return best * overhead[k-1]
}

// permute calls visit for every order of x; x ends as it began.
func permute[T any](x []T, from int, visit func()) {
	if from == len(x) {
		visit()
		return
	}
	for i := from; i < len(x); i++ {
		x[from], x[i] = x[i], x[from]
		permute(x, from+1, visit)
		x[from], x[i] = x[i], x[from]
	}
}

// period is the length of a round of four steps once the pipeline is full. At
// step i the task in place i+1 exchanges, that in place i+2 computes, and that in
// place i+3 loads, modulo four. Loading, from storage and then by the CPUs, has two
// steps, so that two tasks may load at a time.
func period(st [][3]float64) float64 {
	const steps = 8
	var done [steps + 1]float64
	for i := range steps {
		end := done[i+1]
		if p := (i + 1) % 4; p < len(st) {
			end = max(end, done[i]+st[p][2])
		}
		if p := (i + 2) % 4; p < len(st) {
			end = max(end, done[i]+st[p][1])
		}
		if p := (i + 3) % 4; p < len(st) && i > 0 {
			end = max(end, done[i-1]+st[p][0])
		}
		done[i+1] = end
		if i >= 4 && close3(done[i+1]-done[i-3], done[i]-done[i-4]) {
			return done[i+1] - done[i-3]
		}
	}
	return done[steps] - done[steps-4]
}

// close3 is equality to one part in a thousand.
func close3(a, b float64) bool {
	return math.Abs(a-b) <= 1e-3*max(math.Abs(a), math.Abs(b)) && a > 0
}
