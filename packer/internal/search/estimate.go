package search

import (
	"context"
	"math"

	"example.com/colloc/packer/internal/instance"
)

// estimates guess what an exchange of tasks would gain, without asking the model.
// Two tasks lose by each other, and task i would lose in group g,
//
//	loss(i, j) = W(i) + W(j) - W(i, j)
//	cost(g, i) = most W(i) on any GPU - W(g, i) + Σ loss(i, j)  for j ∈ g
//
// Losses do not quite add up: a task that three others slow down has little left
// to lose. If slowdowns add up, and are alike, a set that loses r times the sum of
// its pairs' losses loses r² of what another pair would add. So the costs in g
// count by
//
//	share(g) = (what g loses / Σ loss(i, j)  for i, j ∈ g)²
//
// which what the model says about the plan's sets keeps up to date.
type estimates struct {
	s     *Search
	n, m  int       // tasks, groups
	loss  []int32   // [i*n + j]
	gain  [][]int64 // [instance.Class][task] over the residents, 0 if not allowed
	top   []int64   // the most of gain for each task
	costs []cost    // [i*m + g]
	at    []int32   // group of each task; m if it waits
	share []int64   // of each group, in 256ths
	own   []int64   // share · cost of each task where it is; top if it waits
}

// cost is what a task would lose in a group.
type cost struct {
	all   int32
	least int32 // without the member by which it loses most, or unasked
}

const (
	// whole is the share of a group whose losses add up.
	whole = 256
	// mostLoss bounds a loss, so that those by 64 tasks fit an int32.
	mostLoss = 1 << 24
	unasked  = math.MinInt32
	// maxEstimates bounds n·(n + 2m): 16 MiB.
	maxEstimates = 1 << 22
	// estimatesPerStep bounds what estimates may cost before the first step.
	estimatesPerStep = 200
)

// Estimable reports whether estimates are worth their cost for a search of as
// many steps.
func (s *Search) Estimable(steps int) bool {
	n, m := len(s.In.Tasks), len(s.Groups)
	if s.In.Gangs || n == 0 || m == 0 || n > maxEstimates || m > maxEstimates {
		return false
	}
	size := n * (n + 2*m)
	return size <= maxEstimates && size/estimatesPerStep <= steps
}

// estimate asks for all pairs of tasks, and all tasks alone on every class: n²/2 +
// n·classes questions to the model. It returns nil if ctx is cancelled.
func (s *Search) estimate(ctx context.Context) (*estimates, error) {
	n, m := len(s.In.Tasks), len(s.Groups)
	e := &estimates{
		s: s, n: n, m: m, loss: make([]int32, n*n), gain: make([][]int64, len(s.In.Classes)), top: make([]int64, n),
		costs: make([]cost, n*m), at: make([]int32, n), share: make([]int64, m), own: make([]int64, n),
	}
	if err := e.losses(ctx); err != nil {
		return nil, err
	}
	if err := e.gains(ctx); err != nil || ctx.Err() != nil {
		return nil, err
	}
	for g := range s.Groups {
		to := &s.Groups[g]
		for i := range n {
			gain := min(e.gain[to.Class][i]+s.In.StayOn(int(to.Gpu), int32(i)), mostLoss)
			e.costs[i*m+g] = cost{int32(e.top[i] - gain), unasked}
		}
	}
	for _, i := range s.Waiting {
		e.wait(i)
	}
	for g := range s.Groups {
		if ctx.Err() != nil {
			return nil, nil //nolint:nilerr // as documented; the caller asks ctx
		}
		for _, i := range s.Groups[g].Tasks {
			e.at[i] = int32(g)
			e.replace(g, none, i)
		}
		e.learn(g)
	}
	return e, nil
}

// gains fills in gain and top.
func (e *estimates) gains(ctx context.Context) error {
	one := make([]int32, 1)
	for g := range e.s.Groups {
		k := e.s.Groups[g].Class
		if e.gain[k] != nil {
			continue
		}
		e.gain[k] = make([]int64, e.n)
		for i := range e.gain[k] {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the caller asks ctx
			}
			one[0] = int32(i)
			v, err := e.s.worth(k, one)
			if err != nil {
				return err
			}
			if v > 0 {
				e.gain[k][i] = v - e.s.In.Classes[k].Base
				e.top[i] = max(e.top[i], min(e.gain[k][i], mostLoss))
			}
		}
	}
	return nil
}

