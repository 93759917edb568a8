package packer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/profile"
)

// Certificate is a proof that no plan is worth more than a bound: prices at
// which nobody could make a profit. It is a feasible point of the dual linear
// program in the package comment.
type Certificate struct {
	// U prices the tasks, by index into Problem.Tasks: at most that much is
	// lost if the task does not run.
	U []float64 `json:"u"`
	// Lambda prices the GPUs, by index into Problem.GPUs: at most that much is
	// gained by one more such GPU. Verify does not trust it: it finds the
	// smallest prices that go with U itself.
	Lambda []float64 `json:"lambda"`
	// Odd are prices of odd sets, for problems with sets of at most two.
	Odd []OddSet `json:"odd,omitempty"`
}

// OddSet prices a group of tasks and GPUs with a resident, each of which can be
// in one pair at most: among n of them there are at most n/2 pairs, rounded down.
type OddSet struct {
	// Tasks and GPUs are indices, ascending. The GPUs have one resident.
	Tasks []int `json:"tasks"`
	GPUs  []int `json:"gpus,omitempty"`
	// Z is the price.
	Z float64 `json:"z"`
}

// pricing is a Certificate in quarters of a unit, tasks in instance order.
type pricing struct {
	u     []int64
	z     []int64
	sets  [][]int32 // odd sets that hold task i
	seats [][]int32 // odd sets that hold the GPU of class k
	bound int64
}

// quarters is how many parts of a unit prices are counted in.
const quarters = 4

// Verify proves a bound on the throughput of every plan for p, residents
// included, and returns it. It prices every set that any GPU could run:
//
//	λ(g) = max over sets S on g of W(g, S) - Σ u(i: i ∈ S) - Σ z(B: S ⊆ B)
//	bound = Σ u(i) + Σ λ(g) + Σ z(B)·⌊|B|/2⌋
//
// It knows nothing of how U was found: any U gives a valid bound, a bad one is
// merely high. All sums are exact.
//
// It returns an error if the certificate does not belong to p (lengths,
// indices, a price that is negative, NaN or infinite) or the Model fails, and
// ctx.Err() when cancelled. It asks the model for every set within memory:
// O(classes · n^k) for sets of at most k tasks.
func (c *Certificate) Verify(ctx context.Context, p *Problem) (bound float64, err error) {
	in, err := newInstance(p)
	if err != nil {
		return 0, err
	}
	pr, err := c.pricing(in)
	if err != nil {
		return 0, err
	}
	e := newEvaluator(in)
	total := pr.bound
	for k := range in.classes {
		price, err := e.price(ctx, k, pr)
		if err != nil {
			return 0, err
		}
		total += price * int64(len(in.classes[k].members))
	}
	return float64(total) * (in.unit / quarters), nil
}

// pricing checks the certificate against in and converts it, rounding up.
func (c *Certificate) pricing(in *instance) (*pricing, error) {
	if c == nil {
		return nil, errors.New("packer: certificate: it is nil")
	}
	if len(c.U) != len(in.tasks) {
		return nil, fmt.Errorf("packer: certificate: U has %d prices for %d tasks", len(c.U), len(in.tasks))
	}
	if len(c.Odd) > 0 && in.maxSet > 2 {
		return nil, fmt.Errorf("packer: certificate: odd sets prove nothing where MaxSet is %d; want 2", in.maxSet)
	}
	pr := &pricing{
		u: make([]int64, len(in.tasks)), z: make([]int64, len(c.Odd)),
		sets: make([][]int32, len(in.tasks)), seats: make([][]int32, len(in.classes)),
	}
	rank := make([]int, len(in.tasks))
	for i, o := range in.origin {
		rank[o] = i
		u, err := in.quarters(fmt.Sprintf("U[%d]", o), c.U[o])
		if err != nil {
			return nil, err
		}
		pr.u[i] = u
		pr.bound += u
	}
	for k := range c.Odd {
		if err := pr.addOdd(in, rank, k, &c.Odd[k]); err != nil {
			return nil, err
		}
	}
	return pr, nil
}

