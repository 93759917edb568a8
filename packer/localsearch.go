package packer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// LocalSearch packs sets of any size. It starts from the best of Greedy's plan,
// tasks that do not share and tasks at home, exchanges tasks between two GPUs,
// and takes a few GPUs and waiting tasks apart again and again (large
// neighbourhood search): the tasks are put back one by one where they add most,
// in several orders, and the result is kept if the plan is worth no less. It
// proves nothing, is never worse than Greedy, and does the same for the same
// Seed.
//
// It leaves every gang as many GPUs as Greedy gives it.
//
// Each step asks the model for O(MaxSet² · 3) sets at most; most are remembered.
type LocalSearch struct {
	// Steps is how often to try; 0 means 10 for each task, 1000 at least.
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
	if ctx.Err() == nil {
		if s, err = s.orSimpler(ctx, l.Seed); err != nil {
			return nil, err
		}
	}
	steps := l.Steps
	if steps == 0 {
		steps = max(1000, 10*len(in.tasks))
	}
	if n := len(in.tasks); !in.gangs && n*n <= 16*steps {
		if err := s.descend(ctx); err != nil {
			return nil, err
		}
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
	known   []knownSet // by hash; a set may displace another
	single  [][]int64  // value of each task alone on each free class, once asked
	cat     *catalogue // if there is one, nothing need be known
	types   []int32

	picked []int   // groups taken apart in this step
	spots  []int   // places in waiting of the tasks tried in this step
	loose  []int32 // tasks to put back
	joint  []int32
	mine   []int32 // sets tried in an exchange
	other  []int32
	trial  []group // of picked
	best   []group
	rest   []int32 // tasks that stay waiting, of trial and of best
	left   []int32
}

// setKey names a set of up to maxKeyed tasks on a class; others are not kept.
type setKey struct {
	class int32
	tasks [maxKeyed]int32 // and one more; 0 is none
}

// knownSet is a set with its value.
type knownSet struct {
	key   setKey
	value int64
}

// hash spreads keys over known.
func (k *setKey) hash() int {
	h := uint64(k.class)
	for _, i := range k.tasks {
		h = (h ^ uint64(i)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return int(h % maxKnown)
}

const (
	maxKeyed  = 7
	maxKnown  = 1 << 16 // sets remembered: 2.5 MiB
	ruined    = 3       // groups taken apart in one step
	retries   = 3       // orders in which tasks are put back
	maxQueued = 3       // waiting tasks that join in
)

func newSearch(e *evaluator, pl *plan, seed uint64) (*search, error) {
	s := &search{evaluator: e, rng: rand.New(rand.NewPCG(seed, 0x636f6c6c6f63)), known: make([]knownSet, maxKnown)}
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
func (s *search) orSimpler(ctx context.Context, seed uint64) (*search, error) {
	var starts []func(*instance, valuer) (*plan, error)
	if !s.in.gangs {
		starts = append(starts, func(in *instance, value valuer) (*plan, error) { return exclusive(ctx, in, value) })
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
	keyed := len(tasks) <= maxKeyed
	key := setKey{class: int32(k)}
	var at *knownSet
	if keyed {
		for n, i := range tasks {
			key.tasks[n] = i + 1
		}
		if at = &s.known[key.hash()]; at.key == key {
			return at.value, nil
		}
	}
	v, err := s.value(k, tasks)
	if err == nil && keyed {
		*at = knownSet{key, v}
	}
	return v, err
}

// value asks the model what tasks are worth on class k.
func (s *search) value(k int, tasks []int32) (int64, error) {
	s.joined = s.joined[:0]
	ref := s.in.classes[k].base
	for _, i := range tasks {
		s.joined = append(s.joined, s.in.tasks[i])
		if k >= s.in.free {
			continue
		}
		v, err := s.alone(k, i)
		if err != nil || len(tasks) == 1 {
			return v, err
		}
		ref = max(ref, v)
	}
	v, err := s.together(&s.in.classes[k], s.joined, ref)
	return v.units, err
}

// alone returns the value of task i on free class k.
func (s *search) alone(k int, i int32) (int64, error) {
	if len(s.single) == 0 {
		s.single = make([][]int64, s.in.free)
	}
	if s.single[k] == nil {
		s.single[k] = slices.Repeat([]int64{unknown}, len(s.in.tasks))
	}
	if s.single[k][i] == unknown {
		v, err := s.evaluator.alone(&s.in.classes[k], s.in.tasks[i])
		if err != nil {
			return 0, err
		}
		s.single[k][i] = v.units
	}
	return s.single[k][i], nil
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
