package online

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Arrive takes in a task and says where it runs or that it waits. An invalid
// task, one whose ID is in use, or a failing Model is an error, and the session
// is as before.
func (s *Session) Arrive(task packer.Task) (Decision, error) {
	if err := s.admissible(&task); err != nil {
		return Decision{}, err
	}
	j := s.newJob(&task)
	d, err := s.settle(j)
	if err != nil {
		s.drop(j)
		return Decision{}, err
	}
	if !d.Placed {
		s.enqueue(j)
	}
	return d, nil
}

// Finish takes out a task that has ended or is no longer wanted, running or
// waiting, and returns the tasks of the queue that start in its place. The slice
// is valid until the next call. Where the Model fails the task is gone all the
// same: the error is about the tasks that stay, and the GPU takes no new ones
// before the Model answers for it again.
func (s *Session) Finish(id string) ([]Decision, error) {
	s.out = s.out[:0]
	j := s.jobs[id]
	if j == nil {
		return s.out, fmt.Errorf("packer: session: %w: %q neither runs nor waits", ErrUnknown, id)
	}
	g := j.gpu
	if g == none {
		s.dequeue(j)
		s.drop(j)
		return s.out, nil
	}
	s.leave(j)
	s.drop(j)
	if err := s.refresh(int(g)); err != nil {
		return s.out, err
	}
	s.noteFreed(g)
	return s.out, s.drainFreed()
}

// Fail takes GPUs out of service, those of a lost node for one, all at once: their
// tasks return to the queue, in front of those that arrived later, and start
// elsewhere where they can, but not on a GPU that fails in the same call. The
// decisions are theirs, in policy order, and where a gang has lost a GPU, of those
// that start on its others; the slice is valid until the next call. A GPU that is out
// of service already stays so. An index that does not exist is an error, and nothing
// changes.
func (s *Session) Fail(gpus ...int) ([]Decision, error) {
	s.out, s.victims, s.turn = s.out[:0], s.victims[:0], s.turn[:0]
	for _, gpu := range gpus {
		if gpu < 0 || gpu >= len(s.cards) {
			return s.out, s.noGPU(gpu)
		}
	}
	lost := make([]int, 0, len(gpus))
	for _, gpu := range gpus {
		if c := &s.cards[gpu]; !c.down {
			c.down = true
			lost = append(lost, gpu)
		}
	}
	var errs error
	for _, gpu := range lost {
		errs = errors.Join(errs, s.lose(gpu))
	}
	slices.SortStableFunc(s.victims, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.kind.key.weight, a.kind.key.weight), cmp.Compare(a.arrival, b.arrival))
	})
	for _, j := range s.victims {
		d, err := s.settle(j)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		s.out = append(s.out, d)
	}
	clear(s.victims)
	return s.out, errors.Join(errs, s.drainFreed())
}

// lose puts what runs on a card that is down into the queue, the gang of which it is
// a part included, and notes the cards that this frees.
func (s *Session) lose(gpu int) error {
	lead := int32(gpu)
	if l := s.cards[gpu].lead; l != none {
		lead = l
	}
	g := &s.cards[lead]
	s.victims = append(s.victims, g.set...)
	for _, j := range g.set {
		s.enqueue(j)
	}
	clear(g.set)
	g.set, g.used = g.set[:0], 0
	err := s.refresh(int(lead))
	s.turn = append(append(s.turn, lead), s.freed...)
	s.touch(gpu)
	return err
}

// Restore brings a GPU back into service, empty, and returns the tasks of the
// queue that start on it. The slice is valid until the next call.
func (s *Session) Restore(gpu int) ([]Decision, error) {
	s.out = s.out[:0]
	if gpu < 0 || gpu >= len(s.cards) {
		return s.out, s.noGPU(gpu)
	}
	if !s.cards[gpu].down {
		return s.out, nil
	}
	s.cards[gpu].down = false
	return s.out, errors.Join(s.refresh(gpu), s.drain(int32(gpu)))
}

func (s *Session) noGPU(gpu int) error {
	return fmt.Errorf("packer: session: no GPU %d; there are %d", gpu, len(s.cards))
}

// admissible reports why a task cannot be taken in.
func (s *Session) admissible(t *packer.Task) error {
	if s.jobs[t.ID] != nil {
		return fmt.Errorf("packer: session: %w: %q runs or waits already", ErrDuplicate, t.ID)
	}
	return t.Validate()
}

// newJob returns a job of the next arrival.
func (s *Session) newJob(t *packer.Task) *job {
	var j *job
	if n := len(s.spareJobs); n > 0 {
		j, s.spareJobs = s.spareJobs[n-1], s.spareJobs[:n-1]
	} else {
		j = &job{}
	}
	s.arrivals++
	*j = job{task: *t, arrival: s.arrivals, gpu: none}
	j.task.Home = ""
	j.kind = s.kindOf(&j.task)
	s.jobs[t.ID] = j
	return j
}

// drop forgets a job that neither runs nor waits.
func (s *Session) drop(j *job) {
	delete(s.jobs, j.task.ID)
	s.release(j.kind)
	*j = job{}
	s.spareJobs = append(s.spareJobs, j)
}

// settle starts a job where it adds most, taking it from the queue if it is
// there.
func (s *Session) settle(j *job) (Decision, error) {
	to, err := s.best(j)
	if err != nil {
		return Decision{}, err
	}
	if to.gpu == none {
		return Decision{Task: j.task.ID}, nil
	}
	return s.start(j, to.gpu)
}

