package search

import (
	"context"
	"math"
	"math/bits"

	"example.com/colloc/packer/internal/instance"
)

// annealing improves a plan by exchanging two tasks, or moving one, between GPUs
// and the queue. It takes losses below a random threshold, which falls to almost
// nothing on the way (Kirkpatrick, Gelatt, Vecchi, Optimization by simulated
// annealing, 1983, doi:10.1126/science.220.4598.671).
//
// For one task after the other, all exchanges are looked at by estimates, about a
// nanosecond each, and the model is asked about the best only, if that is within
// its threshold; the answer decides (Christen, Fox, Markov chain Monte Carlo using
// an approximation, 2005, doi:10.1198/106186005X76983). A try costs O(groups +
// sets in question · tasks), an exchange that is made O(n).
//
// Everything is integers: a plan is the same on every machine.
type annealing struct {
	*Search
	*estimates
	draws   []int64 // of an exponential distribution; the half-life is 1 << logOne
	limits  []int64 // draws at the present temperature, in 256ths of a unit
	queue   bool    // a task may wait without another in its place
	total   int64
	highest int64   // total of the best plan
	ahead   bool    // the present plan is the best and not kept yet
	kept    []int32 // at and values of the best plan
	values  []int64
	mine    variant // of the task at hand
	other   variant
}

const (
	levels    = 100     // temperatures
	stepWork  = 1 << 13 // estimates in a step
	tryWork   = 16      // estimates that cost as much as what else is in a try
	askWork   = 400     // estimates that cost as much as asking the model
	drawn     = 1 << 10 // places to begin in draws
	logOne    = 20
	startHeat = 5  // the first temperature is the mean loss of a task over this
	endHeat   = 20 // and the last is the first over this
	triesPoll = 64 // tries between two looks at the context
)

// Anneal takes the given number of steps and leaves the best plan found.
func (s *Search) Anneal(ctx context.Context, steps int) error {
	e, err := s.estimate(ctx)
	if e == nil {
		return err
	}
	a := &annealing{
		Search: s, estimates: e, draws: make([]int64, drawn+e.m+1), limits: make([]int64, drawn+e.m+1),
		kept: make([]int32, e.n), values: make([]int64, e.m),
	}
	for x := range a.draws {
		// The binary logarithm of a random number, linear between powers of two.
		u := s.Rng.Uint64()
		z := bits.LeadingZeros64(u) + 1
		a.draws[x] = int64(z)<<logOne - int64(u<<z>>(64-logOne))
	}
	a.total = s.total()
	a.highest, a.ahead = a.total, true
	err = a.cool(ctx, steps)
	a.restore()
	return err
}

// cool tries the tasks in turn at falling temperatures. Each try is tryWork at least.
func (a *annealing) cool(ctx context.Context, steps int) error {
	lost, running := int64(0), int64(1)
	for g := range a.Groups {
		lost += a.lost(g)
		running += int64(len(a.Groups[g].Tasks))
	}
	first := max(1, lost/running/startHeat)
	last := first / endHeat
	share := min(steps, math.MaxInt/stepWork) * stepWork / levels
	i, tries, work := 0, 0, 0
	for level := range levels {
		temperature := first - (first-last)*int64(level)/(levels-1)
		for x, d := range a.draws {
			a.limits[x] = temperature * d >> (logOne - 8)
		}
		a.queue = level >= levels/2 // earlier too many would leave
		for work < share*(level+1) {
			if tries++; tries%triesPoll == 0 && ctx.Err() != nil {
				return nil //nolint:nilerr // a cancelled run has a plan; the caller asks ctx
			}
			took, err := a.try(int32(i))
			if err != nil {
				return err
			}
			work += took
			if i++; i == a.n {
				i = 0
			}
		}
	}
	return nil
}

// try makes the exchange of task i that looks best beside its threshold, if the
// model agrees, and returns the work done.
func (a *annealing) try(i int32) (int, error) {
	if a.top[i] == 0 {
		return tryWork, nil
	}
	limits := a.limits[a.Rng.IntN(drawn):][:a.m+1]
	with, to, work := a.bestExchange(i, limits)
	if to < 0 {
		return work, nil
	}
	made, err := a.exchange(i, with, to, limits[to]>>8)
	if made {
		work += 4 * a.n
	}
	return work + askWork, err
}

// keep notes the present plan if it is the best.
func (a *annealing) keep() {
	if !a.ahead {
		return
	}
	a.ahead = false
	copy(a.kept, a.at)
	for g := range a.Groups {
		a.values[g] = a.Groups[g].Value
	}
}

