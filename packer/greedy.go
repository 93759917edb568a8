package packer

import "context"

// Greedy gives each task in turn the place where it adds most: heaviest weight
// first, then largest memory. An empty GPU nearly always adds most; when none
// is left, the task joins the set that gains most by it; a task that is at home
// somewhere stays if that adds more. It respects every
// limit, takes sets of any size and proves nothing.
//
// O(tasks · occupied GPUs) questions to the model.
type Greedy struct{}

var _ Method = Greedy{}

// Pack implements Method.
func (Greedy) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	d, err := compile(p)
	if err != nil {
		return nil, err
	}
	pl, err := greedy(ctx, d.instance, newEvaluator(d.instance))
	if err != nil {
		return nil, err
	}
	return d.answer(ctx, pl, nil, "greedy")
}
