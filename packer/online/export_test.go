package online

// Remembers is how many kinds and sets of them are remembered.
func (s *Scheduler) Remembers() (kinds, sets int) { return len(s.like), s.sets.Len() }
