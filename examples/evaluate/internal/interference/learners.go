package interference

import (
	"context"
	"math/rand/v2"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
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
	fit := func(train []interference.Observation) (speedModel, error) {
		m, err := interference.Fit(train, nil)
		return &collocModel{model: m}, err
	}
	observe := func(m speedModel, all []interference.Observation, last int) (speedModel, error) {
		return m, observeAll(m, all[len(all)-last:])
	}
	refit := func(m speedModel, all []interference.Observation, last int) (speedModel, error) {
		if err := observeAll(m, all[len(all)-last:]); err != nil {
			return nil, err
		}
		return m, ours(m).Refit(context.Background())
	}
	complete := func(all []interference.Observation) (speedModel, error) { return fitCompletion(all) }
	return []learner{
		{"colloc", fit, refit},
		{"observe", fit, observe},
		{"thompson", func(train []interference.Observation) (speedModel, error) {
			m, err := interference.Fit(train, nil)
			return &thompson{collocModel{model: m}, rand.New(rand.NewPCG(protocol.Seed, 7))}, err
		}, refit},
		{"matrix_completion", complete, func(_ speedModel, all []interference.Observation, _ int) (speedModel, error) { return complete(all) }},
		{
			"random",
			func([]interference.Observation) (speedModel, error) {
				return &randomPairing{meanSpeed{gpuOf, map[string]float64{"": 0.8}}, rand.New(rand.NewPCG(protocol.Seed, 4))}, nil
			},
			func(m speedModel, _ []interference.Observation, _ int) (speedModel, error) { return m, nil },
		},
	}
}

// thompson draws each guess from its interval, as from a normal distribution.
type thompson struct {
	collocModel
	rng *rand.Rand
}

func (m *thompson) guess(r *dataset.SpeedRow, g *pairGuess) error {
	err := m.collocModel.guess(r, g)
	for i := range g.speed {
		g.speed[i] += (g.hi[i] - g.lo[i]) / (2 * 1.645) * m.rng.NormFloat64()
	}
	return err
}

func ours(m speedModel) *interference.Predictor {
	switch m := m.(type) {
	case *collocModel:
		return m.model
	case *thompson:
		return m.model
	}
	return &interference.Predictor{}
}

func observeAll(m speedModel, obs []interference.Observation) error {
	for _, o := range obs {
		if err := ours(m).Observe(o); err != nil {
			return err
		}
	}
	return nil
}
