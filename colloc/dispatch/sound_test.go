package dispatch

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Sound counts all that a Dispatcher keeps count of once more, from its jobs, runs and GPUs,
// and says what is not as it should be.
func (d *Dispatcher) Sound() error {
	gone, after := 0, 0
	for _, e := range d.order {
		if e.gone {
			gone++
			continue
		}
		if len(e.After) > 0 {
			after++
		}
		if d.jobs[e.ID] != e {
			return fmt.Errorf("job %q is not found by its ID", e.ID)
		}
		if e.over == 0 && e.parked == d.ready(e) {
			return fmt.Errorf("job %q may start: %v; it was told otherwise", e.ID, d.ready(e))
		}
		if e.over == 0 && e.run == nil && e.untold() && e.guess != 0 && e.guess != max(1, d.half()) {
			return fmt.Errorf("nothing is told of job %q, which reserves %v; want half of the largest GPU, %v", e.ID, e.guess, d.half())
		}
		if e.over != 0 && e.run != nil {
			return fmt.Errorf("job %q is over, and run %d of it goes on", e.ID, e.run.number)
		}
		if e.run != nil && (d.lives[e.run.number] != e.run || e.run.job != e.ID) {
			return fmt.Errorf("job %q has run %d, which is over or another's", e.ID, e.run.number)
		}
	}
	if gone != d.dead || len(d.order)-gone != len(d.jobs) || after != d.waits {
		return fmt.Errorf("%d jobs, %d that are gone, %d after others; counted are %d, %d and %d", len(d.order)-gone, gone, after, len(d.jobs), d.dead, d.waits)
	}
	most, booked := profile.Bytes(0), 0
	for _, c := range d.cards {
		most = max(most, c.total)
		if c.index >= len(d.slots) || d.slots[c.index] != c {
			return fmt.Errorf("GPU %q has index %d, where it is not", c.gpu.ID, c.index)
		}
		if len(c.reserved) > 0 {
			booked++
		}
		tenants, here := 0, 0
		for _, r := range d.lives {
			if !slices.Contains(r.on, c) {
				continue
			}
			if here++; !slices.Contains(c.runs, r) || !slices.Contains(r.gpus, c.gpu.ID) {
				return fmt.Errorf("run %d is on GPU %q, which does not know it", r.number, c.gpu.ID)
			}
			if r.charged() {
				tenants++
			}
		}
		if here != len(c.runs) || tenants != c.tenants {
			return fmt.Errorf("GPU %q has %d runs, %d of them charged; counted are %d and %d", c.gpu.ID, here, tenants, len(c.runs), c.tenants)
		}
	}
	for _, r := range d.grants {
		if r.phase == granted && d.lives[r.number] != r {
			return fmt.Errorf("run %d is to start, and is over", r.number)
		}
	}
	there := 0
	for g, c := range d.slots {
		if c != nil {
			there++
		} else if g < d.free {
			return fmt.Errorf("index %d is free, and none below %d is said to be", g, d.free)
		}
	}
	if most != d.most || booked != len(d.booked) || there != len(d.cards) {
		return fmt.Errorf("the largest GPU has %v, %d are booked, %d there; counted are %v, %d and %d", most, booked, there, d.most, len(d.booked), len(d.cards))
	}
	jobs, gpus, parts := map[string]int{}, map[string]int{}, map[string]int64{}
	for number, r := range d.lives {
		if r.phase == ended || r.number != number || number > d.runs {
			return fmt.Errorf("run %d is known as %d, in phase %d of %d", r.number, number, r.phase, d.runs)
		}
		if r.holds() {
			jobs[r.user], gpus[r.user] = jobs[r.user]+1, gpus[r.user]+len(r.on)
		}
		for _, c := range r.on {
			if r.charged() {
				parts[r.user] += int64(whole / c.tenants)
			}
		}
		if stops := slices.Contains(d.leaves, r); stops != (r.phase == stopping) {
			return fmt.Errorf("run %d is in phase %d; among those that stop: %v", number, r.phase, stops)
		}
	}
	for name, u := range d.users {
		if u.jobs != jobs[name]+u.away.Jobs || u.gpus != gpus[name]+u.away.GPUs || u.parts != parts[name] {
			return fmt.Errorf("user %q has %d jobs here and %d elsewhere, %d and %d GPUs, %d parts; counted are %d, %d and %d",
				name, jobs[name], u.away.Jobs, gpus[name], u.away.GPUs, parts[name], u.jobs, u.gpus, u.parts)
		}
	}
	return nil
}
