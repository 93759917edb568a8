package policy

import (
	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// Estimate is an [sim.Options] Reserve: what a published estimator says of a
// task's memory, see Task.Estimates; its true peak where it says nothing.
func Estimate(name string) func(*sim.Task) profile.Bytes {
	return func(t *sim.Task) profile.Bytes {
		if b, ok := t.Estimates[name]; ok {
			return b
		}
		return t.Memory
	}
}

// shapeOnly is the estimator whose answers colloc's predictor can build on, and
// noAnswer what CARMA's files hold where it has none.
const (
	shapeOnly = "faketensor"
	noAnswer  = 40000 * profile.MiB
)

// Predicted is an [sim.Options] Reserve: what colloc's predictor sets aside so
// that the peak exceeds it with probability risk at most, from the task's Profile
// or, where it has none, from what a shape-only run said of it (Estimates
// "faketensor"). Without either the task asks for a whole GPU of 40,000 MiB, as
// the other estimators of CARMA's evaluation do.
func Predicted(m *memory.Predictor, host predict.Host, risk float64) func(*sim.Task) profile.Bytes {
	return func(t *sim.Task) profile.Bytes {
		var spec profile.Spec
		seen, ok := t.Estimates[shapeOnly]
		switch {
		case t.Profile != nil:
			spec = t.Profile.Spec
		case ok && seen < noAnswer:
			spec.Model.Name, spec.Training.BatchSize = t.Type, 1
			spec.Traced.AfterBackward = profile.Some(seen)
		default:
			return noAnswer
		}
		b, err := m.Reserve(&spec, host, risk)
		if err != nil || b == memory.Whole { // nothing can be said of it
			return noAnswer
		}
		return b
	}
}
