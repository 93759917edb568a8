package runner

import "example.com/colloc/profile"

// Describe tells what was learned of tasks that are not over: from now on they
// count with this profile and reservation, also while they run, so that others can
// join them on their GPU. memory is what to reserve; 0 lets the Planner tell. It is
// one transaction, however many tasks, and changes nothing if one is unknown; those
// that are over stay as they are. No IDs is none. The profile must not be modified
// any more.
func (r *Runner) Describe(p *profile.Profile, memory profile.Bytes, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find(ids)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.State.Over() {
			r.describe(e, p, memory)
		}
	}
	r.poke()
	return r.commit()
}

func (r *Runner) describe(e *entry, p *profile.Profile, memory profile.Bytes) {
	e.profile, e.Task.Profile, e.Task.Memory = p, p, memory
	e.ProfileKey, e.unknown = nil, false
	if alone, ok := r.solo.byEntry[e]; ok && p != nil {
		r.solo.byProfile[p] = alone
	}
	if c := r.card(e.GPU); e.State != Queued && c != nil {
		r.rebook(e, c)
		r.tell(EventProgress, e, "")
	}
	r.change(e)
}

// rebook enters a task that runs by itself in the books anew. One that shares
// its GPU, or that would not fit it, keeps what it has.
func (r *Runner) rebook(e *entry, c *card) {
	t := r.demand(e)
	v, err := r.planner.Fit(t, c.gpu(r.config.Mechanisms))
	if err != nil || !v.Fits || len(c.entries) != 1 || e.takesAll() || len(e.GPUs) > 0 {
		return
	}
	if r.ledger.Release(e.Task.ID) != nil {
		return // the card was gone when the books were opened
	}
	before := e.Reserved
	e.Reserved, e.Predicted = max(v.Reserved, e.Peak.Or(0)), v.Speed
	if r.book(e, []*card{c}, e.Reserved) != nil { // others took the memory meanwhile
		e.Reserved = before
		_ = r.book(e, []*card{c}, before) // if that fails too, Reconcile counts the task as a foreigner
	}
}
