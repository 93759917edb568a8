package mig

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Assignment gives each task an instance of its own.
type Assignment struct {
	// Layout holds the running instances and one for each task.
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
// 2^tasks · tasks).
func (t *Table) Best(running Layout, speed [][]float64) (best Assignment, ok bool, err error) {
	if err := t.Check(running); err != nil {
		return best, false, err
	}
	if len(speed) > maxTasks {
		return best, false, fmt.Errorf("packer/mig: best: %d tasks; at most %d fit a GPU", len(speed), maxTasks)
	}
	for i, row := range speed {
		if len(row) != len(t.profiles) {
			return best, false, fmt.Errorf("packer/mig: best: task %d has %d speeds; there are %d profiles", i, len(row), len(t.profiles))
		}
		for p, s := range row {
			if !(s >= 0) || math.IsInf(s, 0) {
				return best, false, fmt.Errorf("packer/mig: best: speed of task %d on %s is %v; want a finite number from 0", i, t.profiles[p].Name, s)
			}
		}
	}
	best.Value = -1
	for _, l := range containing(t.maximal, running) {
		a, fits := assign(l, running, speed)
		if fits && a.Value > best.Value {
			best, ok = a, true
		}
	}
	if !ok {
		return Assignment{}, false, nil
	}
	return best, true, nil
}

// assign gives the tasks the best of l's instances that are not running, by
// dynamic programming over sets of tasks.
func assign(l, running Layout, speed [][]float64) (Assignment, bool) {
	free := slices.DeleteFunc(slices.Clone(l), func(p Placement) bool { return slices.Contains(running, p) })
	full := 1<<len(speed) - 1
	const no = -1
	// value[n][set] is the best for the tasks of set on the first n instances,
	// took[n][set] the task on instance n-1, or no.
	value := make([][]float64, len(free)+1)
	took := make([][]int, len(free)+1)
	for n := range value {
		value[n] = make([]float64, full+1)
		took[n] = make([]int, full+1)
		for set := range value[n] {
			value[n][set], took[n][set] = no, no
			if n == 0 {
				continue
			}
			value[n][set] = value[n-1][set]
			for i := range speed {
				s := speed[i][free[n-1].Profile]
				if set>>i&1 == 0 || s == 0 || value[n-1][set&^(1<<i)] == no {
					continue
				}
				if v := value[n-1][set&^(1<<i)] + s; v > value[n][set] {
					value[n][set], took[n][set] = v, i
				}
			}
		}
		value[n][0] = 0
	}
	if value[len(free)][full] == no {
		return Assignment{}, false
	}
	out := Assignment{Layout: slices.Clone(running), Instance: make([]int, len(speed)), Value: value[len(free)][full]}
	where := make([]Placement, len(speed))
	set := full
	for n := len(free); n > 0 && bits.OnesCount(uint(set)) > 0; n-- {
		if i := took[n][set]; i != no {
			where[i] = free[n-1]
			out.Layout = append(out.Layout, free[n-1])
			set &^= 1 << i
		}
	}
	slices.SortFunc(out.Layout, func(a, b Placement) int { return a.Start - b.Start })
	for i, p := range where {
		out.Instance[i] = slices.Index(out.Layout, p)
	}
	return out, true
}
