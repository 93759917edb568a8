package bound

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
)

// Bound is what no policy comes below.
type Bound struct {
	// Makespan is from the first arrival to the last end, MeanJCT the mean time from
	// arrival to end.
	Makespan, MeanJCT time.Duration
	// Certificate proves both.
	Certificate Certificate
}

// Find bounds a day. It returns an error for faulty input, a task that fits no GPU
// ([ErrNowhere]), too many sets that differ ([ErrKinds]), a model that fails, and ctx.Err()
// when cancelled. The same input gives the same bound. The prices are those of a linear
// program with columns for the sets that pay, solved nearly; some seconds for 60 tasks.
func Find(ctx context.Context, cluster *sim.Cluster, tasks []sim.Task, o Options) (*Bound, error) {
	d, err := newDay(cluster, tasks, o)
	if err != nil {
		return nil, err
	}
	p, err := newPool(ctx, d)
	if err != nil {
		return nil, err
	}
	s := search{p}
	b := &Bound{}
	c := &b.Certificate
	until, err := s.ends(ctx, c)
	if err == nil {
		err = s.means(ctx, c, until)
	}
	if err == nil {
		err = s.order(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("bound: %w", err)
	}
	b.Makespan, b.MeanJCT = c.Makespan, c.MeanJCT
	return b, nil
}
