package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
	"example.com/colloc/profile"
)

// prove finds what no policy comes below on the day of each seed. A day for which there is
// no proof has none, and the study says why, and whose sets are larger than those that the
// proof is of.
func (s *study) prove(ctx context.Context, outcomes []outcome) error {
	if s.proofs != "" {
		if err := os.MkdirAll(s.proofs, 0o755); err != nil {
			return fmt.Errorf("-proofs: %w", err)
		}
	}
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
			o.Truth = speed.By{Model: o.Truth, Mechanism: profile.TimeSlice} // what every policy here chooses
			bounds[i], err = s.bound(inner, d.tasks, o)
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

// bound finds the bound of a day, or takes one that was proven before.
func (s *study) bound(ctx context.Context, tasks []sim.Task, o bound.Options) (*bound.Bound, error) {
	if s.proofs == "" {
		return bound.Find(ctx, s.cluster, tasks, o)
	}
	h := sha256.New()
	fmt.Fprintln(h, s.told, o.MaxSet, o.FreeStarts)
	e := json.NewEncoder(h)
	err := e.Encode(s.cluster)
	for i := range tasks {
		t := &tasks[i]
		fmt.Fprintln(h, t.Arrival, t.Work, t.Startup, t.GPUs, t.Memory, t.Type, t.Class, t.Only, t.HostOnly)
	}
	if err != nil {
		return nil, err
	}
	name := filepath.Join(s.proofs, fmt.Sprintf("%.8x.json", h.Sum(nil)))
	c := &bound.Certificate{}
	if data, err := regular.Read(name, regular.Large); err == nil && json.Unmarshal(data, c) == nil {
		makespan, mean, err := c.Verify(ctx, s.cluster, tasks, o)
		if err == nil || ctx.Err() != nil {
			return &bound.Bound{Makespan: makespan, MeanJCT: mean, Certificate: *c}, err
		}
	}
	b, err := bound.Find(ctx, s.cluster, tasks, o)
	if err != nil {
		return nil, err
	}
	return b, replace.File(name, func(f *os.File) error { return json.NewEncoder(f).Encode(&b.Certificate) })
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
