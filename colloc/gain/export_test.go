package gain

import (
	"context"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/packer"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// Deliver plays the history of a site of one pool behind a door that predicts by mind in place of the replay's own
// model, and returns how many GPU hours were occupied and waited.
func Deliver(ctx context.Context, jobs []records.Job, o Options, mind dispatch.Mind) (hours, waited float64, err error) {
	if o.Interference, err = pretrained.Interference(); err != nil {
		return 0, 0, err
	}
	o.Replications = 1
	within, _, _, _ := o.cut(jobs)
	studies, err := o.prepare(within, &Report{})
	if err != nil {
		return 0, 0, err
	}
	s := studies[0]
	door := policy.Colloc{MaxSet: packer.DefaultMaxSet, Budget: profile.Some(0), NoStop: true, Closed: o.Closed, Mind: mind, Tell: func(t *sim.TaskView) colloc.Task {
		j := colloc.Task{ID: t.ID, Profile: t.Profile, Kind: t.Type, GPUs: t.GPUs, Reserved: t.Likely, MaxSlowdown: defaultSlowdown}
		if j.Alone = t.Likely >= s.memory(); j.Alone {
			j.Kind, j.Reserved = "", 1
		}
		return j
	}}
	w := s.draw(s.limit, 0)
	lives := make([]life, len(s.jobs))
	result, err := sim.Run(ctx, s.cluster, w.tasks, door, sim.Options{
		Truth: speed.Drawn{Interference: o.Interference}, Predicted: s.predicted(), Reserve: s.reserve, OnEvent: newMeter(s.cluster.GPUs(), lives).event,
	})
	if err != nil {
		return 0, 0, err
	}
	for i := range result.Ends {
		waited += result.Ends[i].Wait.Hours()
		if !result.Ends[i].Finished {
			return 0, 0, context.DeadlineExceeded
		}
	}
	for i := range lives {
		hours += lives[i].hours
	}
	return hours, waited, nil
}
