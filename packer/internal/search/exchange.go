package search

import (
	"example.com/colloc/packer/internal/instance"
)

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
	room := c.Usable - c.Used - a.In.Tasks[in].Memory
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
