package colloc

import (
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// MeasuredMargin is what is added to a peak that was measured in a solo run, see
// [memory.RepeatMargin].
const MeasuredMargin = memory.RepeatMargin

// Usable is what a GPU offers to reservations: its total without the headroom, a
// fraction in [0, 1).
func Usable(total profile.Bytes, headroom float64) profile.Bytes {
	return max(0, total-profile.BytesOf(float64(total)*headroom))
}

// Memory returns the peak memory of a task, in bytes, and what a plan reserves
// for it at the configured risk: what was promised, if the task carries a
// reservation, else the measured peak with [MeasuredMargin], else a prediction;
// the two latter are never less than [memory.Predictor.Least], what [Planner.Observe]
// was told of such a task; without name, layers and trace, of one whose measured
// peak is the same. A task whose description does not tell what it keeps in
// memory reserves [memory.Whole], a whole GPU.
// It returns an error for a task that is described wrongly.
func (p *Planner) Memory(task Task) (peak predict.Estimate, reserve profile.Bytes, err error) {
	if err := p.ready(); err != nil {
		return predict.Estimate{}, 0, err
	}
	if err := task.Validate(); err != nil {
		return predict.Estimate{}, 0, err
	}
	return p.memory(&task, nowhere)
}

// memory returns the peak memory of a task and what to reserve for it. What was
// promised wins over what was measured, which wins over what is predicted.
func (p *Planner) memory(t *Task, at place) (predict.Estimate, profile.Bytes, error) {
	if peak, ok := t.measuredPeak(); ok {
		least := p.config.Memory.LeastOf(&t.known().Spec, peakIn(t.known()))
		reserved := max(least, profile.BytesOf(peak*(1+MeasuredMargin)))
		e := predict.Estimate{
			Value: peak, Lo: peak * (1 - MeasuredMargin), Hi: max(peak*(1+MeasuredMargin), float64(least)),
			Confidence: 1 - p.config.Risk, Source: predict.Source{Kind: predict.Measured},
		}
		return e, promised(t, reserved), nil
	}
	e, err := p.config.Memory.Peak(&t.known().Spec, p.config.Host)
	if err != nil {
		return predict.Estimate{}, 0, at.fault(t.ID, "Profile", fmt.Errorf("tells too little to predict memory: %w", err))
	}
	reserved, err := p.config.Memory.Reserve(&t.known().Spec, p.config.Host, p.config.Risk)
	if err != nil {
		return predict.Estimate{}, 0, at.fault(t.ID, "Profile", fmt.Errorf("tells too little to predict memory: %w", err))
	}
	return e, promised(t, reserved), nil
}

// peakIn is the peak that a profile tells, 0 if none. With it what was seen of a
// task without name and layers is not taken for what another one needs.
func peakIn(p *profile.Profile) profile.Bytes {
	peak, _ := p.Vector.Get(profile.PeakMemory)
	return min(profile.MaxCount, max(0, profile.BytesOf(peak)))
}

// measuredPeak is the largest peak that the task's profiles tell.
func (t *Task) measuredPeak() (float64, bool) {
	peak, ok := t.known().Vector.Get(profile.PeakMemory)
	for _, m := range t.Elsewhere {
		if other, measured := m.Vector.Get(profile.PeakMemory); measured {
			peak, ok = max(peak, other), true
		}
	}
	return peak, ok
}

func promised(t *Task, reserved profile.Bytes) profile.Bytes {
	if t.Reserved > 0 {
		return t.Reserved
	}
	return reserved
}

// least is what a task needs at any rate: what its description tells and what was
// seen of it. It decides which GPUs can be the whole GPU that the task reserves.
func (p *Planner) least(t *Task) profile.Bytes {
	spec := &t.known().Spec
	known, _ := spec.Terms().Total()
	return max(known, p.config.Memory.LeastOf(spec, peakIn(t.known())))
}

// doubts says what plans with a task should know: what whoever described it
// warned of, and why it reserves a whole GPU.
func doubts(t *Task, reserved profile.Bytes) []string {
	list := slices.Clone(t.known().Spec.Warnings)
	if reserved == memory.Whole && t.Reserved == 0 {
		list = append(list, "its description does not tell what it keeps in memory for the backward pass: it reserves a whole GPU; "+
			"describe it with output shapes (config.json, torchinfo, ONNX), or give its measured peak")
	}
	return list
}

// reservation is memory for callers that need the reservation alone: it costs
// nothing for a task that carries one.
func (p *Planner) reservation(t *Task, at place) (profile.Bytes, error) {
	if t.Reserved > 0 {
		return t.Reserved, nil
	}
	_, reserved, err := p.memory(t, at)
	return reserved, err
}

// offer is what a GPU offers to the reservations of n tasks that share it.
func (p *Planner) offer(g *GPU, n int) profile.Bytes {
	usable := p.usable(g)
	if n > 1 {
		usable = min(usable, p.limits.Offer(&packer.GPU{Memory: g.Total(), Mechanisms: g.Mechanisms}, n))
	}
	return usable
}

// usable is what a GPU offers to reservations: its total without the headroom.
func (p *Planner) usable(g *GPU) profile.Bytes {
	return Usable(g.Total(), p.config.Headroom.Or(0))
}

// minSpeed is the speed below which the task must not fall: a server keeps its latency at
// the peak of its day, and [Config].MaxSlowdown says nothing of it.
func (p *Planner) minSpeed(t *Task) float64 {
	own := 1 / p.config.MaxSlowdown
	serves := t.Profile != nil && t.Profile.Spec.Server != nil
	switch {
	case t.MaxSlowdown > 0:
		own = 1 / t.MaxSlowdown
	case serves:
		own = 0
	}
	if serves {
		own = max(own, t.Profile.Spec.Server.Peak())
	}
	return own
}

// packed converts a task for the packer; its reservation is decided before.
func (p *Planner) packed(t *Task, reserved profile.Bytes) packer.Task {
	whole := reserved == memory.Whole
	if whole {
		reserved = p.least(t)
	}
	return packer.Task{
		ID: t.ID, Profile: t.known(), Memory: reserved,
		Weight: t.Weight, MinSpeed: p.minSpeed(t), Alone: p.solitary(t) || whole, GPUs: t.Width(),
		Labels: t.Labels, Avoid: t.Avoid, Only: t.Only, On: t.On, Home: t.Home, MoveCost: t.MoveCost, Kind: t.Kind,
	}
}

// solitary reports whether nothing may share with the task.
func (p *Planner) solitary(t *Task) bool { return t.Alone || t.Foreign && !p.config.ShareForeign }
