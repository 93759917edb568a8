package packer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
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
	// smallest prices that go with U itself, or, where the Model is a
	// [MonotoneModel], larger ones among these that do.
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
	hints []int64   // where to begin the search for the price of class k
	// typing is that of the tasks; odd sets can tell all of them apart.
	typing *instance.Types
	bound  int64
}

// offers are the largest profits found on the GPUs of a class.
type offers struct {
	in     *instance.Instance
	class  int
	common int64           // on every GPU
	home   map[int32]int64 // on those that are a member's home, where it is larger
}

// take notes a set worth value that has to pay cost.
func (o *offers) take(tasks []int32, value, cost int64) {
	profit := instance.Quarters*value - cost
	if o.class < o.in.Free {
		profit = instance.Share(profit, o.in.Tasks[tasks[0]].Gpus)
	}
	o.common = max(o.common, profit)
	if !o.in.Any {
		return
	}
	for _, i := range tasks {
		if h := o.in.Home[i]; o.in.StayIn(o.class, i) > 0 {
			o.home[h] = max(o.home[h], profit+instance.Quarters*o.in.Bonus(int(h), tasks))
		}
	}
}

// prices returns the price of each member.
func (o *offers) prices() []int64 {
	members := o.in.Classes[o.class].Members
	out := make([]int64, len(members))
	for n, g := range members {
		out[n] = max(o.common, o.home[int32(g)])
	}
	return out
}

// Verify proves a bound on the throughput of every plan for p, residents
// included, and returns it. It prices every set that any GPU could run:
//
//	λ(g) = max over sets S on g of W(g, S) - Σ u(i: i ∈ S) - Σ z(B: S ⊆ B)
//	bound = Σ u(i) + Σ λ(g) + Σ z(B)·⌊|B|/2⌋
//
// where a set of gangs has to earn λ on each of the GPUs that it takes.
//
// It knows nothing of how U was found: any U gives a valid bound, a bad one is
// merely high. All sums are exact.
//
// It returns an error if the certificate does not belong to p (lengths,
// indices, a price that is negative, NaN or infinite) or the Model fails, and
// ctx.Err() when cancelled. It asks the model for every set within memory:
// O(classes · n^k) for sets of at most k tasks. Of a [MonotoneModel] it asks for
// the pairs and those larger sets that could make a profit at Lambda. Of tasks of
// one type, see [example.com/colloc/packer/solve.ColumnGen], it tries the cheapest k only.
func (c *Certificate) Verify(ctx context.Context, p *Problem) (bound float64, err error) {
	in, err := Compile(p)
	if err != nil {
		return 0, err
	}
	pr, err := c.pricing(in)
	if err != nil {
		return 0, err
	}
	e := instance.NewEvaluator(in.Instance)
	total := pr.bound
	for k := range in.Classes {
		prices, err := pr.price(ctx, e, k)
		if err != nil {
			return 0, err
		}
		for _, price := range prices {
			total += price
		}
	}
	return float64(total) * (in.Unit / instance.Quarters), nil
}

// pricing checks the certificate against in and converts it, rounding up.
func (c *Certificate) pricing(in *Compiled) (*pricing, error) {
	if c == nil {
		return nil, errors.New("packer: certificate: it is nil")
	}
	if len(c.U) != len(in.Tasks) {
		return nil, fmt.Errorf("packer: certificate: U has %d prices for %d tasks", len(c.U), len(in.Tasks))
	}
	if len(c.Odd) > 0 && in.MaxSet > 2 {
		return nil, fmt.Errorf("packer: certificate: odd sets prove nothing where MaxSet is %d; want 2", in.MaxSet)
	}
	pr := &pricing{
		u: make([]int64, len(in.Tasks)), z: make([]int64, len(c.Odd)),
		sets: make([][]int32, len(in.Tasks)), seats: make([][]int32, len(in.Classes)),
		hints: c.hints(in.Instance), typing: instance.NewTypes(in.Instance, len(c.Odd) > 0),
	}
	rank := make([]int, len(in.Tasks))
	for i, o := range in.Origin {
		rank[o] = i
		u, err := quartersOf(in.Instance, fmt.Sprintf("U[%d]", o), c.U[o])
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

func (pr *pricing) addOdd(in *Compiled, rank []int, k int, odd *OddSet) error {
	where := fmt.Sprintf("Odd[%d]", k)
	z, err := quartersOf(in.Instance, where+".Z", odd.Z)
	if err != nil {
		return err
	}
	if !ascending(odd.Tasks, len(in.Tasks)) || !ascending(odd.GPUs, len(in.p.GPUs)) {
		return fmt.Errorf("packer: certificate: %s: Tasks %v, GPUs %v; want ascending indices of tasks and GPUs", where, odd.Tasks, odd.GPUs)
	}
	pr.z[k] = z
	pr.bound += z * int64((len(odd.Tasks)+len(odd.GPUs))/2)
	for _, t := range odd.Tasks {
		pr.sets[rank[t]] = append(pr.sets[rank[t]], int32(k))
	}
	for _, g := range odd.GPUs {
		c := in.ByGPU[g]
		if len(in.Classes[c].Residents) != 1 {
			return fmt.Errorf("packer: certificate: %s: GPU %q has %d residents; want 1", where, in.p.GPUs[g].ID, len(in.Classes[c].Residents))
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
func quartersOf(in *instance.Instance, where string, price float64) (int64, error) {
	q := math.Ceil(price / in.Unit * instance.Quarters)
	if !(price >= 0 && q < 1<<40) {
		return 0, fmt.Errorf("packer: certificate: %s is %v; want a price from 0 to %g", where, price, in.Unit/instance.Quarters*(1<<40))
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

// price returns the smallest prices of the GPUs of class k at which no set on
// them makes a profit, in quarters.
func (pr *pricing) price(ctx context.Context, e *instance.Evaluator, k int) ([]int64, error) {
	in, c := e.In, &e.In.Classes[k]
	o := &offers{in: in, class: k, common: instance.Quarters * c.Base, home: map[int32]int64{}}
	if !in.Open(c) {
		return o.prices(), ctx.Err()
	}
	if len(c.Residents) > 0 || in.MaxSet > 2 || len(pr.typing.Members) < len(in.Tasks) {
		err := pr.priceSets(ctx, e, k, o)
		return o.prices(), err
	}
	single, err := e.Singles(c)
	if err != nil {
		return nil, err
	}
	var set [2]int32
	for i, v := range single {
		if set[0] = int32(i); v > 0 {
			o.take(set[:1], v, pr.u[i])
		}
	}
	err = e.Pairs(ctx, c, single, func(i int, partners, values []int32) {
		for n, j := range partners {
			if values[n] == 0 {
				continue
			}
			// Most sets cannot raise a price: spare them the rest.
			cost := pr.u[i] + pr.u[j]
			if in.Any || instance.Quarters*int64(values[n])-cost > o.common {
				set = [2]int32{int32(i), j}
				o.take(set[:], int64(values[n]), cost+pr.joint(pr.sets[i], pr.sets[j]))
			}
		}
	})
	return o.prices(), err
}
