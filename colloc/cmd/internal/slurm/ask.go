package slurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// mind is a Dispatcher that was told what the record and the cluster say. Each look makes one anew: a command that was
// killed goes on as if it had not been.
type mind struct {
	*dispatch.Dispatcher
	*desk

	state   *site.State
	devices map[string]site.Device
	gpus    []colloc.GPU           // that take tasks
	kinds   map[string]kind        // of those that stand for one that Slurm may give us
	tasks   map[string]colloc.Task // that wait
	bars    map[string][]string    // the GPUs where each of them has no room
	free    map[string]room        // what nodes have left
}

// room is what a node has for jobs.
type room struct {
	cpus   int
	memory profile.Bytes
}

// seenMargin is what a task of which nothing is known reserves above the most that others of its kind were seen to use.
const seenMargin = 0.1

// ask makes a mind, and tells it of tasks that wait.
func (d *desk) ask(out *outline, state *site.State, waiting []colloc.Task) (*mind, error) {
	m := &mind{desk: d, state: state, tasks: make(map[string]colloc.Task), kinds: make(map[string]kind), bars: make(map[string][]string), free: make(map[string]room)}
	m.gpus, m.devices = out.offered(d.sweep, state)
	var err error
	// The plain rule, which colloc gain plays: nothing waits that could start, and no job is stopped.
	m.Dispatcher, err = dispatch.New(d.planner, &dispatch.Options{AtOnce: true, Scheduler: online.SchedulerOptions{Budget: profile.Some(0), Growth: profile.Some(seenMargin)}})
	if err != nil {
		return nil, err
	}
	told := d.record.lessons(d.sweep)
	all := slices.Concat(m.gpus, d.sweep.taken(state, m.gpus))
	events := slices.Concat(m.found(all, told), m.come(all, told, waiting))
	if err := m.Tell(0, events...); err != nil {
		return nil, err
	}
	for i := range m.gpus {
		for k := range m.gpus[i].Residents {
			if t := &m.gpus[i].Residents[k]; t.Profile == nil && t.Reserved == 0 {
				t.Reserved, _ = m.Memory(t.ID) // 0 is of one that is not known
			}
		}
	}
	return m, nil
}

