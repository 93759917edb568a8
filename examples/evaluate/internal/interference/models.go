package interference

import (
	"math/rand/v2"
	"strings"

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

// fit fits every model to the given rows.
func (t *speedTable) fit(rows []int, names []string) ([]speedModel, error) {
	obs := t.observations(rows)
	ours, err := interference.Fit(obs, nil)
	if err != nil {
		return nil, err
	}
	profiled, err := fitCompletion(obs)
	if err != nil {
		return nil, err
	}
	mean := t.means(rows, gpuOf)
	var out []speedModel
	for _, name := range names {
		switch name {
		case "colloc":
			out = append(out, &collocModel{model: ours})
		case "proportional":
			out = append(out, proportional{})
		case "mean":
			out = append(out, mean)
		case "random":
			out = append(out, &randomPairing{mean, rand.New(rand.NewPCG(protocol.Seed, 4))})
		case "matrix_completion":
			out = append(out, profiled)
		default:
			out = append(out, t.means(rows, labels))
		}
	}
	return out, nil
}

// collocModel is this library.
type collocModel struct {
	model *interference.Predictor
	buf   []predict.Estimate
}

func (m *collocModel) guess(r *dataset.SpeedRow, g *pairGuess) (err error) {
	o := &r.Observation
	m.buf, err = m.model.Ratios(&o.Set[0].GPU, o.Mechanism, o.Set, m.buf[:0])
	for i, e := range m.buf {
		g.speed[i], g.lo[i], g.hi[i] = e.Value, e.Lo, e.Hi
	}
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
	g.speed = [2]float64{1 / max(1, use), 1 / max(1, use)}
	return nil
}

// meanSpeed is the mean speed of the tasks of which key says the same, and over
// all for one that was not seen.
type meanSpeed struct {
	key  func(r *dataset.SpeedRow, i int) string
	mean map[string]float64
}

func (t *speedTable) means(rows []int, key func(r *dataset.SpeedRow, i int) string) meanSpeed {
	m, n := map[string]float64{}, map[string]float64{}
	for _, i := range rows {
		for k, s := range t.rows[i].Observation.Speeds {
			if v, ok := s.Get(); ok {
				for _, key := range []string{key(&t.rows[i], k), ""} {
					n[key]++
					m[key] += (v - m[key]) / n[key]
				}
			}
		}
	}
	return meanSpeed{key, m}
}

func (m meanSpeed) guess(r *dataset.SpeedRow, g *pairGuess) error {
	for i := range g.speed {
		v, ok := m.mean[m.key(r, i)]
		if !ok {
			v = m.mean[""]
		}
		g.speed[i] = v
	}
	return nil
}

func gpuOf(r *dataset.SpeedRow, _ int) string { return r.Observation.GPU }

// labels are Lucid's of the task and its partner.
func labels(r *dataset.SpeedRow, i int) string {
	return strings.Join([]string{r.ShareScore[i].String(), r.ShareScore[1-i].String()}, "|")
}

// randomPairing is the mean with a jitter: its matching is random.
type randomPairing struct {
	meanSpeed
	rng *rand.Rand
}

func (m *randomPairing) guess(r *dataset.SpeedRow, g *pairGuess) error {
	err := m.meanSpeed.guess(r, g)
	g.speed[0] += 0.001 * m.rng.Float64()
	return err
}
