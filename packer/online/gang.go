package online

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

// noteFreed notes a card that was just refreshed, and those that it gave back, for
// drainFreed.
func (s *Session) noteFreed(gpu int32) {
	s.turn = append(s.turn[:0], gpu)
	if len(s.cards[gpu].set) == 0 {
		s.turn = append(s.turn, s.freed...)
	}
}

// drainFreed starts waiting tasks on the cards noted.
func (s *Session) drainFreed() error {
	for _, g := range s.turn {
		if err := s.drain(g); err != nil {
			return err
		}
	}
	return nil
}
