package colloc

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Observation is what was measured of one set while it shared a GPU.
type Observation struct {
	// GPU is the product it ran on.
	GPU profile.GPUModel
	// Mechanism is how the set shared it.
	Mechanism profile.Mechanism
	// Members are the tasks of the set and what was seen of each.
	Members []Outcome
}

// Outcome is what was measured of one member of a set.
type Outcome struct {
	// Profile is the task's, as it was planned with.
	Profile *profile.Profile
	// Speed is throughput in the set over solo throughput; missing if it was
	// not measured.
	Speed profile.Opt[float64]
	// Peak is the largest device memory the task itself used; missing if it
	// was not measured.
	Peak profile.Opt[profile.Bytes]
	// OutOfMemory says that the task died for lack of memory. Then Peak is the
	// most it had reached: its true need is larger.
	OutOfMemory bool
}

// Observe teaches the Planner one measured co-run: the speeds of its members
// improve what is predicted for tasks like them, the peaks what is reserved.
// Members without a measurement still count as neighbours. An observation with
// a fault is refused as a whole. Safe for concurrent use with every other call.
func (p *Planner) Observe(o Observation) error {
	if len(o.Members) == 0 {
		return errors.New("colloc: observation without members")
	}
	speeds := predict.SpeedObservation{GPU: o.GPU.Name, Mechanism: o.Mechanism}
	measured := false
	for i, m := range o.Members {
		if m.Profile == nil {
			return fmt.Errorf("colloc: observation: member %d has no profile", i)
		}
		if s, ok := m.Speed.Get(); ok {
			measured = true
			if !finite(s, 0) || s == 0 {
				return fmt.Errorf("colloc: observation: member %d (%s): speed is %v, want more than 0", i, m.Profile.Spec.Type(), s)
			}
		}
		if peak, ok := m.Peak.Get(); ok && peak <= 0 {
			return fmt.Errorf("colloc: observation: member %d (%s): peak is %d bytes, want more than 0", i, m.Profile.Spec.Type(), int64(peak))
		}
		speeds.Set = append(speeds.Set, m.Profile)
		speeds.Speeds = append(speeds.Speeds, m.Speed)
	}
	if measured && len(o.Members) > 1 {
		if err := p.config.Interference.Observe(speeds); err != nil {
			return fmt.Errorf("colloc: observation: %w", err)
		}
	}
	for _, m := range o.Members {
		peak, ok := m.Peak.Get()
		if !ok {
			continue
		}
		seen := predict.MemoryObservation{Spec: m.Profile.Spec, Host: p.config.Host, Peak: peak, Censored: m.OutOfMemory}
		if err := p.config.Memory.Observe(seen); err != nil {
			return fmt.Errorf("colloc: observation: %w", err)
		}
	}
	return nil
}
