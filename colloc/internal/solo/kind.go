package solo

import (
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Kind is what is known of runs that are alike: one of them is watched, and the others go by what it showed. Of the zero Kind
// nothing is known. A Kind is not safe for concurrent use.
type Kind struct {
	// Profile is what a Planner needs, with a bound for the peak of the next run; nil as long as nothing is known.
	Profile *profile.Profile `json:"profile"`
	// Peaks are of the runs that were seen.
	Peaks Peaks `json:"peaks"`
	// Timing is how fast a run is alone.
	Timing Timing `json:"-"`

	watch *Watch        // nil while no run is watched
	run   *queue.Record // that is
}

// Rules say how runs are watched.
type Rules struct {
	// Enough is for how long, from the first step on.
	Enough time.Duration
	// Usual is by what share runs of a kind are believed to differ before they are seen.
	Usual float64
	// Largest is what the largest GPU offers; 0 is not known.
	Largest profile.Bytes
	// Blind takes a run for enough that was never seen to use memory of a GPU: others say how much it needs.
	Blind bool
}

// Begin watches a run from its start, if none is watched. Joined says that others are beside it, so that only its memory tells of it alone.
func (k *Kind) Begin(at time.Time, r *queue.Record, joined bool) bool {
	if k.watch != nil {
		return false
	}
	k.watch, k.run = Begin(r.Task.ID, at), r
	if joined {
		k.watch.Join()
	}
	return true
}

// Watched is the run that is watched, as it was told last; nil is none.
func (k *Kind) Watched() *queue.Record { return k.run }

// Join notes that a run starts: what its GPU does tells no more of another one there.
func (k *Kind) Join(r *queue.Record) {
	if k.watch != nil && k.run.GPU == r.GPU && k.run.Task.ID != r.Task.ID {
		k.watch.Join()
	}
}

// Sample notes what a GPU did; true if the run that is watched is there.
func (k *Kind) Sample(s *nvmlx.Sample) bool {
	there := k.watch != nil && k.run.GPU == s.Device
	if there {
		k.watch.Sample(s.Sample)
	}
	return there
}

// Follow notes how far a run is, or that it is over. Learned is true if that makes the kind known by the name: from a run that ended well, or of
// which enough was seen. Where a run ends otherwise the next one is watched instead. What does not make a description is an error.
func (k *Kind) Follow(at time.Time, name string, r *queue.Record, rules *Rules, gpu profile.GPUModel) (learned bool, err error) {
	w := k.watch
	if w == nil || k.run.Task.ID != r.Task.ID {
		return false, nil
	}
	k.run = r
	w.Peak(r.Peak)
	w.Step(at, r.Step, r.Restarts)
	over, unseen := r.State.Over(), r.Peak.IsZero() && !rules.Blind
	if r.State != queue.Queued && !over && (unseen || !w.Done(at, rules.Enough)) {
		return false, nil
	}
	k.watch, k.run = nil, nil
	if r.State == queue.Queued || over && r.State != queue.Succeeded || unseen || w.joined && k.Profile != nil {
		return false, nil
	}
	if w.joined {
		w.Busy(alone(r))
	}
	p, timing, err := w.Conclude(at, profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 1}}, gpu)
	if err != nil {
		return false, err
	}
	if over && !w.joined {
		timing.Whole = profile.Some(r.Ended.Sub(r.Started))
	}
	k.Profile, k.Timing = p, timing
	k.Saw(r, rules)
	return true, nil
}

// alone is the share of the GPU that a run would have alone, of what it was seen to have beside others.
func alone(r *queue.Record) profile.Opt[float64] {
	busy, ok := r.Busy.Get()
	if !ok || busy <= 0 {
		return profile.Opt[float64]{}
	}
	const slowest = 0.25 // a prediction of less says little
	return profile.Some(min(1, busy/min(1, max(slowest, r.Speed.Or(r.Predicted.Value)))))
}

// Saw notes what a run was seen to use, if its kind is known, and reports whether the next ones are to reserve something else for that.
func (k *Kind) Saw(r *queue.Record, rules *Rules) bool {
	peak, was := r.Peak.Or(0), k.Profile
	if was == nil || peak <= 0 {
		return false
	}
	k.Peaks = k.Peaks.Saw(peak, r.State == queue.Succeeded)
	k.Profile = k.Peaks.Bounded(was, rules.Usual, colloc.MeasuredMargin, rules.Largest)
	return k.Profile != was
}

// OnlyMemory reports whether nothing but memory is known: no run was alone for long enough.
func (k *Kind) OnlyMemory() bool {
	if k.Profile == nil {
		return false
	}
	_, busy := k.Profile.Vector.Get(profile.MeanGPUBusy)
	_, step := k.Profile.Vector.Get(profile.MedianStepTime)
	return !busy && !step
}

// Measured is the profile with what was seen, and no bound.
func (k *Kind) Measured() *profile.Profile {
	p := *k.Profile
	if k.Peaks.Most > 0 && p.Vector.Set(profile.PeakMemory, float64(k.Peaks.Most)) != nil {
		return k.Profile
	}
	return &p
}
