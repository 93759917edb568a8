package instance

// Bonus returns what those of tasks save that are at home on gpu.
func (in *Instance) Bonus(gpu int, tasks []int32) int64 {
	if !in.Here[gpu] {
		return 0
	}
	sum := int64(0)
	for _, i := range tasks {
		sum += in.StayOn(gpu, i)
	}
	return sum
}

// StayOn returns what task i saves on gpu; i may be none.
func (in *Instance) StayOn(gpu int, i int32) int64 {
	if i == none || int(in.Home[i]) != gpu {
		return 0
	}
	return in.Stay[i]
}

// Hope returns the most that tasks i and j, which may be none, can save together
// on one GPU of class k.
func (in *Instance) Hope(k int, i, j int32) int64 {
	a, b := in.StayIn(k, i), in.StayIn(k, j)
	if a > 0 && b > 0 && in.Home[i] != in.Home[j] {
		return max(a, b)
	}
	return a + b
}

// StayIn returns what task i saves at home if that is in class k.
func (in *Instance) StayIn(k int, i int32) int64 {
	if i == none || in.Home[i] == none || in.ByGPU[in.Home[i]] != k {
		return 0
	}
	return in.Stay[i]
}

// HomesLast returns GPUs in their order, those that are somebody's home last.
func (in *Instance) HomesLast(gpus []int) []int {
	if !in.Homes {
		return gpus
	}
	var out, last []int
	for _, g := range gpus {
		if in.Here[g] {
			last = append(last, g)
		} else {
			out = append(out, g)
		}
	}
	return append(out, last...)
}