// found tells of all GPUs that there are, of which those of the mind take tasks, of what was learned of kinds, and of
// what runs.
func (m *mind) found(all []colloc.GPU, told *lessons) []dispatch.Event {
	var events []dispatch.Event
	for i := range all {
		events = append(events, dispatch.GPUAdded{GPU: all[i]})
		if i >= len(m.gpus) {
			events = append(events, dispatch.Drained{GPU: all[i].ID})
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(told.peaks)) {
		if len(all) > 0 {
			events = append(events, dispatch.Adopted{Job: dispatch.Job{Task: colloc.Task{ID: "kind", Kind: kind, Reserved: 1}}, Run: 1, GPUs: []string{all[0].ID}},
				dispatch.Seen{Job: "kind", Run: 1, Peak: told.peaks[kind]}, dispatch.Ended{Job: "kind", Run: 1, How: dispatch.Failed})
		}
	}
	for i := range m.gpus {
		for k := range m.gpus[i].Residents {
			t := &m.gpus[i].Residents[k]
			if *t = told.task(*t, m.sweep.byID[t.ID]); t.Reserved == 0 && (t.Profile != nil || len(told.died[t.ID]) > 0) {
				t.Reserved = told.had[t.ID]
			}
		}
	}
	return append(events, dispatch.Found(m.gpus, false)...)
}

// come tells of tasks that wait, and of what they died of.
func (m *mind) come(all []colloc.GPU, told *lessons, waiting []colloc.Task) (events []dispatch.Event) {
	for _, t := range m.largest(waiting) {
		e := m.sweep.byID[t.ID]
		t = told.task(t, e)
		m.tasks[t.ID] = t
		job := dispatch.Job{Task: t, Fixed: !e.untold()}
		if e.Solo != nil && !e.Solo.RunTime.IsZero() {
			job.Left = profile.Some(time.Duration(e.Solo.RunTime.Or(0)))
		}
		events = append(events, dispatch.Submitted{Job: job})
		for _, x := range told.died[t.ID] {
			if len(all) > 0 {
				g := all[max(0, slices.IndexFunc(all, func(g colloc.GPU) bool { return g.Model.Name == x.product }))]
				events = append(events, dispatch.Died{Job: t.ID, GPU: g.ID, Peak: min(x.had, g.Total())})
			}
		}
	}
	return events
}

// largest are tasks in the order in which they go: those of a sweep came together, and what needs a GPU alone or more
// of one goes first, for others find room beside it.
func (d *desk) largest(tasks []colloc.Task) []colloc.Task {
	needs := make(map[string]profile.Bytes, len(tasks))
	for _, t := range tasks {
		_, needs[t.ID], _ = d.planner.Memory(t) // the Dispatcher says what is wrong with it
		if t.Alone {
			needs[t.ID] = memory.Whole
		}
	}
	tasks = slices.Clone(tasks)
	slices.SortStableFunc(tasks, func(a, b colloc.Task) int { return cmp.Compare(needs[b.ID], needs[a.ID]) })
	return tasks
}

// task is one as a Dispatcher is to know it: where nothing was said of its memory what others of its kind were seen
// to use counts. Before any was, nobody knows what it needs, and it has a GPU alone.
func (told *lessons) task(t colloc.Task, e *entry) colloc.Task {
	if e.untold() && told.peaks[e.Kind] > 0 {
		t.Profile = nil
	}
	return t
}

// taken are the GPUs that suit and that no plan can use now: others have them, or their nodes are off. With them it is
// known what waits in vain.
func (s *sweep) taken(state *site.State, offered []colloc.GPU) (gpus []colloc.GPU) {
	o := &site.GPUOptions{Models: s.Models}
	for _, d := range state.Devices() {
		n := state.Node(d.Node)
		model, known := o.Model(&d, n)
		if known && s.Suits(n) && s.large(model) && !slices.ContainsFunc(offered, func(g colloc.GPU) bool { return g.ID == d.ID() }) {
			gpus = append(gpus, colloc.GPU{ID: d.ID(), Model: model})
		}
	}
	return gpus
}

// start decides what starts now on the cluster's GPUs, where the nodes that divide theirs have CPUs and memory for
// every job that is bound to them.
func (m *mind) start(ctx context.Context, out *outline) ([]dispatch.Action, error) {
	var starts []dispatch.Action
	for refused := true; refused; { // each round takes GPUs from a task, or ends
		refused = false
		actions, err := m.Decide(ctx, 0)
		if err != nil {
			return nil, err
		}
		for _, a := range actions {
			switch {
			case a.Verb == dispatch.GiveUp:
				out.refused = append(out.refused, refusal{a.Job, a.Why})
				delete(m.tasks, a.Job)
			case a.Verb != dispatch.Start:
			case m.holds(a.Job, a.GPUs[0]):
				starts = append(starts, a)
			default:
				refused = true
				if err := m.refuse(out, a); err != nil {
					return nil, err
				}
			}
		}
	}
	return starts, nil
}

// holds reports whether a GPU's node has room for one more job of a task, and takes it.
func (m *mind) holds(task, gpu string) bool {
	d := m.devices[gpu]
	n := m.state.Node(d.Node)
	if d.Share == "" || n == nil || n.CPUs == 0 {
		return true // in one job, which Slurm starts where there is room
	}
	left, known := m.free[d.Node]
	if !known {
		left.cpus, left.memory = m.state.Free(d.Node)
	}
	cpus, memory := m.sweep.needs(m.sweep.byID[task], n)
	if cpus > left.cpus || memory > left.memory {
		return false
	}
	m.free[d.Node] = room{left.cpus - cpus, left.memory - memory}
	return true
}

// refuse tells that a task does not start on a GPU, nor on others of its node.
func (m *mind) refuse(out *outline, a dispatch.Action) error {
	node := m.devices[a.GPUs[0]].Node
	for _, g := range m.gpus {
		if m.devices[g.ID].Node == node {
			m.bars[a.Job] = append(m.bars[a.Job], g.ID)
		}
	}
	cpus, memory := m.state.Free(node)
	skipped := site.Skipped{GPU: a.GPUs[0], Why: fmt.Sprintf("its node has %d CPUs and %v free: not enough for one more task", cpus, memory)}
	if !slices.Contains(out.skipped, skipped) {
		out.skipped = append(out.skipped, skipped)
	}
	return m.Tell(0, dispatch.Ended{Job: a.Job, Run: a.Run, How: dispatch.Stopped}, dispatch.Barred{Job: a.Job, GPUs: m.bars[a.Job]})
}

// placements are starts, the sweep's first tasks first: so they stand in Slurm's queue.
func (m *mind) placements(gpus []colloc.GPU, starts []dispatch.Action) ([]colloc.Placement, error) {
	all, err := dispatch.Placements(m.planner, gpus, starts, m.tasks)
	turn := make(map[string]int)
	for i, e := range m.sweep.tasks {
		turn[e.ID] = i
	}
	first := make(map[string]int) // of each GPU
	for _, p := range all {
		residents := slices.IndexFunc(p.Members, func(m colloc.Member) bool { return !m.Resident })
		slices.SortStableFunc(p.Members[residents:], func(a, b colloc.Member) int { return cmp.Compare(turn[a.Task], turn[b.Task]) })
		first[p.GPU] = turn[p.Members[residents].Task]
	}
	slices.SortStableFunc(all, func(a, b colloc.Placement) int { return cmp.Compare(first[a.GPU], first[b.GPU]) })
	return all, err
}

// queue decides who waits in Slurm with whom, on GPUs that stand for those that it will give us: as many of each kind
// as it takes, the most numerous kind first.
func (m *mind) queue(ctx context.Context, out *outline, left int, kinds []kind) ([]dispatch.Action, error) {
	var starts []dispatch.Action
	most := cmp.Or(m.sweep.Most, colloc.DefaultMaxSet)
	for _, k := range kinds {
		for came := 1; left > 0 && came > 0; left -= came { // each round places one at least, or ends
			var events []dispatch.Event
			for range (left + most - 1) / most {
				g := colloc.GPU{ID: fmt.Sprintf("queue-%s/%d", cmp.Or(k.gres, "any"), len(out.gpus)), Model: k.model}
				out.gpus[g.ID], m.kinds[g.ID], m.gpus = k.model, k, append(m.gpus, g)
				events = append(events, dispatch.GPUAdded{GPU: g})
			}
			if err := m.Tell(0, events...); err != nil {
				return nil, err
			}
			before := len(starts)
			actions, err := m.Decide(ctx, 0)
			if err != nil {
				return nil, err
			}
			starts = append(starts, actions...)
			came = len(starts) - before
		}
	}
	return starts, nil
}

// waits says of the tasks that do not start why.
func (m *mind) waits() (all []dispatch.Reason, err error) {
	for _, e := range m.sweep.tasks {
		if _, asked := m.tasks[e.ID]; !asked {
			continue
		}
		r, err := m.Why(e.ID)
		if err != nil {
			return nil, err
		}
		if r.Code != dispatch.Runs {
			all = append(all, r)
		}
	}
	return all, nil
}

// vain reports whether a task waits for what will not come: a GPU that the cluster does not have.
func vain(r *dispatch.Reason) bool {
	return r.Code == dispatch.Room && (r.Placing.Code == packer.TooLarge || r.Placing.Code == packer.WrongGPU || r.Placing.Code == packer.SpeedLimit)
}
