package simulate

import (
	"cmp"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// described is the layout of a task file: tasks that somebody profiled or described,
// all of which come at once.
const described = "tasks"

// readDescribed makes a trace of a task file.
func readDescribed(name string) (*trace.Trace, error) {
	f, err := taskfile.ReadFile(name)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	memory, err := pretrained.Memory()
	if err != nil {
		return nil, err
	}
	tr := &trace.Trace{Layout: described}
	for i := range f.Tasks {
		d := &f.Tasks[i]
		p, err := d.Profile()
		if err != nil {
			return nil, cli.Usage("%s: %w", d.Place(), err)
		}
		work, ok := workOf(d.Solo)
		if !ok {
			return nil, cli.Usage("%s: task %q does not tell how long it runs alone: give solo.run_time, or solo.steps and solo.step_time", d.Place(), d.ID)
		}
		t := sim.Task{
			ID: d.ID, Work: work, GPUs: cmp.Or(d.GPUs, d.Training.GPUs), Memory: d.Reserved, Type: d.ID, Priority: d.Priority, Profile: &p,
			Busy: p.Vector.Or(profile.MeanGPUBusy, 0), Bandwidth: p.Vector.Or(profile.MeanDRAMActive, p.Vector.Or(profile.MeanMemBusy, 0)),
		}
		if peak, ok := p.Vector.Get(profile.PeakMemory); ok {
			t.Memory = profile.BytesOf(peak)
		} else if estimate, err := memory.Peak(&p.Spec, predict.Host{}); err == nil && t.Memory == 0 {
			t.Memory = profile.BytesOf(estimate.Value)
		}
		if startup, ok := d.Solo.Startup.Get(); ok {
			t.Startup = time.Duration(startup)
		}
		tr.Tasks = append(tr.Tasks, t)
	}
	return tr, nil
}

// workOf is how long a task runs alone.
func workOf(s *taskfile.Solo) (time.Duration, bool) {
	if s == nil {
		return 0, false
	}
	if whole, ok := s.RunTime.Get(); ok {
		return time.Duration(whole), true
	}
	step, ok1 := s.CycleTime.Get()
	if !ok1 {
		step, ok1 = s.StepTime.Get()
	}
	steps, ok2 := s.Steps.Get()
	seconds := time.Duration(step).Seconds() * float64(steps)
	const most = 100 * 365 * 24 * 3600.0
	return time.Duration(seconds * float64(time.Second)), ok1 && ok2 && seconds > 0 && seconds < most
}
