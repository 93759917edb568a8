package table

import (
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// ReadInfo reads the tree that torchinfo prints.
func ReadInfo(in *scan.Input) (*draft.Draft, error) {
	tables := infoTree{file: &draft.Draft{}, totals: map[string]float64{}}
	if err := scan.NewLines(in).Each(&tables.done, tables.read); err != nil {
		return nil, err
	}
	t := tables.better()
	if err := t.build(); err != nil {
		return nil, err
	}
	if len(t.file.Model.Layers) == 0 {
		if t.columns != nil {
			return nil, errors.New("no layer found: the table has no row that computes or holds parameters")
		}
		return nil, errors.New(`no layer found; want a table headed "Layer (type:depth-idx)"`)
	}
	return t.file, nil
}

// build makes the leaves, now that all rows and totals are known.
func (t *infoTree) build() error {
	t.findBatch()
	first := moduleParams{}
	var leaves []profile.Layer
	var cuts []cutLeaf
	for i := range t.rows {
		row := &t.rows[i]
		if i == 0 && row.container {
			t.file.Model.Architecture = row.class
		}
		if row.container {
			if row.layer.Params > 0 { // of its own, beside those of its children
				leaves = append(leaves, profile.Layer{
					Name: row.layer.Name, Kind: row.layer.Kind, Params: row.layer.Params, Frozen: row.layer.Frozen, MACs: profile.Some[int64](0),
				})
			}
			continue
		}
		if !row.known && row.layer.Params == 0 && !row.again {
			continue
		}
		works := first.of(row)
		if !row.known && row.depth == t.deepest && works > 0 {
			cuts = append(cuts, cutLeaf{at: len(leaves), params: works, row: row})
		}
		t.leaf(row, works)
		leaves = append(leaves, row.layer)
	}
	t.file.Model.Family = draft.FamilyOfClasses(t.file.Model.Architecture, func(yield func(string) bool) {
		for i := range t.rows {
			if !yield(t.rows[i].class) {
				return
			}
		}
	})
	leaves = t.fillCut(leaves, cuts)
	t.freeze(leaves)
	for _, l := range leaves {
		if err := t.file.Add(l); err != nil {
			return err
		}
	}
	t.finish()
	return nil
}

// moduleParams holds the parameters of modules that may run again, by their key.
type moduleParams map[string]int64

// of returns the parameters that a row works with: its own, or those of its module's
// first run.
func (first moduleParams) of(row *infoRow) int64 {
	loose := row.key()
	strict := loose + fmt.Sprint(row.shape)
	works := row.layer.Params
	switch known := first[strict]; {
	case row.again && known > 0:
		works = known
	case row.again:
		works = first[loose]
	case works > 0:
		first[loose], first[strict] = works, works
	}
	return works
}

// key tells modules apart that may run again: their class, attribute and width.
func (r *infoRow) key() string {
	_, attribute, _ := strings.Cut(r.layer.Name, " (")
	attribute, _, _ = strings.Cut(attribute, ")")
	width := r.shape
	if n := len(width); r.layer.Kind == profile.Conv {
		width = width[:min(1, n)]
	} else {
		width = width[max(0, n-1):]
	}
	return r.class + " " + attribute + fmt.Sprint(width)
}

// findBatch takes the first dimension that most leaves have.
func (t *infoTree) findBatch() {
	votes := map[int64]int{}
	for i := range t.rows {
		if r := &t.rows[i]; !r.container && len(r.shape) > 0 { // a vector has no batch
			votes[r.batch]++
			if votes[r.batch] > votes[t.batch] {
				t.batch = r.batch
			}
		}
	}
	if t.batch > 0 && t.batch <= profile.MaxBatch {
		t.file.BatchSize = profile.Some(int(t.batch))
	}
	t.batch = max(t.batch, 1)
}

// leaf measures a row that works with a number of parameters.
func (t *infoTree) leaf(row *infoRow, works int64) {
	l := &row.layer
	if row.batch == 0 && len(row.shape) == 0 {
		if !row.known || l.Kind != profile.OtherLayer {
			l.Unknown |= profile.ActivationCounts
		}
		return
	}
	shape := row.shape
	if len(shape) == 0 {
		shape = []int64{row.batch}
	}
	draft.Measure(l, shape, true)
	l.Activations = (row.all + t.batch - 1) / t.batch
	l.MACs = t.work(row, works)
}

// work is what a row with a number of parameters computes for one sample, by
// torchinfo's rules: each position of the output meets each parameter, and those of
// a norm or of a class that is not known meet each sample once, if it has no
// positions. A table is looked up.
func (t *infoTree) work(row *infoRow, works int64) profile.Opt[int64] {
	l := &row.layer
	positions := float64(max(row.all, 1)) / float64(t.batch)
	switch stated, ok := row.macs.Get(); {
	case l.Kind == profile.Embedding:
		return profile.Some[int64](0)
	case ok:
		return profile.Some(stated / t.batch)
	case works == 0 && l.Kind != profile.Norm, l.Kind == profile.Attention:
		return profile.Opt[int64]{}
	case l.Neurons > 0:
		return profile.Some(scaled(works, positions/float64(l.Neurons)))
	case row.known || len(row.shape) < 2:
		return profile.Some(works)
	case len(row.shape) == 2:
		return profile.Some(scaled(works, positions/float64(row.shape[1])))
	default:
		return profile.Some(scaled(works, positions/float64(row.shape[0])))
	}
}
