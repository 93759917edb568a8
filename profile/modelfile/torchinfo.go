package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/colloc/profile"
)

func readTorchInfo(in *input, _ *Options) (*File, error) {
	t := infoTree{file: &File{}, totals: map[string]float64{}}
	if err := newLines(in).each(&t.done, t.read); err != nil {
		return nil, err
	}
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

// isTorchInfoHeader recognises the line of column names; without depth and name
// ("Layer (type)") it is torchsummary's too.
func isTorchInfoHeader(line []byte) bool {
	return bytes.Contains(line, []byte("Layer (type")) && bytes.Contains(line, []byte("Param #")) &&
		(bytes.Contains(line, []byte("depth-idx")) || bytes.Contains(line, []byte("var_name")))
}

// infoTree is the state of reading one tree.
type infoTree struct {
	file    *File
	columns []string // nil before the header
	done    bool
	rows    []infoRow
	totals  map[string]float64 // what stands below the table
	batch   int64
	margin  int // before the first row
	deepest int

	recursive, frozen, cut int
}

// infoRow is one module of the tree.
type infoRow struct {
	depth     int
	class     string
	known     bool // the class
	again     bool // runs again
	container bool
	layer     profile.Layer
	batch     int64   // the first dimension; 0 without a shape
	shape     []int64 // of the first output, without the first dimension
	all       int64   // output elements of the whole batch
	macs      profile.Opt[int64]
}

func (t *infoTree) read(number int, line []byte) error {
	if t.columns == nil {
		if isTorchInfoHeader(line) || isSummaryHeader(line) {
			t.columns = splitColumns(string(line))
		}
		return nil
	}
	bare := strings.TrimLeft(string(line), " \t│├└─|+")
	margin := utf8.RuneCount(line) - utf8.RuneCountInString(bare)
	text := strings.TrimSpace(bare)
	if text == "" || isRule(line) {
		return nil
	}
	if name, value, ok := strings.Cut(text, ":"); ok && t.total(name, value) {
		if _, ok := t.totals[unreadable]; ok {
			return fmt.Errorf("total: %q is not a count from 0 to 1e15", clip(strings.TrimSpace(value)))
		}
		return nil
	}
	if len(t.totals) > 0 { // below the table
		t.done = bytes.Contains(line, []byte("Layer (type"))
		return nil
	}
	if len(t.rows) == 0 {
		t.margin = margin
	}
	return t.row(number, text, (max(0, margin-t.margin)+3)/5)
}

// total reads a line such as "Total mult-adds (M): 218.57"; it reports whether
// the line is one of those below the table.
func (t *infoTree) total(name, value string) bool {
	scale := 1.0
	name, unit, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	switch unit {
	case "k", "kB":
		scale = 1e3
	case "M", "MB":
		scale = 1e6
	case "G", "GB":
		scale = 1e9
	case "T", "TB":
		scale = 1e12
	}
	switch name {
	case "Total params", "Trainable params", "Non-trainable params", "Total mult-adds", "Input size", "Forward/backward pass size",
		"Params size", "Estimated Total Size":
	default:
		return false
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(value), ",", ""), 64)
	if err == nil && n >= 0 && n*scale <= profile.MaxCount {
		t.totals[name] = n * scale
	} else {
		t.totals[unreadable] = 1
	}
	t.done = name == "Estimated Total Size"
	return true
}

// unreadable marks a total that is no number.
const unreadable = "unreadable"

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

