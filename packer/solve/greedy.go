package solve

import (
	"context"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/search"
	"example.com/colloc/packer/internal/start"
)

// Greedy gives each task in turn the place where it adds most: heaviest weight
// first, then largest memory. An empty GPU nearly always adds most; when none
// is left, the task joins the set that gains most by it; a task that is at home
// somewhere stays if that adds more. It respects every
// limit, takes sets of any size and proves nothing.
//
// O(tasks · occupied GPUs) questions to the model.
type Greedy struct{}

var _ packer.Method = Greedy{}

// Pack implements Method.
func (Greedy) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	pl, err := start.Greedy(ctx, d.Instance, instance.NewEvaluator(d.Instance))
	if err != nil {
		return nil, err
	}
	return answer(ctx, d, pl, nil, "greedy")
}

// answer evaluates a plan in which rounding hides no weights.
func answer(ctx context.Context, d *packer.Compiled, pl *instance.Plan, pr *instance.Proof, method string) (*packer.Solution, error) {
	if err := search.HeavierFirst(ctx, d.Instance, pl); err != nil {
		return nil, err
	}
	return d.Answer(ctx, pl, pr, method)
}
