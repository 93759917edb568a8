package packer

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
