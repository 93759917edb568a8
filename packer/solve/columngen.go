package solve

import (
	"context"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/catalogue"
	"example.com/colloc/packer/internal/columns"
	"example.com/colloc/packer/internal/instance"
)

// ColumnGen packs sets of any size and proves how good the plan is. It solves
// the linear relaxation of the program in the package comment, in which each
// set is a column: a few columns at first, then again and again those that earn
// most at the prices of the last solution, until none earns anything. The prices
// are the certificate. A search over the columns that cost little against them
// makes the plan.
//
// Tasks are of one type if all fields of [packer.Task] but ID and Home are equal,
// Profile being the same pointer, and Kind or Profile is set; the Model must not
// tell them apart. A task that costs something to move is of a type of its own.
// The number of types counts, not that of tasks.
//
// Every multiset of types that memory allows is valued, once: O(classes ·
// types^k) questions to the model for sets of k, and 4 bytes for each. Where that
// is more than MaxSets, and with more than 4096 types, ColumnGen answers like LocalSearch
// and proves nothing.
//
// A set of gangs is a column that takes as many GPUs of its kind as each of them. With
// gangs beside homes the plan is that of LocalSearch, and the bound is proved by the
// prices of tasks without homes, which is looser.
//
// Each round costs one pass over all values and O(rows²) for each pivot, where rows are
// types and kinds of GPU; 10 to 40 rounds are usual.
type ColumnGen struct {
	// Tol is the relative gap at which to stop, in [0, 1); 0 is as good as Steps
	// allow.
	Tol float64
	// Seed starts the random choices of the search.
	Seed uint64
	// Steps is how often the search tries to improve the plan; 0 means 25 for
	// each type of task, 1000 at least.
	Steps int
	// MaxSets is the largest number of sets to value. 0
	// means 1 << 25: all sets of three of 584 types, or all of four of 165.
	MaxSets int
}

var _ packer.Method = ColumnGen{}

const (
	defaultMaxSets = 1 << 25
	// maxRows bounds the memory of the inverse: 128 MiB.
	maxRows = 4096
)

// Pack implements Method.
func (cg ColumnGen) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	if err := cg.check(); err != nil {
		return nil, err
	}
	in := d.Instance
	e := instance.NewEvaluator(in)
	ty := instance.NewTypes(in, false)
	why := cg.tooMany(in, ty)
	switch {
	case why != "":
		return cg.unproved(ctx, p, why)
	case in.Gangs && in.Homes:
		return cg.withoutHomes(ctx, p)
	}
	cat, err := catalogue.New(ctx, e, ty)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	if err != nil {
		return d.Answer(ctx, instance.NewPlan(in), nil, "column generation, cancelled before its first plan")
	}
	start, err := catalogue.Greedy(ctx, cat)
	if err != nil {
		return nil, err
	}
	g, err := columns.New(ctx, e, cat, start, cg.Tol, cg.Seed)
	if err != nil {
		return nil, err
	}
	g.Bounds(ctx)
	g.Round()
	steps, err := g.ImprovePlan(ctx, cg.steps(len(ty.Members)))
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("column generation: %d types of task, %d sets in %d rounds, %d steps", len(ty.Members), len(g.Sets), g.Rounds, steps)
	return answer(ctx, d, g.Plan(), g.Proof(), text)
}

// check reports what is wrong with the options.
func (cg ColumnGen) check() error {
	switch {
	case !(cg.Tol >= 0 && cg.Tol < 1):
		return fmt.Errorf("packer: column generation: Tol is %v; want a fraction in [0, 1)", cg.Tol)
	case cg.Steps < 0:
		return fmt.Errorf("packer: column generation: Steps is %d; want 0 or more", cg.Steps)
	case cg.MaxSets < 0:
		return fmt.Errorf("packer: column generation: MaxSets is %d; want 0 or more", cg.MaxSets)
	}
	return nil
}

func (cg ColumnGen) maxSets() int {
	if cg.MaxSets == 0 {
		return defaultMaxSets
	}
	return cg.MaxSets
}

func (cg ColumnGen) steps(types int) int {
	if cg.Steps == 0 {
		return max(1000, 25*types)
	}
	return cg.Steps
}

// tooMany says why there can be no bound, or "".
func (cg ColumnGen) tooMany(in *instance.Instance, ty *instance.Types) string {
	n := len(ty.Members)
	switch {
	case n+len(in.Classes) > maxRows:
		return fmt.Sprintf("more than %d types of task and kinds of GPU", maxRows)
	case !catalogue.Few(in, n, cg.maxSets()):
		return fmt.Sprintf("more than %d sets", cg.maxSets())
	}
	return ""
}

// unproved answers where there can be no bound, and says why.
func (cg ColumnGen) unproved(ctx context.Context, p *packer.Problem, why string) (*packer.Solution, error) {
	s, err := LocalSearch{Steps: cg.Steps, Seed: cg.Seed}.Pack(ctx, p)
	if s != nil {
		s.Method += "; no bound: " + why
	}
	return s, err
}

// withoutHomes answers p, which has gangs and homes, by a local search. Prices of
// tasks for the problem without homes prove a bound for p, too: the GPUs that are
// homes cost more by what staying there saves.
func (cg ColumnGen) withoutHomes(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	s, err := LocalSearch{Steps: cg.Steps, Seed: cg.Seed}.Pack(ctx, p)
	if err != nil {
		return s, err
	}
	q := *p
	q.Tasks = slices.Clone(p.Tasks)
	for i := range q.Tasks {
		q.Tasks[i].Home = ""
	}
	o, err := cg.Pack(ctx, &q)
	if err != nil || o.Certificate == nil {
		return s, err
	}
	bound, err := o.Certificate.Verify(ctx, p)
	if err != nil {
		return s, err
	}
	s.Bound, s.Certificate = max(bound, s.Throughput), o.Certificate
	s.Method = fmt.Sprintf("%s; bound by %s, without homes", s.Method, o.Method)
	return s, nil
}