// start puts a job on a GPU that takes it.
func (s *Session) start(j *job, gpu int32) (Decision, error) {
	c := &s.cards[gpu]
	before := c.value
	worth, err := s.worthOn(j, c.class)
	if err != nil {
		return Decision{}, err
	}
	if len(c.set) == 0 {
		a, err := s.alone(j.kind, int(c.class), &j.task)
		if err != nil {
			return Decision{}, err
		}
		c.mech, c.value = profile.Exclusive, float64(worth*a.speed)
		j.speed = a.speed
		s.gather(gpu, j.task.Width())
	} else {
		// No threshold: the last bits of a BatchModel's answer may differ.
		v, err := s.join(gpu, j, 0)
		if err != nil {
			return Decision{}, err
		}
		if v.gain == 0 {
			return Decision{}, fmt.Errorf("packer: session: the model gives two answers about %q on GPU %q; it must give the same to the same question", j.task.ID, s.p.GPUs[gpu].ID)
		}
		for i, m := range c.set {
			m.speed = s.allowed[i]
		}
		j.speed = s.allowed[len(c.set)]
		c.mech, c.value = v.mech, v.total
	}
	if j.queuedIn() {
		s.dequeue(j)
	}
	j.gpu, j.worth = gpu, worth
	c.set = append(c.set, j)
	c.used += j.task.Memory
	s.touch(int(gpu))
	d := Decision{Task: j.task.ID, Placed: true, GPU: int(gpu), Mechanism: c.mech, Speed: j.speed, Gain: c.value - before}
	if len(c.more) > 0 {
		d.Gang = c.more
	}
	return d, nil
}

// queuedIn reports whether the job is in the queue.
func (j *job) queuedIn() bool { return j.gpu == none && (j.prev != nil || j.kind.first == j) }

// leave takes a job off its GPU.
func (s *Session) leave(j *job) {
	c := &s.cards[j.gpu]
	kept := c.set[:0]
	for _, m := range c.set {
		if m != j {
			kept = append(kept, m)
		}
	}
	c.set[len(kept)] = nil
	c.set = kept
	c.used -= j.task.Memory
	j.gpu = none
}

// refresh asks the model for what now runs on a GPU. Limits do not apply: it
// runs anyway.
func (s *Session) refresh(gpu int) error {
	c := &s.cards[gpu]
	c.value, c.blind = 0, false
	defer s.touch(gpu)
	if len(c.set) == 0 {
		c.mech = profile.Exclusive
		s.scatter(c)
		return nil
	}
	s.set = s.set[:0]
	for _, j := range c.set {
		s.set = append(s.set, &j.task)
		var err error
		if j.worth, err = s.worthOn(j, c.class); err != nil {
			c.blind = true
			return err
		}
	}
	mechs := s.runningAs(c)
	best := -1.0
	for _, mech := range mechs {
		if err := s.ask(int(c.class), mech); err != nil {
			c.blind = true
			return err
		}
		total := 0.0
		for i, j := range c.set {
			total += float64(j.worth * s.speeds[i])
		}
		if total > best {
			best, c.mech, c.value = total, mech, total
			for i, j := range c.set {
				j.speed = s.speeds[i]
			}
		}
	}
	return nil
}

// runningAs returns how the tasks on c may share: as they do, or for residents
// that are new to the session in the best way.
func (s *Session) runningAs(c *card) []profile.Mechanism {
	mechs := s.classes[c.class].mechs
	switch {
	case len(c.set) == 1:
		return []profile.Mechanism{profile.Exclusive}
	case c.mech != profile.Exclusive:
		return []profile.Mechanism{c.mech}
	case len(mechs) == 0:
		return []profile.Mechanism{profile.TimeSlice}
	}
	return mechs
}

// drain starts the waiting tasks that a GPU takes now, in policy order. Each round
// leaves one less waiting.
func (s *Session) drain(gpu int32) error {
	for {
		j, err := s.taker(gpu)
		if j == nil || err != nil {
			return err
		}
		d, err := s.start(j, gpu)
		if err != nil {
			return err
		}
		s.out = append(s.out, d)
	}
}

// taker returns the first waiting task that may start on a GPU.
func (s *Session) taker(gpu int32) (*job, error) {
	c := &s.cards[gpu]
	if c.down || c.blind || c.lead != none || len(c.set) > 0 && s.open[gpu] == 0 {
		return nil, nil
	}
	for _, k := range s.waiting {
		gain, err := s.joinable(gpu, k.first)
		if gain > 0 || err != nil {
			return k.first, err
		}
	}
	return nil, nil
}

// joinable returns what a task adds to a GPU in service that may take one more,
// in steps of its kind; 0 if it must not go there.
func (s *Session) joinable(gpu int32, j *job) (int64, error) {
	c := &s.cards[gpu]
	switch {
	case len(c.set) == 0 && j.task.Width() > s.vacant[c.class]:
		return 0, nil
	case len(c.set) == 0:
		a, err := s.alone(j.kind, int(c.class), &j.task)
		return a.gain, err
	case j.task.Alone || s.open[gpu] == 0:
		return 0, nil
	case j.kind.row == nil:
		return s.gain(gpu, j)
	}
	cell := &s.rowOf(j.kind)[gpu]
	if cell.version != s.open[gpu] {
		gain, err := s.gain(gpu, j)
		if err != nil {
			return 0, err
		}
		cell.version, cell.gain = s.open[gpu], gain
	}
	return cell.gain, nil
}

// noteFreed notes a card that was just refreshed, and those that it gave back, for
// drainFreed.
func (s *Session) noteFreed(gpu int32) {
	s.turn = append(s.turn[:0], gpu)
	if len(s.cards[gpu].set) == 0 {
		s.turn = append(s.turn, s.freed...)
	}
}

// drainFreed starts waiting tasks on the cards noted.
func (s *Session) drainFreed() error {
	for _, g := range s.turn {
		if err := s.drain(g); err != nil {
			return err
		}
	}
	return nil
}
