package shadow

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// Decision is what a [dispatch.Dispatcher] would do now.
type Decision struct {
	// Placements are the GPUs where something would start, in the order in which they were given, each with its
	// residents first. A gang has one for each of its GPUs.
	Placements []colloc.Placement `json:"placements"`
	// Waits says of the others why they would wait.
	Waits []dispatch.Reason `json:"waits,omitempty"`
}

// decide asks a Dispatcher that is told how things are.
func decide(ctx context.Context, planner *colloc.Planner, waiting []colloc.Task, gpus []colloc.GPU) (*Decision, error) {
	d, err := dispatch.New(planner, &dispatch.Options{AtOnce: true})
	if err != nil {
		return nil, err
	}
	c := planner.Config()
	var events []dispatch.Event
	for i := range gpus {
		events = append(events, dispatch.GPUAdded{GPU: gpus[i]})
	}
	events = append(events, present(gpus, c.ShareForeign)...)
	if err := d.Tell(0, events...); err != nil {
		return nil, err
	}
	for i := range waiting {
		if err := d.Tell(0, dispatch.Submitted{Job: dispatch.Job{Task: waiting[i]}}); err != nil && !c.LeaveOutFaulty {
			return nil, err
		}
	}
	actions, err := d.Decide(ctx, 0)
	if err != nil {
		return nil, err
	}
	starts := make(map[string][]dispatch.Action)
	placed := make(map[string]bool)
	for _, a := range actions {
		if a.Verb != dispatch.Start {
			continue
		}
		placed[a.Job] = true
		for _, id := range a.GPUs {
			starts[id] = append(starts[id], a)
		}
	}
	out := &Decision{Placements: []colloc.Placement{}}
	for i := range gpus {
		if here := starts[gpus[i].ID]; len(here) > 0 {
			p, err := explain(planner, gpus[i], here, waiting)
			if err != nil {
				return nil, err
			}
			out.Placements = append(out.Placements, p)
		}
	}
	for i := range waiting {
		if r, err := d.Why(waiting[i].ID); err == nil && !placed[waiting[i].ID] {
			out.Waits = append(out.Waits, r)
		}
	}
	return out, nil
}

// present tells of what runs. GPUs with jobs of which not all can be told take none.
func present(gpus []colloc.GPU, share bool) []dispatch.Event {
	on := make(map[string][]string)
	var order []colloc.Task
	full := make(map[string]bool)
	for i := range gpus {
		full[gpus[i].ID] = len(gpus[i].Residents) > dispatch.MostOnGPU
		for _, t := range gpus[i].Residents {
			if on[t.ID] == nil {
				order = append(order, t)
			}
			on[t.ID] = append(on[t.ID], gpus[i].ID)
		}
	}
	var events []dispatch.Event
	for i, t := range order {
		at := on[t.ID]
		if len(at) != t.Width() || slices.ContainsFunc(at, func(id string) bool { return full[id] }) {
			for _, id := range at {
				full[id] = true
			}
			continue
		}
		t.Alone = t.Alone || t.Foreign && !share
		events = append(events, dispatch.Adopted{Job: dispatch.Job{Task: t, Fixed: t.Reserved > 0}, Run: uint64(i) + 1, GPUs: at})
	}
	for i := range gpus {
		if full[gpus[i].ID] {
			events = append(events, dispatch.Drained{GPU: gpus[i].ID})
		}
	}
	return events
}

// explain is the placement of what starts on a GPU beside what runs there.
func explain(planner *colloc.Planner, gpu colloc.GPU, starts []dispatch.Action, waiting []colloc.Task) (colloc.Placement, error) {
	residents := len(gpu.Residents)
	for _, a := range starts {
		at := slices.IndexFunc(waiting, func(t colloc.Task) bool { return t.ID == a.Job })
		if at < 0 {
			return colloc.Placement{}, errors.New("a task starts that does not wait")
		}
		gpu.Residents = append(slices.Clip(gpu.Residents), waiting[at])
	}
	last := gpu.Residents[len(gpu.Residents)-1]
	gpu.Residents = gpu.Residents[:len(gpu.Residents)-1]
	mechanism := starts[len(starts)-1].Mechanism
	if len(gpu.Residents) > 0 && mechanism != profile.Exclusive {
		gpu.Mechanisms = []profile.Mechanism{mechanism}
	}
	p, err := planner.Judge(last, gpu)
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
