package packer

import (
	"context"
	"fmt"
)

// Auto chooses the method for the problem and says in Solution.Method what it
// chose and why: Matching for sets of at most two, LocalSearch for larger sets,
// and Greedy for problems that are too large for either.
type Auto struct {
	// Tol is the relative gap at which to stop, in [0, 1); 0 is as good as the
	// method can.
	Tol float64
}

var _ Method = Auto{}

// Pack implements Method.
func (a Auto) Pack(ctx context.Context, p *Problem) (*Solution, error) {
	method, why := a.choose(p)
	s, err := method.Pack(ctx, p)
	if s != nil {
		s.Method = fmt.Sprintf("auto: %s (%s)", s.Method, why)
	}
	return s, err
}

// maxAutoTasks is where a table of all pairs, or a search over sets, stops being
// worth its memory and time.
const maxAutoTasks = 8192

func (a Auto) choose(p *Problem) (Method, string) {
	switch {
	case p == nil:
		return Greedy{}, "no problem"
	case len(p.Tasks) > maxAutoTasks:
		return Greedy{}, fmt.Sprintf("%d tasks are too many for a search", len(p.Tasks))
	case p.Limits.maxSet() > 2:
		return LocalSearch{}, fmt.Sprintf("sets of up to %d", p.Limits.maxSet())
	}
	return Matching(a), "sets of at most 2"
}
