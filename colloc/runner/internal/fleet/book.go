package fleet

import (
	"errors"
	"slices"
	"time"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/profile"
)

// Book enters a task on all its cards.
func (f *Fleet) Book(e *backlog.Entry, cards []*Card, reserved profile.Bytes) error {
	return f.Books.Book(f.claims(e, cards, reserved)...)
}

// claims are what a task asks of the books: all of it, or nothing.
func (f *Fleet) claims(e *backlog.Entry, cards []*Card, reserved profile.Bytes) []ledger.Claim {
	claims := make([]ledger.Claim, len(cards))
	for i, c := range cards {
		t := f.Demand(e)
		t.Reserved = reserved
		claims[i] = ledger.Claim{Task: t, GPU: string(c.Info.ID)}
	}
	return claims
}

// Rebook enters a task that runs in the books anew. One that would not fit its GPU keeps
// what it has, and so does one that shares it where nobody stops who grows later.
func (f *Fleet) Rebook(e *backlog.Entry, c *Card) {
	if len(c.Entries) != 1 && f.config.Steady == 0 || e.TakesAll() || len(e.GPUs) > 0 {
		return
	}
	t := f.Demand(e)
	packed, err := f.planner.Packed(t)
	if t.Reserved = max(packed.Memory, e.Peak.Or(0)); err != nil || t.Reserved > f.usable(c) {
		return
	}
	if f.Books.Amend(t) == nil { // else others took the memory meanwhile, or the card was gone when the books were opened
		e.Reserved = t.Reserved
	}
}

// mostGone is how many cards that are gone are remembered: each layout of MIG has new names.
const mostGone = 256

// Relist takes cards in that are new, and drops those that are not listed any more, once
// nothing runs there: another layout of MIG, or a GPU that was put in or taken out. complete
// says that what is not listed is not there.
func (f *Fleet) Relist(listed []*Card, complete bool) (come, gone []*Card, err error) {
	for _, c := range listed {
		if f.Card(c.Info.ID) != nil {
			continue
		}
		if err = errors.Join(err, f.Books.AddGPU(c.gpu(f.config.Mechanisms))); err == nil {
			f.Cards = append(f.Cards, c)
			f.gone = slices.DeleteFunc(f.gone, func(g *Card) bool { return g.Info.ID == c.Info.ID })
			come = append(come, c)
		}
	}
	if !complete || err != nil {
		return come, nil, err
	}
	for _, c := range f.Cards {
		there := slices.ContainsFunc(listed, func(l *Card) bool { return l.Info.ID == c.Info.ID })
		if there || len(c.Entries) > 0 {
			continue
		}
		if _, err = f.Books.RemoveGPU(string(c.Info.ID)); err != nil {
			break
		}
		gone = append(gone, c)
	}
	f.Cards = slices.DeleteFunc(slices.Clone(f.Cards), func(c *Card) bool { return slices.Contains(gone, c) })
	f.gone = append(f.gone, gone...)
	f.gone = slices.Clone(f.gone[max(0, len(f.gone)-mostGone):])
	return come, gone, err
}

// Open makes the books, with the tasks in them that are on the cards already.
func (f *Fleet) Open(now func() time.Time) error {
	books := ledger.Config{Headroom: profile.Some(f.config.Headroom), Together: f.config.Together, MaxSet: f.config.PerGPU, Now: now}
	for _, c := range f.Cards {
		g := c.gpu(f.config.Mechanisms)
		for _, e := range c.Entries {
			t := f.Demand(e)
			t.Reserved, t.GPUs = max(1, e.Reserved), len(f.CardsOf(e)) // without those that are gone
			g.Residents = append(g.Residents, t)
		}
		books.GPUs = append(books.GPUs, g)
	}
	var err error
	f.Books, err = ledger.New(books)
	return err
}
