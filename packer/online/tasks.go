package online

import (
	"fmt"
	"slices"
	"time"

	"example.com/colloc/packer/internal/rollout"
)

// Submit puts a task into the queue. An invalid task, or one whose ID is in use
// ([ErrDuplicate]), is an error, and nothing changes.
func (s *Scheduler) Submit(j Job) error {
	if err := s.ready(); err != nil {
		return err
	}
	if s.entries[j.ID] != nil {
		return fmt.Errorf("packer: scheduler: %w: %q runs or waits already", ErrDuplicate, j.ID)
	}
	if err := j.validate(); err != nil {
		return err
	}
	e := &entry{turn: s.turns, asOf: s.now, progress: progress{left: steps(time.Hour)}}
	s.turns++
	s.came.note(j.Came.Or(s.now))
	s.describe(e, j)
	s.entries[j.ID] = e
	s.order = append(s.order, e)
	return nil
}

// describe makes an entry that of a job.
func (s *Scheduler) describe(e *entry, j Job) {
	e.Job, e.fixed, e.claim = j, j.Fixed, j.Memory
	e.Home = ""
	if left, ok := j.Left.Get(); ok {
		s.tell(e, left)
	}
	if done, ok := j.Done.Get(); ok {
		e.done = steps(done)
	}
	e.before = e.progress
	e.kind = s.kindOf(&e.Task)
	if peak := s.like[e.kind].peak; peak > 0 && !j.Fixed {
		e.Memory = s.needs(e, peak)
	}
}

// Change says anew what is known of a task, which keeps its place in the queue and goes on
// running if it does. Left and Done that are missing stay as they are. If MinSpeed is raised and its set
// not allowed any more, some of its company stop at the next Decide: as few as are enough, of no higher class, who say
// what a restart costs. It is an error where
// Submit is one, [ErrUnknown] if the task is not there, and for one that runs if it is to have
// another number of GPUs.
func (s *Scheduler) Change(j Job) error {
	e := s.entries[j.ID]
	if e == nil {
		return s.unknown(j.ID)
	}
	if err := j.validate(); err != nil {
		return err
	}
	if len(e.on) > 0 && j.Width() != len(e.on) {
		return fmt.Errorf("packer: scheduler: task %q runs on %d GPUs and would need %d; let it return first", j.ID, len(e.on), j.Width())
	}
	s.settle(e)
	on, before, since, least := e.on, e.before, e.since, e.MinSpeed
	s.vacate(e)
	s.disown(e)
	s.describe(e, j)
	s.resemble(e)
	if on != nil {
		s.place(e, on)
		e.before, e.since = before, since
	}
	if on != nil && e.MinSpeed > least {
		s.strain(e)
	}
	return nil
}

// Adopt takes in a task that runs already on some GPUs, as many as it needs: after a
// restart, or one that somebody else started. It is an error where Submit is one, and
// if a GPU does not exist or runs as many as a set may have.
func (s *Scheduler) Adopt(j Job, gpus ...int) error {
	on, err := s.seats(&j, gpus)
	if err != nil {
		return err
	}
	if err := s.Submit(j); err != nil {
		return err
	}
	s.place(s.entries[j.ID], on)
	return nil
}

// seats are the GPUs that somebody else has a task run on.
func (s *Scheduler) seats(j *Job, gpus []int) ([]int32, error) {
	if len(gpus) != j.Width() {
		return nil, fmt.Errorf("packer: scheduler: task %q needs %d GPUs, not %d", j.ID, j.Width(), len(gpus))
	}
	on := make([]int32, len(gpus))
	for i, g := range gpus {
		if s.there(g) != nil || slices.Contains(gpus[:i], g) {
			return nil, fmt.Errorf("packer: scheduler: task %q runs on GPU %d; there are %d, each once", j.ID, g, len(s.slots))
		}
		if len(s.slots[g].runs) >= rollout.MaxSet {
			return nil, fmt.Errorf("packer: scheduler: task %q is the %dth on GPU %d; want %d at most", j.ID, rollout.MaxSet+1, g, rollout.MaxSet)
		}
		on[i] = int32(g)
	}
	return on, nil
}

// Finish takes out a task that has done its work. What it ran for counts to the next Decide or Advance,
// or to now after an Advance, and teaches how long such tasks run. The error of a task that is not there is [ErrUnknown],
// as of all that name one.
func (s *Scheduler) Finish(id string) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if e.rate > 0 || e.done > 0 {
		s.leaving = append(s.leaving, e)
		if s.dated {
			s.part()
		}
	}
	s.remove(e)
	return nil
}

// Withdraw takes out a task whose work is not done: it is no longer wanted, was killed or
// failed for good, running or waiting. It teaches nothing.
func (s *Scheduler) Withdraw(id string) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	s.remove(e)
	return nil
}

// Return ends a run of a task whose work is not done: its start was refused, or it died. It
// waits again in its old place of the queue, and all work since its last start is lost; Report
// says if that is not so. After it ran out of memory, Change says what it reserves next.
func (s *Scheduler) Return(id string) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if len(e.on) > 0 {
		s.settle(e)
		s.vacate(e)
		e.progress, e.rate = e.before, 0
	}
	return nil
}

// Resume says that a task which Decide stopped runs on where it ran, on as many GPUs as it needs: the
// stop was not carried out. The errors are those of Adopt, and one for a task that runs.
func (s *Scheduler) Resume(id string, gpus ...int) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if len(e.on) > 0 {
		return fmt.Errorf("packer: scheduler: task %q runs; let it return first", id)
	}
	on, err := s.seats(&e.Job, gpus)
	if err != nil {
		return err
	}
	s.settle(e)
	e.left, e.again = max(rollout.One, e.left-e.again), 0 // it repeats nothing
	before := e.before
	s.place(e, on)
	e.before = before
	return nil
}

// Hold lets a task that waits not start, and Release lets it again: it keeps its place in the
// queue. One that runs goes on.
func (s *Scheduler) Hold(id string) error { return s.hold(id, true) }

// Release ends what Hold began.
func (s *Scheduler) Release(id string) error { return s.hold(id, false) }

func (s *Scheduler) hold(id string, held bool) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	s.settle(e)
	e.held = held
	return nil
}

// remove takes an entry out.
func (s *Scheduler) remove(e *entry) {
	s.vacate(e)
	e.at = -1
	delete(s.entries, e.ID)
	s.order = slices.DeleteFunc(s.order, func(o *entry) bool { return o == e })
	s.disown(e)
	s.lift(e)
}

// Report says how long a task would still run without company on a GPU of pace 1, as
// its own output shows, at the time of the next Decide, or now after an Advance: predictions get better on the way.
// Without it a Scheduler counts at the predicted speeds. A negative time is an error.
func (s *Scheduler) Report(id string, left time.Duration) error {
	e := s.entries[id]
	if e == nil {
		return s.unknown(id)
	}
	if left < 0 {
		return fmt.Errorf("packer: scheduler: task %q: what is left is %v; want 0 or more", id, left)
	}
	s.tell(e, left)
	return nil
}

// ReportEnd says after how long a task that runs ends if it goes on as fast as it is predicted to run
// now: what is left follows from that. Of one that waits it is what Report says.
func (s *Scheduler) ReportEnd(id string, in time.Duration) error {
	err := s.Report(id, in)
	if e := s.entries[id]; err == nil && len(e.on) > 0 {
		ms := e.left / rollout.One // one at least, by Report
		e.left = ms * max(1, min(s.rate(e), rollout.MaxLeft/ms))
	}
	return err
}
