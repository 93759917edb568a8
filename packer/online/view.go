package online

import (
	"cmp"
	"context"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// Snapshot returns the session as a problem and its solution: what runs are
// residents of the GPUs in service, what waits are tasks, and each of those has a
// Reason. [packer.Problem.Check] accepts the pair, and any [packer.Method] can answer the
// problem anew.
func (s *Session) Snapshot() (*packer.Problem, *packer.Solution, error) {
	p, _ := s.problem(true)
	for _, j := range s.queue() {
		p.Tasks = append(p.Tasks, j.task)
	}
	d, err := packer.Compile(p)
	if err != nil {
		return nil, nil, err
	}
	sol, err := d.Answer(context.Background(), instance.NewPlan(d.Instance), nil, "session")
	if err != nil {
		return nil, nil, err
	}
	for i := range sol.Reasons {
		if err := s.below(&sol.Reasons[i]); err != nil {
			return nil, nil, err
		}
	}
	return p, sol, nil
}

// below rewrites the reason of a task that could join others but for the
// threshold.
func (s *Session) below(r *packer.Reason) error {
	j, partner := s.jobs[r.ID], s.jobs[r.Partner]
	if r.Sharing != packer.NoPartner || partner == nil || partner.gpu == none {
		return nil
	}
	c := &s.cards[partner.gpu]
	least, err := s.least(j, c.class)
	if err != nil {
		return err
	}
	v, err := s.join(partner.gpu, j, 0)
	if v.gain > 0 {
		r.Sharing, r.Shared = packer.NoGain, v.total
		r.Apart = c.value + float64(j.task.EffectiveWeight()*j.kind.scale*float64(least)/instance.Resolution)
	}
	return err
}

// problem returns the GPUs in service with what runs as residents, and the
// session's index of each; with or without those for which the model failed.
func (s *Session) problem(blind bool) (p *packer.Problem, at []int) {
	p = &packer.Problem{Model: s.p.Model, Limits: s.p.Limits}
	for g := range s.cards {
		c := &s.cards[g]
		if c.down || c.lead != none || c.blind && !blind {
			continue
		}
		gpu := s.p.GPUs[g]
		for _, j := range c.set {
			gpu.Residents = append(gpu.Residents, j.task)
		}
		if len(c.set) > 1 {
			gpu.Mechanisms = s.mechanisms(c)
			if gpu.Mechanisms == nil { // the residents of a GPU that nobody may join
				gpu.Mechanisms = []profile.Mechanism{profile.Exclusive}
			}
		}
		p.GPUs = append(p.GPUs, gpu)
		at = append(at, g)
	}
	return p, at
}

// queue returns the waiting jobs in policy order.
func (s *Session) queue() []*job {
	var all []*job
	for _, k := range s.waiting {
		for j := k.first; j != nil; j = j.next {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.kind.key.weight, a.kind.key.weight), cmp.Compare(a.arrival, b.arrival))
	})
	return all
}
