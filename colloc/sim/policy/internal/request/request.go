package request

import (
	"cmp"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Frame is the frame of policies that place by request, as Kubernetes does: each
// task in the order of arrival goes to the machine that scores highest among
// those where it fits. Tasks that fit nowhere are overtaken. Device memory is no
// request: nobody looks at it.
type Frame struct {
	// Score rates a machine for a task that fits it, high is good, and says on
	// which of its GPUs the task would run. Ties go to the lower machine.
	Score func(n *Machine, t *sim.TaskView) (float64, []int)
	// Kept is set if scores depend on the machine and the request only: they
	// are then kept until the machine changes.
	Kept bool

	all  []Machine
	kept map[request][]rating
}

// Machine is a machine as far as requests count.
type Machine struct {
	// CPU is what is left of the cores, Free the part left of each GPU, Sum that of
	// all.
	CPU     float64
	Free    []float64
	Sum     float64
	model   string
	memory  float64
	changed int // grows with every change
}

// request is what a task asks for.
type request struct {
	cpu, memory, share float64
	gpus               int
	only               string
}

// rating is a score that was worked out when the machine had changed so often.
type rating struct {
	changed int
	score   float64
	fits    bool
}

// Begin reads the machines at the start of a run.
func (f *Frame) Begin(s *sim.State) {
	f.kept = map[request][]rating{}
	for i, n := range s.Nodes() {
		cards := s.GPUs()[n.First : n.First+n.Count]
		f.all = append(f.all, Machine{changed: 1, Free: make([]float64, n.Count), model: product(cards)})
		f.update(s, i)
	}
}

// Forget drops the scores that are kept: Score has changed.
func (f *Frame) Forget() { clear(f.kept) }

// mixed is the product of a machine that has several: a task that accepts only
// some does not run there.
const mixed = "several products"

func product(cards []*sim.GPUView) string {
	name := ""
	for i, g := range cards {
		if i > 0 && g.Model.Name != name {
			return mixed
		}
		name = g.Model.Name
	}
	return name
}

// update reads what is left of a machine.
func (f *Frame) update(s *sim.State, node int) {
	n, r := s.Nodes()[node], &f.all[node]
	r.CPU, r.memory, r.Sum = n.CPU, float64(n.Memory), 0
	for i := range r.Free {
		g := s.GPUs()[n.First+i]
		r.Free[i] = 0
		if g.Up {
			r.Free[i] = left(g)
		}
		r.Sum += r.Free[i]
	}
	r.changed++
}

// left is the part of a GPU that nobody asked for; a task that asked for no part
// has it all.
func left(g *sim.GPUView) float64 {
	for _, t := range g.Set {
		if t.Share == 0 {
			return 0
		}
	}
	return max(0, 1-g.Share)
}

// Decide implements [sim.Scheduler].
func (f *Frame) Decide(s *sim.State) error {
	if s.Freed() || len(s.Turned()) > 0 {
		for i := range f.all {
			f.update(s, i)
		}
		for t := range s.Waiting() {
			f.place(s, t)
		}
		return nil
	}
	for _, t := range s.Arrived() {
		f.place(s, t)
	}
	return nil
}

// place puts a task on its best machine, if it fits any.
func (f *Frame) place(s *sim.State, t *sim.TaskView) {
	best := -1
	top := 0.0
	kept := f.ratings(t)
	for i := range f.all {
		n := &f.all[i]
		r := &kept[i]
		if !f.Kept || r.changed != n.changed {
			*r = rating{changed: n.changed, fits: n.fits(t)}
			if r.fits {
				r.score, _ = f.Score(n, t)
			}
		}
		if r.fits && (best < 0 || r.score > top) {
			best, top = i, r.score
		}
	}
	if best < 0 {
		return
	}
	n := &f.all[best]
	if t.HostOnly {
		s.Place(sim.Launch{Task: t.Index, Node: best})
	} else {
		_, local := f.Score(n, t)
		gpus := make([]int, len(local))
		for i, g := range local {
			gpus[i] = s.Nodes()[best].First + g
		}
		s.Place(sim.Launch{Task: t.Index, GPUs: gpus, Reserve: profile.Some[profile.Bytes](0)})
	}
	f.update(s, best)
}

// ratings are those kept for a request.
func (f *Frame) ratings(t *sim.TaskView) []rating {
	key := request{t.CPU, float64(t.HostMemory), Share(t), t.GPUs, ""}
	if len(t.Only) > 0 {
		key.only = t.Only[0]
		for _, m := range t.Only[1:] {
			key.only += "|" + m
		}
	}
	kept := f.kept[key]
	if kept == nil {
		kept = make([]rating, len(f.all))
		f.kept[key] = kept
	}
	return kept
}

// Share is the part of each GPU that a task takes.
func Share(t *sim.TaskView) float64 {
	if t.Share == 0 {
		return 1
	}
	return t.Share
}

// Slack forgives rounding in sums of shares.
const Slack = 1e-9

// fits reports whether a machine has room for a task.
func (n *Machine) fits(t *sim.TaskView) bool {
	if t.CPU > n.CPU+Slack || float64(t.HostMemory) > n.memory ||
		len(t.Only) > 0 && !slices.Contains(t.Only, n.model) {
		return false
	}
	return t.HostOnly || n.Enough(Share(t), t.GPUs)
}

// Enough reports whether so many GPUs have so much left each.
func (n *Machine) Enough(part float64, gpus int) bool {
	for _, x := range n.Free {
		if x >= part-Slack {
			gpus--
		}
	}
	return gpus <= 0
}

// Tightest are the GPUs that have least left among those with room.
func (n *Machine) Tightest(t *sim.TaskView) []int {
	part := Share(t)
	if t.GPUs == 1 {
		best := -1
		for i, x := range n.Free {
			if x >= part-Slack && (best < 0 || x < n.Free[best]) {
				best = i
			}
		}
		return []int{best}
	}
	var fit []int
	for i, x := range n.Free {
		if x >= part-Slack {
			fit = append(fit, i)
		}
	}
	slices.SortStableFunc(fit, func(a, b int) int { return cmp.Compare(n.Free[a], n.Free[b]) })
	return fit[:t.GPUs]
}
