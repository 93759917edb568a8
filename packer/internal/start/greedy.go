package start

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// none is the absence of a number.
const none = -1

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
	in    *instance.Instance
	value instance.Values
	stop  func() bool
	seats []*seat
	order [][]int // members of each free class, those that are nobody's home first
	next  []int   // members in order that are surely in use
	used  []bool  // by GPU
	alone []int64 // value of the task at hand on each free class
}

// Greedy makes Greedy's plan. When ctx is cancelled it ends: at once if it has to
// ask the model, and with a table by looking at few GPUs for the tasks left.
func Greedy(ctx context.Context, in *instance.Instance, value instance.Values) (*instance.Plan, error) {
	return fill(ctx, in, value, GreedyOrder(in))
}

// GreedyPerGPU is greedy with the tasks in the order of their weight for each GPU.
func GreedyPerGPU(ctx context.Context, in *instance.Instance, value instance.Values) (*instance.Plan, error) {
	order := GreedyOrder(in)
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := &in.Tasks[a], &in.Tasks[b]
		return cmp.Compare(t.Weight/float64(t.GPUs), s.Weight/float64(s.GPUs))
	})
	return fill(ctx, in, value, order)
}

// fill gives the tasks their places in the given order.
func fill(ctx context.Context, in *instance.Instance, value instance.Values, order []int) (*instance.Plan, error) {
	f := &filler{
		in: in, value: value, stop: func() bool { return ctx.Err() != nil }, order: make([][]int, in.Free), next: make([]int, in.Free),
		used: make([]bool, len(in.ByGPU)), alone: make([]int64, in.Free),
	}
	for k := range f.order {
		f.order[k] = in.HomesLast(in.Classes[k].Members)
	}
	for k := in.Free; k < len(in.Classes); k++ {
		c := &in.Classes[k]
		if in.Open(c) {
			f.seats = append(f.seats, &seat{class: k, gpu: c.Members[0], units: c.Base, ref: c.Base})
		}
	}
	pl := instance.NewPlan(in)
	for _, i := range order {
		if f.stop() {
			if !value.Quick() {
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
		pl.Gpu[i] = int32(best.to.gpu)
		s := best.to
		if len(s.tasks) == 0 && s.class < in.Free {
			f.used[s.gpu] = true
			for _, g := range s.more {
				f.used[g] = true
			}
			pl.More[int32(s.gpu)] = s.more
			f.seats = append(f.seats, s)
		}
		s.tasks = append(s.tasks, int32(i))
		s.units += best.gain - in.StayOn(s.gpu, int32(i))
		if s.class < in.Free {
			s.ref = max(s.ref, f.alone[s.class])
		}
	}
	return pl, nil
}

// GreedyOrder returns the tasks by falling weight, then falling memory.
func GreedyOrder(in *instance.Instance) []int {
	order := make([]int, len(in.Tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		s, t := &in.Tasks[a], &in.Tasks[b]
		return cmp.Or(cmp.Compare(t.Weight, s.Weight), cmp.Compare(t.Memory, s.Memory))
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
	if err != nil || f.in.Tasks[i].Alone {
		return best, err
	}
	for n, s := range f.seats {
		if n%seatsPerPoll == seatsPerPoll-1 && f.stop() {
			return best, nil
		}
		c := &f.in.Classes[s.class]
		if len(c.Residents)+len(s.tasks) >= f.in.MaxSet {
			continue
		}
		ref := s.ref
		if s.class < f.in.Free {
			ref = max(ref, f.alone[s.class])
		}
		units, err := f.value.SetValue(s.class, append(s.tasks, int32(i)), ref)
		if err != nil {
			return best, err
		}
		if gain := units - s.units + f.in.StayOn(s.gpu, int32(i)); units > 0 && gain > best.gain {
			best = place{s, gain}
		}
	}
	return best, nil
}

// empty returns the best empty GPU for task i.
func (f *filler) empty(i int) (place, error) {
	var best place
	class, gpu := none, none
	for k := range f.in.Free {
		units, err := f.value.SingleValue(k, i)
		if err != nil {
			return best, err
		}
		f.alone[k] = units
		g := f.vacant(k, i)
		if units == 0 || g == none || f.in.Tasks[i].GPUs > 1 && f.others(k, i, g) == nil {
			continue
		}
		gain := units + f.in.StayOn(g, int32(i))
		if gain > best.gain || gain == best.gain && f.in.Classes[k].Usable < f.in.Classes[class].Usable {
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
	left := f.in.Tasks[i].GPUs - 1
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
	if h := f.in.Home[i]; h != none && f.in.ByGPU[h] == k && !f.used[h] {
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
