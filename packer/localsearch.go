package packer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// LocalSearch packs sets of any size. It starts from Greedy's plan and takes a
// few GPUs and waiting tasks apart again and again (large neighbourhood
// search): the tasks are put back one by one where they add most, in several
// orders, and the result is kept if the plan is worth no less. It proves
// nothing, is never worse than Greedy, and does the same for the same Seed.
//
// Each step asks the model for O(MaxSet² · 3) sets at most; sets are asked once.
type LocalSearch struct {
	// Steps is how often to try; 0 means 60 for each task, 2000 at least.
	Steps int
	// Seed starts the random choices.
	Seed uint64
}

var _ Method = LocalSearch{}

// Pack implements Method.
func (l LocalSearch) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	in, err := newInstance(p)
	if err != nil {
		return nil, err
	}
	if l.Steps < 0 {
		return nil, fmt.Errorf("packer: local search: Steps is %d; want 0 or more", l.Steps)
	}
	e := newEvaluator(in)
	start, err := greedy(ctx, in, e)
	if err != nil {
		return nil, err
	}
	s, err := newSearch(e, start, l.Seed)
	if err != nil {
		return nil, err
	}
	if s, err = s.orSimpler(l.Seed); err != nil {
		return nil, err
	}
	steps := l.Steps
	if steps == 0 {
		steps = max(2000, 60*len(in.tasks))
	}
	for i := 0; i < steps && len(s.groups) > 0 && ctx.Err() == nil; i++ {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	return e.answer(ctx, s.plan(), unproved(), fmt.Sprintf("local search, %d steps", steps))
}

// group is what runs on one GPU, residents aside.
type group struct {
	class int
	gpu   int32
	more  []int32 // the other GPUs of a gang
	tasks []int32 // ascending
	value int64   // with the residents
}

// search is the state of a local search.
type search struct {
	*evaluator
	rng     *rand.Rand
	groups  []group // of all GPUs that may take a task
	waiting []int32
	known   map[setKey]int64
	cat     *catalogue // if there is one, nothing need be known
	types   []int32

	picked []int   // groups taken apart in this step
	spots  []int   // places in waiting of the tasks tried in this step
	loose  []int32 // tasks to put back
	joint  []int32
	trial  []group // of picked
	best   []group
	rest   []int32 // tasks that stay waiting, of trial and of best
	left   []int32
}

// setKey names a set of up to maxKeyed tasks on a class; others are not kept.
type setKey struct {
	class int32
	tasks [maxKeyed]int32
}

const (
	maxKeyed  = 7
	maxKnown  = 1 << 20 // sets remembered
	ruined    = 3       // groups taken apart in one step
	retries   = 3       // orders in which tasks are put back
	maxQueued = 3       // waiting tasks that join in
)

func newSearch(e *evaluator, pl *plan, seed uint64) (*search, error) {
	s := &search{evaluator: e, rng: rand.New(rand.NewPCG(seed, 0x636f6c6c6f63)), known: map[setKey]int64{}}
	at := make([]int, len(e.in.p.GPUs))
	for k := range e.in.classes {
		c := &e.in.classes[k]
		if !c.open(e.in.maxSet) {
			continue
		}
		for _, g := range c.members {
			at[g] = len(s.groups)
			s.groups = append(s.groups, group{class: k, gpu: int32(g)})
		}
	}
	s.joinGangs(pl, at)
	for i, g := range pl.gpu {
		if g == none {
			s.waiting = append(s.waiting, int32(i))
			continue
		}
		to := &s.groups[at[g]]
		to.tasks = append(to.tasks, int32(i))
	}
	for n := range s.groups {
		g := &s.groups[n]
		v, err := s.worth(g.class, g.tasks)
		if err != nil {
			return nil, err
		}
		g.value = v + s.in.bonus(int(g.gpu), g.tasks)
	}
	return s, nil
}

// orSimpler returns s, or the search that starts from tasks that do not share,
// gangs aside, or from all tasks at home, if that is better.
func (s *search) orSimpler(seed uint64) (*search, error) {
	var starts []func(*instance, valuer) (*plan, error)
	if !s.in.gangs {
		starts = append(starts, exclusive)
	}
	if s.in.any {
		starts = append(starts, stayHome)
	}
	best := s
	for _, start := range starts {
		pl, err := start(s.in, s.evaluator)
		if err != nil {
			return nil, err
		}
		o, err := newSearch(s.evaluator, pl, seed)
		if err != nil {
			return nil, err
		}
		if o.total() > best.total() {
			best = o
		}
	}
	return best, nil
}

