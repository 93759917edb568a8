package policy

import (
	"cmp"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// sharing is the frame of policies that decide task by task: take the next of
// the queue, keep the GPUs that pass a filter, and use those that score highest.
// A task that ran out of memory gets idle GPUs only.
type sharing struct {
	// allow reports whether t may join g, beyond what every placement must keep.
	allow func(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool
	// score ranks the GPUs that t may join, high is good; ties go to the lower
	// index.
	score func(s *sim.State, t *sim.TaskView, g *sim.GPUView) float64
	// order sorts the queue; nil is the order of arrival.
	order func(s *sim.State, a, b *sim.TaskView) int
	// overtake lets tasks pass others that do not fit.
	overtake bool
	// alone reports whether t may take idle GPUs first; nil is always.
	alone func(s *sim.State, t *sim.TaskView) bool
	// blind reserves no memory: the filter looks at what is in use.
	blind bool
	// most is the largest set; 0 is no limit.
	most int

	gang  gang
	queue []*sim.TaskView
	best  []candidate
}

// candidate is a GPU that a task may join.
type candidate struct {
	gpu   *sim.GPUView
	score float64
}

// Decide implements [sim.Scheduler].
func (f *sharing) Decide(s *sim.State) error {
	if f.order == nil {
		for t := range s.Waiting() {
			if !f.place(s, t) && !f.overtake {
				return nil
			}
		}
		return nil
	}
	f.queue = f.queue[:0]
	for t := range s.Waiting() {
		f.queue = append(f.queue, t)
	}
	slices.SortStableFunc(f.queue, func(a, b *sim.TaskView) int { return f.order(s, a, b) })
	for _, t := range f.queue {
		if !f.place(s, t) && !f.overtake {
			return nil
		}
	}
	return nil
}

// place starts a task if it can; it reports whether it did.
func (f *sharing) place(s *sim.State, t *sim.TaskView) bool {
	if t.HostOnly {
		return startHost(s, t)
	}
	if f.alone == nil || f.alone(s, t) || t.Deaths > 0 {
		if gpus := f.gang.idle(s, t); gpus != nil {
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

func (f *sharing) start(s *sim.State, t *sim.TaskView, gpus []int) {
	p := sim.Launch{Task: t.Index, GPUs: gpus, Mechanism: profile.TimeSlice}
	if f.blind {
		p.Reserve = profile.Some[profile.Bytes](0)
	}
	s.Place(p)
}

// join finds the best GPUs to share, or nil: those of one machine if one has
// enough, else any, unless the task must stay in one.
func (f *sharing) join(s *sim.State, t *sim.TaskView) []int {
	if t.GPUs == 1 {
		best, score := -1, 0.0
		for _, g := range s.GPUs() {
			if !f.may(s, t, g) {
				continue
			}
			if x := f.score(s, t, g); best < 0 || x > score {
				best, score = g.Index, x
			}
		}
		if best < 0 {
			return nil
		}
		f.gang.gpus = append(f.gang.gpus[:0], best)
		return f.gang.gpus
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
func (f *sharing) top(s *sim.State, t *sim.TaskView, gpus []*sim.GPUView) []int {
	f.best = f.best[:0]
	for _, g := range gpus {
		if f.may(s, t, g) {
			f.best = append(f.best, candidate{g, f.score(s, t, g)})
		}
	}
	if len(f.best) < t.GPUs {
		return nil
	}
	slices.SortStableFunc(f.best, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	f.gang.gpus = f.gang.gpus[:0]
	for _, c := range f.best[:t.GPUs] {
		f.gang.gpus = append(f.gang.gpus, c.gpu.Index)
	}
	if !s.FitsHosts(t, f.gang.gpus) {
		return nil
	}
	return f.gang.gpus
}

func (f *sharing) may(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
	fits := s.Fits
	if f.blind {
		fits = s.Accepts
	}
	return (f.most == 0 || len(g.Set) < f.most) && fits(t, g) && (f.allow == nil || f.allow(s, t, g))
}
