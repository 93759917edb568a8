package policy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Shortest runs the tasks with the least remaining time (SRTF), or the least
// remaining time × GPUs (SRSF), each on GPUs of its own; at every event running
// tasks are preempted for shorter ones. Tasks that do not fit are overtaken.
//
// These are the clairvoyant baselines of Tiresias (Gu et al., NSDI 2019) and
// Muri (Zhao et al., SIGCOMM 2022, doi:10.1145/3544216.3544224). All tasks are
// placed anew at each event, in this order, on the first machine that has room.
type Shortest struct {
	// Service weighs remaining time by GPUs: SRSF.
	Service bool
}

var _ sim.Policy = Shortest{}

// Name implements [sim.Policy].
func (p Shortest) Name() string {
	if p.Service {
		return "srsf"
	}
	return "srtf"
}

// Begin implements [sim.Policy].
func (p Shortest) Begin(*sim.State) (sim.Scheduler, error) {
	return &preemptive{key: func(s *sim.State, t *sim.TaskView) time.Duration {
		left := s.Remaining(t)
		if p.Service {
			left *= time.Duration(max(1, t.GPUs))
		}
		return left
	}}, nil
}

// preemptive runs the tasks with the smallest keys on GPUs of their own.
type preemptive struct {
	key    func(s *sim.State, t *sim.TaskView) time.Duration
	order  []ranked
	room   room
	gang   gang
	chosen []*sim.TaskView
}

// ranked is a task and its place in the queue.
type ranked struct {
	task *sim.TaskView
	key  time.Duration
	gpus []int // where it may run
}

// Decide implements [sim.Scheduler].
func (p *preemptive) Decide(s *sim.State) error {
	startHosts(s)
	p.rank(s)
	p.room.empty(s)
	n := 0
	for i := range p.order {
		r := &p.order[i]
		if p.room.left == 0 {
			break
		}
		if r.gpus = p.room.take(s, r.task, r.gpus[:0]); len(r.gpus) > 0 {
			p.order[n], p.order[i] = p.order[i], p.order[n]
			n++
		}
	}
	p.apply(s, p.order[:n])
	return nil
}

// rank orders all tasks that wait or run by their keys, then by arrival.
func (p *preemptive) rank(s *sim.State) {
	p.order = p.order[:0]
	add := func(t *sim.TaskView) {
		if t.HostOnly {
			return
		}
		p.order = append(p.order, ranked{task: t, key: p.key(s, t)})
	}
	for t := range s.Running() {
		add(t)
	}
	for t := range s.Waiting() {
		add(t)
	}
	slices.SortFunc(p.order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.task.Index, b.task.Index))
	})
}

// apply makes exactly the chosen tasks run. Those that run already stay where
// they are if the others then find room; if not, all move as planned.
func (p *preemptive) apply(s *sim.State, chosen []ranked) {
	p.chosen = p.chosen[:0]
	for i := range chosen {
		p.chosen = append(p.chosen, chosen[i].task)
	}
	for t := range s.Running() {
		if !t.HostOnly && !slices.Contains(p.chosen, t) {
			s.Stop(t)
		}
	}
	// the large ones first: they need whole machines
	slices.SortStableFunc(p.chosen, func(a, b *sim.TaskView) int { return cmp.Compare(b.GPUs, a.GPUs) })
	for _, t := range p.chosen {
		if t.Running() {
			continue
		}
		gpus := p.gang.idle(s, t)
		if gpus == nil {
			move(s, chosen)
			return
		}
		s.Start(t, gpus...)
	}
}

// move puts all chosen tasks where they were planned.
func move(s *sim.State, chosen []ranked) {
	for t := range s.Running() {
		if !t.HostOnly {
			s.Stop(t)
		}
	}
	for i := range chosen {
		s.Start(chosen[i].task, chosen[i].gpus...)
	}
}

// room plans exclusive places on a cluster that is imagined empty, but for tasks
// without GPUs.
type room struct {
	free [][]int        // by machine: GPUs left
	host []sim.NodeView // what is left of CPU and host memory
	left int
}

func (r *room) empty(s *sim.State) {
	nodes, gpus := s.Nodes(), s.GPUs()
	if len(r.free) != len(nodes) {
		r.free = make([][]int, len(nodes))
	}
	r.left = 0
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
				r.left++
			}
		}
	}
}

// take plans GPUs for a task as gang does: the first machine with enough; for a
// task larger than a machine, whole machines, then the rest on one. It appends
// them to dst, or returns nil.
func (r *room) take(s *sim.State, t *sim.TaskView, dst []int) []int {
	nodes := s.Nodes()
	for i := range r.free {
		if len(r.free[i]) >= t.GPUs && t.GPUs > 0 && r.accepts(s, t, i, t.GPUs) {
			return r.pop(t, i, t.GPUs, dst)
		}
	}
	if t.OneNode || t.GPUs == 0 {
		return nil
	}
	left, largest := t.GPUs, 0
	var whole []int
	for i := range r.free {
		if n := nodes[i].Count; n == len(r.free[i]) && n <= left && n > 0 && r.accepts(s, t, i, n) {
			whole, left = append(whole, i), left-n
		}
		largest = max(largest, nodes[i].Count)
	}
	if left >= largest {
		return nil
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
func (r *room) accepts(s *sim.State, t *sim.TaskView, node, gpus int) bool {
	for _, i := range r.free[node][:gpus] {
		if g := s.GPUs()[i]; t.Reserve > g.Total || len(t.Only) > 0 && !slices.Contains(t.Only, g.Model.Name) {
			return false
		}
	}
	return s.FitsHost(t, &r.host[node], gpus)
}

// use takes CPU and host memory for a part of a task.
func (r *room) use(t *sim.TaskView, node int, part float64) {
	h := &r.host[node]
	h.CPU -= float64(t.CPU * part)
	h.Memory -= profile.Bytes(math.Ceil(float64(t.HostMemory) * part))
}

// pop takes GPUs of a machine.
func (r *room) pop(t *sim.TaskView, node, n int, dst []int) []int {
	r.use(t, node, float64(n)/float64(t.GPUs))
	dst = append(dst, r.free[node][:n]...)
	r.free[node] = r.free[node][n:]
	r.left -= n
	return dst
}
