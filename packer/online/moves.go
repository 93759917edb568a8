package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// rebalancing is the search for the moves that gain most.
type rebalancing struct {
	s       *Session
	max     int // moves
	p       *packer.Problem
	at      []int  // the session's index of each GPU of p
	jobs    []*job // of each task of p
	costs   []float64
	typical float64 // mean weight times pace
	gain    float64 // of best
	best    []change
}

// change is what happens to GPUs that exchange tasks with each other.
type change struct {
	gain    float64 // less the cost of the moves
	moves   int
	broken  bool // a running task would wait
	targets []target
}

// target is what a GPU is to run.
type target struct {
	gpu  int
	jobs []*job
	mech profile.Mechanism
}

const (
	// maxMatched is how many tasks a matching plans anew; for more there is a search.
	maxMatched = 8192
	// maxPrices bounds the search for the price of a move.
	maxPrices = 10
	// stepsPerMove is how long a search for sets of more than two lasts, for each
	// running task.
	stepsPerMove = 20
)

// newRebalancing writes the session as a problem in which running tasks may move.
func (s *Session) newRebalancing(maxMoves int) *rebalancing {
	r := &rebalancing{s: s, max: maxMoves}
	r.p, r.at = s.problem(false)
	for n, g := range r.at {
		c, gpu := &s.cards[g], &r.p.GPUs[n]
		gpu.Residents = nil
		for _, j := range c.set {
			t := j.task
			if t.GPUs > 1 || s.stays != nil && s.stays(&j.task) {
				gpu.Residents = append(gpu.Residents, t)
				continue
			}
			t.Home = gpu.ID
			r.p.Tasks, r.jobs, r.costs = append(r.p.Tasks, t), append(r.jobs, j), append(r.costs, t.MoveCost)
			r.typical += j.worth
		}
		if len(gpu.Residents) < 2 {
			gpu.Mechanisms = s.p.GPUs[g].Mechanisms
		}
	}
	r.typical /= float64(max(1, len(r.jobs)))
	return r
}

// search plans at prices for a move, higher ones as long as there are too many.
func (r *rebalancing) search(ctx context.Context) error {
	price, low, high := 0.0, 0.0, 0.0
	for range maxPrices {
		asked, err := r.planAt(ctx, price)
		if err != nil {
			return err
		}
		switch {
		case asked > r.max:
			low = price
		case price == 0:
			return nil
		default:
			high = price
		}
		switch {
		case high == 0:
			price = max(r.typical/16, 2*price)
		case high < 1.1*low:
			return nil
		default:
			price = (low + high) / 2
		}
	}
	return nil
}

// planAt plans with a price for each move beside its cost, keeps the best changes
// that are allowed, and returns how many moves the whole plan has.
func (r *rebalancing) planAt(ctx context.Context, price float64) (int, error) {
	for i := range r.p.Tasks {
		t := &r.p.Tasks[i]
		t.MoveCost = min(packer.MaxMoveCost, r.costs[i]+price/r.jobs[i].worth)
	}
	var method packer.Method = solve.Matching{}
	if r.p.Limits.LargestSet() > 2 || len(r.p.Tasks) > maxMatched {
		method = solve.LocalSearch{Steps: stepsPerMove * len(r.jobs)}
	}
	sol, err := method.Pack(ctx, r.p)
	if sol == nil {
		return 0, err
	}
	changes := r.changes(sol)
	asked := 0
	for _, c := range changes {
		asked += c.moves
	}
	r.keep(changes)
	return asked, err
}

// changes takes a plan apart into changes that do not touch each other.
func (r *rebalancing) changes(sol *packer.Solution) []change {
	group := newForest(len(r.p.GPUs))
	home := make([]int, len(r.jobs))
	index := make([]int, len(r.s.cards))
	for n, g := range r.at {
		index[g] = n
	}
	goal := make([]int, len(r.jobs))
	for i, j := range r.jobs {
		home[i], goal[i] = index[j.gpu], none
	}
	value := make([]float64, len(r.p.GPUs))
	mech := make([]profile.Mechanism, len(r.p.GPUs))
	for _, set := range sol.Sets {
		mech[set.GPU] = set.Mechanism
		residents := r.p.GPUs[set.GPU].Residents
		for k := range residents {
			value[set.GPU] += float64(r.s.jobs[residents[k].ID].worth * set.Speeds[k])
		}
		for k, i := range set.Tasks {
			// The model said what the pace is when the plan was made; if it now fails, nobody moves there.
			worth, _ := r.s.worthOn(r.jobs[i], r.s.cards[r.at[set.GPU]].class)
			value[set.GPU] += float64(worth * set.Speeds[len(residents)+k])
			goal[i] = set.GPU
			group.join(home[i], set.GPU)
		}
	}
	at := make([]int, len(r.p.GPUs)) // change of each root, plus one
	place := make([]int, len(r.p.GPUs))
	var out []change
	of := func(n int) *change {
		root := group.root(n)
		if at[root] == 0 {
			out = append(out, change{})
			at[root] = len(out)
		}
		return &out[at[root]-1]
	}
	for n, g := range r.at {
		c := of(n)
		c.gain += value[n] - r.s.cards[g].value
		place[n] = len(c.targets)
		c.targets = append(c.targets, target{gpu: g, mech: mech[n]})
	}
	for i, j := range r.jobs {
		c := of(home[i])
		switch goal[i] {
		case none:
			c.broken = true
			c.moves++
			continue
		case home[i]:
		default:
			c.moves++
			c.gain -= j.worth * r.costs[i]
		}
		t := &c.targets[place[goal[i]]]
		t.jobs = append(t.jobs, j)
	}
	return out
}

