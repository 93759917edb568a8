package packtest

import (
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// SlowBest is the twin of every method: it tries every assignment of tasks to
// GPUs and returns the highest value in units. It asks the model itself.
func SlowBest(p *packer.Problem) int64 {
	members := make([][]*packer.Task, len(p.GPUs))
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			members[g] = append(members[g], &p.GPUs[g].Residents[i])
		}
	}
	var best int64 = -1
	var try func(i int)
	try = func(i int) {
		if i == len(p.Tasks) {
			total := int64(0)
			for g := range p.GPUs {
				v, ok := SlowValue(p, &p.GPUs[g], members[g])
				if !ok {
					return
				}
				total += v
				for _, t := range members[g] {
					if t.Home == p.GPUs[g].ID && t.MoveCost > 0 {
						total += max(1, int64(math.Round(t.EffectiveWeight()*PaceOf(p, t, &p.GPUs[g])*t.MoveCost/p.Unit())))
					}
				}
			}
			best = max(best, total)
			return
		}
		try(i + 1)
		for g := range members {
			members[g] = append(members[g], &p.Tasks[i])
			try(i + 1)
			members[g] = members[g][:len(members[g])-1]
		}
	}
	try(0)
	return best
}

// PaceOf returns the pace of t on gpu, 1 if nobody knows.
func PaceOf(p *packer.Problem, t *packer.Task, gpu *packer.GPU) float64 {
	if m, ok := p.Model.(packer.PaceModel); ok {
		return m.Pace(t, gpu)
	}
	return 1
}

// SlowValue returns the value of a set in units, and whether it is allowed.
func SlowValue(p *packer.Problem, gpu *packer.GPU, set []*packer.Task) (int64, bool) {
	if len(set) == 0 {
		return 0, true
	}
	unit := p.Unit()
	sum := func(set []*packer.Task, mech profile.Mechanism, limits bool) (int64, bool) {
		speeds := make([]float64, len(set))
		if err := p.Model.Speeds(set, gpu, mech, speeds); err != nil {
			return 0, false // a model that fails allows nothing
		}
		total := int64(0)
		for i, t := range set {
			if limits && (speeds[i] <= 0 || speeds[i] < t.MinSpeed) {
				return 0, false
			}
			if speeds[i] > 0 {
				total += max(1, int64(math.Round(t.EffectiveWeight()*PaceOf(p, t, gpu)*speeds[i]/unit)))
			}
		}
		return total, true
	}
	most := func(set []*packer.Task, limits bool) (int64, bool) {
		mechs := gpu.Mechanisms
		if len(mechs) == 0 {
			mechs = []profile.Mechanism{profile.TimeSlice}
		}
		if len(set) == 1 {
			mechs = []profile.Mechanism{profile.Exclusive}
		}
		var best int64 = -1
		for _, m := range mechs {
			if m == profile.Exclusive && len(set) > 1 {
				continue
			}
			if v, ok := sum(set, m, limits); ok {
				best = max(best, v)
			}
		}
		return best, best >= 0
	}
	if len(set) == len(gpu.Residents) {
		return most(set, false)
	}
	used := profile.Bytes(0)
	for i, t := range set {
		used += t.Memory
		if t.Alone && len(set) > 1 {
			return 0, false
		}
		if i >= len(gpu.Residents) && !slowLabels(gpu, set, i) {
			return 0, false
		}
	}
	if float64(used) > float64(gpu.Total())*(1-p.Limits.Headroom.Or(packer.DefaultHeadroom)) || len(set) > p.Limits.LargestSet() && len(set) > 1 {
		return 0, false
	}
	if len(set) > 1 && used+profile.Bytes(len(set)-1)*p.Limits.Together > gpu.Total() {
		return 0, false
	}
	v, ok := most(set, true)
	if !ok || len(set) == 1 {
		return v, ok
	}
	ref := int64(0)
	if n := len(gpu.Residents); n > 0 {
		ref, _ = most(set[:n], false)
	} else {
		for _, t := range set {
			if one, ok := most([]*packer.Task{t}, true); ok && t.Memory <= used {
				ref = max(ref, one)
			}
		}
	}
	return v, v > ref && float64(v) >= (1+p.Limits.MinGain)*float64(ref)
}

// SlowGangs is slowBest for gangs: it tries every way to open sets on GPUs of
// each kind and to put every task into one.
func SlowGangs(p *packer.Problem) int64 {
	type open struct {
		gpu   int
		width int
		tasks []*packer.Task
	}
	var sets []open
	kind, free := make([]int, len(p.GPUs)), make([]int, len(p.GPUs))
	for g := range p.GPUs {
		if len(p.GPUs[g].Residents) > 0 {
			s := open{gpu: g, width: max(1, p.GPUs[g].Residents[0].GPUs)}
			for i := range p.GPUs[g].Residents {
				s.tasks = append(s.tasks, &p.GPUs[g].Residents[i])
			}
			sets = append(sets, s)
			continue
		}
		for kind[g] = 0; len(p.GPUs[kind[g]].Residents) > 0 || !p.GPUs[kind[g]].Alike(&p.GPUs[g]); kind[g]++ {
		}
		free[kind[g]]++
	}
	best := int64(-1)
	var try func(i int)
	try = func(i int) {
		if i == len(p.Tasks) {
			total := int64(0)
			for _, s := range sets {
				v, ok := SlowValue(p, &p.GPUs[s.gpu], s.tasks)
				if !ok {
					return
				}
				total += v
			}
			best = max(best, total)
			return
		}
		t := &p.Tasks[i]
		width := max(1, t.GPUs)
		try(i + 1)
		for n := range sets {
			if sets[n].width == width {
				old := sets[n].tasks
				sets[n].tasks = append(slices.Clone(old), t)
				try(i + 1)
				sets[n].tasks = old
			}
		}
		for g := range free {
			if free[g] >= width {
				free[g] -= width
				sets = append(sets, open{g, width, []*packer.Task{t}})
				try(i + 1)
				sets = sets[:len(sets)-1]
				free[g] += width
			}
		}
	}
	try(0)
	return best
}

// slowLabels reports whether member i of set goes with the labels of gpu and of
// those before it.
func slowLabels(gpu *packer.GPU, set []*packer.Task, i int) bool {
	for _, label := range set[i].On {
		if !slices.Contains(gpu.Labels, label) {
			return false
		}
	}
	for _, o := range set[:i] {
		for _, way := range [2][2]*packer.Task{{set[i], o}, {o, set[i]}} {
			liked := len(way[0].Only) == 0
			for _, label := range way[1].Labels {
				if slices.Contains(way[0].Avoid, label) {
					return false
				}
				liked = liked || slices.Contains(way[0].Only, label)
			}
			if !liked {
				return false
			}
		}
	}
	return true
}