func (pr *pricing) addOdd(in *instance, rank []int, k int, odd *OddSet) error {
	where := fmt.Sprintf("Odd[%d]", k)
	z, err := in.quarters(where+".Z", odd.Z)
	if err != nil {
		return err
	}
	if !ascending(odd.Tasks, len(in.tasks)) || !ascending(odd.GPUs, len(in.p.GPUs)) {
		return fmt.Errorf("packer: certificate: %s: Tasks %v, GPUs %v; want ascending indices of tasks and GPUs", where, odd.Tasks, odd.GPUs)
	}
	pr.z[k] = z
	pr.bound += z * int64((len(odd.Tasks)+len(odd.GPUs))/2)
	for _, t := range odd.Tasks {
		pr.sets[rank[t]] = append(pr.sets[rank[t]], int32(k))
	}
	for _, g := range odd.GPUs {
		c := in.classOf(g)
		if len(in.classes[c].residents) != 1 {
			return fmt.Errorf("packer: certificate: %s: GPU %q has %d residents; want 1", where, in.p.GPUs[g].ID, len(in.classes[c].residents))
		}
		pr.seats[c] = append(pr.seats[c], int32(k))
	}
	return nil
}

func ascending(x []int, limit int) bool {
	return slices.IsSorted(x) && len(slices.Compact(slices.Clone(x))) == len(x) &&
		(len(x) == 0 || x[0] >= 0 && x[len(x)-1] < limit)
}

// quarters converts a price, rounding up.
func (in *instance) quarters(where string, price float64) (int64, error) {
	q := math.Ceil(price / in.unit * quarters)
	if !(price >= 0 && q < 1<<40) {
		return 0, fmt.Errorf("packer: certificate: %s is %v; want a price from 0 to %g", where, price, in.unit/quarters*(1<<40))
	}
	return int64(q), nil
}

// joint returns the price of the odd sets in both lists.
func (pr *pricing) joint(a, b []int32) int64 {
	sum := int64(0)
	for _, k := range a {
		if slices.Contains(b, k) {
			sum += pr.z[k]
		}
	}
	return sum
}

// price returns the smallest price of class k at which no set on it makes a
// profit, in quarters.
func (e *evaluator) price(ctx context.Context, k int, pr *pricing) (int64, error) {
	in, c := e.in, &e.in.classes[k]
	price := quarters * c.base
	if !c.open(in.maxSet) {
		return price, ctx.Err()
	}
	if len(c.residents) > 0 || in.maxSet > 2 {
		walk := setWalk{evaluator: e, c: c, pr: pr, seat: pr.seats[k], best: price, room: in.maxSet - len(c.residents)}
		err := walk.from(ctx, 0, nil, 0, c.used)
		return walk.best, err
	}
	single, err := e.singles(c)
	if err != nil {
		return 0, err
	}
	for i, v := range single {
		price = max(price, quarters*v-pr.u[i])
	}
	err = e.pairs(ctx, c, single, func(i int, partners, values []int32) {
		for n, j := range partners {
			if values[n] == 0 {
				continue
			}
			profit := quarters*int64(values[n]) - pr.u[i] - pr.u[j]
			if profit > price {
				price = max(price, profit-pr.joint(pr.sets[i], pr.sets[j]))
			}
		}
	})
	return price, err
}

// setWalk visits every set of new tasks on one class.
type setWalk struct {
	*evaluator
	c    *class
	pr   *pricing
	seat []int32
	best int64
	room int
}

// from visits the supersets of set that add tasks from index i on.
func (w *setWalk) from(ctx context.Context, i int, set []*Task, paid int64, used profile.Bytes) error {
	for ; i < len(w.in.tasks) && len(set) < w.room; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := w.in.tasks[i]
		if t.Memory > w.c.usable-used {
			continue
		}
		next, cost := append(set, t), paid+w.pr.u[i]
		v, err := w.verdict(w.c, next)
		if err != nil {
			return err
		}
		if v.code == 0 {
			w.best = max(w.best, quarters*v.units-cost-w.pr.joint(w.pr.sets[i], w.seat))
		}
		if err := w.from(ctx, i+1, next, cost, used+t.Memory); err != nil {
			return err
		}
	}
	return nil
}
