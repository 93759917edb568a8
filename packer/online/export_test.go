package online

import "time"

// Remembers is how many kinds and sets of them are remembered.
func (s *Scheduler) Remembers() (kinds, sets int) { return len(s.like), s.sets.Len() }

// Tasks returns how many tasks run and how many wait.
func (s *Scheduler) Tasks() (running, waiting int) {
	for _, e := range s.order {
		if len(e.on) > 0 {
			running++
		}
	}
	return running, len(s.order) - running
}

// Forecast says how long what runs and waits takes from now, as Expect has it: the mean and the last.
func (s *Scheduler) Forecast() (mean, last time.Duration) {
	all := s.Expect(1)
	for _, x := range all {
		mean += x.End - s.now
		last = max(last, x.End-s.now)
	}
	return mean / time.Duration(max(1, len(all))), last
}
