package station

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
)

// asker is who wants to start: what is allowed to one job is allowed to the next one like it.
type asker struct {
	uid   uint32
	width int
}

// answer is what [turn.Turns.Allow] said.
type answer struct {
	avoid []nvmlx.DeviceID
	why   string
}

// allowed says on which GPUs a job must not start now, or why on none.
func (v *viewer) allowed(r *runner.Record) answer {
	who := asker{uidOf(r), r.Task.Width()}
	a, known := v.may[who]
	if !known {
		if v.may == nil {
			v.may = make(map[asker]answer)
		}
		a.avoid, a.why = v.s.turns.Allow(r)
		v.may[who] = a
	}
	return a
}

// why says what a job waits for.
func (v *viewer) why(r *runner.Record) string {
	switch {
	case r.Task.Held:
		return "it is held, until somebody releases it"
	case r.Waiting == "" && len(r.Task.After) > 0:
		return "for other jobs to end, or for its turn"
	}
	a := v.allowed(r)
	if a.why != "" {
		return a.why
	}
	closed := v.closed(a.avoid)
	switch {
	case len(closed) > 0 && len(closed) == len(v.gpus):
		return strings.Join(closed, "; ")
	case r.Waiting == "":
		return "for its turn"
	}
	return strings.Join(append([]string{r.Waiting}, closed...), "; ")
}

// closed says how GPUs are closed, in their order.
func (v *viewer) closed(ids []nvmlx.DeviceID) (texts []string) {
	for i := range v.gpus {
		id := v.gpus[i].Device.ID
		if !slices.Contains(ids, id) {
			continue
		}
		if c := v.s.turns.Closed(id); c != nil && c.Reserved {
			layout := time.DateTime
			if v.now.Local().Format(time.DateOnly) == c.Until.Local().Format(time.DateOnly) {
				layout = "15:04"
			}
			texts = append(texts, fmt.Sprintf("GPU %d is reserved for %s until %s", i, v.s.names.Of(c.UID), c.Until.Local().Format(layout)))
		} else if c != nil {
			texts = append(texts, fmt.Sprintf("GPU %d is drained", i))
		}
	}
	return texts
}

// vacancy is the expected end of a job, and the GPUs that it then leaves.
type vacancy struct {
	at   time.Time
	gpus []nvmlx.DeviceID
}

// foretell says when jobs that wait are expected to start, as far as anybody knows: each
// job whose end is known lets one start, in their order, if that one may start on its GPUs.
func (v *viewer) foretell(records []runner.Record) {
	var ready, active []*runner.Record
	var ends []vacancy
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
				ends = append(ends, vacancy{end, r.Devices()})
			}
		case r.State == runner.Queued && !r.Task.Held && !slices.ContainsFunc(r.Task.After, func(d runner.Dependency) bool { return !over[d.Task] }):
			ready = append(ready, r)
		}
	}
	if len(ends) == 0 || v.s.turns.Keep().Draining {
		return
	}
	slices.SortFunc(ends, func(a, b vacancy) int { return a.at.Compare(b.at) })
	slices.SortStableFunc(ready, func(a, b *runner.Record) int { return cmp.Compare(b.Task.Priority, a.Task.Priority) })
	v.starts = make(map[string]time.Time)
	for _, i := range v.s.turns.Foresee(ready, active) {
		if len(ends) == 0 {
			return
		}
		a := v.allowed(ready[i])
		if a.why != "" {
			continue
		}
		shut := func(id nvmlx.DeviceID) bool { return slices.Contains(a.avoid, id) }
		if k := slices.IndexFunc(ends, func(e vacancy) bool { return !slices.ContainsFunc(e.gpus, shut) }); k >= 0 {
			v.starts[ready[i].Task.ID] = ends[k].at
			ends = slices.Delete(ends, k, k+1)
		}
	}
}
