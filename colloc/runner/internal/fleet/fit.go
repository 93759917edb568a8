package fleet

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/profile"
)

// Place is where a task goes.
type Place struct {
	Cards     []int // one, or those of a task that takes several
	Verdict   colloc.Verdict
	Mechanism profile.Mechanism
	score     float64
}

// Fit finds the best card for a task; why says what was missing where there is
// none. An error means that there will never be one, or none until a card comes back:
// [ErrAbsent].
func (f *Fleet) Fit(e *backlog.Entry, kept []int) (best Place, why string, err error) {
	if e.Task.Width() > 1 {
		return f.fitGang(e, kept)
	}
	snapshot := f.Books.Snapshot()
	for i, c := range f.Cards {
		if f.Seats(c) == 0 || slices.Contains(kept, i) {
			continue
		}
		p := Place{Cards: []int{i}}
		snapshot.GPUs[i].Memory = max(1, snapshot.GPUs[i].Memory-c.Promised)
		reason, err := f.fitOn(e, c, snapshot.GPUs[i], &p)
		if err != nil && !e.TakesAll() && e.Asked() == 0 {
			e.Unknown = true
			return f.Fit(e, kept)
		}
		if err != nil {
			return best, "", err
		}
		switch {
		case reason != "":
			why = fmt.Sprintf("GPU %d: %s", i, reason)
		case best.Cards == nil || p.score > best.score || p.score == best.score && len(c.Entries) < len(f.Cards[best.Cards[0]].Entries):
			best = p
		}
	}
	if best.Cards != nil {
		return best, "", nil
	}
	if why == "" {
		why = "no GPU has a place left"
	}
	return best, why, f.tooLarge(e)
}

// fitOn asks the Planner about one card.
func (f *Fleet) fitOn(e *backlog.Entry, c *Card, g colloc.GPU, p *Place) (reason string, err error) {
	p.Mechanism = c.Mechanism
	if len(c.Entries) == 0 {
		p.Mechanism = preferred(Sharing(c.Info, f.config.Mechanisms), e.Avoid)
	}
	if avoid, ok := e.Avoid.Get(); ok && avoid == p.Mechanism {
		return "its tasks share by " + avoid.String() + ", under which memory ran out", nil
	}
	g.Mechanisms = c.gpu([]profile.Mechanism{p.Mechanism}).Mechanisms
	t := f.demand(e)
	if p.Verdict, err = f.planner.Fit(t, g); err != nil {
		return "", err
	}
	v := &p.Verdict
	switch {
	case !v.Fits && t.Reserved == 1 && f.joins(e):
		return f.unknown(c, v.Free), nil
	case !v.Fits && t.Reserved == 1:
		return "it waits for a GPU to itself", nil
	case !v.Fits:
		return v.String(), nil
	case v.Free < f.config.MemoryFloor:
		return fmt.Sprintf("memory floor: %v are free, want %v", v.Free, f.config.MemoryFloor), nil
	}
	if t.Reserved == 1 {
		if len(c.Entries) > 0 && (v.Free < f.least(c) || !c.settled()) {
			return f.unknown(c, v.Free), nil
		}
		v.Reserved = max(1, v.Free)
	}
	if p.score, err = f.planner.Score(t, g); err == nil && p.score <= 0 && len(g.Residents) > 0 {
		reason = "sharing would gain nothing"
	}
	return reason, err
}

// least is what must be free on a card for a task of which nothing is known to join others.
func (f *Fleet) least(c *Card) profile.Bytes {
	return profile.BytesOf(f.config.Beside * float64(f.usable(c)))
}

// unknown says what a task waits for of which nothing is known.
func (f *Fleet) unknown(c *Card, free profile.Bytes) string {
	wants := fmt.Sprintf("for %v free on a GPU, of which %v are", f.least(c), free)
	if free >= f.least(c) {
		wants = "until those on the GPU were seen to use memory"
	}
	return "nothing is known of its memory: it waits " + wants + "; with -mem (Task.Memory) it joins as soon as there is room for that"
}

// settled reports whether each task on the card was seen to use memory there.
func (c *Card) settled() bool {
	return !c.blind && !slices.ContainsFunc(c.Entries, func(e *backlog.Entry) bool { return e.Peak.IsZero() })
}

// ErrAbsent says that a task fits none of the cards that are there, but would fit if those
// came back that are gone or do not answer.
var ErrAbsent = errors.New("fits only GPUs that are gone or do not answer")

// tooLarge is an error if a task would fit no card even if it were empty.
func (f *Fleet) tooLarge(e *backlog.Entry) error {
	fits, why, err := f.fitsEmpty(e, f.there())
	if fits || err != nil {
		return err
	}
	if fits, _, err = f.fitsEmpty(e, f.absent()); fits && err == nil {
		return fmt.Errorf("%w: %s", ErrAbsent, why)
	}
	return errors.New("fits no GPU: " + why)
}

// fitsEmpty reports whether a task fits one of the cards with nobody on it, and why not.
func (f *Fleet) fitsEmpty(e *backlog.Entry, cards []*Card) (fits bool, why string, err error) {
	for _, c := range cards {
		v, err := f.planner.Fit(f.demand(e), c.gpu(f.config.Mechanisms))
		if err != nil || v.Fits && v.Free >= f.config.MemoryFloor {
			return err == nil, "", err
		}
		why = fmt.Sprintf("%s, when empty: %v", c.Info.ID, v)
	}
	return false, why, nil
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
