package place

import (
	"slices"

	"example.com/colloc/colloc/sim"
)

// Gang finds idle GPUs for a task as YARN and Muri do: the first machine that
// has enough, and for a task larger than any machine, whole machines and the
// rest on one more. It returns nil if there are none. The result is valid until
// the next call.
type Gang struct {
	gpus []int
}

// Idle finds the GPUs.
func (f *Gang) Idle(s *sim.State, t *sim.TaskView) []int {
	f.gpus = f.gpus[:0]
	if t.GPUs == 1 {
		for g := range s.Idle() {
			if s.Fits(t, g) {
				f.gpus = append(f.gpus, g.Index)
				return f.gpus
			}
		}
		return nil
	}
	nodes := s.Nodes()
	for i := range nodes {
		if f.take(s, t, &nodes[i], t.GPUs) {
			return f.gpus
		}
	}
	if t.OneNode {
		return nil
	}
	return f.spread(s, t)
}

// spread takes whole machines in order, and what is left from the first other
// machine that has it.
func (f *Gang) spread(s *sim.State, t *sim.TaskView) []int {
	nodes := s.Nodes()
	left := t.GPUs
	for i := range nodes {
		if n := nodes[i].Count; n <= left && f.take(s, t, &nodes[i], n) {
			left -= n
		}
	}
	if left == 0 {
		return f.gpus
	}
	for i := range nodes {
		if f.take(s, t, &nodes[i], left) {
			return f.gpus
		}
	}
	return nil
}

// take adds n idle GPUs of one machine, all or none.
func (f *Gang) take(s *sim.State, t *sim.TaskView, node *sim.NodeView, n int) bool {
	had := len(f.gpus)
	gpus := s.GPUs()
	for i := node.First; i < node.First+node.Count && len(f.gpus) < had+n; i++ {
		if g := gpus[i]; g.Up && len(g.Set) == 0 && s.Fits(t, g) && !slices.Contains(f.gpus, i) {
			f.gpus = append(f.gpus, i)
		}
	}
	if len(f.gpus) < had+n || !s.FitsHost(t, node, n) {
		f.gpus = f.gpus[:had]
		return false
	}
	return true
}

// Hosts places the waiting tasks that need no GPU.
func Hosts(s *sim.State) {
	if !s.Freed() && len(s.Arrived()) == 0 {
		return
	}
	for t := range s.Waiting() {
		if t.HostOnly {
			Host(s, t)
		}
	}
}

// Host places a task that needs no GPU on the first machine with room.
func Host(s *sim.State, t *sim.TaskView) bool {
	nodes := s.Nodes()
	for i := range nodes {
		if s.FitsHost(t, &nodes[i], 0) {
			s.Place(sim.Launch{Task: t.Index, Node: i})
			return true
		}
	}
	return false
}

// MaxSet is the largest set that is measured publicly, unless told otherwise.
func MaxSet(n int) int {
	if n <= 0 {
		return 2
	}
	return n
}
