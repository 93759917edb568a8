package mig

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// BestShared is [Table.Best] where tasks may share an instance, as by MPS inside
// it. value(members, p) is the sum of speeds of the tasks in members, a bit set
// of task numbers that is never empty, on one instance of profile p, and 0 where
// they cannot run there together. It is asked once for each set and profile and
// must not be negative, NaN or infinite.
//
// ok is false if the tasks cannot all run. Errors as for Best.
// O(maximal layouts · instances · 3^tasks), and profiles · 2^tasks values.
func (t *Table) BestShared(running Layout, tasks int, value func(members uint, profile int) float64) (best Assignment, ok bool, err error) {
	c, err := t.Choose(running)
	if err != nil {
		return best, false, err
	}
	if tasks < 0 || tasks > maxTasks {
		return best, false, fmt.Errorf("packer/mig: best: %d tasks; want 0 to %d", tasks, maxTasks)
	}
	values, err := c.together(tasks, value)
	if err != nil {
		return best, false, err
	}
	s := sharing{tasks: tasks, values: values}
	most, at := float64(no), -1
	for n, free := range c.options {
		if v := s.fill(free); v > most {
			most, at = v, n
		}
	}
	if at < 0 {
		return best, false, nil
	}
	return s.assignment(c.running, c.options[at]), true, nil
}

// together asks for all values: [profile][members].
func (c *Choice) together(tasks int, value func(members uint, profile int) float64) ([][]float64, error) {
	values := make([][]float64, len(c.table.profiles))
	for p := range values {
		values[p] = make([]float64, 1<<tasks)
		for set := 1; set < 1<<tasks; set++ {
			v := value(uint(set), p)
			if !(v >= 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("packer/mig: best: the value of tasks %b on %s is %v; want a finite number from 0", set, c.table.profiles[p].Name, v)
			}
			values[p][set] = v
		}
	}
	return values, nil
}

// sharing finds the best way to put sets of tasks on instances by dynamic
// programming.
type sharing struct {
	tasks  int
	values [][]float64
	best   [][]float64 // [instances][set]: the best for set on the first instances, or no
	took   [][]uint    // the part of set that the last of them takes
}

// fill returns the best sum for all tasks on the free instances, or no.
func (s *sharing) fill(free []Placement) float64 {
	sets := uint(1) << s.tasks
	s.best, s.took = make([][]float64, len(free)+1), make([][]uint, len(free)+1)
	s.best[0] = make([]float64, sets)
	for set := uint(1); set < sets; set++ {
		s.best[0][set] = no
	}
	for n, p := range free {
		before, now, took := s.best[n], slices.Clone(s.best[n]), make([]uint, sets)
		for set := uint(1); set < sets; set++ {
			for part := set; part > 0; part = (part - 1) & set {
				v, rest := s.values[p.Profile][part], before[set&^part]
				if v > 0 && rest != no && rest+v > now[set] {
					now[set], took[set] = rest+v, part
				}
			}
		}
		s.best[n+1], s.took[n+1] = now, took
	}
	return s.best[len(free)][sets-1]
}

// assignment reads the best way to use the free instances back.
func (s *sharing) assignment(running Layout, free []Placement) Assignment {
	out := Assignment{Layout: slices.Clone(running), Instance: make([]int, s.tasks), Value: s.fill(free)}
	where := make([]Placement, s.tasks)
	set := uint(1)<<s.tasks - 1
	for n := len(free); n > 0; n-- {
		part := s.took[n][set]
		if part == 0 {
			continue
		}
		out.Layout = append(out.Layout, free[n-1])
		for rest := part; rest > 0; rest &= rest - 1 {
			where[bits.TrailingZeros(rest)] = free[n-1]
		}
		set &^= part
	}
	slices.SortFunc(out.Layout, func(a, b Placement) int { return a.Start - b.Start })
	for i, p := range where {
		out.Instance[i] = slices.Index(out.Layout, p)
	}
	return out
}
