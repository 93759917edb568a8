package gain

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/packer"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// What replications change of a history.
const (
	jitterArrival = time.Minute
	jitterLength  = 0.02
)

// player plays windows of one pool.
type player struct {
	*pool
	kinds     *kinds
	predictor *interference.Predictor
	o         *Options
}

// life is what became of a job in a replay.
type life struct {
	ran   bool
	hours float64 // of GPUs, of one that it shared its part
	wait  time.Duration
	turn  time.Duration // from submission to the end
	work  time.Duration
	mates bool // it shared
	died  int
}

// play replays a window, seed 0 as it was, with sets of at most so many jobs.
func (p *player) play(ctx context.Context, w *window, seed uint64, most int) ([]life, *meter, error) {
	tasks := trace.Jitter(w.tasks, jitterArrival, jitterLength, seed)
	lives := make([]life, len(p.jobs))
	m := newMeter(p.cluster.GPUs(), lives)
	result, err := sim.Run(ctx, p.cluster, tasks, p.policy(most), sim.Options{
		Truth: speed.Drawn{Interference: p.predictor, Seed: seed}, Predicted: p.predicted(),
		Reserve: p.reserve, Seed: seed, OnEvent: m.event,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("gain: pool %s: %w", p.name, err)
	}
	for i := range result.Ends {
		e := &result.Ends[i]
		l := &lives[index(e.ID)]
		l.ran, l.wait, l.turn, l.died = e.Finished, e.Wait, e.JCT(), e.Deaths
	}
	for i := range tasks {
		lives[index(tasks[i].ID)].work = tasks[i].Work
	}
	return lives, m, nil
}

// policy is the door that the site will use: a Dispatcher by its plain rule. Jobs run to their end.
func (p *player) policy(most int) sim.Policy {
	return policy.Colloc{
		MaxSet: most, Budget: profile.Some(0), MaxSlowdown: cmp.Or(p.o.MaxSlowdown, defaultSlowdown), NoStop: true, Headroom: profile.Some(packer.DefaultHeadroom),
		Closed: p.o.Closed,
	}
}

// predicted is what the scheduler is told of speeds.
func (p *player) predicted() sim.Model {
	var told sim.Model = speed.Drawn{Interference: p.predictor}
	if p.o.SameUser {
		told = apart{told}
	}
	return told
}

// apart keeps jobs of several users apart: their speeds together are told to be 0.
type apart struct{ sim.Model }

// Speeds implements [sim.Model].
func (a apart) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	for _, t := range set {
		if t.Class != set[0].Class {
			clear(dst)
			return nil
		}
	}
	return a.Model.Speeds(gpu, mech, set, dst)
}

// reserve is what the scheduler sets aside.
func (p *player) reserve(t *sim.Task) profile.Bytes {
	if known, ok := p.kinds.reserve[t.Type]; ok && t.Memory < p.memory() {
		return min(known, p.memory())
	}
	return t.Memory
}
