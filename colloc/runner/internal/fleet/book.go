package fleet

import (
	"slices"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/profile"
)

// amend changes what is reserved for a task that runs, to more only where all its cards have room for that.
func (f *Fleet) amend(e *backlog.Entry, reserved profile.Bytes) bool {
	if reserved == e.Reserved || reserved > e.Reserved && slices.ContainsFunc(f.CardsOf(e), func(c *Card) bool { return reserved > f.room(c, e) }) {
		return false
	}
	e.Reserved = reserved
	return true
}

// Rebook reserves for a task that runs what is known of it now. One that would not fit its GPU keeps
// what it has, and so does one that shares it where nobody stops who grows later.
func (f *Fleet) Rebook(e *backlog.Entry, c *Card) {
	if len(c.Entries) != 1 && f.config.Steady == 0 || e.TakesAll() || len(e.GPUs) > 0 {
		return
	}
	t := f.Demand(e)
	packed, err := f.planner.Packed(t)
	if t.Reserved = max(packed.Memory, e.Peak.Or(0)); err == nil && t.Reserved <= f.usable(c) {
		f.amend(e, t.Reserved)
	}
}

// mostGone is how many cards that are gone are remembered: each layout of MIG has new names.
const mostGone = 256

// Relist takes cards in that are new, and drops those that are not listed any more, once
// nothing runs there: another layout of MIG, or a GPU that was put in or taken out. complete
// says that what is not listed is not there.
func (f *Fleet) Relist(listed []*Card, complete bool) (come, gone []*Card) {
	is := func(c *Card) func(o *Card) bool { return func(o *Card) bool { return o.Info.ID == c.Info.ID } }
	for _, c := range listed {
		if f.Card(c.Info.ID) == nil {
			f.Cards, f.gone, come = append(f.Cards, c), slices.DeleteFunc(f.gone, is(c)), append(come, c)
		}
	}
	if complete {
		f.Cards = slices.DeleteFunc(slices.Clone(f.Cards), func(c *Card) bool {
			leaves := len(c.Entries) == 0 && !slices.ContainsFunc(listed, is(c))
			if leaves {
				gone = append(gone, c)
			}
			return leaves
		})
	}
	f.gone = append(f.gone, gone...)
	f.gone = slices.Clone(f.gone[max(0, len(f.gone)-mostGone):])
	return come, gone
}