// losses fills in what every two tasks lose by each other on an empty GPU of the
// kind with most memory, whatever runs there now.
func (e *estimates) losses(ctx context.Context) error {
	best := -1
	for k := range e.s.In.Classes {
		if c := &e.s.In.Classes[k]; len(c.Mechs) > 0 && (best < 0 || c.Usable > e.s.In.Classes[best].Usable) {
			best = k
		}
	}
	if best < 0 || e.s.In.MaxSet < 2 {
		return nil
	}
	empty := e.s.In.Classes[best]
	empty.Residents, empty.Used, empty.Base = nil, 0, 0
	single, err := e.s.Singles(&empty)
	if err != nil {
		return err
	}
	r := instance.NewPairRow(e.s.Evaluator, &empty, single)
	for i := range single {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller asks ctx
		}
		if err := e.row(r, single, i); err != nil {
			return err
		}
	}
	return nil
}

// row fills in what task i and each of those after it lose by each other: all
// they have if they may not share. Their limits on speed do not count here, for
// how far a pair is from them tells something about larger sets.
func (e *estimates) row(r *instance.PairRow, single []int64, i int) error {
	r.IDs = r.IDs[:0]
	for j := i + 1; j < e.n; j++ {
		e.lose(i, j, single[i]+single[j])
		r.Set = append(r.Set[:0], int32(i), int32(j))
		if r.In.Room(r.C, r.Set).Code == 0 {
			r.IDs = append(r.IDs, int32(j))
		}
	}
	own, other := r.Own[:len(r.IDs)], r.Other[:len(r.IDs)]
	for _, mech := range r.C.Mechs {
		if err := r.Speeds(int32(i), mech, own, other); err != nil {
			return err
		}
		for n, j := range r.IDs {
			lost := single[i] + single[j] - r.In.Units(r.In.Worth(r.C, int32(i)), own[n]) - r.In.Units(r.In.Worth(r.C, j), other[n])
			e.lose(i, int(j), min(lost, int64(e.loss[i*e.n+int(j)])))
		}
	}
	return nil
}

// lose notes what tasks i and j lose by each other.
func (e *estimates) lose(i, j int, loss int64) {
	v := int32(max(-mostLoss, min(loss, mostLoss)))
	e.loss[i*e.n+j], e.loss[j*e.n+i] = v, v
}

// wait puts task i into the queue.
func (e *estimates) wait(i int32) {
	e.at[i], e.own[i] = int32(e.m), whole*e.top[i]
}

// replace makes every task lose by task in instead of out in group g, each of
// which may be none.
func (e *estimates) replace(g int, out, in int32) {
	for j := range e.n {
		c := &e.costs[j*e.m+g]
		c.least = unasked
		if out != none {
			c.all -= e.loss[int(out)*e.n+j]
		}
		if in != none {
			c.all += e.loss[int(in)*e.n+j]
		}
	}
}

// least returns what task i would lose at least in place of a task of group g.
func (e *estimates) least(i int32, g int) int32 {
	c := &e.costs[int(i)*e.m+g]
	if c.least == unasked {
		most := int32(0)
		for _, j := range e.s.Groups[g].Tasks {
			most = max(most, e.loss[int(i)*e.n+int(j)])
		}
		c.least = c.all - most
	}
	return c.least
}

// lost returns what the tasks of group g lose.
func (e *estimates) lost(g int) int64 {
	to := &e.s.Groups[g]
	lost := e.s.In.Classes[to.Class].Base + e.s.In.Bonus(int(to.Gpu), to.Tasks) - to.Value
	for _, i := range to.Tasks {
		lost += e.gain[to.Class][i]
	}
	return lost
}

// learn sets the share of group g, and what its tasks lose there.
func (e *estimates) learn(g int) {
	tasks := e.s.Groups[g].Tasks
	pairs := int64(0)
	for n, i := range tasks {
		for _, j := range tasks[:n] {
			pairs += int64(e.loss[int(i)*e.n+int(j)])
		}
	}
	e.share[g] = whole
	if pairs > 0 {
		r := max(whole/4, min(e.lost(g)*whole/pairs, 2*whole))
		e.share[g] = r * r / whole
	}
	for _, i := range tasks {
		e.own[i] = e.share[g] * int64(e.costs[int(i)*e.m+g].all)
	}
}
