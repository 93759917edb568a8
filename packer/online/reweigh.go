package online

import (
	"errors"
	"fmt"

	"example.com/colloc/packer"
)

// Reweigh gives every task, running or waiting, the weight that a policy wants it
// to have from now on, sorts the queue anew, and returns the tasks that start.
// The slice is valid until the next call. A weight outside [0, 1e9] is an error
// and changes nothing; 0 means 1, as in [packer.Task].
//
// O(tasks · log tasks), and for each kind of task that waits the cost of an
// arrival.
func (s *Session) Reweigh(weight func(*packer.Task) float64) ([]Decision, error) {
	s.out = s.out[:0]
	queue := s.queue()
	all := make([]*job, 0, len(s.jobs))
	for g := range s.cards {
		all = append(all, s.cards[g].set...)
	}
	all = append(all, queue...)
	weights := make([]float64, len(all))
	for i, j := range all {
		weights[i] = weight(&j.task)
		if w := weights[i]; !(w >= 0 && w <= packer.MaxWeight) {
			return s.out, fmt.Errorf("packer: session: the weight of %q would be %v; want 0 to %g (only ratios matter: divide all by the same number)", j.task.ID, w, float64(packer.MaxWeight))
		}
	}
	for _, j := range queue {
		s.dequeue(j)
	}
	var errs error
	for i, j := range all {
		if old := j.kind; j.task.Weight != weights[i] {
			j.task.Weight = weights[i]
			j.kind = s.kindOf(&j.task)
			s.release(old)
			if j.gpu != none {
				errs = errors.Join(errs, s.revalue(int(j.gpu)))
			}
		}
	}
	for _, j := range queue {
		s.enqueue(j)
	}
	return s.out, errors.Join(errs, s.sweep())
}

// revalue takes new weights into account on a card.
func (s *Session) revalue(gpu int) (err error) {
	c := &s.cards[gpu]
	c.value = 0
	for _, j := range c.set {
		if j.worth, err = s.worthOn(j, c.class); err != nil {
			c.blind = true
			break
		}
		c.value += float64(j.worth * j.speed)
	}
	s.touch(gpu)
	return err
}

// sweep starts every waiting task that may start anywhere, in policy order.
func (s *Session) sweep() error {
	s.sweeps++
	for i := 0; i < len(s.waiting); {
		k := s.waiting[i]
		if k.swept == s.sweeps {
			i++
			continue
		}
		d, err := s.settle(k.first)
		if err != nil {
			return err
		}
		if !d.Placed {
			k.swept = s.sweeps
			continue
		}
		s.out = append(s.out, d)
		// Those that found no place before may find one on the GPU that changed.
		if err := s.drain(int32(d.GPU)); err != nil {
			return err
		}
		i = 0
	}
	return nil
}
