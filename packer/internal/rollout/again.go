package rollout

import "slices"

// again is what one Open leaves to the next: on which cards nobody of a shape found a place. As long as
// those stay as they were, the next looks at the others alone.
type again struct {
	sets    *Sets
	rule    Rule
	minGain float64
	round   int64
	cards   []seen
	refused map[outline]refusal
	fresh   []int32 // cards that are not as they were, ascending
	holds   bool    // it does for this Open
}

// seen is what of a card decides whether a job finds a place there.
type seen struct {
	set, n int32
	room   int64
	less   [MaxSet + 1]int64
	down   bool
}

// refusal is the least memory of jobs of a shape that found no place, and in which Open.
type refusal struct{ memory, round int64 }

// recall finds the cards that are not as the last Open left them.
func (e *Engine) recall() {
	a := &e.again
	r := e.rule
	plain := !e.gangs && !e.weighted && r.Power == 0 && !r.Stop && !r.Anew && !r.Move && len(r.First) == 0
	same := a.holds && a.sets == e.Sets && a.rule.Most == r.Most && a.rule.Least == r.Least && a.minGain == e.MinGain && len(a.cards) == len(e.Cards)
	a.sets, a.rule, a.minGain, a.holds, a.fresh = e.Sets, *r, e.MinGain, plain, a.fresh[:0]
	if !plain {
		return
	}
	if a.round++; !same || a.refused == nil {
		a.refused, a.cards = map[outline]refusal{}, make([]seen, len(e.Cards))
		for g := range a.cards {
			a.cards[g].n = -1
		}
	}
	for g := range e.cards {
		if now := e.look(g); now != a.cards[g] {
			a.cards[g] = now
			a.fresh = append(a.fresh, int32(g))
		}
	}
}

// look is a card as it is.
func (e *Engine) look(g int) seen {
	c := &e.cards[g]
	return seen{c.set, c.n, c.room, e.Cards[g].Less, c.down}
}

// among are the cards that a job need look at, nil for all.
func (e *Engine) among(i int32) []int32 {
	a := &e.again
	if !a.holds || e.kept {
		return nil
	}
	if x, ok := a.refused[e.outline(i)]; !ok || x.round < a.round-1 || e.Jobs[i].Memory < x.memory {
		return nil
	}
	if a.fresh == nil {
		a.fresh = []int32{}
	}
	return a.fresh
}

// outline is the shape of a job.
func (e *Engine) outline(i int32) outline {
	j := &e.Jobs[i]
	return outline{j.Kind, j.Width, j.Ban}
}

// note remembers that a job found no place.
func (e *Engine) note(i int32) {
	a := &e.again
	if !a.holds {
		return
	}
	at, memory := e.outline(i), e.Jobs[i].Memory
	if x, ok := a.refused[at]; ok && x.round == a.round {
		memory = min(memory, x.memory)
	}
	a.refused[at] = refusal{memory, a.round}
}

// stir notes that cards are not as they were: somebody starts there.
func (e *Engine) stir(cards []int32) {
	a := &e.again
	for _, g := range cards {
		if at, found := slices.BinarySearch(a.fresh, g); a.holds && !found {
			a.fresh = slices.Insert(a.fresh, at, g)
		}
	}
}

// leave notes how an Open leaves the cards: those that changed meanwhile are looked at again, and all where
// jobs stop or cards are kept.
func (e *Engine) leave() {
	a := &e.again
	a.holds = a.holds && !e.kept
	for _, g := range a.fresh {
		if e.look(int(g)) != a.cards[g] {
			a.cards[g].n = -1
		}
	}
	for at, x := range a.refused {
		if x.round < a.round {
			delete(a.refused, at)
		}
	}
}
