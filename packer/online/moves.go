package online

import (
	"cmp"
	"context"
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
