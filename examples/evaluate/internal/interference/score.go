package interference

import (
	"fmt"
	"math/rand/v2"

	"example.com/colloc/examples/evaluate/internal/protocol"
)

func (t *speedTable) Score(train *speedTable, folds []protocol.Fold) ([]protocol.Result, error) {
	var all [len(modelNames)]speedGuesses
	for i, name := range modelNames {
		all[i] = speedGuesses{model: name, interval: name == "colloc"}
	}
	for k, f := range folds {
		models, err := train.fit(f.Train)
		if err != nil {
			return nil, err
		}
		test, err := t.probe(train, f, k, models[0])
		if err != nil {
			return nil, err
		}
		for m := range models {
			for _, i := range test {
				g := pairGuess{row: i, fold: k}
				if err := models[m].guess(&t.rows[i], &g); err != nil {
					return nil, fmt.Errorf("line %d: %w", t.rows[i].Line, err)
				}
				all[m].pairs = append(all[m].pairs, g)
			}
		}
	}
	draws := t.draws(all[0].pairs, len(folds))
	var results []protocol.Result
	for m := range all {
		r, err := t.result(&all[m], draws)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// probe lets the first model observe co-runs of every task that the training
// rows do not have, drawn from the fold, and returns the rows left to score.
func (t *speedTable) probe(train *speedTable, f protocol.Fold, k int, model speedModel) ([]int, error) {
	ours, ok := model.(*collocModel)
	if !ok || t.probes < 1 {
		return f.Test, nil
	}
	known := make(map[string]int)
	for _, i := range f.Train {
		for _, p := range train.rows[i].Observation.Set {
			known[p.GPU.Name+p.Spec.Type()] = t.probes
		}
	}
	used := make(map[int]bool)
	rng := rand.New(rand.NewPCG(protocol.Seed, 3+uint64(k)))
	for _, at := range rng.Perm(len(f.Test)) {
		o := &t.rows[f.Test[at]].Observation
		wanted := false
		for _, p := range o.Set {
			wanted = wanted || known[p.GPU.Name+p.Spec.Type()] < t.probes
		}
		if !wanted {
			continue
		}
		for _, p := range o.Set {
			known[p.GPU.Name+p.Spec.Type()]++
		}
		used[f.Test[at]] = true
		if err := ours.model.Observe(*o); err != nil {
			return nil, err
		}
	}
	var left []int
	for _, i := range f.Test {
		if !used[i] {
			left = append(left, i)
		}
	}
	return left, nil
}
