package interference

import (
	"io"
	"math/rand/v2"
	"slices"

	"example.com/colloc/predict"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
)

// Sets are the sets of pairs; probes is how many co-runs of each new task are observed before scoring.
func Sets(probes int) []protocol.Set {
	pairs := func(title string, read reader) protocol.Set {
		return protocol.NewSet(title, func(folder, base string) (*speedTable, error) {
			t, err := openPairs(folder, base, read)
			t.probes = probes
			return &t, err
		})
	}
	sets := protocol.NewSet("sets_aegis", openTrials)
	sets.File = "aegis/sets_a100"
	return []protocol.Set{
		pairs("interference_lucid", dataset.ReadSpeed),
		pairs("interference_gavel", dataset.ReadSpeed),
		pairs("interference_mps", dataset.ReadSpeed),
		pairs("interference_measured", dataset.ReadMeasured), // a table of examples/measure
		protocol.NewSet("inference_beside_training", func(folder, base string) (besideTable, error) {
			return protocol.OpenFile(folder, base, dataset.ReadBeside, func(r dataset.BesideRow) bool { return r.Excluded != "" })
		}),
		sets,
	}
}

// reader reads measured pairs.
type reader func(file string, r io.Reader) ([]dataset.SpeedRow, error)

// speedTable is one file of measured pairs of tasks on one GPU.
type speedTable struct {
	rows []dataset.SpeedRow
	gpus []string
	// probes is how many co-runs of each new task are observed before scoring.
	probes int
}

func openPairs(folder, base string, read reader) (t speedTable, err error) {
	t.rows, err = protocol.OpenFile(folder, base, read, func(r dataset.SpeedRow) bool { return r.Excluded != "" })
	for _, r := range t.rows {
		t.gpus = append(t.gpus, r.Observation.GPU)
	}
	slices.Sort(t.gpus)
	t.gpus = slices.Compact(t.gpus)
	return t, err
}

func (t *speedTable) Size() int { return len(t.rows) }

// Splits deals pairs at random, leaves out all pairs that touch a family, and,
// for Gavel, keeps only 40 % of the pairs of each GPU for training.
func (t *speedTable) Splits() []protocol.Split {
	out := []protocol.Split{{Name: "random", Folds: protocol.RandomFolds(t.Size())}, {Name: "family", Folds: t.touching()}}
	if len(t.gpus) > 1 {
		out = append(out, protocol.Split{Name: "profiled40", Folds: t.profiled(0.4)})
	}
	return out
}

func (t *speedTable) touching() []protocol.Fold {
	return protocol.LeaveOut(t.Size(), 0, func(i int) []string { return t.rows[i].Observation.Groups })
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
	row, fold int
	said      [2]predict.Estimate // without an interval but of this library
}

// both says the same of both tasks.
func (g *pairGuess) both(v float64) { g.said[0].Value, g.said[1].Value = v, v }

// speedGuesses collects what one model says.
type speedGuesses struct {
	model    string
	interval bool
	pairs    []pairGuess
}