func (s *search) total() int64 {
	sum := int64(0)
	for n := range s.groups {
		sum += s.groups[n].value
	}
	return sum
}

// worth returns the value of tasks on class k, 0 if they are not allowed.
func (s *search) worth(k int, tasks []int32) (int64, error) {
	if len(tasks) == 0 {
		return s.in.classes[k].base, nil
	}
	if s.cat != nil {
		s.types = s.cat.typed(s.types, tasks)
		if g := s.cat.gain(k, s.types); g > 0 {
			return s.in.classes[k].base + g, nil
		}
		return 0, nil
	}
	key := setKey{class: int32(k)}
	keyed := len(tasks) <= maxKeyed
	if keyed {
		for n, i := range tasks {
			key.tasks[n] = i + 1
		}
		if v, ok := s.known[key]; ok {
			return v, nil
		}
	}
	s.joined = s.joined[:0]
	for _, i := range tasks {
		s.joined = append(s.joined, s.in.tasks[i])
	}
	v, err := s.verdict(&s.in.classes[k], s.joined)
	if err == nil && keyed && len(s.known) < maxKnown {
		s.known[key] = v.units
	}
	return v.units, err
}

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
	}
	// Tasks left over take the places of those that were tried.
	for _, at := range slices.Backward(s.spots) {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.waiting = append(s.waiting, s.left...)
	return nil
}

// ruin picks groups and waiting tasks and returns the value of the groups.
func (s *search) ruin() int64 {
	s.picked, s.spots, s.loose = s.picked[:0], s.spots[:0], s.loose[:0]
	value := int64(0)
	for len(s.picked) < min(ruined, len(s.groups)) {
		if g := s.rng.IntN(len(s.groups)); !slices.Contains(s.picked, g) {
			s.picked = append(s.picked, g)
			s.loose = append(s.loose, s.groups[g].tasks...)
			value += s.groups[g].value
		}
	}
	for len(s.spots) < min(maxQueued, len(s.waiting)) {
		if at := s.rng.IntN(len(s.waiting)); !slices.Contains(s.spots, at) {
			s.spots = append(s.spots, at)
			s.loose = append(s.loose, s.waiting[at])
		}
	}
	slices.Sort(s.spots)
	return value
}

// order arranges the loose tasks: heaviest first, then at random.
func (s *search) order(try int) {
	s.rng.Shuffle(len(s.loose), func(i, j int) { s.loose[i], s.loose[j] = s.loose[j], s.loose[i] })
	if try == 0 {
		slices.SortStableFunc(s.loose, func(a, b int32) int {
			t, u := s.in.tasks[a], s.in.tasks[b]
			return cmp.Or(cmp.Compare(u.weight(), t.weight()), cmp.Compare(u.Memory, t.Memory))
		})
	}
}

// recreate puts the loose tasks into empty copies of the picked groups, each
// where it adds most, and returns their value.
func (s *search) recreate() (int64, error) {
	s.trial, s.rest = s.trial[:0], s.rest[:0]
	for _, g := range s.picked {
		k := s.groups[g].class
		s.trial = append(s.trial, group{class: k, gpu: s.groups[g].gpu, more: s.groups[g].more, value: s.in.classes[k].base})
	}
	for _, i := range s.loose {
		to, value := none, int64(0)
		gain := int64(0)
		for n := range s.trial {
			g := &s.trial[n]
			if len(g.tasks)+len(s.in.classes[g.class].residents) >= s.in.maxSet || !s.takes(g, i) {
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
		s.trial[to].tasks, s.trial[to].value = with(nil, s.trial[to].tasks, i), value
	}
	total := int64(0)
	for _, g := range s.trial {
		total += g.value
	}
	return total, nil
}

// with writes tasks with i in its place to dst and returns it.
func with(dst, tasks []int32, i int32) []int32 {
	at, _ := slices.BinarySearch(tasks, i)
	return append(append(append(dst[:0], tasks[:at]...), i), tasks[at:]...)
}

// plan writes the groups out.
func (s *search) plan() *plan {
	pl := newPlan(s.in)
	for _, g := range s.groups {
		for _, i := range g.tasks {
			pl.gpu[i] = g.gpu
		}
		if len(g.more) > 0 {
			pl.more[g.gpu] = g.more
		}
	}
	return pl
}
