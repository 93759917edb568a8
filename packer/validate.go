package packer

import (
	"errors"
	"fmt"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// none is the absence of a number.
const none = -1

// maxFaults is how many faults one error lists before it only counts.
const maxFaults = 20

// Validate reports every fault of the problem's data, each with its place: an
// empty or repeated ID, a number that is negative, NaN, infinite or out of
// range, an unknown mechanism, a missing Model. A task that fits nowhere is no
// fault: it gets a [Reason]. No tasks and no GPUs are no faults either.
// O(tasks + GPUs + residents).
func (p *Problem) Validate() error {
	if p == nil {
		return errors.New("packer: problem: it is nil")
	}
	v := &validator{seen: make(map[string]spot, len(p.Tasks))}
	v.limits(p)
	for i := range p.Tasks {
		v.task(spot{none, i}, &p.Tasks[i])
	}
	gpus := make(map[string]int, len(p.GPUs))
	for i := range p.GPUs {
		g := &p.GPUs[i]
		if first, dup := gpus[g.ID]; dup && g.ID != "" {
			v.fault("GPUs[%d]: ID %q is also that of GPUs[%d]; GPUs need distinct IDs", i, g.ID, first)
		}
		gpus[g.ID] = i
		v.gpu(i, g)
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if _, known := gpus[t.Home]; t.Home != "" && !known {
			v.fault("Tasks[%d] (%q): Home is %q; no GPU has that ID", i, t.ID, t.Home)
		}
	}
	return v.err()
}

// Validate reports the faults of one task, as [Problem.Validate] does. It does not
// allocate for a task without faults.
func (t *Task) Validate() error {
	if t.ID != "" && t.Memory >= 0 && t.Memory <= maxMemory && t.Weight >= 0 && t.Weight <= MaxWeight && t.MinSpeed >= 0 && t.MinSpeed <= 1 && t.MoveCost >= 0 && t.MoveCost <= MaxMoveCost && t.GPUs >= 0 && t.GPUs <= widest {
		return nil
	}
	v := &validator{seen: map[string]spot{}}
	v.task(spot{none, 0}, t)
	return v.err()
}

// spot is where a task stands in a Problem.
type spot struct {
	gpu   int // none for Problem.Tasks
	index int
}

func (s spot) String() string {
	if s.gpu == none {
		return fmt.Sprintf("Tasks[%d]", s.index)
	}
	return fmt.Sprintf("GPUs[%d].Residents[%d]", s.gpu, s.index)
}

type validator struct {
	seen   map[string]spot
	faults []error
	count  int
}

func (v *validator) fault(format string, args ...any) {
	v.count++
	if v.count <= maxFaults {
		v.faults = append(v.faults, fmt.Errorf("packer: problem: "+format, args...))
	}
}

func (v *validator) err() error {
	if v.count > maxFaults {
		v.faults = append(v.faults, fmt.Errorf("packer: problem: and %d more faults", v.count-maxFaults))
	}
	return errors.Join(v.faults...)
}

func (v *validator) limits(p *Problem) {
	if p.Model == nil {
		v.fault("Model is nil; it predicts the speeds that packing compares")
	}
	if h := p.Limits.headroom(); !(h >= 0 && h < 1) {
		v.fault("Limits.Headroom is %v; want a fraction in [0, 1)", h)
	}
	if m := p.Limits.Together; m < 0 || m > maxMemory {
		v.fault("Limits.Together is %d bytes; want 0 to %v", int64(m), profile.Bytes(maxMemory))
	}
	if k := p.Limits.MaxSet; k < 0 || k > maxMaxSet {
		v.fault("Limits.MaxSet is %d; want 1 to %d, or 0 for %d", k, maxMaxSet, DefaultMaxSet)
	}
	if g := p.Limits.MinGain; !(g >= 0 && g <= instance.MaxSpeed) {
		v.fault("Limits.MinGain is %v; want 0 to %d", g, instance.MaxSpeed)
	}
	if p.Objective != Throughput {
		v.fault("Objective %d is unknown; use Throughput", int(p.Objective))
	}
}

func (v *validator) task(where spot, t *Task) {
	switch first, dup := v.seen[t.ID]; {
	case t.ID == "":
		v.fault("%s: ID is empty", where)
	case dup:
		v.fault("%s: ID %q is also that of %s; tasks need distinct IDs", where, t.ID, first)
	default:
		v.seen[t.ID] = where
	}
	if t.Memory < 0 || t.Memory > maxMemory {
		v.fault("%s (%q): Memory is %d bytes; want 0 to %v", where, t.ID, int64(t.Memory), profile.Bytes(maxMemory))
	}
	if !(t.Weight >= 0 && t.Weight <= MaxWeight) {
		v.fault("%s (%q): Weight is %v; want 0 to %g (only ratios matter: divide all by the same number)",
			where, t.ID, t.Weight, float64(MaxWeight))
	}
	if !(t.MinSpeed >= 0 && t.MinSpeed <= 1) {
		v.fault("%s (%q): MinSpeed is %v; want a fraction in [0, 1]", where, t.ID, t.MinSpeed)
	}
	if !(t.MoveCost >= 0 && t.MoveCost <= MaxMoveCost) {
		v.fault("%s (%q): MoveCost is %v; want 0 to %d", where, t.ID, t.MoveCost, MaxMoveCost)
	}
	if t.GPUs < 0 || t.GPUs > widest || t.GPUs > 1 && t.Home != "" {
		v.fault("%s (%q): GPUs is %d and Home is %q; want 0 to %d GPUs, and no Home for more than one", where, t.ID, t.GPUs, t.Home, widest)
	}
	if where.gpu != none && t.Home != "" {
		v.fault("%s (%q): Home is %q; a resident stays, list one that may be moved in Tasks", where, t.ID, t.Home)
	}
}

func (v *validator) gpu(n int, g *GPU) {
	if g.ID == "" {
		v.fault("GPUs[%d]: ID is empty", n)
	}
	if m := g.Total(); m <= 0 || m > maxMemory {
		v.fault("GPUs[%d] (%q): memory is %d bytes; set Memory, or a Type that has one, up to %v",
			n, g.ID, int64(m), profile.Bytes(maxMemory))
	}
	for i, m := range g.Mechanisms {
		if m < 0 || int(m) >= profile.Mechanisms {
			v.fault("GPUs[%d] (%q): Mechanisms[%d] is %d; no such mechanism", n, g.ID, i, int(m))
		}
	}
	if err := g.checkInstances(); err != nil {
		v.fault("GPUs[%d] (%q): Instances: %w", n, g.ID, err)
	}
	for i := range g.Residents {
		if r := &g.Residents[i]; r.Width() != g.Residents[0].Width() {
			v.fault("%s (%q): GPUs is %d, and %d for the first resident; gangs share all their GPUs or none", spot{n, i}, r.ID, r.GPUs, g.Residents[0].GPUs)
		}
		v.task(spot{n, i}, &g.Residents[i])
	}
}