// keep takes over the changes that gain most for each move if they gain more
// than the best so far.
func (r *rebalancing) keep(changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Compare(b.gain*float64(a.moves), a.gain*float64(b.moves))
	})
	var kept []change
	gain, left := 0.0, r.max
	for _, c := range changes {
		if c.moves > 0 && c.moves <= left && c.gain > 1e-9*r.typical && !c.broken {
			kept, gain, left = append(kept, c), gain+c.gain, left-c.moves
		}
	}
	if gain > r.gain {
		r.gain, r.best = gain, kept
	}
}

// forest joins numbers to groups.
type forest []int

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

func (f forest) root(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f forest) join(i, j int) { f[f.root(i)] = f.root(j) }

// Move is one step of a rebalancing. A task that changes its GPU in one step is
// stopped on one and started on the other; where the other has no room for it
// yet, it takes two steps with others in between: it is stopped, To being
// Nowhere, and keeps a checkpoint until it is started, From being Nowhere.
type Move struct {
	// Task is the ID.
	Task string `json:"task"`
	// From and To are indices of GPUs, or Nowhere.
	From int `json:"from"`
	To   int `json:"to"`
}

// Nowhere stands in a [Move] for a GPU.
const Nowhere = -1

// Rebalance moves at most maxMoves running tasks to where they and those they
// leave and join do more work: all running tasks are planned anew, by [solve.Matching]
// or, where Limits.MaxSet is above 2, by [solve.LocalSearch], with MoveCost as the
// price of a move, and with a higher price as long as the plan asks for more
// moves. No running task is stopped for good, neither gangs move nor those that
// SessionOptions.Stays keeps, and what is gained exceeds what the moves cost. Then
// those of the queue start that can.
//
// The steps are in the order in which they can be made: no GPU holds more than
// its memory, MaxSet and labels allow after any of them. A task of the queue
// starts from Nowhere. On an error of the Model nothing has moved; when ctx is
// cancelled the moves are those of the best plan so far, and the error is
// ctx.Err().
func (s *Session) Rebalance(ctx context.Context, maxMoves int) ([]Move, error) {
	if maxMoves < 0 {
		return nil, fmt.Errorf("packer: session: maxMoves is %d; want 0 or more", maxMoves)
	}
	r := s.newRebalancing(maxMoves)
	if len(r.jobs) == 0 || maxMoves == 0 {
		return nil, ctx.Err()
	}
	err := r.search(ctx)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, err
	}
	steps, failed := s.carryOut(r.best)
	return steps, errors.Join(failed, err)
}

// carryOut makes the changes and returns the steps in an order that respects the
// limits of every GPU on the way.
func (s *Session) carryOut(changes []change) ([]Move, error) {
	to := map[*job]int32{}
	var pending []*job
	for _, c := range changes {
		for _, t := range c.targets {
			for _, j := range t.jobs {
				if int(j.gpu) != t.gpu {
					to[j] = int32(t.gpu)
					pending = append(pending, j)
				}
			}
		}
	}
	steps, errs := s.rearrange(pending, to)
	for _, c := range changes {
		for _, t := range c.targets {
			s.cards[t.gpu].mech = t.mech
			errs = errors.Join(errs, s.refresh(t.gpu))
		}
	}
	if len(steps) == 0 || errs != nil {
		return steps, errs
	}
	s.out = s.out[:0]
	errs = s.sweep()
	for _, d := range s.out {
		steps = append(steps, Move{d.Task, Nowhere, d.GPU})
	}
	return steps, errs
}

// rearrange brings each pending job to its GPU. In each round fewer are left, or of
// those left fewer run, so it ends.
func (s *Session) rearrange(pending []*job, to map[*job]int32) (steps []Move, err error) {
	for len(pending) > 0 {
		left := pending[:0]
		for _, j := range pending {
			if !s.room(&s.cards[to[j]], j) {
				left = append(left, j)
				continue
			}
			steps = append(steps, Move{j.task.ID, int(j.gpu), int(to[j])})
			s.shift(j, to[j])
		}
		if len(left) == len(pending) {
			j := cheapest(left)
			if j == nil {
				return steps, s.stranded(left)
			}
			steps = append(steps, Move{j.task.ID, int(j.gpu), Nowhere})
			s.shift(j, none)
		}
		pending = left
	}
	return steps, nil
}

// room reports whether a card can hold a job besides what it holds now.
func (s *Session) room(c *card, j *job) bool {
	if len(c.set) == 0 {
		return true
	}
	return len(c.set) < s.p.Limits.LargestSet() && !c.guarded() && !j.task.Alone && s.fits(c, &j.task)
}

// shift takes a job from where it runs, if it does, to another GPU or nowhere.
func (s *Session) shift(j *job, to int32) {
	if j.gpu != none {
		s.leave(j)
	}
	if j.gpu = to; to != none {
		c := &s.cards[to]
		c.set = append(c.set, j)
		c.used += j.task.Memory
	}
}

// stranded puts jobs that no GPU has room for into the queue, and says so. No plan
// comes to that: when all that is still to be moved is stopped, each GPU holds a part of
// the set that it is to run, whose limits its parts keep too.
func (s *Session) stranded(jobs []*job) error {
	for _, j := range jobs {
		s.enqueue(j)
	}
	return fmt.Errorf("packer: session: %d tasks, %q first, find no room where they were to move and wait; the plan kept no limits", len(jobs), jobs[0].task.ID)
}

// cheapest returns the running job that it costs least to stop; nil if none runs.
func cheapest(jobs []*job) *job {
	var best *job
	for _, j := range jobs {
		if j.gpu != none && (best == nil || j.worth*j.task.MoveCost < best.worth*best.task.MoveCost) {
			best = j
		}
	}
	return best
}
