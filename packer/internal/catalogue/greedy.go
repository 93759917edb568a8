package catalogue

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/start"
)

// state is all the seats of one class that hold the same types.
type state struct {
	class int
	types []int32 // ascending
	gain  int64
	seats []int   // the one that was opened first comes last
	next  []int64 // what one more task of each type adds; unknown until asked
}

// states are the seats in use by what they hold.
type states struct {
	cat   *Catalogue
	all   []*state
	seats []int // GPU of each seat, in the order in which they were opened
	next  []int // members of each free class in use
	types []int32
}

const unknown = -1 << 62

// Greedy makes Greedy's plan for many tasks of few types: seats that hold
// the same are looked at once, and what a type adds to them is looked up once.
//
// O(tasks · different sets in use).
func Greedy(ctx context.Context, cat *Catalogue) (*instance.Plan, error) {
	in := cat.in
	if in.Homes || in.Gangs {
		return start.Greedy(ctx, in, cat) // GPUs of one class differ
	}
	s := &states{cat: cat, next: make([]int, in.Free)}
	for k := in.Free; k < len(in.Classes); k++ {
		if c := &in.Classes[k]; in.Open(c) {
			s.put(s.open(c.Members[0]), k, nil)
		}
	}
	pl := instance.NewPlan(in)
	for _, i := range start.GreedyOrder(in) {
		if ctx.Err() != nil {
			return pl, nil //nolint:nilerr // a cancelled run has a plan; the caller asks ctx
		}
		pl.Gpu[i] = int32(s.place(cat.Of[i]))
	}
	return pl, nil
}

// open adds a seat.
func (s *states) open(gpu int) int {
	s.seats = append(s.seats, gpu)
	return len(s.seats) - 1
}

// place puts a task of type t where it adds most and returns the GPU, or none.
func (s *states) place(t int32) int {
	class, best := s.empty(t)
	var to *state
	first := 0
	for _, st := range s.all {
		if len(st.seats) == 0 {
			continue
		}
		seat := st.seats[len(st.seats)-1]
		if gain := s.adds(st, t); gain > best || gain == best && to != nil && seat < first {
			to, best, first = st, gain, seat
		}
	}
	switch {
	case to != nil:
		to.seats = to.seats[:len(to.seats)-1]
		s.put(first, to.class, s.with(to.types, t))
		return s.seats[first]
	case class != none:
		gpu := s.cat.in.Classes[class].Members[s.next[class]]
		s.next[class]++
		s.put(s.open(gpu), class, []int32{t})
		return gpu
	}
	return none
}

// empty returns the free class on an unused GPU of which a task of type t adds
// most.
func (s *states) empty(t int32) (class int, best int64) {
	class = none
	for k := range s.cat.in.Free {
		c := &s.cat.in.Classes[k]
		gain := s.cat.Gain(k, []int32{t})
		if gain == 0 || s.next[k] == len(c.Members) {
			continue
		}
		if gain > best || gain == best && c.Usable < s.cat.in.Classes[class].Usable {
			class, best = k, gain
		}
	}
	return class, best
}

// adds returns what a task of type t adds to the seats of st, 0 or less if it may
// not join or had better not.
func (s *states) adds(st *state, t int32) int64 {
	if st.next[t] == unknown {
		st.next[t] = s.cat.Gain(st.class, s.with(st.types, t)) - st.gain
	}
	return st.next[t]
}

// with returns types with t in its place, until the next call.
func (s *states) with(types []int32, t int32) []int32 {
	s.types = append(append(s.types[:0], types...), t)
	slices.Sort(s.types)
	return s.types
}

// put adds a seat to the state of class k that holds types.
func (s *states) put(seat, k int, types []int32) {
	at, ok := slices.BinarySearchFunc(s.all, types, func(st *state, types []int32) int {
		return cmp.Or(cmp.Compare(st.class, k), slices.Compare(st.types, types))
	})
	if !ok {
		st := &state{class: k, types: slices.Clone(types), gain: s.cat.Gain(k, types), next: make([]int64, len(s.cat.Members))}
		for t := range st.next {
			st.next[t] = unknown
		}
		s.all = slices.Insert(s.all, at, st)
	}
	st := s.all[at]
	where, _ := slices.BinarySearchFunc(st.seats, seat, func(a, b int) int { return cmp.Compare(b, a) })
	st.seats = slices.Insert(st.seats, where, seat)
}

// SingleValue implements instance.Values.
func (cat *Catalogue) SingleValue(k, i int) (int64, error) {
	return cat.Gain(k, cat.Of[i:i+1]), nil
}

// SetValue implements instance.Values.
func (cat *Catalogue) SetValue(k int, tasks []int32, _ int64) (int64, error) {
	var buffer [8]int32
	g := cat.Gain(k, cat.Typed(buffer[:0], tasks))
	if g == 0 {
		return 0, nil
	}
	return cat.in.Classes[k].Base + g, nil
}

// Quick implements instance.Values.
func (cat *Catalogue) Quick() bool { return true }
