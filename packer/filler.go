package packer

import (
	"cmp"
	"context"
	"slices"
)

// seat is a GPU that tasks are being put on.
type seat struct {
	class int
	gpu   int
	more  []int32 // the other GPUs of a gang
	tasks []int32
	units int64 // without what members save by staying
	ref   int64 // value to beat by sharing
}

const (
	// seatsPerPoll is how many GPUs are looked at between two looks at the
	// context.
	seatsPerPoll = 256
	// lateSeats is how many GPUs in use are looked at after it was cancelled.
	lateSeats = 16
)

// filler is the state of a greedy run.
type filler struct {
	in    *instance
	value valuer
	stop  func() bool
	seats []*seat
	order [][]int // members of each free class, those that are nobody's home first
	next  []int   // members in order that are surely in use
	used  []bool  // by GPU
	alone []int64 // value of the task at hand on each free class
}

// greedy makes Greedy's plan. When ctx is cancelled it ends: at once if it has to
// ask the model, and with a table by looking at few GPUs for the tasks left.
func greedy(ctx context.Context, in *instance, value valuer) (*plan, error) {
	return fill(ctx, in, value, greedyOrder(in))
}

// greedyPerGPU is greedy with the tasks in the order of their weight for each GPU.
func greedyPerGPU(ctx context.Context, in *instance, value valuer) (*plan, error) {
	order := greedyOrder(in)
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := &in.tasks[a], &in.tasks[b]
		return cmp.Compare(t.weight/float64(t.gpus), s.weight/float64(s.gpus))
	})
	return fill(ctx, in, value, order)
}

// fill gives the tasks their places in the given order.
func fill(ctx context.Context, in *instance, value valuer, order []int) (*plan, error) {
	f := &filler{
		in: in, value: value, stop: func() bool { return ctx.Err() != nil }, order: make([][]int, in.free), next: make([]int, in.free),
		used: make([]bool, len(in.byGPU)), alone: make([]int64, in.free),
	}
	for k := range f.order {
		f.order[k] = in.homesLast(in.classes[k].members)
	}
	for k := in.free; k < len(in.classes); k++ {
		c := &in.classes[k]
		if in.open(c) {
			f.seats = append(f.seats, &seat{class: k, gpu: c.members[0], units: c.base, ref: c.base})
		}
	}
	pl := newPlan(in)
	for _, i := range order {
		if f.stop() {
			if !value.quick() {
				return pl, nil
			}
			f.seats = f.seats[max(0, len(f.seats)-lateSeats):]
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
			f.used[s.gpu] = true
			for _, g := range s.more {
				f.used[g] = true
			}
			pl.more[int32(s.gpu)] = s.more
			f.seats = append(f.seats, s)
		}
		s.tasks = append(s.tasks, int32(i))
		s.units += best.gain - in.stayOn(s.gpu, int32(i))
		if s.class < in.free {
			s.ref = max(s.ref, f.alone[s.class])
		}
	}
	return pl, nil
}

// greedyOrder returns the tasks by falling weight, then falling memory.
func greedyOrder(in *instance) []int {
	order := make([]int, len(in.tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := &in.tasks[a], &in.tasks[b]
		return cmp.Or(cmp.Compare(t.weight, s.weight), cmp.Compare(t.memory, s.memory))
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
	if err != nil || f.in.tasks[i].alone {
		return best, err
	}
	for n, s := range f.seats {
		if n%seatsPerPoll == seatsPerPoll-1 && f.stop() {
			return best, nil
		}
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
		if gain := units - s.units + f.in.stayOn(s.gpu, int32(i)); units > 0 && gain > best.gain {
			best = place{s, gain}
		}
	}
	return best, nil
}

// empty returns the best empty GPU for task i.
func (f *filler) empty(i int) (place, error) {
	var best place
	class, gpu := none, none
	for k := range f.in.free {
		units, err := f.value.singleValue(k, i)
		if err != nil {
			return best, err
		}
		f.alone[k] = units
		g := f.vacant(k, i)
		if units == 0 || g == none || f.in.tasks[i].gpus > 1 && f.others(k, i, g) == nil {
			continue
		}
		gain := units + f.in.stayOn(g, int32(i))
		if gain > best.gain || gain == best.gain && f.in.classes[k].usable < f.in.classes[class].usable {
			best.gain, class, gpu = gain, k, g
		}
	}
	if class != none {
		best.to = &seat{class: class, gpu: gpu, more: f.others(class, i, gpu)}
		if more := best.to.more; len(more) > 0 && int(more[0]) < gpu { // the lowest index stands for all
			best.to.gpu, more[0] = int(more[0]), int32(gpu)
			slices.Sort(more)
		}
	}
	return best, nil
}

// others returns the unused GPUs of free class k, gpu aside, that gang i takes,
// ascending; nil if there are too few.
func (f *filler) others(k, i, gpu int) []int32 {
	left := f.in.tasks[i].gpus - 1
	if left == 0 {
		return nil
	}
	var out []int32
	for _, g := range f.order[k][f.next[k]:] {
		if g != gpu && !f.used[g] && len(out) < left {
			out = append(out, int32(g))
		}
	}
	if len(out) < left {
		return nil
	}
	slices.Sort(out)
	return out
}

// vacant returns an unused GPU of free class k, task i's home if it can be; none
// if there is none.
func (f *filler) vacant(k, i int) int {
	if h := f.in.home[i]; h != none && f.in.byGPU[h] == k && !f.used[h] {
		return int(h)
	}
	for f.next[k] < len(f.order[k]) && f.used[f.order[k][f.next[k]]] {
		f.next[k]++
	}
	if f.next[k] == len(f.order[k]) {
		return none
	}
	return f.order[k][f.next[k]]
}
