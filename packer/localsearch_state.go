package packer

import (
	"context"
	"math/rand/v2"
	"slices"
)

// group is what runs on one GPU, residents aside.
type group struct {
	class int
	gpu   int32
	more  []int32 // the other GPUs of a gang
	part  bool    // the GPU is one of those
	tasks []int32 // ascending
	value int64   // with the residents
}

// search is the state of a local search.
type search struct {
	*evaluator
	rng     *rand.Rand
	groups  []group // of all GPUs that may take a task
	of      []int   // group of each GPU that may
	waiting []int32
	known   knownSets // once asked
	single  [][]int64 // value of each task alone on each free class, once asked
	values  valuer    // if there is one, nothing need be known

	picked []int   // groups taken apart in this step
	spots  []int   // places in waiting of the tasks tried in this step
	loose  []int32 // tasks to put back
	joint  []int32
	trial  []group // of picked
	best   []group
	rest   []int32 // tasks that stay waiting, of trial and of best
	left   []int32
}

// searchStream tells the random numbers of a search from others of the same seed.
const searchStream = 0x636f6c6c6f63

// newSearch begins with a plan.
func newSearch(e *evaluator, pl *plan, seed uint64) (*search, error) {
	s := &search{evaluator: e, rng: rand.New(rand.NewPCG(seed, searchStream))}
	return s, s.load(pl)
}

// load makes the groups of a plan.
func (s *search) load(pl *plan) error {
	s.of = make([]int, len(s.in.byGPU))
	for k := range s.in.classes {
		c := &s.in.classes[k]
		if !s.in.open(c) {
			continue
		}
		for _, g := range c.members {
			s.of[g] = len(s.groups)
			s.groups = append(s.groups, group{class: k, gpu: int32(g)})
		}
	}
	first := s.joinGangs(pl)
	for i, g := range pl.gpu {
		if g == none {
			s.waiting = append(s.waiting, int32(i))
			continue
		}
		at := s.of[g]
		if lead, ok := first[g]; ok {
			at = lead
		}
		to := &s.groups[at]
		to.tasks = append(to.tasks, int32(i))
	}
	for n := range s.groups {
		g := &s.groups[n]
		v, err := s.worth(g.class, g.tasks)
		if err != nil {
			return err
		}
		g.value = v + s.in.bonus(int(g.gpu), g.tasks)
	}
	return nil
}

// orSimpler returns s, or the search that starts from tasks that do not share, with
// gangs from Greedy by weight for each GPU, or from all tasks at home, if that is
// better.
func (s *search) orSimpler(ctx context.Context, seed uint64) (*search, error) {
	simple := exclusive
	if s.in.gangs {
		simple = greedyPerGPU
	}
	starts := []func(*instance, valuer) (*plan, error){
		func(in *instance, value valuer) (*plan, error) { return simple(ctx, in, value) },
	}
	if s.in.any {
		starts = append(starts, stayHome)
	}
	best := s
	for _, first := range starts {
		pl, err := first(s.in, s.evaluator)
		if err != nil {
			return nil, err
		}
		o := &search{evaluator: s.evaluator, rng: rand.New(rand.NewPCG(seed, searchStream)), known: s.known, single: s.single}
		if err := o.load(pl); err != nil {
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

// plan writes the groups out.
func (s *search) plan() *plan {
	pl := newPlan(s.in)
	for _, g := range s.groups {
		lead := g.gpu
		if len(g.more) > 0 {
			all := append(slices.Clone(g.more), g.gpu)
			slices.Sort(all) // the lowest index stands for all
			lead = all[0]
			pl.more[lead] = all[1:]
		}
		for _, i := range g.tasks {
			pl.gpu[i] = lead
		}
	}
	return pl
}
