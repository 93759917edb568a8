package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Wait says why a job does not start now.
type Wait struct {
	Cause Cause
	// Cards are how many cards the cause is about: those that could ever take the job
	// (Impossible), those in service of them (Down), and else those that take it now, in
	// one place where it may be as a whole.
	Cards int
	// By is the job that has the cards (Kept), or -1.
	By int32
	// Card comes nearest to taking it of those that do not, and Lacks says why not; -1 if
	// there is none. With are the jobs there, and Short is how much memory is missing.
	Card  int32
	Lacks Refusal
	With  []int32
	Short int64
}

// Cause is why a job does not start now.
type Cause int8

// The causes.
const (
	// Soon: it starts at the next decision.
	Soon Cause = iota
	// Impossible: it could not start if nothing else ran.
	Impossible
	// Down: it could if all cards were in service.
	Down
	// Taken: too many cards have no place for it.
	Taken
	// Kept: cards are kept for a job.
	Kept
	// Chosen: it could, but not under the rule.
	Chosen
)

// Refusal says why a card does not take a job, in the order of how near it comes to it.
// 0 is none: it does.
type Refusal int8

// The refusals.
const (
	Unfit     Refusal = iota + 1 // such cards never take it, or are down
	Reserved                     // it is kept for another
	Full                         // no more jobs may share
	NoRoom                       // memory
	Forbidden                    // it and those there must not share
	NoGain                       // it adds too little
)

// Why says why job i, which waits, does not start now under a rule, where sets of most
// jobs are allowed, if no other starts. It costs O(cards) for each job that is due.
func (e *Engine) Why(i int32, r *Rule, most int32) Wait {
	e.reset(r)
	e.paces()
	for _, k := range e.queue {
		if e.Jobs[k].Due && !e.kept && e.affords(k) && e.place(k, nil) == nil {
			e.keep(k)
		}
	}
	w := Wait{By: -1, Card: -1}
	width := int(e.Jobs[i].Width)
	if w.Cards = e.able(i, false); w.Cards < width {
		if all := e.able(i, true); all < width {
			w.Cause, w.Cards = Impossible, all
			return w
		}
		w.Cause = Down
		return w
	}
	if e.survey(i, &w) >= width { // there are seats
		if e.place(i, nil) == nil { // where it adds too little as a whole
			w.Cause = Chosen
		}
		return w
	}
	chosen := w
	e.rule = &Rule{Most: most}
	for k := range e.lives {
		e.lives[k].weight = e.Jobs[k].weight()
	}
	if e.survey(i, &w) >= width {
		chosen.Cause, chosen.Cards = Chosen, w.Cards
		return chosen
	}
	kept := w
	for g := range e.cards {
		if k := e.cards[g].keeper; k != 0 && k != i+1 {
			kept.By, e.cards[g].keeper = k-1, 0
		}
	}
	if kept.By >= 0 && e.survey(i, &w) >= width {
		kept.Cause = Kept
		return kept
	}
	w.Cause = Taken
	return w
}

// survey notes the place where most cards take a job and, of the others there, the one
// that comes nearest; it returns how many take it.
func (e *Engine) survey(i int32, w *Wait) int {
	*w = Wait{By: -1, Card: -1}
	for k, cards := range e.where(&e.Jobs[i]) {
		here := Wait{By: -1, Card: -1}
		for _, g := range cards {
			lacks := e.refusal(i, g)
			if lacks == 0 {
				here.Cards++
				continue
			}
			short := e.Jobs[i].Memory + e.Cards[g].Less[min(MaxSet, e.cards[g].n+1)] - e.cards[g].room
			if lacks != NoRoom {
				short = 0
			}
			if here.Card < 0 || lacks > here.Lacks || lacks == here.Lacks && short < here.Short {
				here.Card, here.Lacks, here.Short = g, lacks, short
			}
		}
		if by := cmp.Or(cmp.Compare(here.Cards, w.Cards), cmp.Compare(here.Lacks, w.Lacks), cmp.Compare(w.Short, here.Short)); k == 0 || by > 0 {
			*w = here
		}
	}
	if w.Card >= 0 {
		c := &e.cards[w.Card]
		w.With = slices.Clone(c.jobs[:c.n])
	}
	return w.Cards
}

// refusal says why a card does not take a job now under the rule; see join.
func (e *Engine) refusal(i, g int32) Refusal {
	j, c := &e.Jobs[i], &e.cards[g]
	if e.gain(i, g) > 0 {
		return 0
	}
	switch {
	case c.down || !e.suits(j, g):
		return Unfit
	case c.keeper != 0 && c.keeper != i+1:
		return Reserved
	case c.n >= e.rule.Most && c.n > 0:
		return Full
	case c.room < j.Memory+e.Cards[g].Less[c.n+1]:
		return NoRoom
	case !e.Sets.nodes[e.Sets.With(c.set, j.Kind)].ok:
		return Forbidden
	default:
		return NoGain
	}
}

// String says what a rule is, for people.
func (r *Rule) String() string {
	text := [...]string{"in the order of arrival", "short tasks first", "long tasks first"}[r.Order]
	text += fmt.Sprintf(", at most %d on a GPU", r.Most)
	if r.Least > 0 {
		text += fmt.Sprintf(", sharing from %.0f %% of what a task does alone", math.Round(100*r.Least))
	}
	if r.Power > 0 {
		text += ", short tasks count for more"
	}
	return text
}
