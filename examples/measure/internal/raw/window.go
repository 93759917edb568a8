package raw

import "sort"

// CommonWindow is when all members were running and had warmed up: from the
// latest end of a warm-up to the earliest end of a run. Outside of it some task
// has the GPU to itself for a moment, so that steps there do not count.
func CommonWindow(members []Member, warmup float64) (Window, bool) {
	var w Window
	for i := range members {
		times := members[i].Times
		if len(times) < 2 {
			return Window{}, false
		}
		warm := sort.SearchFloat64s(times, times[0]+warmup)
		if warm == len(times) {
			return Window{}, false
		}
		if i == 0 || times[warm] > w.From {
			w.From = times[warm]
		}
		if last := times[len(times)-1]; i == 0 || last < w.To {
			w.To = last
		}
	}
	return w, w.To > w.From
}

// Steps returns how many steps fall into the window; at its ends, steps between
// two moments count as evenly spread.
func (m *Member) Steps(w Window) float64 { return m.stepsAt(w.To) - m.stepsAt(w.From) }

// stepsAt returns how many steps were done at a time.
func (m *Member) stepsAt(t float64) float64 {
	i := sort.SearchFloat64s(m.Times, t)
	switch {
	case i == 0:
		return float64(m.Counts[0])
	case i == len(m.Times):
		return float64(m.Counts[i-1])
	}
	part := (t - m.Times[i-1]) / (m.Times[i] - m.Times[i-1])
	return float64(m.Counts[i-1]) + part*float64(m.Counts[i]-m.Counts[i-1])
}
