package runner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// placed is where a task goes.
type placed struct {
	cards     []int // one, or those of a task that takes several
	verdict   colloc.Verdict
	mechanism profile.Mechanism
	score     float64
}

// fit finds the best card for a task; why says what was missing where there is
// none. An error means that there will never be one.
func (r *Runner) fit(e *entry, kept []int) (best placed, why string, err error) {
	if e.Task.width() > 1 {
		return r.fitGang(e, kept)
	}
	snapshot := r.ledger.Snapshot()
	for i, c := range r.cards {
		if c.seats(r.config.PerGPU) == 0 || slices.Contains(kept, i) {
			continue
		}
		p := placed{cards: []int{i}}
		snapshot.GPUs[i].Memory = max(1, snapshot.GPUs[i].Memory-c.promised)
		reason, err := r.fitOn(e, c, snapshot.GPUs[i], &p)
		if err != nil && !e.takesAll() && e.reserve() == 0 {
			e.unknown = true
			return r.fit(e, kept)
		}
		if err != nil {
			return best, "", err
		}
		switch {
		case reason != "":
			why = string(c.info.ID) + ": " + reason
		case best.cards == nil || p.score > best.score || p.score == best.score && len(c.entries) < len(r.cards[best.cards[0]].entries):
			best = p
		}
	}
	if best.cards != nil {
		return best, "", nil
	}
	if why == "" {
		why = "no GPU has a place left"
	}
	return best, why, r.tooLarge(e)
}

// fitOn asks the Planner about one card.
func (r *Runner) fitOn(e *entry, c *card, g colloc.GPU, p *placed) (reason string, err error) {
	p.mechanism = c.mechanism
	if len(c.entries) == 0 {
		p.mechanism = preferred(Sharing(c.info, r.config.Mechanisms), e.Avoid)
	}
	if avoid, ok := e.Avoid.Get(); ok && avoid == p.mechanism {
		return "its tasks share by " + avoid.String() + ", under which memory ran out", nil
	}
	g.Mechanisms = c.gpu([]profile.Mechanism{p.mechanism}).Mechanisms
	t := r.demand(e)
	if p.verdict, err = r.planner.Fit(t, g); err != nil {
		return "", err
	}
	v := &p.verdict
	switch {
	case !v.Fits && t.Reserved == 1:
		return fmt.Sprintf("it takes all that is free, and others use all of it: %v", v.Free), nil
	case !v.Fits:
		return v.String(), nil
	case v.Free < r.config.MemoryFloor:
		return fmt.Sprintf("memory floor: %v are free, want %v", v.Free, r.config.MemoryFloor), nil
	}
	if t.Reserved == 1 {
		v.Reserved = max(1, v.Free)
	}
	if p.score, err = r.planner.Score(t, g); err == nil && p.score <= 0 && len(g.Residents) > 0 {
		reason = "sharing would gain nothing"
	}
	return reason, err
}

// tooLarge is an error if a task would fit no card even if it were empty.
func (r *Runner) tooLarge(e *entry) error {
	var last string
	for _, c := range r.cards {
		if c.lost {
			continue
		}
		v, err := r.planner.Fit(r.demand(e), c.gpu(r.config.Mechanisms))
		if err != nil || v.Fits && v.Free >= r.config.MemoryFloor {
			return err
		}
		last = fmt.Sprintf("%s, when empty: %v", c.info.ID, v)
	}
	return errors.New("fits no GPU: " + last)
}

// fitGang finds as many cards of one product, each of them empty, as a task of
// several takes, or says what is missing. An error means that there will never be
// as many.
func (r *Runner) fitGang(e *entry, kept []int) (best placed, why string, err error) {
	snapshot := r.ledger.Snapshot()
	room, able := make(map[string][]placed), make(map[string]int) // by product
	for i, c := range r.cards {
		if c.lost {
			continue
		}
		p := placed{cards: []int{i}}
		reason, err := r.fitAlone(e, c, c.gpu(r.config.Mechanisms).Memory, &p)
		if err != nil {
			return best, "", err
		}
		if reason != "" {
			why = string(c.info.ID) + ": " + reason
			continue
		}
		name := c.model.Name
		able[name]++
		if len(c.entries) > 0 || slices.Contains(kept, i) {
			continue
		}
		if reason, err = r.fitAlone(e, c, max(1, snapshot.GPUs[i].Memory-c.promised), &p); err != nil {
			return best, "", err
		}
		if reason == "" {
			room[name] = append(room[name], p)
		}
		if len(room[name]) == e.Task.width() {
			return together(room[name]), "", nil
		}
	}
	for _, n := range able {
		if n >= e.Task.width() {
			return best, fmt.Sprintf("it takes %d empty GPUs of one product at once", e.Task.width()), nil
		}
	}
	return best, "", fmt.Errorf("fits no GPUs: it takes %d of one product at once%s", e.Task.width(), cmp.Or(strings.TrimSuffix("; "+why, "; "), ""))
}

// fitAlone asks the Planner about one card with nobody on it.
func (r *Runner) fitAlone(e *entry, c *card, memory profile.Bytes, p *placed) (reason string, err error) {
	g := c.gpu(r.config.Mechanisms)
	g.Memory = memory
	sharing := slices.DeleteFunc(slices.Clone(Sharing(c.info, r.config.Mechanisms)), func(m profile.Mechanism) bool { return m == profile.MPS })
	p.mechanism = preferred(sharing, e.Avoid)
	t := r.demand(e)
	if p.verdict, err = r.planner.Fit(t, g); err != nil {
		if !e.takesAll() && e.reserve() == 0 {
			e.unknown = true
			return r.fitAlone(e, c, memory, p)
		}
		return "", err
	}
	switch v := &p.verdict; {
	case !v.Fits:
		return v.String(), nil
	case v.Free < r.config.MemoryFloor:
		return fmt.Sprintf("memory floor: %v are free, want %v", v.Free, r.config.MemoryFloor), nil
	case t.Reserved == 1:
		v.Reserved = max(1, v.Free)
	}
	return "", nil
}

// together is one placement on several cards, with a reservation that all of them
// have room for.
func together(all []placed) placed {
	sum := all[0]
	for _, p := range all[1:] {
		sum.cards = append(sum.cards, p.cards...)
		sum.verdict.Reserved = min(sum.verdict.Reserved, p.verdict.Reserved)
	}
	return sum
}

// preferred is the first mechanism that a task does not avoid.
func preferred(mechanisms []profile.Mechanism, avoid profile.Opt[profile.Mechanism]) profile.Mechanism {
	for _, m := range mechanisms {
		if a, ok := avoid.Get(); !ok || a != m {
			return m
		}
	}
	return profile.Exclusive
}

// diskFull says that a disk has no room for another task; empty if it has, or if
// nobody knows.
func (r *Runner) diskFull(dir string) string {
	free, ok := supervise.FreeSpace(dir)
	if !ok || free >= r.config.DiskFloor {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full: %v are free, want %v", dir, free, r.config.DiskFloor)
}
