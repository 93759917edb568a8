package solo

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

// Timing is how fast a task was that was alone on its GPU.
type Timing = solo.Timing

// Watch is one run of a task while it is watched.
type Watch = solo.Watch

// Peaks are the most memory that runs of a kind were seen to use.
type Peaks = solo.Peaks

// Steps finds what most training programs print.
const Steps = solo.Steps

// Begin watches a run from its start.
func Begin(run string, at time.Time) *Watch { return solo.Begin(run, at) }

// Task is the form for a task file. What nothing was seen of has no Solo.
func Task(id string, p *profile.Profile, t *Timing) taskfile.Task {
	task := taskfile.Task{ID: id, Spec: p.Spec, Solo: taskfile.Observe(p)}
	if task.Solo == nil {
		return task
	}
	s := task.Solo
	s.Run, s.Watched, s.Epochs = t.Run, taskfile.Duration(t.Watched), t.Restarts
	s.Startup, s.CycleTime, s.RunTime = positive(t.Startup), positive(t.Step), positive(t.Whole)
	return task
}

// Describe says what was measured of a run of a kind of task.
func Describe(kind string, p *profile.Profile, t *Timing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "measured %s (%q, %v alone):", t.Run, kind, t.Watched.Round(100*time.Millisecond))
	for _, f := range []struct {
		feature profile.Feature
		format  func(float64) string
	}{
		{profile.PeakMemory, func(x float64) string { return "memory " + profile.BytesOf(x).String() }},
		{profile.MeanSMActive, func(x float64) string { return "SMs " + screen.Percent(x) }},
		{profile.MeanGPUBusy, func(x float64) string { return "GPU busy " + screen.Percent(x) }},
	} {
		if x, ok := p.Vector.Get(f.feature); ok {
			fmt.Fprintf(&b, " %s,", f.format(x))
		}
	}
	if step, ok := t.Step.Get(); ok {
		fmt.Fprintf(&b, " %v a step", screen.Rounded(step))
	} else {
		b.WriteString(" no steps seen")
	}
	return b.String()
}

// Of is the inverse of Task.
func Of(task *taskfile.Task) (*profile.Profile, Timing, error) {
	p, err := task.Profile()
	if err != nil || task.Solo == nil {
		return &p, Timing{}, err
	}
	s := task.Solo
	t := Timing{Run: s.Run, Watched: time.Duration(s.Watched), Restarts: s.Epochs}
	t.Startup, t.Step, t.Whole = plain(s.Startup), plain(s.CycleTime), plain(s.RunTime)
	if _, ok := t.Step.Get(); !ok { // as people write it
		t.Step = plain(s.StepTime)
	}
	return &p, t, nil
}

func positive(o profile.Opt[time.Duration]) profile.Opt[taskfile.Duration] {
	if d, ok := o.Get(); ok && d > 0 {
		return profile.Some(taskfile.Duration(d))
	}
	return profile.Opt[taskfile.Duration]{}
}

func plain(o profile.Opt[taskfile.Duration]) profile.Opt[time.Duration] {
	if d, ok := o.Get(); ok {
		return profile.Some(time.Duration(d))
	}
	return profile.Opt[time.Duration]{}
}
