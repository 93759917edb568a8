package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// kind is what is known of tasks that are alike. The first of them that starts
// is watched while it has its GPU to itself; the others go by what it showed.
type kind struct {
	Name string `json:"kind"`
	// Profile is what a Planner needs; nil as long as nothing is known.
	Profile *profile.Profile `json:"profile"`
	// Solo is how fast a task is alone.
	Solo solo `json:"solo"`

	watched *watch // nil while no task is watched
}

// solo is what was measured of a task that was alone on its GPU.
type solo struct {
	// Task is which one, Watched how long.
	Task    string        `json:"task,omitempty"`
	Watched time.Duration `json:"watched_ns,omitempty"`
	// Startup is the time before its first step, Step that of one step; missing if
	// it tells no steps.
	Startup profile.Opt[time.Duration] `json:"startup_ns,omitzero"`
	Step    profile.Opt[time.Duration] `json:"step_ns,omitzero"`
	// Restarts is how many epochs ended meanwhile; Step holds what is between them.
	Restarts int `json:"restarts,omitempty"`
	// Run is how long it took, if it ended before it was joined by others.
	Run profile.Opt[time.Duration] `json:"run_ns,omitzero"`
}

// watch is one run of a task while it is profiled.
type watch struct {
	task        string
	gpu         nvmlx.DeviceID
	start       time.Time
	first, last tick
	// within are the steps of pairs of ticks with no new epoch between them, took
	// the time that those took.
	within  int64
	took    time.Duration
	peak    profile.Opt[profile.Bytes]
	samples []profile.Sample
}

// tick is a step that a task told of, and when.
type tick struct {
	at       time.Time
	step     int64
	restarts int
}

// begin starts to watch a run, if its kind is unknown and nobody is watched.
func (k *kind) begin(at time.Time, r *runner.Record) {
	if k.Profile == nil && k.watched == nil {
		k.watched = &watch{task: r.Task.ID, gpu: r.GPU, start: at}
	}
}

// watches reports whether the task is the one that is watched.
func (k *kind) watches(task string) bool { return k.watched != nil && k.watched.task == task }

// progress notes a step.
func (w *watch) progress(at time.Time, r *runner.Record) {
	w.peak = r.Peak
	step, ok := r.Step.Get()
	if !ok || step <= w.last.step {
		return
	}
	before := w.last
	w.last = tick{at, step, r.Restarts}
	switch {
	case w.first.at.IsZero():
		w.first = w.last
	case before.restarts == r.Restarts:
		w.within += step - before.step
		w.took += at.Sub(before.at)
	}
}

// done reports whether enough was seen: for long enough since the first step, so
// that start-up does not count, or for twice as long without any.
func (w *watch) done(now time.Time, enough time.Duration) bool {
	if w.first.at.IsZero() {
		return now.Sub(w.start) >= 2*enough
	}
	return now.Sub(w.first.at) >= enough
}

// conclude makes of what was seen a description.
func (k *kind) conclude(now time.Time, gpu profile.GPUModel) error {
	w := k.watched
	k.watched = nil
	var trace profile.Trace
	for _, s := range w.samples {
		if !s.At.Before(w.first.at) { // all of them, if there was no step
			trace.Samples = append(trace.Samples, s)
		}
	}
	k.Solo = solo{Task: w.task, Watched: now.Sub(w.start), Restarts: w.last.restarts - w.first.restarts}
	if n := w.last.step - w.first.step; n > 0 {
		step := w.last.at.Sub(w.first.at) / time.Duration(n)
		k.Solo.Step = profile.Some(step)
		k.Solo.Startup = profile.Some(max(0, w.first.at.Sub(w.start)-time.Duration(w.first.step)*step))
	}
	if len(trace.Samples) == 0 {
		trace.Samples = []profile.Sample{{At: now}}
	}
	for i := range trace.Samples {
		trace.Samples[i].MemUsed = w.peak // the task's own, not the GPU's
		if w.within > 0 {                 // the speeds that the runner measures know no pause between epochs
			trace.Samples[i].StepTime = profile.Some(w.took / time.Duration(w.within))
		}
	}
	spec := profile.Spec{Model: profile.Model{Name: k.Name}, Training: profile.Training{BatchSize: 1}}
	p, err := profile.New(spec, trace, gpu)
	if err != nil {
		return err
	}
	k.Profile = &p
	return nil
}

// grow raises the known peak to one that was seen, unless that is within the
// margin that is reserved anyway.
func (k *kind) grow(peak profile.Bytes) bool {
	if k.Profile == nil || float64(peak) <= k.Profile.Vector.Or(profile.PeakMemory, 0)*(1+colloc.MeasuredMargin) {
		return false
	}
	p := *k.Profile // the runner reads the old one
	if p.Vector.Set(profile.PeakMemory, float64(peak)) != nil {
		return false
	}
	k.Profile = &p
	return true
}

// String says what was measured.
func (k *kind) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "measured %s (%q, %v alone):", k.Solo.Task, k.Name, k.Solo.Watched.Round(100*time.Millisecond))
	for _, f := range []struct {
		feature profile.Feature
		format  func(float64) string
	}{
		{profile.PeakMemory, func(x float64) string { return "memory " + profile.BytesOf(x).String() }},
		{profile.MeanSMActive, func(x float64) string { return "SMs " + screen.Percent(x) }},
		{profile.MeanGPUBusy, func(x float64) string { return "GPU busy " + screen.Percent(x) }},
	} {
		if x, ok := k.Profile.Vector.Get(f.feature); ok {
			fmt.Fprintf(&b, " %s,", f.format(x))
		}
	}
	if step, ok := k.Solo.Step.Get(); ok {
		fmt.Fprintf(&b, " %v a step", screen.Rounded(step))
	} else {
		b.WriteString(" no steps seen")
	}
	return b.String()
}

// saveKinds writes what was measured, for -known.
func saveKinds(path string, kinds map[string]*kind) error {
	var list []*kind
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[name].Profile != nil {
			list = append(list, kinds[name])
		}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}

// loadKinds reads what saveKinds wrote.
func loadKinds(path string) (map[string]*kind, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*kind
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: not a profile.json of a sweep: %w", path, err)
	}
	kinds := make(map[string]*kind)
	for _, k := range list {
		if k == nil || k.Profile == nil || k.Profile.Spec.Validate() != nil {
			return nil, fmt.Errorf("%s: an entry without a profile", path)
		}
		kinds[k.Name] = k
	}
	return kinds, nil
}
