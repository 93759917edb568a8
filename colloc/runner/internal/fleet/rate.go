package fleet

import (
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/profile"
)

const (
	steps  unit = iota // a second, within an epoch
	epochs             // steps a second, over many epochs and what is between them
	busy               // share of the GPU, of a task that tells no steps
	units
)

const (
	// fewestSteps is how many steps a window must hold to tell a speed.
	fewestSteps = 5
	// fewestEpochs is how many epochs it must hold if one ends in it: what is done between two of
	// them takes part of the time, and of many epochs about the same part.
	fewestEpochs = 5
)

// window is a stretch of time in which the same tasks share a card.
type window struct {
	since time.Time
	seen  time.Time // when the card was last looked at
	marks map[*backlog.Entry]mark
}

// mark is where a task stood when the window began.
type mark struct {
	step     profile.Opt[int64]
	restarts int
	busy     float64 // sum of shares of time with kernels of the task
	looks    int     // how many were added
}

// rate is a task's rate since the mark; missing if too little was seen.
func (m mark) rate(e *backlog.Entry, lasted time.Duration) profile.Opt[rate] {
	step, known := e.Step.Get()
	if from, ok := m.step.Get(); known && ok && step-from >= fewestSteps {
		v := rate{value: float64(step-from) / lasted.Seconds()}
		switch n := e.Restarts - m.restarts; {
		case n >= fewestEpochs:
			v.unit = epochs
		case n > 0:
			return profile.Opt[rate]{}
		}
		return profile.Some(v)
	}
	if !known && m.looks >= fewestSteps && m.busy > 0 {
		return profile.Some(rate{value: m.busy / float64(m.looks), unit: busy})
	}
	return profile.Opt[rate]{}
}

// rate is how fast a task works, by a unit. Only rates of one unit are compared.
type rate struct {
	value float64
	unit  unit
}

// unit is what a rate counts.
type unit int

// rates are those of one task, by unit; 0 is not known.
type rates [units]float64

// mostProfiles is of how many profiles rates are kept: a runner lives for months, and many a task brings a profile of its own.
const mostProfiles = 1 << 12

// solo are the rates of tasks that had a GPU to themselves, by profile, and by
// entry.
type solo struct {
	byProfile map[*profile.Profile]rates
	byEntry   map[*backlog.Entry]rates
}

// keep notes the rates of a profile. Where one more would be too many all others are forgotten, and measured again.
func (s *solo) keep(p *profile.Profile, r rates) {
	if _, known := s.byProfile[p]; !known && len(s.byProfile) >= mostProfiles {
		clear(s.byProfile)
	}
	s.byProfile[p] = r
}
