package table

import (
	"math"

	"example.com/colloc/profile"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// cutLeaf is a row at the depth limit that may hold modules which are not shown.
type cutLeaf struct {
	at     int // its leaf
	params int64
	row    *infoRow
}

// fillCut says of the rows at the depth limit what the stated totals leave over
// for them. A third of what a transformer's block puts out comes from layers with
// parameters, which the stated size counts, two thirds from those without: scores,
// non-linearities, dropout (BERT at 512 tokens: 53 of 158 million).
func (t *infoTree) fillCut(leaves []profile.Layer, cuts []cutLeaf) []profile.Layer {
	if len(cuts) == 0 {
		return leaves
	}
	missing, told := t.missing(cuts)
	var own float64
	for _, c := range cuts {
		own += float64(c.row.all)
	}
	work, worked := t.missingWork(leaves, cuts)
	if told && missing <= 1.02*own { // nothing is missing: they are leaves
		for _, c := range cuts {
			if worked && own > 0 {
				leaves[c.at].MACs = profile.Some(scaled(1, work*float64(c.row.all)/own/float64(t.batch)))
			}
		}
		return leaves
	}
	t.cut = len(cuts)
	var out []profile.Layer
	next := 0
	for i := range leaves {
		l := leaves[i]
		if next == len(cuts) || cuts[next].at != i {
			out = append(out, l)
			continue
		}
		c := &cuts[next]
		next++
		l.Neurons, l.Activations, l.MACs = 0, 0, profile.Opt[int64]{}
		l.Unknown |= profile.NeuronCounts
		if !told || own == 0 {
			l.Unknown |= profile.ActivationCounts
			out = append(out, l)
			continue
		}
		l.Unknown &^= profile.ActivationCounts // without a shape, its part is that of the others
		share := float64(c.row.all) / own
		l.Activations = scaled(1, missing*share/float64(t.batch))
		switch {
		case len(c.row.shape) == 2: // a sequence: each position meets each parameter
			l.MACs = profile.Some(scan.Mul(c.params, c.row.shape[0]))
		case worked:
			l.MACs = profile.Some(scaled(1, work*share/float64(t.batch)))
		}
		out = append(out, t.opened(l, len(c.row.shape))...)
	}
	return out
}

// opened stands for the layers inside a cut row, whose outputs have a rank.
func (t *infoTree) opened(l profile.Layer, rank int) []profile.Layer {
	switch family := t.file.Model.Family; {
	case family == profile.Transformer:
		l.Kind = profile.Linear
		rest := profile.Layer{Name: l.Name + ".inside", Kind: profile.Activation, Activations: l.Activations}
		return []profile.Layer{l, rest, rest}
	case rank > 2:
		l.Kind = profile.Conv
		half := profile.Layer{Name: l.Name + ".inside", Kind: profile.Norm, Activations: l.Activations / 2}
		l.Activations -= half.Activations
		return []profile.Layer{l, half}
	default:
		l.Kind = profile.Linear
		return []profile.Layer{l}
	}
}

// missing is what the cut rows' modules with parameters put out for the whole
// batch: the stated size holds each output and its gradient.
func (t *infoTree) missing(cuts []cutLeaf) (elements float64, told bool) {
	size := t.totals["Forward/backward pass size"]
	width := 4.0 // bytes of an element
	if params := t.totals["Params size"]; params > 0 && params < 3*t.totals["Total params"] {
		width = 2
	}
	elements = size / 2 / width
	cut := map[*infoRow]bool{}
	for _, c := range cuts {
		cut[c.row] = true
	}
	for i := range t.rows {
		if r := &t.rows[i]; !r.container && (r.layer.Params > 0 || r.again) && !cut[r] {
			elements -= float64(r.all)
		}
	}
	return elements, size > 0
}

// missingWork is what the stated multiply-adds leave for the cut rows, for the
// whole batch.
func (t *infoTree) missingWork(leaves []profile.Layer, cuts []cutLeaf) (macs float64, told bool) {
	macs, told = t.totals["Total mult-adds"]
	cut := map[int]bool{}
	for _, c := range cuts {
		cut[c.at] = true
	}
	for i := range leaves {
		if !cut[i] {
			macs -= float64(leaves[i].MACs.Or(0)) * float64(t.batch)
		}
	}
	return macs, told && macs > 0
}

// freeze marks what the stated number of trainable parameters leaves over.
func (t *infoTree) freeze(leaves []profile.Layer) {
	m := profile.Model{Layers: leaves}
	rest := int64(t.totals["Non-trainable params"]) - (m.Params() - m.Trainable())
	open := m.Trainable()
	if rest <= 0 || rest > open {
		return
	}
	t.file.Warn(0, "%d more parameters are frozen than the rows show; they are taken from all rows in proportion", rest)
	left := rest
	for i := range leaves {
		l := &leaves[i]
		free := l.Params - l.Frozen
		n := min(left, free, scaled(free, float64(rest)/float64(open))+1)
		l.Frozen += n
		left -= n
	}
}

func (t *infoTree) finish() {
	f := t.file
	if n, ok := t.totals["Total params"]; ok {
		f.TotalParams = profile.Some(int64(n))
	}
	unknown := f.Model.Unknown()&profile.ActivationCounts != 0
	for _, w := range []struct {
		n    int
		text string
	}{
		{t.recursive, "%d rows run a module again; its parameters are counted once"},
		{t.frozen, "%d rows hold frozen parameters: they have no gradient and no optimiser state"},
	} {
		if w.n > 0 {
			f.Warn(0, w.text, w.n)
		}
	}
	switch {
	case t.cut > 0 && unknown:
		f.Warn(0, "%d rows are cut off at the depth limit and no total tells what they hold: their activations are unknown; print with depth=99", t.cut)
	case t.cut > 0:
		f.Warn(0, "%d rows are cut off at the depth limit: what they hold follows from the stated totals; print with depth=99", t.cut)
	case unknown:
		f.Warn(0, "rows have no output shape, or an open one: activations are unknown; give summary() an input_size, a Keras model its input shape")
	}
	if total, ok := f.TotalParams.Get(); !ok {
		f.Warn(0, "the tree has no total: it may be cut off")
	} else if sum := f.Model.Params(); sum != total {
		f.Warn(0, "the leaves add up to %d parameters, the file says %d", sum, total)
		if missing := total - sum; missing > total/100 {
			f.MissingParams("what the table leaves out", missing)
		} else if -missing > total/100 && len(f.Model.Layers) < scan.MaxLayers { // and which row is not told
			f.Model.Layers = append(f.Model.Layers, profile.Layer{Name: "what the table counts twice", Unknown: profile.ParamCounts})
		}
	}
}

// scaled multiplies a count, rounding.
func scaled(n int64, by float64) int64 {
	return int64(math.Round(min(float64(n)*by, profile.MaxCount)))
}
