package search

import (
	"context"
	rand "math/rand/v2"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/start"
)

// none is the absence of a number.
const none = -1

// group is what runs on one GPU, residents aside.
type group struct {
	Class int
	Gpu   int32
	More  []int32 // the other GPUs of a gang
	Part  bool    // the GPU is one of those
	Tasks []int32 // ascending
	Value int64   // with the residents
}

// Search is the state of a local search.
type Search struct {
	*instance.Evaluator
	Rng     *rand.Rand
	Groups  []group // of all GPUs that may take a task
	of      []int   // group of each GPU that may
	Waiting []int32
	known   instance.KnownSets // once asked
	single  [][]int64          // value of each task alone on each free class, once asked
	Values  instance.Values    // if there is one, nothing need be known

	Picked []int   // groups taken apart in this step
	Spots  []int   // places in waiting of the tasks tried in this step
	Loose  []int32 // tasks to put back
	joint  []int32
	trial  []group // of picked
	best   []group
	rest   []int32 // tasks that stay waiting, of trial and of best
	left   []int32
}

// searchStream tells the random numbers of a search from others of the same seed.
const searchStream = 0x636f6c6c6f63

// New begins with a plan.
func New(e *instance.Evaluator, pl *instance.Plan, seed uint64) (*Search, error) {
	s := &Search{Evaluator: e, Rng: rand.New(rand.NewPCG(seed, searchStream))}
	return s, s.load(pl)
}

// load makes the groups of a plan.
func (s *Search) load(pl *instance.Plan) error {
	s.of = make([]int, len(s.In.ByGPU))
	for k := range s.In.Classes {
		c := &s.In.Classes[k]
		if !s.In.Open(c) {
			continue
		}
		for _, g := range c.Members {
			s.of[g] = len(s.Groups)
			s.Groups = append(s.Groups, group{Class: k, Gpu: int32(g)})
		}
	}
	first := s.joinGangs(pl)
	for i, g := range pl.Gpu {
		if g == none {
			s.Waiting = append(s.Waiting, int32(i))
			continue
		}
		at := s.of[g]
		if lead, ok := first[g]; ok {
			at = lead
		}
		to := &s.Groups[at]
		to.Tasks = append(to.Tasks, int32(i))
	}
	for n := range s.Groups {
		g := &s.Groups[n]
		v, err := s.worth(g.Class, g.Tasks)
		if err != nil {
			return err
		}
		g.Value = v + s.In.Bonus(int(g.Gpu), g.Tasks)
	}
	return nil
}

// maxExclusive is how many tasks are worth a plan without sharing on several kinds of
// GPU, of which the cost is their square.
const maxExclusive = 8192

// OrSimpler returns s, or the search that starts from tasks that do not share, with
// gangs from Greedy by weight for each GPU, or from all tasks at home, if that is
// better.
func (s *Search) OrSimpler(ctx context.Context, seed uint64) (*Search, error) {
	simple := start.Exclusive
	if s.In.Gangs {
		simple = start.GreedyPerGPU
	}
	starts := []func(*instance.Instance, instance.Values) (*instance.Plan, error){
		func(in *instance.Instance, value instance.Values) (*instance.Plan, error) {
			return simple(ctx, in, value)
		},
	}
	if s.In.Homes {
		starts = append(starts, start.StayHome)
	}
	if s.In.Free > 1 && len(s.In.Tasks) > maxExclusive {
		starts = starts[1:]
	}
	best := s
	for _, first := range starts {
		pl, err := first(s.In, s.Evaluator)
		if err != nil {
			return nil, err
		}
		o := &Search{Evaluator: s.Evaluator, Rng: rand.New(rand.NewPCG(seed, searchStream)), known: s.known, single: s.single}
		if err := o.load(pl); err != nil {
			return nil, err
		}
		if o.total() > best.total() {
			best = o
		}
	}
	return best, nil
}

func (s *Search) total() int64 {
	sum := int64(0)
	for n := range s.Groups {
		sum += s.Groups[n].Value
	}
	return sum
}

// Plan writes the groups out.
func (s *Search) Plan() *instance.Plan {
	pl := instance.NewPlan(s.In)
	for _, g := range s.Groups {
		lead := g.Gpu
		if len(g.More) > 0 {
			all := append(slices.Clone(g.More), g.Gpu)
			slices.Sort(all) // the lowest index stands for all
			lead = all[0]
			pl.More[lead] = all[1:]
		}
		for _, i := range g.Tasks {
			pl.Gpu[i] = lead
		}
	}
	return pl
}

// unknown stands for a value that was not asked for yet.
const unknown = -1 << 62

// worth returns the value of tasks on class k, 0 if they are not allowed.
func (s *Search) worth(k int, tasks []int32) (int64, error) {
	if len(tasks) == 0 {
		return s.In.Classes[k].Base, nil
	}
	if s.Values != nil {
		return s.Values.SetValue(k, tasks, 0)
	}
	if s.known == nil {
		s.known = make(instance.KnownSets, instance.MaxKnown)
	}
	at, key := s.known.Find(k, tasks)
	if at != nil && at.Key == key {
		return at.Value, nil
	}
	v, err := s.value(k, tasks)
	if err == nil && at != nil {
		*at = instance.KnownSet{Key: key, Value: v}
	}
	return v, err
}

// value asks the model what tasks are worth on class k.
func (s *Search) value(k int, tasks []int32) (int64, error) {
	ref := s.In.Classes[k].Base
	for _, i := range tasks {
		if k >= s.In.Free {
			break
		}
		v, err := s.alone(k, i)
		if err != nil || len(tasks) == 1 {
			return v, err
		}
		ref = max(ref, v)
	}
	v, err := s.Together(&s.In.Classes[k], tasks, ref)
	return v.Units, err
}

// alone returns the value of task i on free class k.
func (s *Search) alone(k int, i int32) (int64, error) {
	if len(s.single) == 0 {
		s.single = make([][]int64, s.In.Free)
	}
	if s.single[k] == nil {
		s.single[k] = slices.Repeat([]int64{unknown}, len(s.In.Tasks))
	}
	if s.single[k][i] == unknown {
		v, err := s.Alone(&s.In.Classes[k], i)
		if err != nil {
			return 0, err
		}
		s.single[k][i] = v.Units
	}
	return s.single[k][i], nil
}

// Gangs in a search: each GPU has a group of its own. The first of a gang's stands
// for all; the others are its parts and hold nothing.

// joinGangs joins the groups of the GPUs that the gangs of pl take, and returns by
// the GPU that stands for a gang in pl the group that does here.
func (s *Search) joinGangs(pl *instance.Plan) map[int32]int {
	first := map[int32]int{}
	for lead, more := range pl.More {
		all := []int{s.of[lead]}
		for _, g := range more {
			all = append(all, s.of[g])
		}
		first[lead] = join(s.Groups, all)
	}
	return first
}
