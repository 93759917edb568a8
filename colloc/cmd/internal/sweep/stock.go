package sweep

import (
	"time"

	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/profile"
)

// look takes stock.
func (s *sweep) look(now time.Time) *screen.View {
	v := &screen.View{Now: now, Elapsed: now.Sub(s.started), Records: s.runner.Records(), GPUs: s.runner.GPUs()}
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make(map[string]runner.State, len(v.Records))
	for i := range v.Records {
		r := &v.Records[i]
		states[r.Task.ID] = r.State
		if r.State == runner.Running {
			v.Throughput += speedOf(r)
		}
	}
	for i := range s.jobs {
		state, ok := states[s.jobs[i].ID]
		if !ok {
			state = s.log.Entries[s.jobs[i].ID].State() // the queue was lost, or never had it
		}
		v.Count.Add(state)
	}
	v.Left, v.Recoveries, v.Retries = s.left(v), s.recoveries, s.retries
	return v
}

// speedOf returns the speed of a task as a fraction of its speed alone: as
// measured, else as predicted, else 1.
func speedOf(r *runner.Record) float64 {
	if x, ok := r.Speed.Get(); ok && x > 0 {
		return x
	}
	if r.Predicted.Confidence > 0 && r.Predicted.Value > 0 {
		return r.Predicted.Value
	}
	return 1
}

// left estimates how long the rest takes: all work that is left at the present
// throughput, but not less than the slowest running task needs. Work is counted
// in seconds that it would take alone.
func (s *sweep) left(v *screen.View) profile.Opt[time.Duration] {
	whole := s.whole(v.Records)
	var sum, slowest float64
	for i := range v.Records {
		r := &v.Records[i]
		if r.State.Over() {
			continue
		}
		work, known := whole[s.kindOf(r)]
		if !known || v.Throughput == 0 {
			return profile.Opt[time.Duration]{}
		}
		if r.State == runner.Running {
			if total := r.Total.Or(0); total > 0 {
				work *= max(0, 1-float64(r.Step.Or(0))/float64(total))
			} else {
				work = max(0, work-v.Now.Sub(r.Started).Seconds()*speedOf(r))
			}
			slowest = max(slowest, work/speedOf(r))
		}
		sum += work
	}
	return profile.Some(time.Duration(max(sum/v.Throughput, slowest) * float64(time.Second)))
}

// known is what is known of kinds by now.
func (s *sweep) known() map[string]solo.Kind {
	if s.learner == nil {
		return s.kinds
	}
	return s.learner.Known()
}

// whole is how many seconds a task of each kind takes alone: by its steps if they
// are known, else as those that succeeded on average.
func (s *sweep) whole(records []runner.Record) map[string]float64 {
	whole, ended, sum, known := make(map[string]float64), make(map[string]int), make(map[string]float64), s.known()
	for i := range records {
		r := &records[i]
		k := s.kindOf(r)
		t := known[k].Timing
		if step, ok := t.Step.Get(); ok && r.Total.Or(0) > 0 {
			whole[k] = t.Startup.Or(0).Seconds() + float64(r.Total.Or(0))*step.Seconds()
		} else if r.State == runner.Succeeded {
			d, _ := timeAlone(r, &t)
			sum[k] += d.Seconds()
			ended[k]++
		}
	}
	for k, n := range ended {
		if _, ok := whole[k]; !ok {
			whole[k] = sum[k] / float64(n)
		}
	}
	return whole
}

// kindOf returns the kind of a task; one that is in the queue but not in the sweep
// has none.
func (s *sweep) kindOf(r *runner.Record) string {
	if j := s.byID[r.Task.ID]; j != nil {
		return j.Kind
	}
	return ""
}

// basis says what a time alone rests on.
type basis int

const (
	// measuredAlone: the task ran alone.
	measuredAlone basis = iota
	// measuredRate: the steps that it took, at the rate that a task of its kind
	// had alone.
	measuredRate
	// estimated: the time that it took with others and its speed among them, of
	// which at least part is a prediction.
	estimated
)

// timeAlone returns how long the last run of a task would have taken with a GPU to
// itself, of which t is known of its kind.
func timeAlone(r *runner.Record, t *solo.Timing) (time.Duration, basis) {
	took := r.Ended.Sub(r.Started)
	if run, ok := t.Whole.Get(); ok && t.Run == r.Task.ID {
		return run, measuredAlone
	}
	step, okStep := t.Step.Get()
	steps, okSteps := r.Step.Get()
	if okStep && okSteps && (r.Restarts == 0 || t.Restarts > 0) {
		return t.Startup.Or(0) + time.Duration(steps)*step, measuredRate
	}
	return time.Duration(took.Seconds() * speedOf(r) * float64(time.Second)), estimated
}
