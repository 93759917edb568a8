package solve

import (
	"context"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/pairs"
)

// Matching packs sets of at most two. With one kind of free GPU, and any GPUs
// with residents, its plan is optimal and the certificate proves it exactly.
// With several kinds it prices each kind, matches at those prices and repairs,
// and the certificate bounds the gap.
//
// With gangs it prices the GPU, of which a gang pays for as many as it takes,
// matches gangs of one size with each other, drops what does not fit, and
// certifies the gap.
//
// Where tasks have a Home it takes each set to be at the best of its members'
// homes; where two sets want the same GPU the certificate bounds the gap.
//
// It asks the model for all pairs, n²/2 for each kind of GPU, keeps their values
// in 4·n² bytes a kind, and solves in about O(n²) time on measured speeds:
// auction prices, the ten best edges of each task, Edmonds' algorithm on those,
// and pricing of all pairs until none is worth more.
//
// Limits.MaxSet above 2 is an error, and so are more than some 16 000 tasks.
type Matching struct {
	// Tol is the relative gap at which to stop, in [0, 1). 0 is exact on one kind of GPU,
	// and on several within what rounding values may have taken.
	Tol float64
}

var _ packer.Method = Matching{}

// Pack implements Method.
func (mm Matching) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	if p != nil && p.Limits.LargestSet() > 1 && slices.ContainsFunc(p.GPUs, func(g packer.GPU) bool { return len(g.Residents) == 0 }) {
		if err := pairs.TooMany(len(p.Tasks), 1); err != nil {
			return nil, err // before looking at millions
		}
	}
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	if err := mm.check(d.Instance); err != nil {
		return nil, err
	}
	pl, pr, text, err := pairs.Pack(ctx, d.Instance, mm.Tol)
	if err != nil {
		return nil, err
	}
	return answer(ctx, d, pl, pr, text)
}

// check reports what Matching cannot solve.
func (mm Matching) check(in *instance.Instance) error {
	if in.MaxSet > 2 {
		return fmt.Errorf("packer: matching: Limits.MaxSet is %d; Matching packs pairs, use Auto or Greedy", in.MaxSet)
	}
	if !(mm.Tol >= 0 && mm.Tol < 1) {
		return fmt.Errorf("packer: matching: Tol is %v; want a fraction in [0, 1)", mm.Tol)
	}
	return nil
}
