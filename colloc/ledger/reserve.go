package ledger

import (
	"errors"
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
)

// Claims returns what a plan asks of a [Ledger]: one Claim per task and GPU that it
// places, so that a gang has several, in the order of its placements, with the planned reservation. tasks
// are those given to [colloc.Planner.Plan]. A task of the plan that is not among them
// is an error, and so is no plan.
func Claims(p *colloc.Plan, tasks []colloc.Task) ([]Claim, error) {
	if p == nil {
		return nil, errors.New("ledger: claims: there is no plan; want that of Planner.Plan")
	}
	byID := make(map[string]*colloc.Task, len(tasks))
	for i := range tasks {
		byID[tasks[i].ID] = &tasks[i]
	}
	var claims []Claim
	for i := range p.Placements {
		for _, m := range p.Placements[i].Members {
			if m.Resident {
				continue
			}
			t := byID[m.Task]
			if t == nil {
				return nil, fmt.Errorf("ledger: claims: %w: the plan places task %q, which is not among the tasks given", ErrUnknown, m.Task)
			}
			c := Claim{Task: *t, GPU: p.Placements[i].GPU}
			c.Task.Reserved, c.Task.GPUs = m.Reserved, gangSize(t)
			claims = append(claims, c)
		}
	}
	return claims, nil
}

// gangSize is what a claim says of the GPUs that its task takes: nothing for one.
func gangSize(t *colloc.Task) int {
	if w := t.Width(); w > 1 {
		return w
	}
	return t.GPUs
}

// Reserve takes all claims or none of them, and holds them until the lease is
// committed, rolled back, or expires. seen is the Version of the [Snapshot] that
// the decision rests on. One of another [Epoch], from before a restart or of
// another Ledger, is out of date on every GPU, also on one without tasks.
//
// A task of several GPUs needs one claim for each of them, in one call. It shares
// each as any other task does.
//
// A claim that cannot be met is a [*RefusedError], which is [ErrConflict] or
// [ErrFull] or both. A task that is in the books already is [ErrDuplicate]: a
// scheduler that repeats a call whose answer it lost, and a second one that
// wants the same task, cannot start it twice. Unknown GPUs, such as one that was
// removed since, and a seen that is newer than the books, are [ErrUnknown].
func (l *Ledger) Reserve(seen Version, claims ...Claim) (Lease, error) {
	if len(claims) == 0 {
		return Lease{}, errors.New("ledger: reserve: no claims")
	}
	if err := checkClaims(claims); err != nil {
		return Lease{}, fmt.Errorf("ledger: reserve: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.tick()
	if seen.Epoch == l.epoch && seen.Number > l.version {
		return Lease{}, fmt.Errorf("ledger: reserve: %w: version %v, the books are at %d; use the Version of a Snapshot", ErrUnknown, seen, l.version)
	}
	taken := &lease{number: l.issued + 1}
	for i := range claims {
		if err := l.take(taken, &claims[i], seen); err != nil {
			l.drop(taken)
			return Lease{}, err
		}
	}
	l.issued++
	l.version++
	for _, s := range taken.seats {
		s.joined, s.account.tightened = l.version, l.version
	}
	l.leases[taken.number] = taken
	taken.deadline = l.clock.elapsed + l.config.LeaseTime
	l.open.push(taken)
	return Lease{Epoch: l.epoch, Number: l.issued, Expires: now.Add(l.config.LeaseTime)}, nil
}

// checkClaims reports why claims cannot be in the books; of a gang there must be
// one for each of its GPUs.
func checkClaims(claims []Claim) error {
	workers := make(map[string]int)
	for i := range claims {
		t := &claims[i].Task
		if err := checkBooked(t); err != nil {
			return err
		}
		if t.Width() > 1 {
			workers[t.ID]++
		}
	}
	for i := range claims {
		if t := &claims[i].Task; t.Width() > 1 && workers[t.ID] != t.Width() {
			return fmt.Errorf("task %q: %d claims for %d GPUs; claim all of a gang in one call, or set GPUs to 1 for workers with IDs of their own", t.ID, workers[t.ID], t.Width())
		}
	}
	return nil
}

// take adds one claim to a lease that is not in the books yet.
func (l *Ledger) take(taken *lease, c *Claim, seen Version) error {
	a := l.byID[c.GPU]
	if a == nil {
		return fmt.Errorf("ledger: reserve: task %q: %w: GPU %q", c.Task.ID, ErrUnknown, c.GPU)
	}
	if old := l.other(taken, a, &c.Task); old != nil {
		return fmt.Errorf("ledger: reserve: %w: task %q is on GPU %q already", ErrDuplicate, c.Task.ID, old.account.gpu.ID)
	}
	past := seen.Epoch != l.epoch
	e := RefusedError{Task: c.Task.ID, GPU: c.GPU, Stale: past || a.tightened > seen.Number}
	newcomer := ""
	if !past {
		newcomer = a.newcomer(taken, seen.Number)
	}
	if !past && a.remade > seen.Number {
		e.Changed, e.Stale = true, true
	}
	switch guard, lacks := a.guard(&c.Task), a.gpu.Lacks(&c.Task); {
	case lacks != "":
		e.Code, e.Label = packer.WrongGPU, lacks
	case c.Task.Reserved > a.room(l.config.Together):
		e.Code, e.Needed, e.Free = packer.MemoryLimit, c.Task.Reserved, max(0, a.room(l.config.Together))
	case guard != "":
		e.Code, e.Other = packer.MustBeAlone, guard
	case a.stranger(&c.Task) != "":
		e.Code, e.Other = packer.Incompatible, a.stranger(&c.Task)
	case len(a.seats) >= a.most(l.config.MaxSet):
		e.Code = packer.SetFull
	case newcomer == "" && !past && !e.Changed:
		l.place(taken, a, &c.Task)
		return nil
	}
	if newcomer != "" {
		e.Other = newcomer
	}
	return &e
}
