package table

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// IsInfoHeader recognises the line of column names; without depth and name
// ("Layer (type)") it is torchsummary's too.
func IsInfoHeader(line []byte) bool {
	return bytes.Contains(line, []byte("Layer (type")) && bytes.Contains(line, []byte("Param #")) &&
		(bytes.Contains(line, []byte("depth-idx")) || bytes.Contains(line, []byte("var_name")))
}

// infoTree is the state of reading one tree.
type infoTree struct {
	file    *draft.Draft
	columns []string // nil before the header
	done    bool
	rows    []infoRow
	totals  map[string]float64 // what stands below the table
	batch   int64
	margin  int // before the first row
	deepest int
	before  *infoTree // the first table, where this is the second

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
		if IsInfoHeader(line) || IsSummaryHeader(line) {
			t.columns = splitColumns(string(line))
		}
		return nil
	}
	bare := strings.TrimLeft(string(line), " \t│├└─|+")
	margin := utf8.RuneCount(line) - utf8.RuneCountInString(bare)
	text := strings.TrimSpace(bare)
	if text == "" || IsRule(line) {
		return nil
	}
	if name, value, ok := strings.Cut(text, ":"); ok {
		if below, err := t.total(name, value); below {
			return err
		}
	}
	if len(t.totals) > 0 { // below the table
		if bytes.Contains(line, []byte("Layer (type")) {
			t.next(line)
		}
		return nil
	}
	if len(t.rows) == 0 {
		t.margin = margin
	}
	return t.row(number, text, (margin-t.margin+3)/5)
}

// next meets a second table, which may show more of the same model; a third ends
// the reading.
func (t *infoTree) next(header []byte) {
	if t.before != nil {
		t.done = true
		return
	}
	first := *t
	*t = infoTree{file: &draft.Draft{}, totals: map[string]float64{}, columns: splitColumns(string(header)), before: &first}
}

// better returns the table to describe: the first, unless the second shows the same
// model with shapes, or deeper.
func (t *infoTree) better() *infoTree {
	first := t.before
	if first == nil {
		return t
	}
	params, known := first.totals["Total params"]
	same := known && t.totals["Total params"] == params
	shapes := slices.Contains(t.columns, shapeColumn)
	if same && (shapes && !slices.Contains(first.columns, shapeColumn) || t.deepest > first.deepest && len(t.rows) > len(first.rows)) {
		return t
	}
	return first
}

const shapeColumn = "Output Shape"

// total reads a line such as "Total mult-adds (M): 218.57"; it reports whether
// the line is one of those below the table.
func (t *infoTree) total(name, value string) (below bool, err error) {
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
		return false, nil
	}
	value = strings.TrimSpace(value)
	n, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", ""), 64)
	if err != nil || !(n >= 0 && n*scale <= profile.MaxCount) {
		return true, fmt.Errorf("total: %q is not a count from 0 to 1e15", reading.Clip(value))
	}
	t.totals[name] = n * scale
	return true, nil
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

// row reads "Conv2d: 1-1   [32, 3, 28, 28]   [32, 16, 28, 28]   160".
func (t *infoTree) row(number int, text string, indent int) error {
	if len(t.rows) > scan.MaxLayers {
		return fmt.Errorf("more than %d rows", scan.MaxLayers)
	}
	cells := splitColumns(text)
	if last := cells[len(cells)-1]; strings.HasPrefix(last, "├─") || strings.HasPrefix(last, "└─") || strings.HasPrefix(last, "+ ") {
		return nil // a single parameter, counted in its module
	}
	if len(cells) != len(t.columns) {
		t.file.Warn(number, "not a row of the tree: %q", reading.Clip(text))
		return nil
	}
	row := infoRow{layer: profile.Layer{Name: cells[0]}, depth: indent}
	class, at, _ := strings.Cut(cells[0], ": ")
	if level, _, _ := strings.Cut(at, "-"); at != "" {
		depth, err := strconv.Atoi(level)
		if err != nil || depth > 1<<20 {
			return fmt.Errorf("%q has no depth", reading.Clip(cells[0]))
		}
		row.depth = depth
	}
	row.class, _, _ = strings.Cut(class, " (") // the attribute's name, where it is printed
	l := &row.layer
	l.Kind, row.known = draft.KindOfTorchClass(row.class)
	l.InPlace = draft.IsView(row.class)
	if err := t.params(&row, cells); err != nil {
		return fmt.Errorf("%s: parameters: %w", reading.Clip(l.Name), err)
	}
	switch l.Kind {
	case profile.Activation, profile.Dropout, profile.Pool: // a block named after its last part, as ReLUConvBN
		if l.Params > 0 && row.class != "PReLU" {
			l.Kind, row.known = profile.OtherLayer, false
		}
	default:
	}
	if err := t.shape(&row, cells); err != nil {
		return fmt.Errorf("%s: output shape: %w", reading.Clip(l.Name), err)
	}
	if n, err := scan.ParseCount(t.cell(cells, "Mult-Adds")); err == nil {
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
	row.layer.Params, err = scan.ParseCount(text)
	if frozen && row.layer.Params > 0 {
		row.layer.Frozen = row.layer.Params
		t.frozen++
	}
	return err
}

func (t *infoTree) shape(row *infoRow, cells []string) (err error) {
	text := t.cell(cells, shapeColumn)
	if !strings.HasPrefix(text, "[") || strings.Trim(text, "[] ") == "" {
		return nil // none, or a scalar
	}
	var each int64
	row.shape, each, row.batch, err = parseShapes(text)
	row.all = scan.Mul(max(row.batch, 1), each)
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
