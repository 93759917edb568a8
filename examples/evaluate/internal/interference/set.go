package interference

import (
	"io"
	"math/rand/v2"
	"slices"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
)

// speedSet is a set of measured pairs of tasks on one GPU.
type speedSet struct {
	title string
	// probes is how many co-runs of each new task are observed before scoring.
	probes int
	read   func(file string, r io.Reader) ([]dataset.SpeedRow, error)
}

// Sets are the sets of pairs; probes is how many co-runs of each new task are observed before scoring.
func Sets(probes int) []protocol.Set {
	return []protocol.Set{
		speedSet{"interference_lucid", probes, dataset.ReadSpeed},
		speedSet{"interference_gavel", probes, dataset.ReadSpeed},
		speedSet{"interference_mps", probes, dataset.ReadSpeed},
		speedSet{"interference_measured", probes, dataset.ReadMeasured}, // a table of examples/measure
		besideSet{},
		trialSet{},
	}
}

func (s speedSet) Name() string { return s.title }
func (s speedSet) File() string { return s.title }

func (s speedSet) Open(folder, base string) (protocol.Table, error) {
	rows, err := protocol.OpenFile(folder, base, s.read)
	if err != nil {
		return nil, err
	}
	t := &speedTable{set: s}
	for _, r := range rows {
		if r.Excluded == "" {
			t.rows = append(t.rows, r)
			if !slices.Contains(t.gpus, r.Observation.GPU) {
				t.gpus = append(t.gpus, r.Observation.GPU)
			}
		}
	}
	slices.Sort(t.gpus)
	return t, nil
}

// speedTable is one file of pairs.
type speedTable struct {
	set  speedSet
	rows []dataset.SpeedRow
	gpus []string
}

func (t *speedTable) Size() int           { return len(t.rows) }
func (t *speedTable) Family(i int) string { return t.rows[i].Observation.Groups[0] }

// splits deals pairs at random, leaves out all pairs that touch a family, and,
// for Gavel, keeps only 40 % of the pairs of each GPU for training.
func (t *speedTable) Splits() []protocol.Split {
	out := []protocol.Split{{Name: "random", Folds: protocol.RandomFolds(t.Size())}, {Name: "family", Folds: t.touching()}}
	if len(t.gpus) > 1 {
		out = append(out, protocol.Split{Name: "profiled40", Folds: t.profiled(0.4)})
	}
	return out
}

func (t *speedTable) touching() []protocol.Fold {
	families := make([][]string, t.Size())
	for i := range families {
		families[i] = t.rows[i].Observation.Groups
	}
	return predict.GroupFolds(families, 0)
}

// profiled trains on a share of the pairs and scores the rest.
func (t *speedTable) profiled(share float64) []protocol.Fold {
	order := rand.New(rand.NewPCG(protocol.Seed, 2)).Perm(t.Size())
	k := int(share * float64(len(order)))
	f := protocol.Fold{Train: slices.Clone(order[:k]), Test: slices.Clone(order[k:])}
	slices.Sort(f.Train)
	slices.Sort(f.Test)
	return []protocol.Fold{f}
}

// pairGuess is what one model says of one pair of the scored table.
type pairGuess struct {
	row    int
	fold   int
	speed  [2]float64
	lo, hi [2]float64
}

// speedGuesses collects what one model says.
type speedGuesses struct {
	model    string
	interval bool
	pairs    []pairGuess
}
