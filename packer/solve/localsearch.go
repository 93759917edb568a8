package solve

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/search"
	"example.com/colloc/packer/internal/start"
)

// LocalSearch packs sets of any size. It starts from the best of Greedy's plan,
// tasks that do not share and tasks at home. By simulated annealing it exchanges
// tasks between GPUs, guided by what pairs of tasks lose by each other. Then it
// takes a few GPUs and waiting tasks apart again and again (large neighbourhood
// search: Shaw, 1998, doi:10.1007/3-540-49481-2_30): the tasks are put back one
// by one where they add most, in several orders, and the result is kept if the
// plan is worth no less. It proves nothing, is never worse than Greedy, and does
// the same for the same Seed.
//
// It builds sets a task at a time, each where it adds most at once: where company
// makes tasks faster it can miss sets that are worth more than all their parts.
//
// With gangs it starts from Greedy by weight for each GPU if that is better, and takes
// apart as many GPUs as the widest of the waiting tasks that join in needs.
//
// The annealing asks the model for all n²/2 pairs of n tasks and for n tasks on
// each kind of GPU, and then about 20 exchanges in a step at most, fewer where the
// estimates leave little in doubt. A step of the other kind asks for O(MaxSet²)
// sets, of which most are remembered. For 100 tasks in fours that makes 20 to 30
// thousand questions in all. Where there is a gang, or where the pairs would take
// more time than Steps or more than 16 MiB (1500 tasks in threes), all steps are
// of the other kind.
type LocalSearch struct {
	// Steps is how long to search, in units of about ten microseconds if the
	// model is quick: the time to estimate 8192 exchanges. For every four steps
	// of annealing there is one that takes three GPUs apart. 0 means 10 for each
	// task, 1000 at least.
	Steps int
	// Seed starts the random choices.
	Seed uint64
}

var _ packer.Method = LocalSearch{}

// Pack implements Method.
func (l LocalSearch) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	if l.Steps < 0 {
		return nil, fmt.Errorf("packer: local search: Steps is %d; want 0 or more", l.Steps)
	}
	e := instance.NewEvaluator(d.Instance)
	start, err := start.Greedy(ctx, d.Instance, e)
	if err != nil {
		return nil, err
	}
	s, err := search.New(e, start, l.Seed)
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		if s, err = s.OrSimpler(ctx, l.Seed); err != nil {
			return nil, err
		}
	}
	steps := l.Steps
	if steps == 0 {
		steps = max(1000, 10*len(d.Tasks))
	}
	if err := s.Improve(ctx, steps); err != nil {
		return nil, err
	}
	return answer(ctx, d, s.Plan(), nil, fmt.Sprintf("local search, %d steps", steps))
}
