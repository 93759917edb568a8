package mig

import (
	"fmt"
	"math"
	"slices"
)

// Assignment gives each task an instance.
type Assignment struct {
	// Layout holds the running instances and those of the tasks.
	Layout Layout
	// Instance[i] is an index into Layout: where task i runs.
	Instance []int
	// Value is the sum of the tasks' speeds.
	Value float64
}

// maxTasks is the number of tasks that Best accepts: no GPU has more instances.
const maxTasks = 8

// Best finds the layout that keeps the running instances and gives each task an
// instance of its own such that the sum of speeds is largest. speed[i][p] is
// what task i does on an instance of profile p; 0 means that it does not fit.
// ok is false if there is no such layout. Of equally good ones the first in the
// order of Layouts wins; instances that nobody uses are not created.
//
// It returns an error if running is no layout, if there are more than 8 tasks,
// or a speed is negative, NaN or infinite. O(maximal layouts · instances ·
// 2^tasks · tasks). Whoever asks again for the same running instances takes a
// [Choice].
func (t *Table) Best(running Layout, speed [][]float64) (best Assignment, ok bool, err error) {
	c, err := t.Choose(running)
	if err != nil {
		return best, false, err
	}
	return c.Best(speed)
}

// Choice finds best layouts for one set of running instances. It keeps buffers
// and is for one goroutine at a time.
type Choice struct {
	table   *Table
	running Layout
	options [][]Placement // instances that may be created together
	value   []float64
	took    []int8
}

// Choose prepares to find layouts that keep the running instances. It returns an
// error if running is no layout.
func (t *Table) Choose(running Layout) (*Choice, error) {
	if err := t.Check(running); err != nil {
		return nil, err
	}
	c := &Choice{table: t, running: slices.Clone(running)}
	var seen [][]int // how many of each profile every option has
	for _, l := range containing(t.maximal, running) {
		free := slices.DeleteFunc(slices.Clone(l), func(p Placement) bool { return slices.Contains(running, p) })
		count := make([]int, len(t.profiles))
		for _, p := range free {
			count[p.Profile]++
		}
		// What an earlier option has at least as many of adds nothing.
		if slices.ContainsFunc(seen, func(earlier []int) bool { return covers(earlier, count) }) {
			continue
		}
		seen = append(seen, count)
		c.options = append(c.options, free)
	}
	return c, nil
}

func covers(a, b []int) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// Best is [Table.Best] for the running instances of c.
func (c *Choice) Best(speed [][]float64) (best Assignment, ok bool, err error) {
	if err := c.check(speed); err != nil {
		return best, false, err
	}
	most, at := -1.0, -1
	for n, free := range c.options {
		if v := c.fill(free, speed); v > most {
			most, at = v, n
		}
	}
	if at < 0 {
		return best, false, nil
	}
	return c.assignment(c.options[at], speed), true, nil
}

func (c *Choice) check(speed [][]float64) error {
	if len(speed) > maxTasks {
		return fmt.Errorf("packer/mig: best: %d tasks; at most %d fit a GPU", len(speed), maxTasks)
	}
	profiles := c.table.profiles
	for i, row := range speed {
		if len(row) != len(profiles) {
			return fmt.Errorf("packer/mig: best: task %d has %d speeds; there are %d profiles", i, len(row), len(profiles))
		}
		for p, s := range row {
			if !(s >= 0) || math.IsInf(s, 0) {
				return fmt.Errorf("packer/mig: best: speed of task %d on %s is %v; want a finite number from 0", i, profiles[p].Name, s)
			}
		}
	}
	return nil
}

const no = -1 // no way, or no task

// fill returns the best sum of speeds of all tasks on the free instances, or no,
// by dynamic programming: value[n<<tasks|set] is the best for the tasks of set on
// the first n instances, took[…] the task on instance n-1, or no.
func (c *Choice) fill(free []Placement, speed [][]float64) float64 {
	if len(speed) > len(free) {
		return no
	}
	sets := 1 << len(speed)
	c.value = append(c.value[:0], make([]float64, sets*(len(free)+1))...)
	c.took = append(c.took[:0], make([]int8, sets*(len(free)+1))...)
	for set := 1; set < sets; set++ {
		c.value[set] = no
	}
	for n, p := range free {
		before, now, took := c.value[n*sets:], c.value[(n+1)*sets:], c.took[(n+1)*sets:]
		for set := range sets {
			now[set], took[set] = before[set], no
			for i := range speed {
				s, rest := speed[i][p.Profile], set&^(1<<i)
				if set>>i&1 == 0 || s == 0 || before[rest] == no {
					continue
				}
				if v := before[rest] + s; v > now[set] {
					now[set], took[set] = v, int8(i)
				}
			}
		}
	}
	return c.value[len(free)*sets+sets-1]
}

// assignment reads the best way to fill the free instances back.
func (c *Choice) assignment(free []Placement, speed [][]float64) Assignment {
	sets := 1 << len(speed)
	out := Assignment{Layout: slices.Clone(c.running), Instance: make([]int, len(speed)), Value: c.fill(free, speed)}
	where := make([]Placement, len(speed))
	set := sets - 1
	for n := len(free); n > 0; n-- {
		if i := c.took[n*sets+set]; i != no {
			where[i] = free[n-1]
			out.Layout = append(out.Layout, free[n-1])
			set &^= 1 << i
		}
	}
	slices.SortFunc(out.Layout, func(a, b Placement) int { return a.Start - b.Start })
	for i, p := range where {
		out.Instance[i] = slices.Index(out.Layout, p)
	}
	return out
}
