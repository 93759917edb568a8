package ahead

import (
	"slices"
	"strconv"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// mind predicts what the simulator predicts, made better by what was measured. GPUs go by their
// indexes, tasks by their IDs.
type mind struct {
	state       *sim.State
	known       *learn.Known
	limits      packer.Limits
	maxSlowdown float64
	tasks       map[string]*sim.TaskView // that the brain knows, by ID
	kinds       map[kind]string
	like        map[string]*sim.TaskView // by kind
	largest     profile.Bytes            // what a task may reserve
	set         []*sim.TaskView
}

// kind is what makes tasks equal.
type kind struct {
	name    string
	profile *profile.Profile
	gpus    int
}

var (
	_ dispatch.Mind = (*mind)(nil)
	_ packer.Model  = (*mind)(nil)
)

func newMind(s *sim.State, limits packer.Limits, maxSlowdown float64) *mind {
	m := &mind{
		state: s, known: learn.New(), limits: limits, maxSlowdown: maxSlowdown,
		tasks: map[string]*sim.TaskView{}, kinds: map[kind]string{}, like: map[string]*sim.TaskView{},
	}
	for _, g := range s.GPUs() {
		m.largest = max(m.largest, m.limits.Usable(capacity(g)))
	}
	return m
}

// capacity is a GPU's memory, limited so that sums do not overflow.
func capacity(g *sim.GPUView) profile.Bytes { return min(g.Total, 1<<50) }

// index is that of a GPU by its ID.
func index(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// Scheduler implements [dispatch.Mind].
func (m *mind) Scheduler(_ []colloc.GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	return online.NewScheduler(nil, m, m.limits, o)
}

// PackedGPU implements [dispatch.Mind].
func (m *mind) PackedGPU(g colloc.GPU) (packer.GPU, error) {
	return packer.GPU{ID: g.ID, Type: &m.state.GPUs()[index(g.ID)].Model, Memory: g.Memory}, nil
}

// memory is what is expected of a task, or the bound once it ran out of that.
func (m *mind) memory(t *sim.TaskView) profile.Bytes {
	if t.Deaths > 0 {
		return t.Reserve
	}
	return t.Likely
}

// Packed implements [dispatch.Mind].
func (m *mind) Packed(task colloc.Task) (packer.Task, error) {
	t := m.tasks[task.ID]
	memory := m.memory(t)
	p := packer.Task{ID: t.ID, Memory: min(memory, m.largest), GPUs: t.GPUs, MinSpeed: t.Floor}
	if m.maxSlowdown >= 1 {
		p.MinSpeed = max(p.MinSpeed, 1/m.maxSlowdown)
	}
	p.Alone = t.Deaths > 1 || t.Deaths == 1 && t.Reserve <= t.Likely || memory > m.largest // no more could be reserved
	if t.Type != "" && len(t.Only) == 0 && t.Floor == 0 && !p.Alone {
		key := kind{t.Type, t.Profile, t.GPUs}
		p.Kind = m.kinds[key]
		if p.Kind == "" {
			p.Kind = t.Type + "/" + strconv.Itoa(len(m.kinds))
			m.kinds[key], m.like[p.Kind] = p.Kind, t
		}
	}
	return p, nil
}

// Relearn implements [dispatch.Mind].
func (m *mind) Relearn(s *online.Scheduler, _ []colloc.GPU) error { return s.SetModel(m) }

// Speeds implements [packer.Model] with what is known by now.
func (m *mind) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	m.set = m.set[:0]
	for _, t := range set {
		v := m.tasks[t.ID]
		if t.Kind != "" {
			v = m.like[t.Kind]
		}
		m.set = append(m.set, v)
	}
	view := m.state.GPUs()[index(gpu.ID)]
	if err := m.known.Speeds(m.state, view, mech, m.set, dst); err != nil {
		return err
	}
	for i, v := range m.set {
		if len(v.Only) > 0 && !slices.Contains(v.Only, view.Model.Name) {
			dst[i] = 0
		}
	}
	return nil
}
