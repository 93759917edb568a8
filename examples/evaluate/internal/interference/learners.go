package interference

import (
	"context"
	"math/rand/v2"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/interference"
)

// learner is a model that learns from co-runs.
type learner struct {
	name string
	// fit starts from the training rows.
	fit func(train []interference.Observation) (speedModel, error)
	// learn adds what was seen last; all is what was seen up to now, training rows
	// included.
	learn func(m speedModel, all []interference.Observation, last int) (speedModel, error)
}

func learners() []learner {
	complete := func(all []interference.Observation) (speedModel, error) { return fitCompletion(all) }
	return []learner{
		{
			"colloc",
			func(train []interference.Observation) (speedModel, error) {
				m, err := interference.Fit(train, nil)
				return &collocModel{model: m}, err
			},
			func(m speedModel, all []interference.Observation, last int) (speedModel, error) {
				if ours, ok := m.(*collocModel); ok {
					return m, ours.learn(all[len(all)-last:])
				}
				return m, protocol.ErrSet
			},
		},
		{"matrix_completion", complete, func(_ speedModel, all []interference.Observation, _ int) (speedModel, error) { return complete(all) }},
		{
			"random",
			func([]interference.Observation) (speedModel, error) {
				return &randomPairing{meanSpeed{"": 0.8}, rand.New(rand.NewPCG(protocol.Seed, 4))}, nil
			},
			func(m speedModel, _ []interference.Observation, _ int) (speedModel, error) { return m, nil },
		},
	}
}

// learn observes co-runs and refits.
func (m *collocModel) learn(obs []interference.Observation) error {
	for _, o := range obs {
		if err := m.model.Observe(o); err != nil {
			return err
		}
	}
	return m.model.Refit(context.Background())
}
