package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// ReadTorchInfo reads the tree that the Python package torchinfo prints, with
// any choice of columns as long as they include the output shape and Param #:
//
//	Layer (type:depth-idx)          Output Shape              Param #
//	==================================================================
//	Net                             [32, 10]                  --
//	├─Conv2d: 1-1                   [32, 16, 28, 28]          160
//
// Leaves are the rows without rows below them; a container that holds
// parameters of its own gives one more leaf. A module that runs again
// ("(recursive)") has its parameters counted once, frozen ones (in brackets)
// count as parameters, and containers cut off by torchinfo's depth limit are
// leaves of unknown kind; warnings say so. The batch is the first dimension of
// the first output. O(size).
func ReadTorchInfo(r io.Reader, o *Options) (*File, error) {
	return wrap(TorchInfo.read(newInput(r), o))
}

func readTorchInfo(in *input, _ *Options) (*File, error) {
	t := infoTree{file: &File{}}
	if err := newLines(in).each(&t.done, t.read); err != nil {
		return nil, err
	}
	if err := t.flush(0); err != nil {
		return nil, err
	}
	if len(t.file.Model.Layers) == 0 {
		return nil, errors.New(`no layer found; want a table headed "Layer (type:depth-idx)"`)
	}
	t.finish()
	return t.file, nil
}

func isTorchInfoHeader(line []byte) bool {
	return bytes.Contains(line, []byte("Layer (type")) && bytes.Contains(line, []byte("depth-idx")) &&
		bytes.Contains(line, []byte("Param #"))
}

// infoTree is the state of reading one tree.
type infoTree struct {
	file                   *File
	columns                []string // nil before the header
	done                   bool
	batch                  int64
	row                    infoRow // the row before, not yet known to be a leaf
	pending                bool
	recursive, frozen, cut int
	uncollatable           int
}

type infoRow struct {
	depth int
	known bool // the class
	layer profile.Layer
}

func (t *infoTree) read(number int, line []byte) error {
	if t.columns == nil {
		if isTorchInfoHeader(line) {
			t.columns = splitColumns(string(line))
		}
		return nil
	}
	text := strings.TrimSpace(strings.TrimLeft(string(line), " \t│├└─|+"))
	if text == "" || isRule(line) {
		return nil
	}
	if total, ok := strings.CutPrefix(text, "Total params:"); ok {
		t.done = true
		n, err := parseCount(total)
		if err != nil {
			return fmt.Errorf("total: %w", err)
		}
		t.file.TotalParams = profile.Some(n)
		return nil
	}
	row, err := t.parse(text)
	if err != nil {
		return err
	}
	if row.depth < 0 {
		t.file.warn(number, "not a row of the tree: %q", clip(text))
		return nil
	}
	if err := t.flush(row.depth); err != nil {
		return fmt.Errorf("the row before: %w", err)
	}
	t.row, t.pending = row, true
	return nil
}

// splitColumns cuts at runs of two or more blanks.
func splitColumns(text string) []string {
	var columns []string
	for part := range strings.SplitSeq(text, "  ") {
		if part = strings.TrimSpace(part); part != "" {
			columns = append(columns, part)
		}
	}
	return columns
}

// parse reads "Conv2d: 1-1   [32, 3, 28, 28]   [32, 16, 28, 28]   160"; a depth
// of -1 is no row.
func (t *infoTree) parse(text string) (infoRow, error) {
	cells := splitColumns(text)
	if len(cells) != len(t.columns) {
		return infoRow{depth: -1}, nil
	}
	class, at, _ := strings.Cut(cells[0], ": ")
	row := infoRow{layer: profile.Layer{Name: cells[0]}}
	if at != "" {
		level, _, _ := strings.Cut(at, "-")
		depth, err := strconv.Atoi(level)
		if err != nil || depth < 0 || depth > 1<<20 {
			return row, fmt.Errorf("%q has no depth", clip(cells[0]))
		}
		row.depth = depth
	}
	class, _, _ = strings.Cut(class, " (") // the attribute's name, where it is printed
	l := &row.layer
	l.Kind, row.known = kindOfTorchClass(class)
	l.InPlace = isView(class)
	if err := t.params(l, cells); err != nil {
		return row, fmt.Errorf("%s: parameters: %w", clip(l.Name), err)
	}
	if err := t.shape(l, cells); err != nil {
		return row, fmt.Errorf("%s: output shape: %w", clip(l.Name), err)
	}
	return row, nil
}

