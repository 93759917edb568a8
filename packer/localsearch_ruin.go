package packer

import (
	"cmp"
	"slices"
)

const (
	ruined    = 3 // groups taken apart in one step
	retries   = 3 // orders in which tasks are put back
	maxQueued = 3 // waiting tasks that join in
)

// step takes a few groups apart and keeps the best way found to fill them.
func (s *search) step() error {
	before := s.ruin()
	found := int64(-1)
	for try := range retries {
		s.order(try)
		value, err := s.recreate()
		if err != nil {
			return err
		}
		if value > found {
			found = value
			s.best, s.trial = s.trial, s.best
			s.left = append(s.left[:0], s.rest...)
		}
	}
	if found < before {
		return nil
	}
	for n, g := range s.picked {
		s.groups[g].tasks = append(s.groups[g].tasks[:0], s.best[n].tasks...)
		s.groups[g].value = s.best[n].value
		s.groups[g].more, s.groups[g].part = s.best[n].more, s.best[n].part
	}
	// Tasks left over take the places of those that were tried.
	for _, at := range slices.Backward(s.spots) {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.waiting = append(s.waiting, s.left...)
	return nil
}

// ruin picks groups and waiting tasks and returns the value of the groups. Drawing
// again what is picked already does not last: three of them are picked at most.
func (s *search) ruin() int64 {
	s.picked, s.spots, s.loose = s.picked[:0], s.spots[:0], s.loose[:0]
	if s.in.gangs {
		return s.ruinWide()
	}
	value := int64(0)
	for len(s.picked) < min(ruined, len(s.groups)) {
		if g := s.rng.IntN(len(s.groups)); !slices.Contains(s.picked, g) {
			s.picked = append(s.picked, g)
			s.loose = append(s.loose, s.groups[g].tasks...)
			value += s.groups[g].value
		}
	}
	s.callUp()
	return value
}

// callUp makes a few waiting tasks loose.
func (s *search) callUp() {
	for len(s.spots) < min(maxQueued, len(s.waiting)) {
		if at := s.rng.IntN(len(s.waiting)); !slices.Contains(s.spots, at) {
			s.spots = append(s.spots, at)
			s.loose = append(s.loose, s.waiting[at])
		}
	}
	slices.Sort(s.spots)
}

// order arranges the loose tasks: heaviest first, then at random.
func (s *search) order(try int) {
	s.rng.Shuffle(len(s.loose), func(i, j int) { s.loose[i], s.loose[j] = s.loose[j], s.loose[i] })
	if try == 0 {
		slices.SortStableFunc(s.loose, func(a, b int32) int {
			t, u := &s.in.tasks[a], &s.in.tasks[b]
			return cmp.Or(cmp.Compare(u.weight, t.weight), cmp.Compare(u.memory, t.memory))
		})
	}
}

// recreate puts the loose tasks into empty copies of the picked groups, each
// where it adds most, and returns their value.
func (s *search) recreate() (int64, error) {
	s.rest = s.rest[:0]
	for s.trial = s.trial[:cap(s.trial)]; len(s.trial) < len(s.picked); {
		s.trial = append(s.trial, group{})
	}
	s.trial = s.trial[:len(s.picked)]
	for n, g := range s.picked {
		to := &s.groups[g]
		s.trial[n] = group{class: to.class, gpu: to.gpu, tasks: s.trial[n].tasks[:0], value: s.in.classes[to.class].base}
	}
	for _, i := range s.loose {
		to, value := none, int64(0)
		gain := int64(0)
		for n := range s.trial {
			g := &s.trial[n]
			if len(g.tasks)+len(s.in.classes[g.class].residents) >= s.in.maxSet || !takes(s.in, s.trial, n, i) {
				continue
			}
			s.joint = with(s.joint, g.tasks, i)
			v, err := s.worth(g.class, s.joint)
			if err != nil {
				return 0, err
			}
			if v > 0 {
				v += s.in.bonus(int(g.gpu), s.joint)
			}
			if v-g.value > gain {
				to, value, gain = n, v, v-g.value
			}
		}
		if to == none {
			s.rest = append(s.rest, i)
			continue
		}
		to = widen(s.in, s.trial, to, i)
		s.trial[to].tasks, s.trial[to].value = insert(s.trial[to].tasks, i), value
	}
	total := int64(0)
	for _, g := range s.trial {
		total += g.value
	}
	return total, nil
}
