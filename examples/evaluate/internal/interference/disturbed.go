package interference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// DisturbedSets are sets of pairs of which some are told false. They take minutes.
func DisturbedSets() []protocol.Set {
	var out []protocol.Set
	for _, title := range []string{"interference_lucid", "interference_gavel"} {
		out = append(out, setOf(title, "_disturbed", func(t speedTable) *disturbedTable { return &disturbedTable{onlineTable{t}} }))
	}
	return out
}

// disturbedTable asks what false measurements cost that are learned of a family left out: one
// speed beside some honest co-runs, and many before as many honest ones.
type disturbedTable struct{ onlineTable }

// lies are the false speeds of one task, lieAfter the honest co-runs that it comes after,
// drifts what all speeds are multiplied by for driftRuns co-runs of a fold.
var (
	lies     = [...]float64{0.1, 0.3, 0.4, 0.6, 0.8, 1.1, 1.2, 1.5, 2}
	lieAfter = [...]int{0, 1, 3, 8, 16}
	drifts   = [...]float64{0.5, 0.7, 1.3}
)

const driftRuns = 64

func (t *disturbedTable) Score(train *disturbedTable, folds []protocol.Fold) ([]protocol.Result, error) {
	var honest, lied [len(lieAfter)][len(lies)]errorSum
	var mended [len(drifts) + 1]errorSum // the last is of honest ones alone
	for k, f := range folds {
		m, err := interference.Fit(train.observations(f.Train), nil)
		if err != nil {
			return nil, err
		}
		fold := &disturbedFold{t, m, driftRuns, f.Test, rand.New(rand.NewPCG(protocol.Seed, 8+uint64(k))).Perm(len(f.Test))}
		if err := fold.lies(&honest, &lied); err != nil {
			return nil, err
		}
		if err := fold.drifts(&mended); err != nil {
			return nil, err
		}
	}
	r := protocol.Result{Model: "colloc", N: int(honest[0][0].n)}
	worst := math.Inf(-1)
	for at, k := range lieAfter {
		most := math.Inf(-1)
		for l := range lies {
			most = max(most, 100*(lied[at][l].mean()/honest[at][l].mean()-1))
		}
		worst = max(worst, most)
		r.Add(fmt.Sprintf("lie_after_%d_pct", k), most)
	}
	r.Add("lie_worst_pct", worst)
	last := mended[len(drifts)]
	for d, by := range drifts {
		if last.n == 0 {
			break
		}
		r.Add(fmt.Sprintf("mended_x%v_pct", by), 100*(mended[d].mean()/last.mean()-1))
	}
	r.Add("mended_n", last.n)
	return []protocol.Result{r}, nil
}

type errorSum struct{ n, off float64 }

func (s *errorSum) mean() float64 { return s.off / max(1, s.n) }

// disturbedFold is a family that was left out.
type disturbedFold struct {
	*disturbedTable
	model *interference.Predictor // which has not seen it
	drift int                     // how many co-runs drift
	test  []int
	order []int
}

func (f *disturbedFold) row(k int) *dataset.SpeedRow { return &f.rows[f.test[f.order[k]]] }

// lies compares a model that learns of k co-runs with those that learn of one more, of which
// one speed is false, on the others.
func (f *disturbedFold) lies(honest, lied *[len(lieAfter)][len(lies)]errorSum) error {
	for at, k := range lieAfter {
		if k+1 >= len(f.order) {
			break
		}
		var runs []interference.Observation
		for i := range k {
			runs = append(runs, f.row(i).Observation)
		}
		var truth errorSum
		if err := f.score(runs, k+1, &truth); err != nil {
			return err
		}
		runs = append(runs, f.row(k).Observation)
		for l, speed := range lies {
			honest[at][l].n += truth.n
			honest[at][l].off += truth.off
			last := &runs[k]
			last.Speeds = slices.Clone(f.row(k).Observation.Speeds)
			last.Speeds[0] = profile.Some(speed)
			if err := f.score(runs, k+1, &lied[at][l]); err != nil {
				return err
			}
		}
	}
	return nil
}

// drifts compares models that learn of false co-runs, then of as many honest ones, with one
// that learns of these alone.
func (f *disturbedFold) drifts(to *[len(drifts) + 1]errorSum) error {
	if 2*f.drift >= len(f.order) {
		return nil
	}
	var runs []interference.Observation
	for i := range f.drift {
		runs = append(runs, f.row(f.drift+i).Observation)
	}
	if err := f.score(runs, 2*f.drift, &to[len(drifts)]); err != nil {
		return err
	}
	for d, by := range drifts {
		var all []interference.Observation
		for i := range f.drift {
			o := f.row(i).Observation
			o.Speeds = slices.Clone(o.Speeds)
			for j, s := range o.Speeds {
				if v, ok := s.Get(); ok {
					o.Speeds[j] = profile.Some(min(2, by*v))
				}
			}
			all = append(all, o)
		}
		if err := f.score(append(all, runs...), 2*f.drift, &to[d]); err != nil {
			return err
		}
	}
	return nil
}

// score adds the errors of a model that learns runs, on all from the first row that it
// has not seen. It is refitted after as many as drift, and at the end.
func (f *disturbedFold) score(runs []interference.Observation, from int, to *errorSum) error {
	m := collocModel{model: f.model.Clone()}
	for chunk := range slices.Chunk(runs, f.drift) {
		if err := m.learn(chunk); err != nil {
			return err
		}
	}
	for k := from; k < len(f.order); k++ {
		row := f.row(k)
		var g pairGuess
		if err := m.guess(row, &g); err != nil {
			return err
		}
		for j, s := range row.Observation.Speeds {
			if v, ok := s.Get(); ok {
				to.n++
				to.off += math.Abs(v - g.said[j].Value)
			}
		}
	}
	return nil
}
