package place

import (
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Memory says how much to set aside for tasks, from what policy.Colloc knows: what is
// expected of a task ([sim.TaskView].Likely), its bound once it ran out of memory, and from
// [sim.Options].ObserveAfter on what monitoring shows; others of its type of which as much was
// expected do so from their start. Where predictions are exact, that is the predicted memory.
type Memory struct {
	peaks map[alike]profile.Bytes
}

// alike are tasks that are believed to need the same.
type alike struct {
	name   string
	likely profile.Bytes
}

// See takes in what monitoring shows now.
func (m *Memory) See(s *sim.State) {
	if m.peaks == nil {
		m.peaks = map[alike]profile.Bytes{}
	}
	for t := range s.Running() {
		if peak, _, ok := s.Seen(t); ok && t.Type != "" {
			key := alike{t.Type, t.Likely}
			m.peaks[key] = max(m.peaks[key], peak)
		}
	}
}

// Need is what to set aside for a task on each of its GPUs.
func (m *Memory) Need(s *sim.State, t *sim.TaskView) profile.Bytes {
	if peak, _, ok := s.Seen(t); ok {
		return peak
	}
	if peak, ok := m.peaks[alike{t.Type, t.Likely}]; ok && t.Type != "" {
		return peak
	}
	if t.Deaths > 0 {
		return t.Reserve
	}
	return t.Likely
}

// Joins reports whether the memory of a GPU suffices for a task beside those that it has. If it
// does not, the scheduler is asked again when more will be seen of these.
func (m *Memory) Joins(s *sim.State, t *sim.TaskView, g *sim.GPUView) bool {
	left, soon := g.Total, time.Duration(0)
	for _, o := range g.Set {
		left -= min(left, m.Need(s, o))
	}
	if m.Need(s, t) <= left {
		return true
	}
	for _, o := range g.Set {
		if _, at, ok := s.Seen(o); !ok && (soon == 0 || at < soon) {
			soon = at
		}
	}
	s.WakeAt(soon)
	return false
}
