package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

func (e GPUAdded) apply(d *Dispatcher) error {
	if d.cards[e.GPU.ID] != nil {
		return fmt.Errorf("%w GPU", ErrDuplicate)
	}
	gpu, err := d.checkCard(e.GPU, e.Machine)
	if err != nil {
		return err
	}
	c := &card{gpu: bare(e.GPU), total: e.GPU.Total(), machine: e.Machine, index: d.free}
	for c.index < len(d.slots) && d.slots[c.index] != nil {
		c.index++
	}
	put(d, &d.free, c.index)
	if c.index == len(d.slots) {
		put(d, &d.slots, append(d.slots, nil))
	}
	set(d, d.cards, e.GPU.ID, c)
	put(d, &d.slots[c.index], c)
	d.later(func() error {
		_, err := d.online.AddGPU(gpu, e.Machine) // it takes the first index that is free, too
		return err
	})
	d.rehalf(max(d.most, c.total))
	return nil
}

// largest is the memory of the largest GPU.
func (d *Dispatcher) largest() profile.Bytes {
	most := profile.Bytes(0)
	for _, c := range d.slots {
		if c != nil {
			most = max(most, c.total)
		}
	}
	return most
}

// rehalf notes how large the largest GPU is, and says anew what is set aside for jobs of which nothing
// is told if that is not what it was.
func (d *Dispatcher) rehalf(most profile.Bytes) {
	if d.most == most {
		return
	}
	put(d, &d.most, most)
	for _, j := range d.order {
		if !j.gone && j.untold() && j.run == nil {
			put(d, &j.guess, 0)
			d.later(func() error { return d.describe(j) })
		}
	}
}

// describe tells online anew what a job is.
func (d *Dispatcher) describe(j *entry) error {
	if j.gone || j.over != 0 || !j.known {
		return nil
	}
	job, err := j.wants(d)
	if err != nil {
		return err
	}
	job.Left, job.Done = profile.Opt[time.Duration]{}, profile.Opt[time.Duration]{}
	return d.online.Change(job)
}

func bare(g colloc.GPU) colloc.GPU {
	g.Residents = nil
	return g
}

// maxMachine is the highest number of a machine.
const maxMachine = 1 << 20

func (d *Dispatcher) checkCard(g colloc.GPU, machine int) (packer.GPU, error) {
	if machine < 0 || machine > maxMachine {
		return packer.GPU{}, fmt.Errorf("%w: Machine is %d; want 0 to %d", ErrInvalid, machine, maxMachine)
	}
	packed, err := d.mind.PackedGPU(bare(g))
	if err != nil {
		return packed, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return packed, nil
}

func (e GPUChanged) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU.ID)
	if err != nil {
		return err
	}
	gpu, err := d.checkCard(e.GPU, c.machine)
	if err != nil {
		return err
	}
	was := c.total
	put(d, &c.gpu, bare(e.GPU))
	put(d, &c.total, e.GPU.Total())
	d.later(func() error { return d.online.ChangeGPU(c.index, gpu, c.machine) })
	if was == d.most && c.total < was {
		d.rehalf(d.largest())
	} else {
		d.rehalf(max(d.most, c.total))
	}
	return nil
}

func (e GPURemoved) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	d.lose(e.GPU)
	d.detach(c)
	unset(d, d.cards, e.GPU)
	put(d, &d.slots[c.index], nil)
	put(d, &d.free, min(d.free, c.index))
	d.uncover(c)
	d.later(func() error { return d.online.RemoveGPU(c.index) })
	if c.total == d.most {
		d.rehalf(d.largest())
	}
	return nil
}

// detach takes what is left of gangs that stop, elsewhere too, off a GPU that goes.
func (d *Dispatcher) detach(c *card) {
	for _, r := range c.runs {
		d.change(r.user, func(u *user) {
			u.gpus--
			if r.charged() {
				u.parts -= int64(whole / c.tenants)
			}
		})
		put(d, &r.on, without(r.on, c))
		put(d, &r.gpus, without(r.gpus, c.gpu.ID))
	}
	put(d, &c.runs, nil)
	put(d, &c.tenants, 0)
}

func (e GPUFailed) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	if c.failed {
		return fmt.Errorf("%w: it failed before", ErrDuplicate)
	}
	d.lose(e.GPU)
	put(d, &c.failed, true)
	d.later(func() error { return d.online.Fail(c.index) })
	return nil
}

// lose ends the runs on a GPU. Their jobs wait again, where they began; those of a gang elsewhere
// are stopped.
func (d *Dispatcher) lose(gpu string) {
	c := d.cards[gpu]
	runs := slices.Clone(c.runs)
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.number, b.number) })
	for _, r := range runs {
		j := d.jobs[r.job]
		if r.phase == stopping {
			if len(r.gpus) == 1 {
				d.end(j, r)
				d.last(j, Lost)
			}
			continue
		}
		d.later(func() error { return d.online.Return(j.ID) })
		if len(r.gpus) == 1 || r.phase == granted {
			d.end(j, r)
		} else {
			d.leave(j, r, fmt.Sprintf("its GPU %q is gone", gpu))
		}
	}
}

// numbers are those of all runs.
func (d *Dispatcher) numbers() []uint64 {
	all := make([]uint64, 0, len(d.lives))
	for n := range d.lives {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func (e GPURestored) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	if !c.failed {
		return fmt.Errorf("%w: it is in service", ErrDuplicate)
	}
	put(d, &c.failed, false)
	put(d, &c.drained, false)
	d.later(func() error { return d.online.Restore(c.index) })
	return nil
}

func (e Drained) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	if c.failed || c.drained != e.Off {
		return fmt.Errorf("%w: it failed, or is so already", ErrDuplicate)
	}
	put(d, &c.drained, !e.Off)
	d.later(func() error {
		if e.Off {
			return d.online.Restore(c.index)
		}
		return d.online.Drain(c.index)
	})
	return nil
}

func (e Foreign) apply(d *Dispatcher) error {
	c, err := d.card(e.GPU)
	if err != nil {
		return err
	}
	if e.Memory < 0 || e.Memory > maxMemory {
		return fmt.Errorf("%w: Memory is %v; want 0 to %v", ErrInvalid, e.Memory, maxMemory)
	}
	if c.foreign == e.Memory {
		return nil
	}
	put(d, &c.foreign, e.Memory)
	d.later(func() error { return d.online.Foreign(c.index, e.Memory) })
	return nil
}

//nolint:unparam // an Event
func (Learned) apply(d *Dispatcher) error {
	d.later(func() error {
		if err := d.mind.Relearn(d.online, d.gpus()); err != nil {
			return err
		}
		return d.redescribe(func(o *entry) bool { return o.Profile != nil && o.Reserved == 0 })
	})
	return nil
}

// gpus are those that there are, by online's index.
func (d *Dispatcher) gpus() []colloc.GPU {
	var all []colloc.GPU
	for _, c := range d.slots {
		if c != nil {
			all = append(all, c.gpu)
		}
	}
	return all
}