// row reads "Conv2d: 1-1   [32, 3, 28, 28]   [32, 16, 28, 28]   160".
func (t *infoTree) row(number int, text string, indent int) error {
	if len(t.rows) > MaxLayers {
		return fmt.Errorf("more than %d rows", MaxLayers)
	}
	cells := splitColumns(text)
	if last := cells[len(cells)-1]; strings.HasPrefix(last, "├─") || strings.HasPrefix(last, "└─") || strings.HasPrefix(last, "+ ") {
		return nil // a single parameter, counted in its module
	}
	if len(cells) != len(t.columns) {
		t.file.warn(number, "not a row of the tree: %q", clip(text))
		return nil
	}
	row := infoRow{layer: profile.Layer{Name: cells[0]}, depth: indent}
	class, at, _ := strings.Cut(cells[0], ": ")
	if level, _, _ := strings.Cut(at, "-"); at != "" {
		depth, err := strconv.Atoi(level)
		if err != nil || depth < 0 || depth > 1<<20 {
			return fmt.Errorf("%q has no depth", clip(cells[0]))
		}
		row.depth = depth
	}
	row.class, _, _ = strings.Cut(class, " (") // the attribute's name, where it is printed
	l := &row.layer
	l.Kind, row.known = kindOfTorchClass(row.class)
	l.InPlace = isView(row.class)
	if err := t.params(&row, cells); err != nil {
		return fmt.Errorf("%s: parameters: %w", clip(l.Name), err)
	}
	if err := t.shape(&row, cells); err != nil {
		return fmt.Errorf("%s: output shape: %w", clip(l.Name), err)
	}
	if n, err := parseCount(t.cell(cells, "Mult-Adds")); err == nil {
		row.macs = profile.Some(n)
	}
	if n := len(t.rows); n > 0 {
		t.rows[n-1].container = row.depth > t.rows[n-1].depth
	}
	t.deepest = max(t.deepest, row.depth)
	t.rows = append(t.rows, row)
	return nil
}

func (t *infoTree) params(row *infoRow, cells []string) (err error) {
	text := t.cell(cells, "Param #")
	frozen := false
	switch {
	case text == "--" || text == "":
		return nil
	case text == "(recursive)":
		row.again = true
		t.recursive++
		return nil
	case strings.HasPrefix(text, "("):
		frozen = true
		text = strings.Trim(text, "()")
	}
	row.layer.Params, err = parseCount(text)
	if frozen && row.layer.Params > 0 {
		row.layer.Frozen = row.layer.Params
		t.frozen++
	}
	return err
}

func (t *infoTree) shape(row *infoRow, cells []string) (err error) {
	text := t.cell(cells, "Output Shape")
	if !strings.HasPrefix(text, "[") || strings.Trim(text, "[] ") == "" {
		return nil // none, or a scalar
	}
	var each int64
	row.shape, each, row.batch, err = parseShapes(text)
	row.all = mul(max(row.batch, 1), each)
	return err
}

func (t *infoTree) cell(cells []string, column string) string {
	for i, name := range t.columns {
		if name == column {
			return cells[i]
		}
	}
	return ""
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
				leaves = append(leaves, profile.Layer{Name: row.layer.Name, Kind: row.layer.Kind, Params: row.layer.Params, Frozen: row.layer.Frozen})
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
	t.file.Model.Family = familyOfClasses(t.file.Model.Architecture, func(yield func(string) bool) {
		for i := range t.rows {
			if !yield(t.rows[i].class) {
				return
			}
		}
	})
	leaves = t.fillCut(leaves, cuts)
	t.freeze(leaves)
	for _, l := range leaves {
		if err := t.file.add(l); err != nil {
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
	if r.layer.Kind != profile.Conv && len(width) > 0 {
		width = width[len(width)-1:]
	} else if len(width) > 0 {
		width = width[:1]
	}
	return r.class + " " + attribute + fmt.Sprint(width)
}

// findBatch takes the first dimension that most rows with parameters have.
func (t *infoTree) findBatch() {
	votes := map[int64]int{}
	for i := range t.rows {
		if r := &t.rows[i]; r.batch > 0 {
			votes[r.batch]++
			if !r.container {
				votes[r.batch]++
			}
			if best := votes[t.batch]; votes[r.batch] > best || votes[r.batch] == best && t.batch == 0 {
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
	params := l.Params
	l.Params = works
	measure(l, row.shape, true)
	l.Params = params
	l.Activations = (row.all + t.batch - 1) / t.batch
	l.MACs = profile.Opt[int64]{}
	switch {
	case !row.macs.IsZero() && l.Kind != profile.Embedding:
		l.MACs = profile.Some(row.macs.Or(0) / t.batch)
	case l.Kind == profile.Embedding:
		l.MACs = profile.Some[int64](0)
	case l.Kind == profile.Norm:
		l.MACs = profile.Some(l.Activations)
	case l.Neurons > 0 && works > 0:
		l.MACs = profile.Some(scaled(works, float64(row.all)/float64(l.Neurons)/float64(t.batch)))
	}
}

// scaled multiplies a count, rounding.
func scaled(n int64, by float64) int64 {
	return int64(math.Round(min(float64(n)*by, profile.MaxCount)))
}
