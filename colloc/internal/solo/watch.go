package solo

import (
	"time"

	"example.com/colloc/profile"
)

// Timing is how fast a task was that was alone on its GPU.
type Timing struct {
	// Run is which one, Watched how long.
	Run     string
	Watched time.Duration
	// Startup is the time before its first step, Step that of one step; missing if
	// it tells no steps.
	Startup, Step profile.Opt[time.Duration]
	// Restarts is how many epochs ended meanwhile; Step holds what is between them.
	Restarts int
	// Whole is how long it took, if it ended before it was joined by others.
	Whole profile.Opt[time.Duration]
}

// Steps finds what most training programs print: "step 12/100", "Epoch 3
// iter: 45", "[batch 7 of 90]", and the bars of tqdm, " 45%|####5     | 45/100 [",
// but not their rounded counts, "1.2k/5k"; and how many epochs there are, as in
// "Epoch 3/10:  45%|####5     | 45/100 [".
const Steps = `(?i)(?:\bepochs?[ :=#\[]*\d+\s*(?:/|of)\s*(?P<epochs>\d+)\b[^\n]*?)?(?:\b(?:step|iter(?:ation)?|batch)s?[ :=#\[]*|\d%\|[^|]*\| *)` +
	`(?P<step>\d+)(?:\s*(?:/|of)\s*(?P<total>\d+))?(?:[^\w.]|\.\D|\.?$)`

// Watch is one run of a task while it is watched. The zero Watch is of no use.
type Watch struct {
	run         string
	start       time.Time
	first, last tick
	// within are the steps of pairs of ticks with no new epoch between them, took
	// the time that those took.
	within  int64
	took    time.Duration
	peak    profile.Opt[profile.Bytes]
	samples []profile.Sample
	joined  bool
	busy    profile.Opt[float64] // beside others
}

// tick is a step that a task told of, and when.
type tick struct {
	at       time.Time
	step     int64
	restarts int
}

// Begin watches a run from its start.
func Begin(run string, at time.Time) *Watch { return &Watch{run: run, start: at} }

// Join notes that others run beside it: from then on only its memory tells of it alone.
func (w *Watch) Join() { w.joined = true }

// Peak notes the most memory that the run was seen to hold.
func (w *Watch) Peak(peak profile.Opt[profile.Bytes]) { w.peak = peak }

// Step notes a step, and how often the count of steps began anew before.
func (w *Watch) Step(at time.Time, told profile.Opt[int64], restarts int) {
	step, ok := told.Get()
	if !ok || step <= w.last.step {
		return
	}
	before := w.last
	w.last = tick{at, step, restarts}
	switch {
	case w.first.at.IsZero():
		w.first = w.last
	case before.restarts == restarts:
		w.within += step - before.step
		w.took += at.Sub(before.at)
	}
}

// Busy notes the share of the GPU that the run would have alone, where others ran beside it.
func (w *Watch) Busy(share profile.Opt[float64]) { w.busy = share }

// Sample notes what the GPU did.
func (w *Watch) Sample(s profile.Sample) { w.samples = append(w.samples, s) }

// Done reports whether enough was seen: for long enough since the first step, so
// that start-up does not count, or for twice as long without any.
func (w *Watch) Done(now time.Time, enough time.Duration) bool {
	if w.first.at.IsZero() {
		return now.Sub(w.start) >= 2*enough
	}
	return now.Sub(w.first.at) >= enough
}

// Steps is how many steps were seen since the first one.
func (w *Watch) Steps() int64 { return w.last.step - w.first.step }

// Conclude makes of what was seen a description of tasks that are as spec says.
func (w *Watch) Conclude(now time.Time, spec profile.Spec, gpu profile.GPUModel) (*profile.Profile, Timing, error) {
	var trace profile.Trace
	for _, s := range w.samples {
		if !w.joined && !s.At.Before(w.first.at) { // all of them, if there was no step
			trace.Samples = append(trace.Samples, s)
		}
	}
	t := Timing{Run: w.run, Watched: now.Sub(w.start), Restarts: w.last.restarts - w.first.restarts}
	if n := w.Steps(); n > 0 {
		step := w.last.at.Sub(w.first.at) / time.Duration(n)
		t.Step = profile.Some(step)
		t.Startup = profile.Some(max(0, w.first.at.Sub(w.start)-time.Duration(w.first.step)*step))
	}
	if len(trace.Samples) == 0 {
		trace.Samples = []profile.Sample{{At: now, GPUBusy: w.busy}}
	}
	for i := range trace.Samples {
		trace.Samples[i].MemUsed = w.peak // the task's own, not the GPU's
		if !w.joined && w.took > 0 {      // the speeds that the runner measures know no pause between epochs
			trace.Samples[i].StepTime = profile.Some(max(1, w.took/time.Duration(w.within)))
		}
	}
	p, err := profile.New(spec, trace, gpu)
	return &p, t, err
}
