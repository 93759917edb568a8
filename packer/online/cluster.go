package online

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// maxMachine is the highest number of a machine.
const maxMachine = 1 << 20

func checkMachine(gpu *packer.GPU, machine int) error {
	if machine < 0 || machine > maxMachine {
		return fmt.Errorf("packer: scheduler: GPU %q is in machine %d; want 0 to %d", gpu.ID, machine, maxMachine)
	}
	return nil
}

// enroll makes a slot that of a GPU, with what runs there.
func (s *Scheduler) enroll(g int, gpu *packer.GPU, machine int) {
	bare := *gpu
	bare.Residents, bare.Mechanisms, bare.Labels = nil, slices.Clone(gpu.Mechanisms), slices.Clone(gpu.Labels)
	c := &s.slots[g]
	s.touch(int32(g))
	if c.state != removed {
		s.classes[c.class].gpus--
		delete(s.named, s.gpus[g].ID)
	}
	s.named[bare.ID] = int32(g)
	s.gpus[g], s.sizes = bare, nil
	c.class, c.machine, c.state = s.classOf(&bare), int32(machine), serves
	s.classes[c.class].gpus++
	c.room = int64(s.classes[c.class].usable - c.foreign)
	for n := range c.less {
		c.less[n] = int64(s.classes[c.class].usable - s.limits.Offer(&bare, max(1, n)))
	}
	for _, e := range c.runs {
		c.room -= int64(e.Memory)
	}
}

// classOf is the number of a GPU's class: the first that has no GPUs becomes it if none is it.
func (s *Scheduler) classOf(gpu *packer.GPU) int32 {
	k := slices.IndexFunc(s.classes, func(c class) bool { return c.gpus > 0 && c.gpu.Alike(gpu) })
	if k < 0 {
		if k = slices.IndexFunc(s.classes, func(c class) bool { return c.gpus == 0 }); k < 0 {
			k = len(s.classes)
		}
		s.setClass(k, gpu)
	}
	return int32(k)
}

// setClass makes a class that of a GPU.
func (s *Scheduler) setClass(k int, gpu *packer.GPU) {
	for len(s.classes) <= k {
		s.classes = append(s.classes, class{gpu: gpu})
	}
	c := &s.classes[k]
	*c = class{gpu: gpu, usable: s.limits.Usable(gpu.Total()), mechs: gpu.Sharing(), gpus: c.gpus}
	s.ask()
}

// AddGPU takes a new GPU of a machine into service, with residents that run already, and returns
// its index: that of one that was removed, or the next. The errors are those of [NewScheduler], and
// [ErrDuplicate] where its ID or a resident's is in use, and that of the Model's method
// CheckGPU(*packer.GPU) error, if it has one; nothing changes then.
func (s *Scheduler) AddGPU(gpu packer.GPU, machine int) (int, error) {
	if err := s.ready(); err != nil {
		return 0, err
	}
	if err := s.newcomer(&gpu, machine, -1); err != nil {
		return 0, err
	}
	if len(gpu.Residents) > rollout.MaxSet {
		return 0, fmt.Errorf("packer: scheduler: GPU %q has %d residents; want %d at most", gpu.ID, len(gpu.Residents), rollout.MaxSet)
	}
	for i := range gpu.Residents {
		if r := &gpu.Residents[i]; s.entries[r.ID] != nil || r.Width() > 1 {
			return 0, fmt.Errorf("packer: scheduler: GPU %q: %w: resident %q runs or waits already, or is a gang", gpu.ID, ErrDuplicate, r.ID)
		}
	}
	for s.free < len(s.slots) && s.slots[s.free].state != removed {
		s.free++
	}
	g := s.free
	if g == len(s.slots) {
		s.slots, s.gpus = append(s.slots, slot{state: removed}), append(s.gpus, packer.GPU{})
	}
	s.enroll(g, &gpu, machine)
	for i := range gpu.Residents {
		if err := s.Adopt(Job{Task: gpu.Residents[i]}, g); err != nil {
			return g, err
		}
	}
	return g, nil
}

// judged reports GPUs of which a model can say nothing, if it knows that.
func judged(gpus []packer.GPU, model packer.Model) error {
	m, ok := model.(interface{ CheckGPU(gpu *packer.GPU) error })
	for g := range gpus {
		if !ok {
			break
		}
		if err := m.CheckGPU(&gpus[g]); err != nil {
			return err
		}
	}
	return nil
}

