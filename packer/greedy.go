package packer

import (
	"cmp"
	"context"
	"slices"
)

// Greedy gives each task in turn the place where it adds most: heaviest weight
// first, then largest memory. An empty GPU nearly always adds most; when none
// is left, the task joins the set that gains most by it. It respects every
// limit, takes sets of any size and proves nothing.
//
// O(tasks · occupied GPUs) questions to the model.
type Greedy struct{}

var _ Method = Greedy{}

// Pack implements Method.
func (Greedy) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	in, err := newInstance(p)
	if err != nil {
		return nil, err
	}
	e := newEvaluator(in)
	pl, err := greedy(ctx, in, e)
	if err != nil {
		return nil, err
	}
	return e.answer(ctx, pl, unproved(), "greedy")
}

// valuer knows what sets are worth: the evaluator by asking the model, a table
// by looking up.
type valuer interface {
	// singleValue returns the value of task i alone on free class k; 0 if it
	// may not run there.
	singleValue(k, i int) (int64, error)
	// setValue returns the value of tasks with the residents of class k; 0 if
	// they may not share. ref is the value to beat.
	setValue(k int, tasks []int32, ref int64) (int64, error)
}

func (e *evaluator) singleValue(k, i int) (int64, error) {
	v, err := e.alone(&e.in.classes[k], e.in.tasks[i])
	return v.units, err
}

func (e *evaluator) setValue(k int, tasks []int32, ref int64) (int64, error) {
	e.joined = e.joined[:0]
	for _, i := range tasks {
		e.joined = append(e.joined, e.in.tasks[i])
	}
	v, err := e.together(&e.in.classes[k], e.joined, ref)
	return v.units, err
}

// seat is a GPU that tasks are being put on.
type seat struct {
	class int
	gpu   int
	tasks []int32
	units int64
	ref   int64 // value to beat by sharing
}

// filler is the state of a greedy run.
type filler struct {
	in    *instance
	value valuer
	seats []*seat
	next  []int   // members of each free class in use
	alone []int64 // value of the task at hand on each free class
}

// greedy makes Greedy's plan; when ctx is cancelled, as far as it came.
func greedy(ctx context.Context, in *instance, value valuer) (*plan, error) {
	f := &filler{in: in, value: value, next: make([]int, in.free), alone: make([]int64, in.free)}
	for k := in.free; k < len(in.classes); k++ {
		c := &in.classes[k]
		if c.open(in.maxSet) {
			f.seats = append(f.seats, &seat{class: k, gpu: c.members[0], units: c.base, ref: c.base})
		}
	}
	pl := newPlan(in)
	for _, i := range in.greedyOrder() {
		if ctx.Err() != nil {
			return pl, nil //nolint:nilerr // a cancelled run has a plan; the caller asks ctx
		}
		best, err := f.best(i)
		if err != nil {
			return nil, err
		}
		if best.to == nil {
			continue
		}
		pl.gpu[i] = int32(best.to.gpu)
		s := best.to
		if len(s.tasks) == 0 && s.class < in.free {
			f.next[s.class]++
			f.seats = append(f.seats, s)
		}
		s.tasks = append(s.tasks, int32(i))
		s.units += best.gain
		if s.class < in.free {
			s.ref = max(s.ref, f.alone[s.class])
		}
	}
	return pl, nil
}

// greedyOrder returns the tasks by falling weight, then falling memory.
func (in *instance) greedyOrder() []int {
	order := make([]int, len(in.tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := in.tasks[a], in.tasks[b]
		return cmp.Or(cmp.Compare(t.weight(), s.weight()), cmp.Compare(t.Memory, s.Memory))
	})
	return order
}

// place is where a task may go and what it adds there.
type place struct {
	to   *seat
	gain int64
}

// best returns the place where task i adds most: on ties an empty GPU, the one
// with the least memory, the first.
func (f *filler) best(i int) (place, error) {
	best, err := f.empty(i)
	if err != nil || f.in.tasks[i].Alone {
		return best, err
	}
	for _, s := range f.seats {
		c := &f.in.classes[s.class]
		if len(c.residents)+len(s.tasks) >= f.in.maxSet {
			continue
		}
		ref := s.ref
		if s.class < f.in.free {
			ref = max(ref, f.alone[s.class])
		}
		units, err := f.value.setValue(s.class, append(s.tasks, int32(i)), ref)
		if err != nil {
			return best, err
		}
		if gain := units - s.units; gain > best.gain {
			best = place{s, gain}
		}
	}
	return best, nil
}

// empty returns the best empty GPU for task i.
func (f *filler) empty(i int) (place, error) {
	var best place
	class := none
	for k := range f.in.free {
		units, err := f.value.singleValue(k, i)
		if err != nil {
			return best, err
		}
		f.alone[k] = units
		c := &f.in.classes[k]
		if units == 0 || f.next[k] == len(c.members) {
			continue
		}
		if units > best.gain || units == best.gain && c.usable < f.in.classes[class].usable {
			best.gain, class = units, k
		}
	}
	if class != none {
		best.to = &seat{class: class, gpu: f.in.classes[class].members[f.next[class]]}
	}
	return best, nil
}
