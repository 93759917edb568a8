package place

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
)

// Preemptive runs the tasks with the smallest keys on GPUs of their own, those of a
// higher priority before all others.
type Preemptive struct {
	Key    func(s *sim.State, t *sim.TaskView) time.Duration
	order  []ranked
	room   Room
	gang   Gang
	chosen []*sim.TaskView
}

// ranked is a task and its place in the queue.
type ranked struct {
	task *sim.TaskView
	key  time.Duration
	gpus []int // where it may run
}

// Decide implements [sim.Scheduler].
func (p *Preemptive) Decide(s *sim.State) error {
	Hosts(s)
	p.rank(s)
	p.room.Empty(s)
	n := 0
	for i := range p.order {
		r := &p.order[i]
		if p.room.Left == 0 {
			break
		}
		if r.gpus = p.room.Take(s, r.task, r.gpus[:0]); len(r.gpus) > 0 {
			p.order[n], p.order[i] = p.order[i], p.order[n]
			n++
		}
	}
	p.apply(s, p.order[:n])
	return nil
}

// rank orders all tasks that wait or run by priority, then by their keys, then by arrival.
func (p *Preemptive) rank(s *sim.State) {
	p.order = p.order[:0]
	add := func(t *sim.TaskView) {
		if t.HostOnly {
			return
		}
		p.order = append(p.order, ranked{task: t, key: p.Key(s, t)})
	}
	for t := range s.Running() {
		add(t)
	}
	for t := range s.Waiting() {
		add(t)
	}
	slices.SortFunc(p.order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.task.Priority, a.task.Priority), cmp.Compare(a.key, b.key), cmp.Compare(a.task.Index, b.task.Index))
	})
}

// apply makes exactly the chosen tasks run. Those that run already stay where
// they are if the others then find room; if not, all move as planned.
func (p *Preemptive) apply(s *sim.State, chosen []ranked) {
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
		gpus := p.gang.Idle(s, t)
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
