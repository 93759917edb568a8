package solve

import (
	"context"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
)

// Auto chooses the method for the problem and says in Solution.Method what it
// chose and why:
//
//   - Matching for sets of at most two, if all pairs can be valued;
//   - ColumnGen where all sets can be valued, which is so for thousands of
//     tasks of a few types too;
//   - both of them for gangs in sets of at most two, the better plan with the
//     lower bound;
//   - LocalSearch for other problems of up to 8192 tasks;
//   - Greedy for what is left.
//
// The plan is never worse than Greedy's.
type Auto struct {
	// Tol is the relative gap at which to stop, in [0, 1); 0 is as good as the
	// method can.
	Tol float64
	// Budget is how many sets may be valued; 0 means 1 << 22: all sets of three
	// of 291 types of task, of four of 97. Pairs of tasks count an eighth,
	// for a [packer.BatchModel] gives many at once: 8192 tasks by default. It bounds
	// work, not time, so that the same problem gets the same plan on every
	// machine; the context bounds the time.
	Budget int
	// Seed starts the random choices of a search.
	Seed uint64
}

var _ packer.Method = Auto{}

const (
	defaultBudget = 1 << 22
	cheapPairs    = 8 // pairs that cost as much as one larger set
	// maxAutoTasks is where a search over sets stops being worth its time.
	maxAutoTasks = 8192
	// manyTasks is where the types of tasks, if few, are quicker than a matching.
	manyTasks = 1024
)

// Pack implements Method.
func (a Auto) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	if a.Budget < 0 {
		return nil, fmt.Errorf("packer: auto: Budget is %d; want 0 or more", a.Budget)
	}
	method, why, err := a.choose(p)
	if err != nil {
		return nil, err
	}
	s, err := method.Pack(ctx, p)
	if _, ok := method.(ColumnGen); ok && err == nil && p.Limits.LargestSet() <= 2 && slices.ContainsFunc(p.Tasks, func(t packer.Task) bool { return t.GPUs > 1 }) && len(p.Tasks) <= manyTasks {
		s, err = a.orMatching(ctx, p, s)
	}
	if s != nil {
		s.Method = fmt.Sprintf("auto: %s (%s)", s.Method, why)
	}
	return s, err
}

// orMatching returns the better of s and Matching's plan, with the lower bound.
// Cancelled, it returns s and ctx.Err().
func (a Auto) orMatching(ctx context.Context, p *packer.Problem, s *packer.Solution) (*packer.Solution, error) {
	o, err := Matching{Tol: a.Tol}.Pack(ctx, p)
	if err != nil {
		return s, err
	}
	if o.Throughput > s.Throughput {
		s, o = o, s
	}
	if o.Bound < s.Bound {
		s.Bound, s.Certificate = o.Bound, o.Certificate
	}
	return s, nil
}

func (a Auto) choose(p *packer.Problem) (packer.Method, string, error) {
	d, err := packer.Compile(p)
	if err != nil {
		return nil, "", err
	}
	budget := a.Budget
	if budget == 0 {
		budget = defaultBudget
	}
	in := d.Instance
	ty := instance.NewTypes(in, false)
	n, types := len(in.Tasks), len(ty.Members)
	columns := ColumnGen{Tol: a.Tol, Seed: a.Seed, MaxSets: budget}
	pairs := max(1, in.Free) * n * n / 2
	typed := n > manyTasks && types <= n/16
	why := columns.tooMany(in, ty)
	switch {
	case in.MaxSet <= 2 && !typed && pairs/cheapPairs <= budget && (!in.Gangs || why != ""):
		return Matching{Tol: a.Tol}, fmt.Sprintf("sets of at most %d", in.MaxSet), nil
	case why == "":
		return columns, fmt.Sprintf("sets of up to %d, %d types of task", in.MaxSet, types), nil
	case n <= maxAutoTasks:
		steps := max(1, min(max(2000, 60*n), budget/32))
		return LocalSearch{Steps: steps, Seed: a.Seed}, fmt.Sprintf("sets of up to %d; %s", in.MaxSet, why), nil
	}
	return Greedy{}, fmt.Sprintf("%d tasks of %d types are too many for a search", n, types), nil
}
