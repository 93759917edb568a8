package dispatch

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

func (e Described) apply(d *Dispatcher) error {
	j, err := d.job(e.Job.ID)
	if err != nil {
		return err
	}
	if e.Job.Width() != j.Width() {
		return fmt.Errorf("%w: it wants %d GPUs; want %d, as it did", ErrInvalid, e.Job.Width(), j.Width())
	}
	if e.Job.User != j.User {
		return fmt.Errorf("%w: its user is %q; want %q, as it was", ErrInvalid, e.Job.User, j.User)
	}
	if err := e.Job.check(); err != nil {
		return err
	}
	e.Job.After = j.After
	put(d, &j.Job, e.Job)
	job, err := j.wants(d)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if j.over == 0 {
		d.later(func() error { return d.online.Change(job) })
	}
	return nil
}

func (e Barred) apply(d *Dispatcher) error {
	j, err := d.job(e.Job)
	if err != nil {
		return err
	}
	for _, id := range e.GPUs {
		if _, err := d.card(id); err != nil {
			return fmt.Errorf("%w %q", err, id)
		}
	}
	put(d, &j.bars, slices.Clone(e.GPUs))
	d.forbid(j)
	return nil
}

// Memory is what is set aside for a job on each of its GPUs, or would be if it started now. The
// errors are those of Why.
func (d *Dispatcher) Memory(job string) (profile.Bytes, error) {
	j, err := d.job(job)
	if err != nil {
		return 0, fmt.Errorf("dispatch: memory: %w %q", err, job)
	}
	if j.over != 0 {
		return 0, nil
	}
	r, err := d.online.Why(job)
	return r.Memory, err
}
