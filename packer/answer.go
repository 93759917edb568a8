package packer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// Answer evaluates pl as the result of a method that ctx may have cut short. pr
// is nil if the method proves nothing.
func (d *Compiled) Answer(ctx context.Context, pl *instance.Plan, pr *instance.Proof, method string) (*Solution, error) {
	stop := ctx.Err()
	s, err := d.solution(pl, pr, method, stop != nil)
	if err != nil {
		return nil, err
	}
	return s, stop
}

// solution evaluates pl and explains it.
func (d *Compiled) solution(pl *instance.Plan, pr *instance.Proof, method string, stopped bool) (*Solution, error) {
	d.inOrder(pl)
	members := make([][]int32, len(d.door.p.GPUs))
	for i, g := range pl.Gpu {
		if g != none {
			members[g] = append(members[g], int32(i))
		}
	}
	s := &Solution{Sets: []Set{}, Bound: math.Inf(1), Method: method}
	if pr != nil {
		s.Bound, s.Certificate = float64(pr.Bound)*(d.Unit/instance.Quarters), d.certificate(pr)
	}
	e, total := instance.NewEvaluator(d.Instance), int64(0)
	for g := range members {
		if len(members[g])+len(d.door.p.GPUs[g].Residents) == 0 {
			continue
		}
		set, units, err := d.finishSet(e, g, members[g])
		if err != nil {
			return nil, err
		}
		for _, o := range pl.More[int32(g)] {
			set.Gang = append(set.Gang, int(o))
		}
		total += units
		s.Sets = append(s.Sets, set)
	}
	s.Throughput = d.Value(total)
	reasons, err := d.reasons(e, pl, stopped)
	s.Reasons = reasons
	return s, err
}

// inOrder gives GPUs that are alike their sets in the order of IDs, whatever the method:
// gangs and homes stay where they are.
func (d *Compiled) inOrder(pl *instance.Plan) {
	if d.Homes || len(pl.More) > 0 {
		return
	}
	var used []int32 // GPUs, in the order of their first tasks, which are sorted by ID
	seen := make([]bool, len(d.door.p.GPUs))
	for _, g := range pl.Gpu {
		if g != none && !seen[g] {
			used, seen[g] = append(used, g), true
		}
	}
	like := make(map[int][]int32) // those in use by class, in the order of their IDs
	for _, g := range slices.SortedFunc(slices.Values(used), func(a, b int32) int {
		return cmp.Compare(d.door.p.GPUs[a].ID, d.door.p.GPUs[b].ID)
	}) {
		like[d.ByGPU[g]] = append(like[d.ByGPU[g]], g)
	}
	to := make(map[int32]int32, len(used))
	for _, g := range used {
		k := d.ByGPU[g]
		to[g], like[k] = like[k][0], like[k][1:]
	}
	for i, g := range pl.Gpu {
		if g != none {
			pl.Gpu[i] = to[g]
		}
	}
}

// certificate writes prices as their caller sees them.
func (d *Compiled) certificate(pr *instance.Proof) *Certificate {
	scale := d.Unit / instance.Quarters
	c := &Certificate{U: make([]float64, len(pr.Tasks)), Lambda: make([]float64, len(pr.GPUs))}
	for i, o := range d.Origin {
		c.U[o] = float64(pr.Tasks[i]) * scale
	}
	for g, price := range pr.GPUs {
		c.Lambda[g] = float64(price) * scale
	}
	for _, odd := range pr.Odd {
		set := OddSet{GPUs: odd.GPUs, Z: float64(odd.Price) * scale}
		for _, i := range odd.Tasks {
			set.Tasks = append(set.Tasks, d.Origin[i])
		}
		slices.Sort(set.Tasks)
		slices.Sort(set.GPUs)
		c.Odd = append(c.Odd, set)
	}
	return c
}

// finishSet evaluates the set on GPU g.
func (d *Compiled) finishSet(e *instance.Evaluator, g int, members []int32) (Set, int64, error) {
	c := &d.Classes[d.ByGPU[g]]
	slices.SortFunc(members, func(a, b int32) int { return d.Origin[a] - d.Origin[b] })
	set := Set{GPU: g, Tasks: make([]int, len(members))}
	for k, i := range members {
		set.Tasks[k] = d.Origin[i]
	}
	v := instance.Verdict{Units: c.Base, Mech: c.BaseMech}
	if len(members) == 0 {
		copy(e.Best, c.BaseSpeed)
	} else {
		var err error
		if v, err = e.Verdict(c, members); err != nil {
			return set, 0, err
		}
	}
	v.Units += d.Bonus(g, members)
	set.Mechanism, set.Value = v.Mech, d.Value(v.Units)
	set.Speeds = slices.Clone(e.Best[:len(c.Residents)+len(members)])
	if v.Mech == profile.MIG {
		var err error
		if set.Instances, err = e.Instances(c, members); err != nil {
			return set, 0, err
		}
	}
	return set, v.Units, nil
}
