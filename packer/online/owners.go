package online

import (
	"fmt"
	"math"

	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// Limit says how many tasks of an owner may run at once, and on how many GPUs, one that is
// shared counted for each; missing is any number. What runs runs on. The others of the owner wait
// and keep nobody from passing. Negative numbers are an error.
func (s *Scheduler) Limit(owner string, tasks, gpus profile.Opt[int]) error {
	if err := s.ready(); err != nil {
		return err
	}
	if owner == "" || min(tasks.Or(0), gpus.Or(0)) < 0 {
		return fmt.Errorf("packer: scheduler: owner %q may run %v tasks on %v GPUs; want a name and 0 or more", owner, tasks, gpus)
	}
	if tasks.IsZero() && gpus.IsZero() {
		delete(s.owners, owner)
		return nil
	}
	if s.owners == nil {
		s.owners = map[string]rollout.Purse{}
	}
	most := func(n profile.Opt[int]) int32 { return int32(min(n.Or(math.MaxInt32), math.MaxInt32)) }
	s.owners[owner] = rollout.Purse{Jobs: most(tasks), Cards: most(gpus)}
	return nil
}

// Tier changes Job.Tier of a task.
func (s *Scheduler) Tier(id string, tier int) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	e.Tier = tier
	return nil
}

// fillPurses tells the engine what the owners of tasks may take.
func (s *Scheduler) fillPurses() {
	x := &s.engine
	x.Purses = x.Purses[:0]
	if len(s.owners) == 0 {
		return
	}
	at := map[string]int32{}
	for i, e := range s.order {
		limit, ok := s.owners[e.Owner]
		if !ok {
			continue
		}
		k, known := at[e.Owner]
		if !known {
			k = int32(len(x.Purses))
			x.Purses, at[e.Owner] = append(x.Purses, limit), k
		}
		x.Jobs[i].Owner = k + 1
		if len(e.on) > 0 {
			x.Purses[k].Jobs--
			x.Purses[k].Cards -= int32(e.Width())
		}
	}
}