// restore returns to the best plan.
func (a *annealing) restore() {
	a.keep()
	for g := range a.Groups {
		a.Groups[g].Tasks, a.Groups[g].Value = a.Groups[g].Tasks[:0], a.values[g]
	}
	a.Waiting = a.Waiting[:0]
	for i, g := range a.kept {
		if int(g) == a.m {
			a.Waiting = append(a.Waiting, int32(i))
		} else {
			a.Groups[g].Tasks = append(a.Groups[g].Tasks, int32(i))
		}
	}
}

// bestExchange returns the group to which task i might go, the last and one for
// the queue, and the task to put in its place, or none: the exchange that gains
// most beside its threshold by the estimates; group -1 if none is within it. Of
// two tasks one loses no more than half of what both do, so that an exchange that
// is out of the question for task i alone is left to the other. It also returns
// the number of estimates.
func (a *annealing) bestExchange(i int32, limits []int64) (with int32, to, work int) {
	from, best := int(a.at[i]), int64(1)
	with, to, work = none, -1, a.m+tryWork
	row, own := a.loss[int(i)*a.n:][:a.n], a.own[i]
	costs := a.costs[int(i)*a.m:][:a.m]
	shares, within := a.share[:len(costs)], limits[:len(costs)]
	for h, c := range costs {
		share, over := shares[h], own+within[h]
		if share*int64(c.least) > over || h == from {
			continue
		}
		if c.least == unasked && share*int64(a.least(i, h)) > over {
			continue
		}
		for _, j := range a.Groups[h].Tasks {
			d := share*int64(c.all-row[j]) - over - a.own[j]
			if from < a.m {
				d += a.share[from] * int64(a.costs[int(j)*a.m+from].all-row[j])
			} else {
				d += whole * a.top[j]
			}
			if d < best && a.fits(h, j, i) && a.fits(from, i, j) {
				best, with, to = d, j, h
			}
		}
		if d := share*int64(c.all) - over; d < best && a.fits(h, none, i) {
			best, with, to = d, none, h
		}
		work += len(a.Groups[h].Tasks)
	}
	if d := whole*a.top[i] - own - limits[a.m]; d < best && from < a.m && a.queue {
		with, to = none, a.m
	}
	return with, to, work
}

// fits reports whether group g, or the queue, has a seat and memory for task in
// instead of out, which may be none.
func (a *annealing) fits(g int, out, in int32) bool {
	if g == a.m {
		return true
	}
	tasks := a.Groups[g].Tasks
	c := &a.In.Classes[a.Groups[g].Class]
	if out == none && len(tasks)+len(c.Residents) >= a.In.MaxSet {
		return false
	}
	n := len(tasks) + len(c.Residents) + 1
	if out != none {
		n--
	}
	room := c.Offer(n) - c.Used - a.In.Tasks[in].Memory
	for _, i := range tasks {
		if i != out {
			room -= a.In.Tasks[i].Memory
		}
	}
	return room >= 0
}

// exchange puts task i into group to, and task with, if any, where i was, if that
// is allowed and loses no more than limit. It reports whether it did.
func (a *annealing) exchange(i, with int32, to int, limit int64) (bool, error) {
	from := int(a.at[i])
	loss, err := a.change(&a.mine, from, i, with)
	if err != nil || loss == refused {
		return false, err
	}
	other, err := a.change(&a.other, to, with, i)
	if loss += other; err != nil || loss > limit {
		return false, err
	}
	if loss > 0 {
		a.keep()
	}
	a.adopt(from, a.mine, i, with)
	a.adopt(to, a.other, with, i)
	if a.total -= loss; a.total > a.highest {
		a.highest, a.ahead = a.total, true
	}
	return true, nil
}

// variant is a set that a group might have.
type variant struct {
	tasks []int32
	value int64
}

// refused is the loss by a set that is not allowed.
const refused = 1 << 60

// change sets c to group g with task in instead of out, each of which may be
// none, and returns what the group loses by it. The queue loses nothing.
func (a *annealing) change(c *variant, g int, out, in int32) (int64, error) {
	if g == a.m {
		return 0, nil
	}
	to := &a.Groups[g]
	c.tasks = c.tasks[:0]
	for _, i := range to.Tasks {
		if i != out {
			c.tasks = append(c.tasks, i)
		}
	}
	if in != none {
		c.tasks = instance.Insert(c.tasks, in)
	}
	v, err := a.worth(to.Class, c.tasks)
	if err != nil || v == 0 && len(c.tasks) > 0 {
		return refused, err
	}
	c.value = v + a.In.Bonus(int(to.Gpu), c.tasks)
	return to.Value - c.value, nil
}

// adopt makes a change: task in instead of out in group g.
func (a *annealing) adopt(g int, c variant, out, in int32) {
	if g == a.m {
		if in != none {
			a.wait(in)
		}
		return
	}
	if in != none {
		a.at[in] = int32(g)
	}
	to := &a.Groups[g]
	to.Tasks, to.Value = append(to.Tasks[:0], c.tasks...), c.value
	a.replace(g, out, in)
	a.learn(g)
}
