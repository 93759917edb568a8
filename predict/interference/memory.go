package interference

import (
	"errors"
	"math"
	"slices"

	"example.com/colloc/predict/internal/corun"
)

// halfLife is after how many further co-runs one counts half.
const halfLife = 2000

// memory are the co-runs that a regime keeps for the next refit, the newest last.
type memory struct {
	runs   []*Observation
	stamps []float64 // what the clock showed at each
	clock  float64   // half-lives that went by
}

// clip lets copies append each to its own.
func (m *memory) clip() memory {
	return memory{slices.Clip(m.runs), slices.Clip(m.stamps), m.clock}
}

// add remembers a co-run.
func (m *memory) add(o *Observation) {
	m.clock += 1.0 / halfLife
	m.runs, m.stamps = append(m.runs, strip(o)), append(m.stamps, m.clock)
}

// since are those from the first on that is asked for.
func (m *memory) since(first int) memory {
	return memory{m.runs[first:], m.stamps[first:], m.clock}
}

// weight is what a co-run counts now.
func (m *memory) weight(i int) float64 { return math.Exp2(m.stamps[i] - m.clock) }

// only keeps those that are asked for.
func (m *memory) only(keep func(i int) bool) {
	var left memory
	for i, o := range m.runs {
		if keep(i) {
			left.runs, left.stamps = append(left.runs, o), append(left.stamps, m.stamps[i])
		}
	}
	m.runs, m.stamps = left.runs, left.stamps
}

// check reports what no clock shows.
func (m *memory) check() error {
	if len(m.stamps) != len(m.runs) {
		return errors.New("stamps of other co-runs")
	}
	for i, s := range m.stamps {
		if !(s >= 0 && s <= m.clock) || i > 0 && s < m.stamps[i-1] {
			return errors.New("stamps out of order")
		}
	}
	return nil
}

// strip copies what a fit reads of an observation, so that neither the caller's
// changes nor his layers are kept.
func strip(o *Observation) *Observation {
	r := corun.Strip(corun.Run{Set: o.Set, Speeds: o.Speeds, Groups: o.Groups})
	return &Observation{GPU: o.GPU, Mechanism: o.Mechanism, Set: r.Set, Speeds: r.Speeds, Groups: r.Groups}
}
