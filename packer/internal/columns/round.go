package columns

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/search"
)

// rounding turns the solution of the linear program into a plan: the whole part
// of each column, then the sets that lose least.
type rounding struct {
	*Generation
	left  []int // tasks of each type
	seats []int // GPUs in each site
	made  []priced
	worth int64
}

// Round replaces the plan by the rounded solution of the linear program if that
// is better.
func (g *Generation) Round() {
	if g.bound == math.MaxInt64 || g.done() {
		return
	}
	r := &rounding{Generation: g}
	for _, m := range g.cat.Members {
		r.left = append(r.left, len(m))
	}
	for _, s := range g.sites {
		r.seats = append(r.seats, s.gpus)
	}
	const slack = 1e-3 // about as much as the noise in the limits
	for j, set := range g.Sets {
		r.place(set, int(g.lp.level(j)+slack))
	}
	order := make([]int, len(g.Sets))
	loss := make([]int64, len(order))
	for j, set := range g.Sets {
		order[j] = j
		loss[j] = g.most[set.site]*int64(g.width(set.site, set.types)) - instance.Quarters*g.gain(set.site, set.types)
		for _, t := range set.types {
			loss[j] += g.u[t]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loss[a], loss[b]) })
	for _, j := range order {
		r.place(g.Sets[j], math.MaxInt)
	}
	if instance.Quarters*r.worth > g.value {
		r.settle()
	}
}

// place puts up to copies of a set where there is room for them.
func (r *rounding) place(set priced, copies int) {
	width := r.width(set.site, set.types)
	for ; copies > 0 && r.seats[set.site] >= width; copies-- {
		for n, t := range set.types {
			if r.left[t]--; r.left[t] < 0 {
				for _, u := range set.types[:n+1] {
					r.left[u]++
				}
				return
			}
		}
		r.seats[set.site] -= width
		r.made = append(r.made, set)
		r.worth += r.gain(set.site, set.types)
	}
}

// settle makes the plan of the sets.
func (r *rounding) settle() {
	next := make([]int, len(r.cat.Members))
	take := func(t int32) int32 {
		next[t]++
		return r.cat.Members[t][next[t]-1]
	}
	bySite := make([][]priced, len(r.sites))
	for _, set := range r.made {
		bySite[set.site] = append(bySite[set.site], set)
	}
	for s := range r.Groups {
		to := &r.Groups[s]
		to.Tasks, to.Value, to.More, to.Part = to.Tasks[:0], r.In.Classes[to.Class].Base, nil, false
	}
	for s := range r.Groups {
		at := r.at[r.Groups[s].Gpu]
		if len(bySite[at]) == 0 || !search.Vacant(&r.Groups[s]) {
			continue
		}
		set := bySite[at][0]
		bySite[at] = bySite[at][1:]
		to := &r.Groups[search.Widen(r.In, r.Groups, s, r.cat.Members[set.types[0]][0])]
		for _, t := range set.types {
			to.Tasks = append(to.Tasks, take(t))
		}
		slices.Sort(to.Tasks)
		to.Value += r.gain(at, set.types)
	}
	r.Waiting = r.Waiting[:0]
	for t, m := range r.cat.Members {
		r.Waiting = append(r.Waiting, m[next[t]:]...)
	}
	r.tally()
}
