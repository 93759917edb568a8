package packer

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// company counts the tasks on each GPU, residents included.
func (d *compiled) company(pl *plan) []int {
	n := make([]int, len(d.p.GPUs))
	for g := range n {
		n[g] = len(d.p.GPUs[g].Residents)
	}
	for _, g := range pl.gpu {
		if g != none {
			n[g]++
		}
	}
	return n
}

// answer evaluates pl as the result of a method that ctx may have cut short. pr
// is nil if the method proves nothing.
func (d *compiled) answer(ctx context.Context, pl *plan, pr *proof, method string) (*Solution, error) {
	stop := ctx.Err()
	s, err := d.solution(pl, pr, method, stop != nil)
	if err != nil {
		return nil, err
	}
	return s, stop
}

// solution evaluates pl and explains it.
func (d *compiled) solution(pl *plan, pr *proof, method string, stopped bool) (*Solution, error) {
	members := make([][]int32, len(d.p.GPUs))
	for i, g := range pl.gpu {
		if g != none {
			members[g] = append(members[g], int32(i))
		}
	}
	s := &Solution{Sets: []Set{}, Bound: math.Inf(1), Method: method}
	if pr != nil {
		s.Bound, s.Certificate = float64(pr.bound)*(d.unit/quarters), d.certificate(pr)
	}
	e, total := newEvaluator(d.instance), int64(0)
	for g := range members {
		if len(members[g])+len(d.p.GPUs[g].Residents) == 0 {
			continue
		}
		set, units, err := d.finishSet(e, g, members[g])
		if err != nil {
			return nil, err
		}
		if len(members[g]) > 0 {
			for _, o := range pl.more[int32(g)] {
				set.Gang = append(set.Gang, int(o))
			}
		}
		total += units
		s.Sets = append(s.Sets, set)
	}
	s.Throughput = d.value(total)
	reasons, err := d.reasons(e, pl, stopped)
	s.Reasons = reasons
	return s, err
}

// certificate writes prices as their caller sees them.
func (d *compiled) certificate(pr *proof) *Certificate {
	scale := d.unit / quarters
	c := &Certificate{U: make([]float64, len(pr.tasks)), Lambda: make([]float64, len(pr.gpus))}
	for i, o := range d.origin {
		c.U[o] = float64(pr.tasks[i]) * scale
	}
	for g, price := range pr.gpus {
		c.Lambda[g] = float64(price) * scale
	}
	for _, odd := range pr.odd {
		set := OddSet{GPUs: odd.gpus, Z: float64(odd.price) * scale}
		for _, i := range odd.tasks {
			set.Tasks = append(set.Tasks, d.origin[i])
		}
		slices.Sort(set.Tasks)
		slices.Sort(set.GPUs)
		c.Odd = append(c.Odd, set)
	}
	return c
}

// finishSet evaluates the set on GPU g.
func (d *compiled) finishSet(e *evaluator, g int, members []int32) (Set, int64, error) {
	c := &d.classes[d.byGPU[g]]
	slices.SortFunc(members, func(a, b int32) int { return d.origin[a] - d.origin[b] })
	set := Set{GPU: g, Tasks: make([]int, len(members))}
	for k, i := range members {
		set.Tasks[k] = d.origin[i]
	}
	v := verdict{units: c.base, mech: c.baseMech}
	if len(members) == 0 {
		copy(e.best, c.baseSpeed)
	} else {
		var err error
		if v, err = e.verdict(c, members); err != nil {
			return set, 0, err
		}
	}
	v.units += d.bonus(g, members)
	set.Mechanism, set.Value = v.mech, d.value(v.units)
	set.Speeds = slices.Clone(e.best[:len(c.residents)+len(members)])
	if v.mech == profile.MIG {
		var err error
		if set.Instances, err = e.instances(c, members); err != nil {
			return set, 0, err
		}
	}
	return set, v.units, nil
}
