package online

import (
	"math/bits"
	"slices"
)

// gather makes an empty card stand for width cards of its class, the first empty
// ones.
func (s *Session) gather(gpu int32, width int) {
	c := &s.cards[gpu]
	c.more = c.more[:0]
	if width < 2 {
		return
	}
	s.freed = s.freed[:0]
	for g := range s.classes[c.class].members {
		if at := int32(s.classes[c.class].members[g]); at != gpu && s.isEmpty(at) && len(s.freed) < width-1 {
			s.freed = append(s.freed, at)
		}
	}
	for _, g := range s.freed {
		c.more = append(c.more, int(g))
		s.cards[g].lead = gpu
		s.touch(int(g))
	}
}

// isEmpty reports whether a card is empty and in service.
func (s *Session) isEmpty(gpu int32) bool {
	return s.empty[s.cards[gpu].class][gpu/64]>>(gpu%64)&1 == 1
}

// scatter gives back the cards for which an empty one stood and notes them in
// freed.
func (s *Session) scatter(c *card) {
	s.freed = s.freed[:0]
	for _, g := range c.more {
		s.cards[g].lead = none
		s.freed = append(s.freed, int32(g))
		s.touch(g)
	}
	c.more = c.more[:0]
}

// touch makes known that a card has changed.
func (s *Session) touch(gpu int) {
	c := &s.cards[gpu]
	s.version++
	s.open[gpu] = 0
	word, bit := &s.empty[c.class][gpu/64], uint64(1)<<(gpu%64)
	if *word&bit != 0 {
		*word &^= bit
		s.vacant[c.class]--
	}
	switch {
	case c.down || c.blind || c.lead != none:
	case len(c.set) == 0:
		*word |= bit
		s.vacant[c.class]++
	case len(c.set) < s.p.Limits.LargestSet() && len(s.classes[c.class].mechs) > 0 && !c.guarded():
		s.open[gpu] = s.version
	}
}

// guarded reports whether a task on c must be alone.
func (c *card) guarded() bool {
	return slices.ContainsFunc(c.set, func(j *job) bool { return j.task.Alone })
}

// firstEmpty returns the first empty GPU of class k, or none.
func (s *Session) firstEmpty(k int) int32 {
	for i, word := range s.empty[k] {
		if word != 0 {
			return int32(64*i + bits.TrailingZeros64(word))
		}
	}
	return none
}
