package dispatch

import (
	"fmt"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// more is by how much a reservation grows that was too small.
const more = 1.5

// raise decides what is reserved next for a job that ran out of memory on some GPUs: half as much again
// as was reserved or seen; a GPU alone; the largest GPU alone; nothing, and it is given up.
func (d *Dispatcher) raise(j *entry, peak profile.Opt[profile.Bytes], on []*card) error {
	now, err := d.online.Why(j.ID)
	if err != nil {
		return err
	}
	need := profile.BytesOf(more * float64(max(now.Memory, peak.Or(0))))
	if err := d.warn(j, min(need, now.Largest)); err != nil {
		return err
	}
	t := j.trials
	t.Deaths++
	switch {
	case t.Memory == 0 && need <= now.Largest && !j.Alone:
		t.Memory = need
	case !t.Alone && !j.Alone:
		t.Alone, t.Memory = true, max(1, min(need, now.Largest))
	case t.Memory < now.Largest && d.larger(on):
		t.Alone, t.Memory = true, now.Largest
	default:
		d.giveUp(j, fmt.Sprintf("it ran out of memory %d times, the last time on a GPU of its own with %v; the largest GPU offers %v",
			t.Deaths, now.Memory, now.Largest))
		return nil
	}
	j.trials = t
	return d.describe(j)
}

// larger reports whether some GPU has more memory than one of those.
func (d *Dispatcher) larger(on []*card) bool {
	least, most := profile.Bytes(1)<<62, profile.Bytes(0)
	for _, c := range on {
		least = min(least, c.total)
	}
	for _, c := range d.slots {
		if c != nil && !c.failed {
			most = max(most, c.total)
		}
	}
	return most > least
}

// warn lets others of a job's kind that wait, of none of which anything was seen, reserve as
// much as it needs at least.
func (d *Dispatcher) warn(j *entry, need profile.Bytes) error {
	if j.Kind == "" || d.floors[j.Kind] >= need {
		return nil
	}
	if len(d.floors) >= mostFloors {
		clear(d.floors)
	}
	d.floors[j.Kind] = need
	return d.redescribe(func(o *entry) bool { return o != j && o.Kind == j.Kind })
}

// mostFloors is how many kinds are remembered that ran out of memory before anything was seen of them.
const mostFloors = 1 << 12

// seen takes in the peak of a run that goes on.
func (d *Dispatcher) seen(j *entry, peak profile.Bytes) error {
	had, err := d.online.Why(j.ID) // it runs: this looks at nothing else
	if err == nil {
		err = d.online.Seen(j.ID, peak)
	}
	if err == nil && (j.Fixed || j.trials.Memory > 0) {
		err = d.online.Reserve(j.ID, max(had.Memory, profile.BytesOf(float64(peak)*(1+d.o.Scheduler.Growth.Or(online.DefaultGrowth)))))
	}
	if d.floors[j.Kind] > 0 {
		delete(d.floors, j.Kind)
	}
	return err
}

// redescribe tells online anew what those jobs are that wait and of which is is true.
func (d *Dispatcher) redescribe(is func(o *entry) bool) error {
	for _, o := range d.order {
		if !o.gone && o.over == 0 && o.run == nil && is(o) {
			if err := d.describe(o); err != nil {
				return err
			}
		}
	}
	return nil
}
