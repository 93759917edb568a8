package packer

import (
	"cmp"
	"slices"

	"example.com/colloc/profile"
)

// instance is a validated Problem in the form in which methods work: tasks and
// GPUs in the order of their IDs, so that the caller's order changes nothing;
// GPUs that cannot be told apart joined in classes; values in whole units, so
// that sums are exact.
type instance struct {
	p       *Problem
	tasks   []*Task // by ID
	origin  []int   // origin[i] is the index of tasks[i] in Problem.Tasks
	classes []class // free ones first, then one for each GPU with residents
	free    int     // number of free classes
	unit    float64 // value of one unit, a power of two
	maxSet  int
	byGPU   []int // class of each GPU
	gangs   bool  // some task takes more than one GPU
	homes
	cuts map[*GPU]*cut // of classes that can be cut up, by class.gpu
}

// class is a group of interchangeable GPUs, or one GPU with residents.
type class struct {
	gpu       *GPU // the first member, which stands for all
	members   []int
	usable    profile.Bytes // after headroom
	mechs     []profile.Mechanism
	residents []*Task
	used      profile.Bytes // by residents
	base      int64         // value of the residents alone, in units
	baseMech  profile.Mechanism
	baseSpeed []float64
}

// open reports whether the class may take a new task at all.
func (c *class) open(maxSet int) bool {
	if len(c.residents) >= maxSet {
		return false
	}
	for _, t := range c.residents {
		if t.Alone {
			return false
		}
	}
	return len(c.residents) == 0 || len(c.mechs) > 0
}

// newInstance validates p and prepares it. O(n log n + classes · GPUs).
func newInstance(p *Problem) (*instance, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	in := &instance{p: p, maxSet: p.Limits.maxSet(), unit: unitOf(p)}
	in.origin = make([]int, len(p.Tasks))
	for i := range in.origin {
		in.origin[i] = i
	}
	slices.SortFunc(in.origin, func(a, b int) int { return cmp.Compare(p.Tasks[a].ID, p.Tasks[b].ID) })
	in.tasks = make([]*Task, len(p.Tasks))
	for i, o := range in.origin {
		in.tasks[i] = &p.Tasks[o]
		in.gangs = in.gangs || p.Tasks[o].GPUs > 1
	}
	in.group()
	in.findHomes()
	if err := in.cutUp(); err != nil {
		return nil, err
	}
	e := newEvaluator(in)
	for i := range in.classes {
		if err := e.baseline(&in.classes[i]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// value converts units to what callers see; exact below 2^53 units.
func (in *instance) value(units int64) float64 { return float64(units) * in.unit }

// group fills classes.
func (in *instance) group() {
	p := in.p
	order := make([]int, len(p.GPUs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.GPUs[a].ID, p.GPUs[b].ID) })
	var occupied []class
	for _, g := range order {
		gpu := &p.GPUs[g]
		if len(gpu.Residents) > 0 {
			occupied = append(occupied, in.newClass(g))
			continue
		}
		k := slices.IndexFunc(in.classes, func(c class) bool { return sameClass(c.gpu, gpu) })
		if k < 0 {
			in.classes = append(in.classes, in.newClass(g))
			continue
		}
		in.classes[k].members = append(in.classes[k].members, g)
	}
	in.free = len(in.classes)
	in.classes = append(in.classes, occupied...)
	in.byGPU = make([]int, len(p.GPUs))
	for k := range in.classes {
		for _, g := range in.classes[k].members {
			in.byGPU[g] = k
		}
	}
}

func (in *instance) newClass(g int) class {
	gpu := &in.p.GPUs[g]
	c := class{gpu: gpu, members: []int{g}, mechs: sharing(gpu)}
	total := gpu.memory()
	c.usable = in.p.Limits.usable(total)
	for i := range gpu.Residents {
		c.residents = append(c.residents, &gpu.Residents[i])
		c.used += gpu.Residents[i].Memory
	}
	return c
}
