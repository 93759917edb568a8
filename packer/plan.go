package packer

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// plan is an assignment under construction: the GPU of each task, or none.
// Tasks count in instance order, GPUs as in Problem.GPUs.
// Of the GPUs of a gang one stands for all; more holds the others.
type plan struct {
	gpu  []int32
	more map[int32][]int32
}

func newPlan(in *instance) *plan {
	pl := &plan{gpu: make([]int32, len(in.tasks)), more: map[int32][]int32{}}
	for i := range pl.gpu {
		pl.gpu[i] = none
	}
	return pl
}

// company counts the tasks on each GPU, residents included.
func (pl *plan) company(in *instance) []int {
	n := make([]int, len(in.p.GPUs))
	for g := range n {
		n[g] = len(in.p.GPUs[g].Residents)
	}
	for _, g := range pl.gpu {
		if g != none {
			n[g]++
		}
	}
	return n
}

// classOf returns the class of a GPU.
func (in *instance) classOf(gpu int) int { return in.byGPU[gpu] }

// proof is what a method knows about the best plan.
type proof struct {
	bound float64
	cert  *Certificate
}

// unproved is the proof of a method that has none.
func unproved() proof { return proof{bound: math.Inf(1)} }

// answer evaluates pl as the result of a method that ctx may have cut short.
func (e *evaluator) answer(ctx context.Context, pl *plan, pr proof, method string) (*Solution, error) {
	stop := ctx.Err()
	s, err := e.solution(pl, pr, method, stop != nil)
	if err != nil {
		return nil, err
	}
	return s, stop
}

// solution evaluates pl and explains it.
func (e *evaluator) solution(pl *plan, pr proof, method string, stopped bool) (*Solution, error) {
	in := e.in
	members := make([][]int32, len(in.p.GPUs))
	for i, g := range pl.gpu {
		if g != none {
			members[g] = append(members[g], int32(i))
		}
	}
	s := &Solution{Sets: []Set{}, Bound: pr.bound, Certificate: pr.cert, Method: method}
	total := int64(0)
	for g := range members {
		if len(members[g])+len(in.p.GPUs[g].Residents) == 0 {
			continue
		}
		set, units, err := e.finish(g, members[g])
		if err != nil {
			return nil, err
		}
		if len(members[g]) > 0 && g < len(in.p.GPUs) {
			for _, o := range pl.more[int32(g)] {
				set.Gang = append(set.Gang, int(o))
			}
		}
		total += units
		s.Sets = append(s.Sets, set)
	}
	s.Throughput = in.value(total)
	reasons, err := e.reasons(pl, stopped)
	s.Reasons = reasons
	return s, err
}

// finish evaluates the set on GPU g.
func (e *evaluator) finish(g int, members []int32) (Set, int64, error) {
	in := e.in
	c := &in.classes[in.classOf(g)]
	set := Set{GPU: g, Tasks: make([]int, len(members))}
	for k, i := range members {
		set.Tasks[k] = in.origin[i]
	}
	slices.Sort(set.Tasks)
	var v verdict
	var tasks []*Task
	switch {
	case len(members) == 0:
		v = verdict{units: c.base, mech: c.baseMech}
		copy(e.best, c.baseSpeed)
	default:
		tasks = make([]*Task, len(members))
		for k, o := range set.Tasks {
			tasks[k] = &in.p.Tasks[o]
		}
		var err error
		if v, err = e.verdict(c, tasks); err != nil {
			return set, 0, err
		}
	}
	v.units += in.bonus(g, members)
	set.Mechanism, set.Value = v.mech, in.value(v.units)
	set.Speeds = slices.Clone(e.best[:len(c.residents)+len(members)])
	if v.mech == profile.MIG {
		var err error
		if set.Instances, err = e.instances(c, tasks); err != nil {
			return set, 0, err
		}
	}
	return set, v.units, nil
}

// verdict returns the verdict on tasks joining the residents of c, whatever their
// number. It asks for the members' values alone; methods keep those.
func (e *evaluator) verdict(c *class, tasks []*Task) (verdict, error) {
	if len(c.residents) == 0 && len(tasks) == 1 {
		return e.alone(c, tasks[0])
	}
	ref := c.base
	if len(c.residents) == 0 {
		for _, t := range tasks {
			v, err := e.alone(c, t)
			if err != nil {
				return verdict{}, err
			}
			ref = max(ref, v.units)
		}
	}
	return e.together(c, tasks, ref)
}
