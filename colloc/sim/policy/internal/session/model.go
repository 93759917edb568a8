package session

import (
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// sessionModel answers packer's questions with what is known by now.
type sessionModel struct {
	known *learn.Known
	tasks map[string]*sim.TaskView // by Kind, or by ID where there is none
	state *sim.State
	set   []*sim.TaskView
}

// Speeds implements [packer.Model].
func (m *sessionModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	m.set = m.set[:0]
	for _, t := range set {
		key := t.Kind
		if key == "" {
			key = t.ID
		}
		m.set = append(m.set, m.tasks[key])
	}
	g, err := strconv.Atoi(gpu.ID)
	if err != nil {
		return err
	}
	return m.known.Speeds(m.state, m.state.GPUs()[g], mech, m.set, dst)
}

// kindOf is what makes tasks equal to packer.
type kindOf struct {
	name    string
	profile *profile.Profile
	reserve profile.Bytes
}