func (t *infoTree) params(l *profile.Layer, cells []string) (err error) {
	text := t.cell(cells, "Param #")
	switch {
	case text == "--" || text == "":
		return nil
	case text == "(recursive)":
		t.recursive++
		return nil
	case strings.HasPrefix(text, "("):
		t.frozen++
		text = strings.Trim(text, "()")
	}
	l.Params, err = parseCount(text)
	return err
}

func (t *infoTree) shape(l *profile.Layer, cells []string) error {
	text := t.cell(cells, "Output Shape")
	if !strings.HasPrefix(text, "[") {
		l.Unknown |= profile.ActivationCounts
		return nil
	}
	if strings.Trim(text, "[] ") == "" {
		return nil // a scalar or nothing
	}
	shape, elements, batch, err := parseShapes(text)
	if err != nil {
		return err
	}
	if t.batch == 0 {
		t.batch = max(batch, 1)
	}
	switch all := mul(max(batch, 1), elements); {
	case batch == t.batch || batch < 0:
	case all%t.batch == 0: // rows of several samples in the first dimension
		elements = all / t.batch
	default:
		t.uncollatable++
	}
	measure(l, shape, true)
	l.Activations = elements
	if neurons := l.Neurons; neurons > 0 && l.Kind != profile.Embedding && l.Kind != profile.Recurrent {
		l.MACs = profile.Some(mul(l.Params, elements/neurons))
	}
	return nil
}

func (t *infoTree) cell(cells []string, column string) string {
	for i, name := range t.columns {
		if name == column {
			return cells[i]
		}
	}
	return ""
}

// flush appends the row before, now that the depth of the next one is known.
func (t *infoTree) flush(next int) error {
	if !t.pending {
		return nil
	}
	t.pending = false
	l := t.row.layer
	container := next > t.row.depth
	switch {
	case container && l.Params == 0, !t.row.known && l.Params == 0:
		return nil
	case container: // parameters of its own, beside those of its children
		l = profile.Layer{Name: l.Name, Kind: l.Kind, Params: l.Params}
	case !t.row.known:
		t.cut++
		l.Activations, l.MACs = 0, profile.Opt[int64]{} // those of what it holds are not told
		l.Unknown |= profile.ActivationCounts | profile.NeuronCounts
	}
	return t.file.add(l)
}

func (t *infoTree) finish() {
	f := t.file
	if t.batch > 0 && t.batch <= profile.MaxBatch {
		f.BatchSize = profile.Some(int(t.batch))
	}
	for _, w := range []struct {
		n    int
		text string
	}{
		{t.recursive, "%d rows run a module again; its parameters are counted once"},
		{t.frozen, "%d rows hold frozen parameters; they are counted"},
		{t.cut, "%d rows are containers or unknown classes and stand as layers of kind other of unknown activations: print with depth=99"},
		{t.uncollatable, "%d output shapes do not divide by the batch; their activations are those of the whole batch"},
	} {
		if w.n > 0 {
			f.warn(0, w.text, w.n)
		}
	}
	if total, ok := f.TotalParams.Get(); !ok {
		f.warn(0, "the tree has no total: it may be cut off")
	} else if sum := f.Model.Params(); sum != total {
		f.warn(0, "the leaves add up to %d parameters, the file says %d", sum, total)
	}
}
