package packer

import (
	"context"
	"slices"
)

// homes are the GPUs on which tasks run that may be moved. A set is worth more by
// the cost saved for each member that stays: on its home GPU alone, so GPUs of
// one class differ by that. The value of a set on GPU g is
//
//	W(class of g, S) + Σ stay(i)  for i ∈ S with home(i) = g
type homes struct {
	any  bool
	home []int32 // GPU of each task, or none
	stay []int64 // units
	here []bool  // by GPU: somebody's home
}

func (in *instance) findHomes() {
	in.home = make([]int32, len(in.tasks))
	in.stay = make([]int64, len(in.tasks))
	in.here = make([]bool, len(in.p.GPUs))
	index := map[string]int{}
	for i, t := range in.tasks {
		in.home[i] = none
		if t.Home == "" {
			continue
		}
		if len(index) == 0 {
			for g := range in.p.GPUs {
				index[in.p.GPUs[g].ID] = g
			}
		}
		g := index[t.Home]
		in.home[i], in.here[g], in.any = int32(g), true, true
		in.stay[i] = in.units(t.weight(), t.MoveCost)
	}
}

// bonus returns what those of tasks save that are at home on gpu.
func (in *instance) bonus(gpu int, tasks []int32) int64 {
	if !in.here[gpu] {
		return 0
	}
	sum := int64(0)
	for _, i := range tasks {
		sum += in.stayOn(gpu, i)
	}
	return sum
}

// stayOn returns what task i saves on gpu; i may be none.
func (in *instance) stayOn(gpu int, i int32) int64 {
	if i == none || int(in.home[i]) != gpu {
		return 0
	}
	return in.stay[i]
}

// hope returns the most that tasks i and j, which may be none, can save together
// on one GPU of class k.
func (in *instance) hope(k int, i, j int32) int64 {
	a, b := in.stayIn(k, i), in.stayIn(k, j)
	if a > 0 && b > 0 && in.home[i] != in.home[j] {
		return max(a, b)
	}
	return a + b
}

// stayIn returns what task i saves at home if that is in class k.
func (in *instance) stayIn(k int, i int32) int64 {
	if i == none || in.home[i] == none || in.byGPU[in.home[i]] != k {
		return 0
	}
	return in.stay[i]
}

// homesLast returns GPUs in their order, those that are somebody's home last.
func (in *instance) homesLast(gpus []int) []int {
	if !in.any {
		return gpus
	}
	var out, last []int
	for _, g := range gpus {
		if in.here[g] {
			last = append(last, g)
		} else {
			out = append(out, g)
		}
	}
	return append(out, last...)
}

// hopeful returns the table in which the sets on free classes are worth what
// they would be on the best of their members' homes: no less than on any GPU.
func (t *table) hopeful(ctx context.Context) *table {
	if !t.in.any {
		return t
	}
	h := *t
	h.gain = make([][]int64, len(t.gain))
	for k, gain := range t.gain {
		h.gain[k] = slices.Clone(gain)
		for i, v := range gain {
			if v > 0 {
				h.gain[k][i] += t.in.stayIn(k, int32(i))
			}
		}
	}
	h.single, h.pair = make([][]int64, len(t.single)), make([][]int32, len(t.pair))
	for k := range t.single {
		h.single[k] = slices.Clone(t.single[k])
		h.pair[k] = slices.Clone(t.pair[k])
		for i := range int32(t.n) {
			if ctx.Err() != nil {
				break // nobody will look at it
			}
			if h.single[k][i] > 0 {
				h.single[k][i] += t.in.stayIn(k, i)
			}
			t.hopeFor(h.pair[k], k, i)
		}
	}
	return &h
}

// hopeFor writes to pair the hopeful values of task i's pairs on free class k.
func (t *table) hopeFor(pair []int32, k int, i int32) {
	if t.in.stayIn(k, i) == 0 || t.pair[k] == nil {
		return
	}
	for j := range int32(t.n) {
		if at := int(i)*t.n + int(j); t.pair[k][at] > 0 {
			pair[at] = t.pair[k][at] + int32(quarters*t.in.hope(k, i, j))
			pair[int(j)*t.n+int(i)] = pair[at]
		}
	}
}

// stayHome returns the plan that leaves every task at home that may be there with
// those before it, and all others waiting.
func stayHome(in *instance, value valuer) (*plan, error) {
	pl := newPlan(in)
	at := map[int32]*seat{}
	for i, h := range in.home {
		if h == none {
			continue
		}
		k := in.byGPU[h]
		s := at[h]
		if s == nil {
			s = &seat{class: k, ref: in.classes[k].base}
			at[h] = s
		}
		units, ref := int64(0), s.ref
		if k < in.free {
			alone, err := value.singleValue(k, i)
			if err != nil {
				return nil, err
			}
			units, ref = alone, max(ref, alone)
		}
		if k >= in.free || len(s.tasks) > 0 {
			var err error
			if len(s.tasks)+len(in.classes[k].residents) >= in.maxSet {
				continue
			}
			if units, err = value.setValue(k, append(s.tasks, int32(i)), ref); err != nil {
				return nil, err
			}
		}
		if units > 0 {
			s.tasks, s.ref, pl.gpu[i] = append(s.tasks, int32(i)), ref, h
		}
	}
	return pl, nil
}
