package search

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

const (
	ruined  = 3 // groups taken apart in one step
	retries = 3 // orders in which tasks are put back
	// MaxQueued is how many waiting tasks join in.
	MaxQueued = 3
)

// step takes a few groups apart and keeps the best way found to fill them.
func (s *Search) step() error {
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
	for n, g := range s.Picked {
		s.Groups[g].Tasks = append(s.Groups[g].Tasks[:0], s.best[n].Tasks...)
		s.Groups[g].Value = s.best[n].Value
		s.Groups[g].More, s.Groups[g].Part = s.best[n].More, s.best[n].Part
	}
	// Tasks left over take the places of those that were tried.
	for _, at := range slices.Backward(s.Spots) {
		s.Waiting = slices.Delete(s.Waiting, at, at+1)
	}
	s.Waiting = append(s.Waiting, s.left...)
	return nil
}

// ruin picks groups and waiting tasks and returns the value of the groups. Drawing
// again what is picked already does not last: three of them are picked at most.
func (s *Search) ruin() int64 {
	s.Picked, s.Spots, s.Loose = s.Picked[:0], s.Spots[:0], s.Loose[:0]
	if s.In.Gangs {
		return s.ruinWide()
	}
	value := int64(0)
	for len(s.Picked) < min(ruined, len(s.Groups)) {
		if g := s.Rng.IntN(len(s.Groups)); !slices.Contains(s.Picked, g) {
			s.Picked = append(s.Picked, g)
			s.Loose = append(s.Loose, s.Groups[g].Tasks...)
			value += s.Groups[g].Value
		}
	}
	s.callUp()
	return value
}

// callUp makes a few waiting tasks loose.
func (s *Search) callUp() {
	for len(s.Spots) < min(MaxQueued, len(s.Waiting)) {
		if at := s.Rng.IntN(len(s.Waiting)); !slices.Contains(s.Spots, at) {
			s.Spots = append(s.Spots, at)
			s.Loose = append(s.Loose, s.Waiting[at])
		}
	}
	slices.Sort(s.Spots)
}

// order arranges the loose tasks: heaviest first, then at random.
func (s *Search) order(try int) {
	s.Rng.Shuffle(len(s.Loose), func(i, j int) { s.Loose[i], s.Loose[j] = s.Loose[j], s.Loose[i] })
	if try == 0 {
		slices.SortStableFunc(s.Loose, func(a, b int32) int {
			t, u := &s.In.Tasks[a], &s.In.Tasks[b]
			return cmp.Or(cmp.Compare(u.Weight, t.Weight), cmp.Compare(u.Memory, t.Memory))
		})
	}
}

// recreate puts the loose tasks into empty copies of the picked groups, each
// where it adds most, and returns their value.
func (s *Search) recreate() (int64, error) {
	s.rest = s.rest[:0]
	for s.trial = s.trial[:cap(s.trial)]; len(s.trial) < len(s.Picked); {
		s.trial = append(s.trial, group{})
	}
	s.trial = s.trial[:len(s.Picked)]
	for n, g := range s.Picked {
		to := &s.Groups[g]
		s.trial[n] = group{Class: to.Class, Gpu: to.Gpu, Tasks: s.trial[n].Tasks[:0], Value: s.In.Classes[to.Class].Base}
	}
	for _, i := range s.Loose {
		to, value := none, int64(0)
		gain := int64(0)
		for n := range s.trial {
			g := &s.trial[n]
			if len(g.Tasks)+len(s.In.Classes[g.Class].Residents) >= s.In.MaxSet || !takes(s.In, s.trial, n, i) {
				continue
			}
			s.joint = instance.With(s.joint, g.Tasks, i)
			v, err := s.worth(g.Class, s.joint)
			if err != nil {
				return 0, err
			}
			if v > 0 {
				v += s.In.Bonus(int(g.Gpu), s.joint)
			}
			if v-g.Value > gain {
				to, value, gain = n, v, v-g.Value
			}
		}
		if to == none {
			s.rest = append(s.rest, i)
			continue
		}
		to = Widen(s.In, s.trial, to, i)
		s.trial[to].Tasks, s.trial[to].Value = instance.Insert(s.trial[to].Tasks, i), value
	}
	total := int64(0)
	for _, g := range s.trial {
		total += g.Value
	}
	return total, nil
}

// Pick takes group s apart, with its parts.
func (s *Search) Pick(g int) {
	s.Picked = append(s.Picked, g)
	for _, o := range s.Groups[g].More {
		s.Picked = append(s.Picked, s.of[o])
	}
	s.Loose = append(s.Loose, s.Groups[g].Tasks...)
}

// ruinWide is ruin where there are gangs: it picks as many GPUs as the widest of the
// waiting tasks that join in may need, every other time of one class.
func (s *Search) ruinWide() int64 {
	s.callUp()
	need, value := ruined, int64(0)
	for _, i := range s.Loose {
		need = max(need, s.In.Tasks[i].GPUs)
	}
	class, same := s.Groups[s.Rng.IntN(len(s.Groups))].Class, s.Rng.IntN(2) == 0
	for range 8 * need {
		g := s.Rng.IntN(len(s.Groups))
		to := &s.Groups[g]
		if len(s.Picked) < need && !to.Part && (!same || to.Class == class) && !slices.Contains(s.Picked, g) {
			value += to.Value
			s.Pick(g)
		}
	}
	return value
}
