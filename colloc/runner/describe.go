package runner

import "example.com/colloc/profile"

// Describe tells what was learned of a task that is not over: from now on it
// counts with this profile and reservation, also while it runs, so that others
// can join it on its GPU. memory is what to reserve; 0 lets the Planner tell. It
// is no error if the task is over. The profile must not be modified any more.
func (r *Runner) Describe(id string, p *profile.Profile, memory profile.Bytes) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := r.find([]string{id})
	if err != nil {
		return err
	}
	e := entries[0]
	if e.State.Over() {
		return nil
	}
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
	r.poke()
	return r.commit()
}

// rebook enters a task that runs by itself in the books anew. One that shares
// its GPU, or that would not fit it, keeps what it has.
func (r *Runner) rebook(e *entry, c *card) {
	t := r.demand(e)
	v, err := r.planner.Fit(t, c.gpu(r.config.Mechanisms))
	if err != nil || !v.Fits || len(c.entries) != 1 || e.takesAll() {
		return
	}
	if r.ledger.Release(e.Task.ID) != nil {
		return // the card was gone when the books were opened
	}
	before := e.Reserved
	e.Reserved, e.Predicted = max(v.Reserved, e.Peak.Or(0)), v.Speed
	t.Reserved = e.Reserved
	if r.book(t, c) != nil { // others took the memory meanwhile
		e.Reserved = before
		t.Reserved = before
		_ = r.book(t, c) // if that fails too, Reconcile counts the task as a foreigner
	}
}
