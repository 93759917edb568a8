package predict

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Calibrate measures the context of a host or software stack from tasks that
// ran there: the median of what they used beyond what the model says they need
// themselves. Small tasks tell most. One task is enough, three are better. The
// model is not changed; pass the result to Peak and Reserve.
//
// It returns an error for an invalid observation and for no uncensored one.
// O(observations × (layers + trees)).
func (m *Memory) Calibrate(name string, obs []MemoryObservation) (Host, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var over []float64
	for i := range obs {
		o := &obs[i]
		if err := o.check(); err != nil {
			return Host{}, fmt.Errorf("predict: calibrate memory: observation %d: %w", i, err)
		}
		if o.Censored {
			continue
		}
		p, err := m.predict(&o.Spec, Host{})
		if err != nil {
			return Host{}, err
		}
		over = append(over, float64(o.Peak)-p.rest)
	}
	if len(over) == 0 {
		return Host{}, errors.New("predict: calibrate memory: no task that ran to its end")
	}
	slices.Sort(over)
	mid := (over[(len(over)-1)/2] + over[len(over)/2]) / 2
	context := profile.BytesOf(min(max(mid, 0), float64(maxContext)))
	return Host{Name: name, Context: profile.Some(context)}, nil
}
