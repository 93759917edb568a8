package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Decision is what a Dispatcher would do now, for people and programs that look on or carry it out themselves.
type Decision struct {
	// Placements are the GPUs where something would start, in the order in which they were given, each with its
	// residents first. A gang has one for each of its GPUs.
	Placements []colloc.Placement `json:"placements"`
	// Waits says of the others why they would wait.
	Waits []Reason `json:"waits,omitempty"`
}

// Once returns what a new Dispatcher decides about tasks that wait, given GPUs with what runs there, see [Found].
// The errors are those of [Dispatcher.Tell] and [Dispatcher.Decide]; with LeaveOutFaulty of [colloc.Config] tasks that
// are described wrongly are left out. Each task that waits costs what [Dispatcher.Why] does.
func Once(ctx context.Context, planner *colloc.Planner, waiting []colloc.Task, gpus []colloc.GPU) (*Decision, error) {
	d, err := New(planner, &Options{AtOnce: true})
	if err != nil {
		return nil, err
	}
	c := planner.Config()
	var events []Event
	for i := range gpus {
		events = append(events, GPUAdded{GPU: gpus[i]})
	}
	if err := d.Tell(0, append(events, Found(gpus, c.ShareForeign)...)...); err != nil {
		return nil, err
	}
	tasks := make(map[string]colloc.Task, len(waiting))
	for _, t := range waiting {
		tasks[t.ID] = t
		if err := d.Tell(0, Submitted{Job: Job{Task: t}}); err != nil && !c.LeaveOutFaulty {
			return nil, err
		}
	}
	starts, err := d.Decide(ctx, 0)
	if err != nil {
		return nil, err
	}
	out := &Decision{}
	if out.Placements, err = Placements(planner, gpus, starts, tasks); err != nil {
		return nil, err
	}
	for i := range waiting {
		if r, err := d.Why(waiting[i].ID); err == nil && r.Code != Runs {
			out.Waits = append(out.Waits, r)
		}
	}
	return out, nil
}

// Found tells of what runs on GPUs that were added: their Residents, as runs from 1 on. A GPU with residents of which
// not all can be told takes no job: it has more than [MostOnGPU], or a gang some of whose GPUs are not among these.
// share says that a foreign resident may have company.
func Found(gpus []colloc.GPU, share bool) []Event {
	on := make(map[string][]string)
	var order []colloc.Task
	full := make(map[string]bool)
	for i := range gpus {
		full[gpus[i].ID] = len(gpus[i].Residents) > MostOnGPU
		for _, t := range gpus[i].Residents {
			if on[t.ID] == nil {
				order = append(order, t)
			}
			on[t.ID] = append(on[t.ID], gpus[i].ID)
		}
	}
	var events []Event
	for i, t := range order {
		at := on[t.ID]
		if len(at) != t.Width() || slices.ContainsFunc(at, func(id string) bool { return full[id] }) {
			for _, id := range at {
				full[id] = true
			}
			continue
		}
		t.Alone = t.Alone || t.Foreign && !share
		events = append(events, Adopted{Job: Job{Task: t, Fixed: t.Reserved > 0}, Run: uint64(i) + 1, GPUs: at})
	}
	for i := range gpus {
		if full[gpus[i].ID] {
			events = append(events, Drained{GPU: gpus[i].ID})
		}
	}
	return events
}

// Placements are the starts among actions as a plan would say them: in the order of the GPUs, each with the Residents
// that it has there first. Starts elsewhere are passed over. tasks are those that start, by ID.
// The errors are those of [colloc.Planner.Judge].
func Placements(planner *colloc.Planner, gpus []colloc.GPU, actions []Action, tasks map[string]colloc.Task) ([]colloc.Placement, error) {
	starts := make(map[string][]Action)
	for _, a := range actions {
		for _, id := range a.GPUs {
			if a.Verb == Start {
				starts[id] = append(starts[id], a)
			}
		}
	}
	all := []colloc.Placement{}
	for i := range gpus {
		if here := starts[gpus[i].ID]; len(here) > 0 {
			p, err := placement(planner, gpus[i], here, tasks)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// placement is what starts on a GPU, beside what runs there.
func placement(planner *colloc.Planner, g colloc.GPU, starts []Action, tasks map[string]colloc.Task) (colloc.Placement, error) {
	residents := len(g.Residents)
	g.Residents = slices.Clip(g.Residents) // what is appended is not the caller's
	for _, a := range starts {
		t, known := tasks[a.Job]
		if !known {
			return colloc.Placement{}, fmt.Errorf("dispatch: placements: %w job %q", ErrUnknown, a.Job)
		}
		if t.Profile == nil {
			t.Reserved = a.Reserve
		} else if _, reserved, err := planner.Memory(t); err == nil && reserved <= g.Total() { // else it wants a whole GPU
			t.Reserved = a.Reserve // more than is predicted where it ran out, or others of its Kind were seen
		}
		g.Residents = append(g.Residents, t)
	}
	last := len(g.Residents) - 1
	t, mechanism := g.Residents[last], starts[len(starts)-1].Mechanism
	g.Residents = g.Residents[:last]
	if last > 0 && mechanism != profile.Exclusive {
		g.Mechanisms = []profile.Mechanism{mechanism}
	}
	p, err := planner.Judge(t, g)
	if err != nil {
		return p, err
	}
	for i := range p.Members {
		p.Members[i].Resident = i < residents
	}
	p.Mechanism = cmp.Or(mechanism, p.Mechanism)
	if gang := starts[0].GPUs; len(gang) > 1 {
		p.Gang = gang
	}
	return p, nil
}

// Died says: a job that waits ran out of memory before this Dispatcher was told of it, on GPU or one like it, with
// Peak reserved or used, which is less than it needs. It is raised as by an [Ended] that says [OutOfMemory].
type Died struct {
	Job  string
	GPU  string
	Peak profile.Bytes
}

func (e Died) name() string { return e.Job }

func (e Died) apply(d *Dispatcher) error {
	j, err := d.job(e.Job)
	if err != nil {
		return err
	}
	c, err := d.card(e.GPU)
	if err != nil {
		return fmt.Errorf("%w %q", err, e.GPU)
	}
	if e.Peak < 0 || e.Peak > maxMemory || j.run != nil || j.over != 0 {
		return fmt.Errorf("%w: Peak is %v; want 0 to %v, and a job that waits", ErrInvalid, e.Peak, maxMemory)
	}
	d.later(func() error {
		if j.gone {
			return nil // an earlier one was the last
		}
		return d.raise(j, profile.Some(e.Peak), []*card{c})
	})
	return nil
}
