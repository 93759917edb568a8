package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/profile"
)

// fitGang finds as many cards of one product, each of them empty, as a task of
// several takes, or says what is missing. The error is as that of Fit.
func (f *Fleet) fitGang(e *backlog.Entry, kept []int) (best Place, why string, err error) {
	snapshot := f.Books.Snapshot()
	room, able := make(map[string][]Place), make(map[string]int) // by product
	for i, c := range f.Cards {
		if c.Lost {
			continue
		}
		p := Place{Cards: []int{i}}
		reason, err := f.fitAlone(e, c, c.gpu(f.config.Mechanisms).Memory, &p)
		if err != nil {
			return best, "", err
		}
		if reason != "" {
			why = fmt.Sprintf("GPU %d: %s", i, reason)
			continue
		}
		name := c.model.Name
		able[name]++
		if len(c.Entries) > 0 || slices.Contains(kept, i) {
			continue
		}
		if reason, err = f.fitAlone(e, c, max(1, snapshot.GPUs[i].Memory-c.Promised), &p); err != nil {
			return best, "", err
		}
		if reason == "" {
			room[name] = append(room[name], p)
		}
		if len(room[name]) == e.Task.Width() {
			return together(room[name]), "", nil
		}
	}
	for _, n := range able {
		if n >= e.Task.Width() {
			return best, fmt.Sprintf("it takes %d empty GPUs of one product at once", e.Task.Width()), nil
		}
	}
	missing := fmt.Sprintf("it takes %d of one product at once%s", e.Task.Width(), cmp.Or(strings.TrimSuffix("; "+why, "; "), ""))
	for _, c := range f.absent() {
		reason, err := f.fitAlone(e, c, c.gpu(f.config.Mechanisms).Memory, new(Place))
		if err != nil || reason != "" {
			continue
		}
		if able[c.model.Name]++; able[c.model.Name] >= e.Task.Width() {
			return best, "", fmt.Errorf("%w: %s", ErrAbsent, missing)
		}
	}
	return best, "", errors.New("fits no GPUs: " + missing)
}

// fitAlone asks the Planner about one card with nobody on it.
func (f *Fleet) fitAlone(e *backlog.Entry, c *Card, memory profile.Bytes, p *Place) (reason string, err error) {
	g := c.gpu(f.config.Mechanisms)
	g.Memory = memory
	sharing := slices.DeleteFunc(slices.Clone(Sharing(c.Info, f.config.Mechanisms)), func(m profile.Mechanism) bool { return m == profile.MPS })
	p.Mechanism = preferred(sharing, e.Avoid)
	t := f.demand(e)
	if p.Verdict, err = f.planner.Fit(t, g); err != nil {
		if !e.TakesAll() && e.Asked() == 0 {
			e.Unknown = true
			return f.fitAlone(e, c, memory, p)
		}
		return "", err
	}
	switch v := &p.Verdict; {
	case !v.Fits:
		return v.String(), nil
	case v.Free < f.config.MemoryFloor:
		return fmt.Sprintf("memory floor: %v are free, want %v", v.Free, f.config.MemoryFloor), nil
	case t.Reserved == 1:
		v.Reserved = max(1, v.Free)
	}
	return "", nil
}

// together is one placement on several cards, with a reservation that all of them
// have room for.
func together(all []Place) Place {
	sum := all[0]
	for _, p := range all[1:] {
		sum.Cards = append(sum.Cards, p.Cards...)
		sum.Verdict.Reserved = min(sum.Verdict.Reserved, p.Verdict.Reserved)
	}
	return sum
}

// keepGang chooses the cards that a task of several will get: those with the fewest
// tasks, of the product that has enough.
func (f *Fleet) keepGang(e *backlog.Entry, closed []int) []int {
	byProduct := make(map[string][]int)
	for i, c := range f.Cards {
		if v, err := f.planner.Fit(f.demand(e), c.gpu(f.config.Mechanisms)); !c.Lost && !slices.Contains(closed, i) && err == nil && v.Fits {
			byProduct[c.model.Name] = append(byProduct[c.model.Name], i)
		}
	}
	for _, c := range f.Cards {
		if all := byProduct[c.model.Name]; len(all) >= e.Task.Width() {
			slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(len(f.Cards[a].Entries), len(f.Cards[b].Entries)) })
			return all[:e.Task.Width()]
		}
	}
	return nil
}
