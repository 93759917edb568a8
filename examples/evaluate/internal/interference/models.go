package interference

import (
	"math/rand/v2"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// speedModel guesses both speeds of a pair.
type speedModel interface {
	guess(r *dataset.SpeedRow, g *pairGuess) error
}

// observations are what models are fitted to.
func (t *speedTable) observations(rows []int) []interference.Observation {
	var obs []interference.Observation
	for _, i := range rows {
		obs = append(obs, t.rows[i].Observation)
	}
	return obs
}

// modelNames are those of the models that fit returns.
var modelNames = [...]string{"colloc", "proportional", "mean", "random", "matrix_completion"}

// fit fits every model to the given rows.
func (t *speedTable) fit(rows []int) ([]speedModel, error) {
	obs := t.observations(rows)
	ours, err := interference.Fit(obs, nil)
	if err != nil {
		return nil, err
	}
	profiled, err := fitCompletion(obs)
	if err != nil {
		return nil, err
	}
	mean := t.means(rows)
	return []speedModel{&collocModel{model: ours}, proportional{}, mean, &randomPairing{mean, rand.New(rand.NewPCG(protocol.Seed, 4))}, profiled}, nil
}

// collocModel is this library.
type collocModel struct {
	model *interference.Predictor
	buf   []predict.Estimate
}

func (m *collocModel) guess(r *dataset.SpeedRow, g *pairGuess) (err error) {
	o := &r.Observation
	m.buf, err = m.model.Ratios(&o.Set[0].GPU, o.Mechanism, o.Set, m.buf[:0])
	copy(g.said[:], m.buf)
	return err
}

// proportional shares the SMs in proportion to demand; a task of which no use
// is known counts as using all.
type proportional struct{}

func (proportional) guess(r *dataset.SpeedRow, g *pairGuess) error {
	var use float64
	for _, p := range r.Observation.Set {
		use += p.Vector.Or(profile.MeanGPUBusy, 1)
	}
	g.both(1 / max(1, use))
	return nil
}

// meanSpeed is the mean speed on each GPU, and under "" that on all, for one that was not
// seen.
type meanSpeed map[string]float64

func (t *speedTable) means(rows []int) meanSpeed {
	m, n := meanSpeed{}, map[string]float64{}
	for _, i := range rows {
		for _, s := range t.rows[i].Observation.Speeds {
			if v, ok := s.Get(); ok {
				for _, gpu := range []string{t.rows[i].Observation.GPU, ""} {
					n[gpu]++
					m[gpu] += (v - m[gpu]) / n[gpu]
				}
			}
		}
	}
	return m
}

func (m meanSpeed) guess(r *dataset.SpeedRow, g *pairGuess) error {
	v, ok := m[r.Observation.GPU]
	if !ok {
		v = m[""]
	}
	g.both(v)
	return nil
}

// randomPairing is the mean with a jitter: its matching is random.
type randomPairing struct {
	meanSpeed
	rng *rand.Rand
}

func (m *randomPairing) guess(r *dataset.SpeedRow, g *pairGuess) error {
	err := m.meanSpeed.guess(r, g)
	g.said[0].Value += 0.001 * m.rng.Float64()
	return err
}
