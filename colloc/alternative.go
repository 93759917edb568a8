package colloc

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/packer"
)

// maxAlternatives is how many a placement lists.
const maxAlternatives = 2

// maxWaiting bounds the tasks that are tried as substitutes, so that the cost
// stays linear in the plan.
const maxWaiting = 16

// weigh compares a placement with what the tasks that wait could do there: one
// of them beside the whole set, and one in the place of a member.
func (r *round) weigh(p *Placement, s *packer.Set, waiting []int) error {
	waiting = waiting[:min(len(waiting), maxWaiting)]
	sc := r.planner.acquire()
	defer r.planner.release(sc)
	joined, err := r.exchange(s, -1, waiting, sc)
	if err != nil {
		return err
	}
	if len(joined) > 0 {
		p.Binding = joined[0].Code
	}
	var found []Alternative
	for out := range s.Tasks {
		more, err := r.exchange(s, out, waiting, sc)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	rankSets(found)
	p.Alternatives = found[:min(len(found), maxAlternatives)]
	return nil
}

// exchange puts each waiting task in the place of member out of a set, or
// beside all of them if out is negative, and returns the sets, best first.
func (r *round) exchange(s *packer.Set, out int, waiting []int, sc *scratch) ([]Alternative, error) {
	gpu := r.gpus[s.GPU]
	gpu.Residents = slices.Clone(gpu.Residents)
	for i, t := range s.Tasks {
		if i != out {
			stays := r.tasks[t]
			stays.Reserved = r.demands[t].Reserved
			gpu.Residents = append(gpu.Residents, stays)
		}
	}
	var sets []Alternative
	for _, t := range waiting {
		a, err := r.try(t, &gpu, sc)
		if err != nil {
			return nil, err
		}
		sets = append(sets, a)
	}
	rankSets(sets)
	return sets, nil
}

// rankSets sorts sets: what is allowed and worth most, then what a limit forbids.
func rankSets(sets []Alternative) {
	slices.SortStableFunc(sets, func(a, b Alternative) int {
		if (a.Code == 0) != (b.Code == 0) {
			return cmp.Compare(a.Code, b.Code)
		}
		return cmp.Compare(b.Throughput, a.Throughput)
	})
}

// try evaluates one waiting task beside the members that stay.
func (r *round) try(t int, gpu *GPU, s *scratch) (Alternative, error) {
	task := r.tasks[t]
	task.Reserved = r.demands[t].Reserved
	s.reset()
	v, err := r.planner.fit(&task, gpu, s, r.paces.scale)
	if err != nil {
		return Alternative{}, err
	}
	a := Alternative{Code: v.Code}
	if v.Fits {
		a.Throughput = math.Round(v.Throughput*1e6) / 1e6
	}
	for i := range gpu.Residents {
		a.Tasks = append(a.Tasks, gpu.Residents[i].ID)
	}
	a.Tasks = append(a.Tasks, task.ID)
	return a, nil
}
