package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
)

// prove finds what no policy comes below on the day of each seed. A day for which there is
// no proof has none, and the study says why, and whose sets are larger than those that the
// proof is of.
func (s *study) prove(ctx context.Context, outcomes []outcome) error {
	bounds, reasons := make([]*bound.Bound, s.seeds), make([]error, s.seeds)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range bounds {
		group.Go(func() error {
			d, err := s.draw(s.first + uint64(i))
			if err != nil {
				return err
			}
			o := bound.Options{
				Truth: d.options.Truth, MaxSet: s.boundSet, Alike: d.alike, FreeStarts: d.options.RestartAll || d.options.ShareCPU,
			}
			if o.Truth == nil {
				o.Truth = sim.Constant(nil)
			}
			bounds[i], err = bound.Find(inner, s.cluster, d.tasks, o)
			if errors.Is(err, bound.ErrNowhere) || errors.Is(err, bound.ErrKinds) {
				reasons[i], err = err, nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	large := map[string]int{}
	for i := range outcomes {
		o := &outcomes[i]
		o.Bound = bounds[i%s.seeds]
		if o.Crowd > s.boundSet {
			large[o.Policy] = max(large[o.Policy], o.Crowd)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(large)) {
		s.left = append(s.left, fmt.Sprintf("%s puts up to %d tasks on a GPU: what is proven is of %d at most, see -bound-set", name, large[name], s.boundSet))
	}
	if err := errors.Join(reasons...); err != nil {
		s.left = append(s.left, fmt.Sprintf("nothing is proven: %v", err))
	}
	return nil
}

// above is how often a figure of a run that finished all tasks has what is proven; 0 is
// unknown.
func (o *outcome) above(figure func(*outcome) (has, proven float64)) float64 {
	if o.Bound == nil || o.Unfinished+o.Failed > 0 {
		return 0
	}
	has, proven := figure(o)
	if proven <= 0 {
		return 0
	}
	return has / proven
}

func aboveMakespan(o *outcome) float64 {
	return o.above(func(o *outcome) (float64, float64) { return o.Makespan.Hours(), o.Bound.Makespan.Hours() })
}

func aboveJCT(o *outcome) float64 {
	return o.above(func(o *outcome) (float64, float64) { return o.MeanJCT.Hours(), o.Bound.MeanJCT.Hours() })
}
