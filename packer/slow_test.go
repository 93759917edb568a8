package packer

import (
	"math"

	"example.com/colloc/profile"
)

// slowMatching is blossom's twin: it tries every matching.
func slowMatching(n int, edges []edge, floor []int64) int64 {
	w := make([][]int64, n)
	for i := range w {
		w[i] = make([]int64, n)
		for j := range w[i] {
			w[i][j] = -1 << 40
		}
	}
	for _, e := range edges {
		w[e.u][e.v], w[e.v][e.u] = e.w, e.w
	}
	memo := make([]int64, 1<<n)
	for used := (1 << n) - 2; used >= 0; used-- {
		v := 0
		for used>>v&1 == 1 {
			v++
		}
		best := floor[v] + memo[used|1<<v]
		for u := v + 1; u < n; u++ {
			if used>>u&1 == 0 {
				best = max(best, w[v][u]+memo[used|1<<v|1<<u])
			}
		}
		memo[used] = best
	}
	return memo[0]
}

// slowBest is the twin of every method: it tries every assignment of tasks to
// GPUs and returns the highest value in units. It asks the model itself.
func slowBest(p *Problem) int64 {
	members := make([][]*Task, len(p.GPUs))
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
				v, ok := slowValue(p, &p.GPUs[g], members[g])
				if !ok {
					return
				}
				total += v
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

// slowValue returns the value of a set in units, and whether it is allowed.
func slowValue(p *Problem, gpu *GPU, set []*Task) (int64, bool) {
	if len(set) == 0 {
		return 0, true
	}
	unit := unitOf(p)
	sum := func(set []*Task, mech profile.Mechanism, limits bool) (int64, bool) {
		speeds := make([]float64, len(set))
		if err := p.Model.Speeds(set, gpu, mech, speeds); err != nil {
			panic(err)
		}
		total := int64(0)
		for i, t := range set {
			if limits && (speeds[i] <= 0 || speeds[i] < t.MinSpeed) {
				return 0, false
			}
			if speeds[i] > 0 {
				total += max(1, int64(math.Round(t.weight()*speeds[i]/unit)))
			}
		}
		return total, true
	}
	most := func(set []*Task, limits bool) (int64, bool) {
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
	for _, t := range set {
		used += t.Memory
		if t.Alone && len(set) > 1 {
			return 0, false
		}
	}
	if float64(used) > float64(gpu.memory())*(1-p.Limits.headroom()) || len(set) > p.Limits.maxSet() && len(set) > 1 {
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
			if one, ok := most([]*Task{t}, true); ok && t.Memory <= used {
				ref = max(ref, one)
			}
		}
	}
	return v, v > ref && float64(v) >= (1+p.Limits.MinGain)*float64(ref)
}
