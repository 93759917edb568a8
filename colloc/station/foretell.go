package station

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/runner"
)

// foretell says when jobs that wait are expected to start, as far as anybody knows: each
// job whose end is known lets one start, in their order.
func (v *viewer) foretell(records []runner.Record) {
	var ready, active []*runner.Record
	var ends []time.Time
	over := make(map[string]bool, len(records))
	for i := range records {
		over[records[i].Task.ID] = records[i].State.Over()
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.State == runner.Running || r.State == runner.Starting:
			active = append(active, r)
			if end, ok := v.ends(r).Get(); ok {
				ends = append(ends, end)
			}
		case r.State == runner.Queued && !r.Task.Held && !slices.ContainsFunc(r.Task.After, func(d runner.Dependency) bool { return !over[d.Task] }):
			ready = append(ready, r)
		}
	}
	if len(ends) == 0 || v.s.turns.Keep().Draining {
		return
	}
	slices.SortFunc(ends, time.Time.Compare)
	slices.SortStableFunc(ready, func(a, b *runner.Record) int { return cmp.Compare(b.Task.Priority, a.Task.Priority) })
	v.starts = make(map[string]time.Time)
	for k, i := range v.s.turns.Foresee(ready, active) {
		if k >= len(ends) {
			return
		}
		v.starts[ready[i].Task.ID] = ends[k]
	}
}
