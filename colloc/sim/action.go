package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// ErrDecision says that a policy decided something that is not possible.
var ErrDecision = errors.New("impossible decision")

// DecisionError is a decision that is not possible. It is an [ErrDecision].
type DecisionError struct {
	Policy string
	At     time.Duration
	// Decided are the actions of the decision up to the impossible one.
	Decided []string
	// Why is what is wrong with the last.
	Why string
}

// Error prints the decision.
func (e *DecisionError) Error() string {
	return fmt.Sprintf("sim: policy %s at %v: %s; it decided: %s", e.Policy, e.At, e.Why, strings.Join(e.Decided, "; "))
}

// Is makes errors.Is(err, ErrDecision) true.
func (e *DecisionError) Is(target error) bool { return target == ErrDecision }

// action is what a scheduler asked for, kept to be printed.
type action struct {
	verb     string
	task     int
	from, to int // of State.decidedGPUs
}

func (s *State) describe(a action) string {
	what := a.verb
	if a.task >= 0 {
		name := "?"
		if a.task < len(s.tasks) {
			name = s.tasks[a.task].ID
		}
		what += fmt.Sprintf(" task %d (%s)", a.task, name)
	}
	if a.to > a.from {
		what += fmt.Sprintf(" on GPUs %v", s.decidedGPUs[a.from:a.to])
	}
	return what
}

// did records an action; it reports whether the run still goes on.
func (s *State) did(verb string, task int, gpus []int) bool {
	if s.err != nil {
		return false
	}
	from := len(s.decidedGPUs)
	s.decidedGPUs = append(s.decidedGPUs, gpus...)
	s.decided = append(s.decided, action{verb, task, from, len(s.decidedGPUs)})
	return true
}

func (s *State) refuse(format string, args ...any) {
	e := &DecisionError{Policy: s.sim.policy.Name(), At: s.sim.now, Why: fmt.Sprintf(format, args...)}
	for _, a := range s.decided {
		e.Decided = append(e.Decided, s.describe(a))
	}
	s.err = e
}

// Start places a task on GPUs with its predicted memory and time-slicing; see
// [State.Place].
func (s *State) Start(t *TaskView, gpus ...int) {
	index := -1
	if t != nil {
		index = t.Index
	}
	s.Place(Launch{Task: index, GPUs: gpus})
}

// Place starts a waiting task. What is not possible ends the run with a
// [DecisionError] that prints the decision: a task that does not wait, a GPU
// that does not exist or is not up, too few or too many GPUs or the same twice,
// a product that the task does not accept, machines where one is asked for, more
// reserved memory than there is, shares beyond the whole, too little CPU or host
// memory.
func (s *State) Place(p Launch) {
	if !s.did("start", p.Task, p.GPUs) {
		return
	}
	if p.Task < 0 || p.Task >= s.sim.nextArrival {
		s.refuse("task %d does not exist yet", p.Task)
		return
	}
	t := &s.tasks[p.Task]
	if t.status != waiting {
		s.refuse("task %q does not wait, it is %s", t.ID, t.status)
		return
	}
	if why := s.cannot(t, &p); why != "" {
		s.refuse("%s", why)
		return
	}
	s.sim.start(t, &p)
}

// Stop preempts a running task: its progress is saved and it waits again.
func (s *State) Stop(t *TaskView) {
	if t == nil || s.Task(t.Index) != t {
		if s.did("stop", -1, nil) {
			s.refuse("a task that is not of this run")
		}
		return
	}
	if !s.did("stop", t.Index, nil) {
		return
	}
	if t.status != running {
		s.refuse("task %q does not run, it is %s", t.ID, t.status)
		return
	}
	s.sim.stop(t.Index, Preemption)
}

