package packer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// pricing is a Certificate in quarters of a unit, tasks in instance order.
type pricing struct {
	u     []int64
	z     []int64
	sets  [][]int32 // odd sets that hold task i
	seats [][]int32 // odd sets that hold the GPU of class k
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
		profit = instance.Share(profit, o.in.Tasks[tasks[0]].GPUs)
	}
	o.common = max(o.common, profit)
	if !o.in.Homes {
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
		typing: instance.NewTypes(in.Instance, len(c.Odd) > 0),
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
	if !ascending(odd.Tasks, len(in.Tasks)) || !ascending(odd.GPUs, len(in.door.p.GPUs)) {
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
			return fmt.Errorf("packer: certificate: %s: GPU %q has %d residents; want 1", where, in.door.p.GPUs[g].ID, len(in.Classes[c].Residents))
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