// newcomer reports what is wrong with a GPU that is to have an index, -1 for a new one.
func (s *Scheduler) newcomer(gpu *packer.GPU, machine, index int) error {
	one := []packer.GPU{*gpu}
	if err := errors.Join(check(one, s.model, s.limits), judged(one, s.model)); err != nil {
		return err
	}
	if err := checkMachine(gpu, machine); err != nil {
		return err
	}
	if g, ok := s.named[gpu.ID]; ok && int(g) != index {
		return fmt.Errorf("packer: scheduler: %w: GPU %q is there already, with index %d", ErrDuplicate, gpu.ID, g)
	}
	return nil
}

// ChangeGPU makes a GPU another one from now on, at its old index: its memory, labels,
// mechanisms, product or machine changed. What runs there runs on, within the limits or not.
// Its ID may be a new one; residents are an error, and so is what is one for AddGPU.
func (s *Scheduler) ChangeGPU(index int, gpu packer.GPU, machine int) error {
	if err := s.there(index); err != nil {
		return err
	}
	if len(gpu.Residents) > 0 {
		return fmt.Errorf("packer: scheduler: GPU %q: a GPU that changes lists no residents; what runs there stays", gpu.ID)
	}
	if err := s.newcomer(&gpu, machine, index); err != nil {
		return err
	}
	had := s.slots[index].state
	s.enroll(index, &gpu, machine)
	s.slots[index].state = had
	return nil
}

// there reports GPUs that do not exist.
func (s *Scheduler) there(gpus ...int) error {
	if err := s.ready(); err != nil {
		return err
	}
	for _, g := range gpus {
		if g < 0 || g >= len(s.slots) || s.slots[g].state == removed {
			return fmt.Errorf("packer: scheduler: no GPU %d; there are %d", g, len(s.slots))
		}
	}
	return nil
}

// Fail takes GPUs out of service. Their tasks return to the queue, where they stand as
// before; Report says what of their work is lost. An index that does not exist is an
// error, and nothing changes.
func (s *Scheduler) Fail(gpus ...int) error { return s.turn(down, gpus) }

// Drain lets no task start on GPUs any more; what runs there runs on. Errors as for Fail.
func (s *Scheduler) Drain(gpus ...int) error { return s.turn(drained, gpus) }

// Restore brings GPUs back into service that failed or were drained. Errors as for Fail.
func (s *Scheduler) Restore(gpus ...int) error { return s.turn(serves, gpus) }

// RemoveGPU takes GPUs out for good: as Fail does, and their indexes may become those of
// GPUs that are added later. Errors as for Fail.
func (s *Scheduler) RemoveGPU(gpus ...int) error { return s.turn(removed, gpus) }

func (s *Scheduler) turn(to service, gpus []int) error {
	if err := s.there(gpus...); err != nil {
		return err
	}
	for _, g := range gpus {
		c := &s.slots[g]
		s.sizes = nil
		if c.state == removed { // named twice
			continue
		}
		if c.state = to; to >= down {
			for _, e := range slices.Clone(c.runs) {
				s.vacate(e)
			}
		}
		if to == removed {
			s.classes[c.class].gpus--
			delete(s.named, s.gpus[g].ID)
			s.free = min(s.free, g)
			for _, e := range s.order {
				if e.ban.cards().Has(int32(g)) { // its index may become another's
					s.forbid(e, slices.DeleteFunc(slices.Clone(e.ban.gpus), func(o int) bool { return o == g }))
				}
			}
			*c = slot{state: removed}
		}
	}
	return nil
}

// Foreign says how much memory of a GPU is in use by processes that are no tasks: they take
// no seat of a set. It replaces what was said before; 0 is none. A negative amount, one that is
// more than memory can be, or a GPU that is not there is an error.
func (s *Scheduler) Foreign(gpu int, memory profile.Bytes) error {
	if err := s.there(gpu); err != nil {
		return err
	}
	if err := (&packer.Task{ID: "foreign", Memory: memory}).Validate(); err != nil {
		return err
	}
	c := &s.slots[gpu]
	c.room += int64(c.foreign - memory)
	c.foreign = memory
	return nil
}