// cannot says why a placement is impossible.
func (s *State) cannot(t *TaskView, p *Launch) string {
	if t.HostOnly {
		if p.Node < 0 || p.Node >= len(s.nodes) {
			return fmt.Sprintf("machine %d does not exist", p.Node)
		}
		return s.cannotHost(t, &s.nodes[p.Node], 0)
	}
	if len(p.GPUs) != t.GPUs {
		return fmt.Sprintf("task %q needs %d GPUs, not %d", t.ID, t.GPUs, len(p.GPUs))
	}
	reserve := p.Reserve.Or(t.Reserve)
	if reserve < 0 {
		return fmt.Sprintf("a reservation of %d bytes", int64(reserve))
	}
	for i, g := range p.GPUs {
		if g < 0 || g >= len(s.gpus) {
			return fmt.Sprintf("GPU %d does not exist", g)
		}
		if slices.Contains(p.GPUs[:i], g) {
			return fmt.Sprintf("GPU %d is named twice", g)
		}
		if why := s.cannotGPU(t, s.gpus[g], reserve); why != "" {
			return why
		}
		if node := s.gpus[g].Node; t.OneNode && node != s.gpus[p.GPUs[0]].Node {
			return fmt.Sprintf("task %q must be in one machine", t.ID)
		}
	}
	return s.cannotHosts(t, p.GPUs)
}

func (s *State) cannotGPU(t *TaskView, g *GPUView, reserve profile.Bytes) string {
	switch {
	case !g.Up:
		return fmt.Sprintf("GPU %d is not up", g.Index)
	case len(t.Only) > 0 && !slices.Contains(t.Only, g.Model.Name):
		return fmt.Sprintf("task %q does not accept GPU %d, a %s", t.ID, g.Index, g.Model.Name)
	case reserve > g.Free():
		return fmt.Sprintf("GPU %d would be over its memory: %v of %v reserved, task %q needs %v", g.Index, g.Reserved, g.Total, t.ID, reserve)
	case g.Share+t.Share > 1+shareSlack:
		return fmt.Sprintf("GPU %d would be over its whole: %.3f is taken, task %q asks for %.3f", g.Index, g.Share, t.ID, t.Share)
	}
	return ""
}

// shareSlack forgives the rounding of sums of shares.
const shareSlack = 1e-9

// cannotHosts checks CPU and host memory of the machines of a gang.
func (s *State) cannotHosts(t *TaskView, gpus []int) string {
	if t.CPU == 0 && t.HostMemory == 0 {
		return ""
	}
	for _, g := range gpus {
		node, n := s.gpus[g].Node, 0
		for _, h := range gpus {
			if s.gpus[h].Node == node {
				n++
			}
		}
		if why := s.cannotHost(t, &s.nodes[node], n); why != "" {
			return why
		}
	}
	return ""
}

func (s *State) cannotHost(t *TaskView, n *NodeView, gpus int) string {
	if s.FitsHost(t, n, gpus) {
		return ""
	}
	return fmt.Sprintf("machine %d has %.3f cores and %v left, task %q needs %.3f and %v in all", n.Index, n.CPU, n.Memory, t.ID, t.CPU, t.HostMemory)
}

// Fits reports whether the task could start on GPU g now, as far as g and its
// machine are concerned, reserving its predicted memory.
func (s *State) Fits(t *TaskView, g *GPUView) bool { return t.Reserve <= g.Free() && s.Accepts(t, g) }

// Accepts is Fits without the memory: g is up, of a product that the task accepts,
// with the share left that it asks for, in a machine with the CPU and host memory.
func (s *State) Accepts(t *TaskView, g *GPUView) bool {
	return g.Up && g.Share+t.Share <= 1+shareSlack &&
		(len(t.Only) == 0 || slices.Contains(t.Only, g.Model.Name)) &&
		s.FitsHost(t, &s.nodes[g.Node], 1)
}

// FitsHost reports whether a machine has the CPU, unless it is shared, and the host
// memory for so many of a task's GPUs. What the task needs is split evenly over its
// GPUs. For a task without GPUs it reports whether the machine has all.
func (s *State) FitsHost(t *TaskView, n *NodeView, gpus int) bool {
	if t.CPU == 0 && t.HostMemory == 0 {
		return true
	}
	part := 1.0
	if t.GPUs > 0 {
		part = float64(gpus) / float64(t.GPUs)
	}
	return (s.sim.o.ShareCPU || float64(t.CPU*part) <= n.CPU+1e-9) && math.Ceil(float64(t.HostMemory)*part) <= float64(n.Memory)
}

// FitsHosts reports whether the machines of some GPUs have the CPU and host memory
// for a task that runs on exactly these.
func (s *State) FitsHosts(t *TaskView, gpus []int) bool { return s.cannotHosts(t, gpus) == "" }
