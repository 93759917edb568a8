package place

import (
	"math"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Room plans exclusive places on a cluster that is imagined empty, but for tasks
// without GPUs.
type Room struct {
	free [][]int        // by machine: GPUs left
	host []sim.NodeView // what is left of CPU and host memory
	Left int
}

// Empty imagines the cluster empty.
func (r *Room) Empty(s *sim.State) {
	nodes, gpus := s.Nodes(), s.GPUs()
	if len(r.free) != len(nodes) {
		r.free = make([][]int, len(nodes))
	}
	r.Left = 0
	r.host = append(r.host[:0], nodes...)
	for i := range r.host {
		r.host[i].CPU, r.host[i].Memory = r.host[i].TotalCPU, r.host[i].TotalMemory
	}
	for t := range s.Running() {
		if t.HostOnly {
			r.use(t, t.Node, 1)
		}
	}
	for i := range nodes {
		r.free[i] = r.free[i][:0]
		for g := nodes[i].First; g < nodes[i].First+nodes[i].Count; g++ {
			if gpus[g].Up {
				r.free[i] = append(r.free[i], g)
				r.Left++
			}
		}
	}
}

// Keep takes out the GPUs on which a task runs, for it stays there.
func (r *Room) Keep(s *sim.State, t *sim.TaskView) {
	for _, g := range t.On {
		node := s.GPUs()[g].Node
		if i := slices.Index(r.free[node], g); i >= 0 {
			r.free[node] = slices.Delete(r.free[node], i, i+1)
			r.use(t, node, 1/float64(t.GPUs))
			r.Left--
		}
	}
}

// Take plans GPUs for a task as Gang does: the first machine with enough; for a
// task larger than a machine, whole machines, then the rest on one. It appends
// them to dst, or returns nil.
func (r *Room) Take(s *sim.State, t *sim.TaskView, dst []int) []int {
	nodes := s.Nodes()
	for i := range r.free {
		if len(r.free[i]) >= t.GPUs && t.GPUs > 0 && r.accepts(s, t, i, t.GPUs) {
			return r.pop(t, i, t.GPUs, dst)
		}
	}
	if t.OneNode {
		return nil
	}
	left := t.GPUs
	var whole []int
	for i := range r.free {
		if n := nodes[i].Count; n == len(r.free[i]) && n <= left && r.accepts(s, t, i, n) {
			whole, left = append(whole, i), left-n
		}
	}
	last := -1
	for i := range r.free {
		if left > 0 && len(r.free[i]) >= left && !slices.Contains(whole, i) && r.accepts(s, t, i, left) {
			last = i
			break
		}
	}
	if left > 0 && last < 0 {
		return nil
	}
	for _, i := range whole {
		dst = r.pop(t, i, len(r.free[i]), dst)
	}
	if left > 0 {
		dst = r.pop(t, last, left, dst)
	}
	return dst
}

// accepts reports whether a task may run on so many of the GPUs that are left of
// a machine, the first ones.
func (r *Room) accepts(s *sim.State, t *sim.TaskView, node, gpus int) bool {
	for _, i := range r.free[node][:gpus] {
		if g := s.GPUs()[i]; t.Reserve > g.Total || len(t.Only) > 0 && !slices.Contains(t.Only, g.Model.Name) {
			return false
		}
	}
	return s.FitsHost(t, &r.host[node], gpus)
}

// use takes CPU and host memory for a part of a task.
func (r *Room) use(t *sim.TaskView, node int, part float64) {
	h := &r.host[node]
	h.CPU -= float64(t.CPU * part)
	h.Memory -= profile.Bytes(math.Ceil(float64(t.HostMemory) * part))
}

// pop takes GPUs of a machine.
func (r *Room) pop(t *sim.TaskView, node, n int, dst []int) []int {
	r.use(t, node, float64(n)/float64(t.GPUs))
	dst = append(dst, r.free[node][:n]...)
	r.free[node] = r.free[node][n:]
	r.Left -= n
	return dst
}
