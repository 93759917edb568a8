package solo

import (
	"time"

	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

// Task is the form for a task file. What nothing was seen of has no Solo.
func Task(id string, p *profile.Profile, t *Timing) taskfile.Task {
	task := taskfile.Task{ID: id, Spec: p.Spec, Solo: taskfile.SoloOf(p)}
	if task.Solo == nil {
		return task
	}
	s := task.Solo
	s.Run, s.Watched, s.Epochs = t.Run, taskfile.Duration(t.Watched), t.Restarts
	s.Startup, s.CycleTime, s.RunTime = positive(t.Startup), positive(t.Step), positive(t.Whole)
	return task
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
