package colloc

import "example.com/colloc/packer/online"

// Scheduler starts colloc's policy on gpus: an [online.Scheduler] that looks ahead, by
// the predictions and the limits of the Planner as they are at this moment. Give it
// tasks by [Planner.Packed], with the time that they still need.
//
//	s, err := planner.Scheduler(gpus, nil)
//	...
//	t, err := planner.Packed(task)
//	err = s.Submit(online.Job{Task: t, Left: profile.Some(2 * time.Hour)})
//	started, err := s.Decide(ctx, now)
//
// Sets hold as many tasks as the Planner's limits say, four at most. The errors are those
// of [Planner.Session] and [online.NewScheduler].
func (p *Planner) Scheduler(gpus []GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	r, m, err := p.open(gpus)
	if err != nil {
		return nil, err
	}
	return online.NewScheduler(r.problem.GPUs, m, p.limits, o)
}

// Relearn lets a scheduler that this Planner made for gpus predict by what was observed
// and fitted since; see [Planner.Refit]. The errors are those of [Planner.Session].
func (p *Planner) Relearn(s *online.Scheduler, gpus []GPU) error {
	_, m, err := p.open(gpus)
	if err != nil {
		return err
	}
	return s.SetModel(m)
}
