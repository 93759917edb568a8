package dispatch

import (
	"fmt"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// more is by how much a reservation grows that was too small.
const more = 1.5

// raise decides what is reserved next for a job that ran out of memory: half as much again, or the
// peak seen; a GPU alone; nothing, and it is given up.
func (d *Dispatcher) raise(j *entry, peak profile.Opt[profile.Bytes]) error {
	now, err := d.online.Why(j.ID)
	if err != nil {
		return err
	}
	need := max(profile.BytesOf(more*float64(now.Memory)), profile.BytesOf(float64(peak.Or(0))*(1+online.DefaultGrowth)))
	t := j.trials
	t.Deaths++
	switch {
	case t.Memory == 0 && need <= now.Largest:
		t.Memory = need
	case !t.Alone && !j.Alone:
		t.Alone, t.Memory = true, max(1, min(need, now.Largest))
	default:
		d.giveUp(j, fmt.Sprintf("it ran out of memory %d times, the last time with %v reserved on a GPU of its own; the largest GPU offers %v",
			t.Deaths, now.Memory, now.Largest))
		return nil
	}
	j.trials = t
	return d.describe(j)
}
