package share

import (
	"cmp"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/profile"
)

// Frame is the frame of policies that decide task by task: take the next of
// the queue, keep the GPUs that pass a filter, and use those that score highest.
// A task that ran out of memory gets idle GPUs only. Memory is set aside as [place.Memory]
// says.
type Frame struct {
	// Allow reports whether t may join g, beyond what every placement must keep.
	Allow func(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool
	// Score ranks the GPUs that t may join, high is good; ties go to the lower
	// index.
	Score func(s *sim.State, t *sim.TaskView, g *sim.GPUView) float64
	// Order sorts the queue within a priority; nil is the order of arrival.
	Order func(s *sim.State, a, b *sim.TaskView) int
	// Overtake lets tasks pass others that do not fit.
	Overtake bool
	// Alone reports whether t may take idle GPUs first; nil is always.
	Alone func(s *sim.State, t *sim.TaskView) bool
	// Blind sets no memory aside: the filter looks at what is in use.
	Blind bool
	// Most is the largest set; 0 is no limit.
	Most int

	gang   place.Gang
	memory place.Memory
	queue  []*sim.TaskView
	gpus   []int
	best   []candidate
}

// candidate is a GPU that a task may join.
type candidate struct {
	gpu   *sim.GPUView
	score float64
}

// Decide implements [sim.Scheduler].
func (f *Frame) Decide(s *sim.State) error {
	f.memory.See(s)
	if f.Order == nil {
		for t := range s.Waiting() {
			if !f.Place(s, t) && !f.Overtake {
				return nil
			}
		}
		return nil
	}
	f.queue = f.queue[:0]
	for t := range s.Waiting() {
		f.queue = append(f.queue, t)
	}
	slices.SortStableFunc(f.queue, func(a, b *sim.TaskView) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), f.Order(s, a, b))
	})
	for _, t := range f.queue {
		if !f.Place(s, t) && !f.Overtake {
			return nil
		}
	}
	return nil
}

// Place starts a task if it can; it reports whether it did.
func (f *Frame) Place(s *sim.State, t *sim.TaskView) bool {
	if t.HostOnly {
		return place.Host(s, t)
	}
	if f.Alone == nil || f.Alone(s, t) || t.Deaths > 0 {
		if gpus := f.gang.Idle(s, t); gpus != nil {
			f.start(s, t, gpus)
			return true
		}
	}
	if t.Deaths > 0 { // it ran out of memory beside others
		return false
	}
	gpus := f.join(s, t)
	if gpus == nil {
		return false
	}
	f.start(s, t, gpus)
	return true
}

func (f *Frame) start(s *sim.State, t *sim.TaskView, gpus []int) {
	s.Place(sim.Launch{
		Task: t.Index, GPUs: gpus, Mechanism: profile.TimeSlice,
		Reserve: profile.Some[profile.Bytes](0), // memory keeps the books
	})
}

// join finds the best GPUs to share, or nil: those of one machine if one has
// enough, else any, unless the task must stay in one.
func (f *Frame) join(s *sim.State, t *sim.TaskView) []int {
	if t.GPUs == 1 {
		best, score := -1, 0.0
		for _, g := range s.GPUs() {
			if !f.may(s, t, g) {
				continue
			}
			if x := f.Score(s, t, g); best < 0 || x > score {
				best, score = g.Index, x
			}
		}
		if best < 0 {
			return nil
		}
		f.gpus = append(f.gpus[:0], best)
		return f.gpus
	}
	nodes := s.Nodes()
	for i := range nodes {
		if gpus := f.top(s, t, s.GPUs()[nodes[i].First:nodes[i].First+nodes[i].Count]); gpus != nil {
			return gpus
		}
	}
	if t.OneNode {
		return nil
	}
	return f.top(s, t, s.GPUs())
}

// top returns the best of some GPUs, or nil if there are too few.
func (f *Frame) top(s *sim.State, t *sim.TaskView, gpus []*sim.GPUView) []int {
	f.best = f.best[:0]
	for _, g := range gpus {
		if f.may(s, t, g) {
			f.best = append(f.best, candidate{g, f.Score(s, t, g)})
		}
	}
	if len(f.best) < t.GPUs {
		return nil
	}
	slices.SortStableFunc(f.best, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	f.gpus = f.gpus[:0]
	for _, c := range f.best[:t.GPUs] {
		f.gpus = append(f.gpus, c.gpu.Index)
	}
	if !s.FitsHosts(t, f.gpus) {
		return nil
	}
	return f.gpus
}

func (f *Frame) may(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
	return (f.Most == 0 || len(g.Set) < f.Most) && s.Accepts(t, g) && (f.Blind || f.memory.Joins(s, t, g)) && (f.Allow == nil || f.Allow(s, t, g))
}
