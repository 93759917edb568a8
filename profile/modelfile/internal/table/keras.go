package table

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// ReadKeras reads the table that model.summary() prints.
func ReadKeras(in *scan.Input) (*draft.Draft, error) {
	t := kerasTable{tree: infoTree{file: &draft.Draft{}, totals: map[string]float64{}}}
	if err := scan.NewLines(in).Each(&t.tree.done, t.read); err != nil {
		return nil, err
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	f := t.tree.file
	if len(f.Model.Layers) == 0 {
		return nil, errors.New("no layer found; want a table headed Layer (type), Output Shape, Param #")
	}
	f.Model.Family = draft.FamilyOfClasses(f.Model.Architecture, slices.Values(t.classes))
	for _, name := range t.closed {
		f.Warn(0, "layer %q holds others that the table does not show: its activations are unknown; summary(expand_nested=True)", reading.Clip(name))
	}
	t.withoutOptimizer()
	t.tree.freeze(f.Model.Layers)
	t.tree.finish()
	return f, nil
}

// withoutOptimizer takes out of the stated total what Keras 3 counts with it once a
// model was compiled and fitted: the states of its optimiser.
func (t *kerasTable) withoutOptimizer() {
	all, ok := t.tree.totals["Total params"]
	trained, ok1 := t.tree.totals["Trainable params"]
	frozen, ok2 := t.tree.totals["Non-trainable params"]
	if own := trained + frozen; ok && ok1 && ok2 && all > own {
		t.tree.file.Warn(0, "the stated total of %d holds %d of the optimiser, which are not the model's", int64(all), int64(all-own))
		t.tree.totals["Total params"] = own
	}
}

// kerasTable is the state of reading one table.
type kerasTable struct {
	tree    infoTree // its totals, file and what follows from them
	starts  []int    // first columns of shape, parameters and what follows, where blanks divide
	inside  bool
	cells   [3]string // of the row that is not finished
	depth   int       // of that row: how far it is inside of others
	pending bool
	classes []string
	level   int      // the depth of the last row
	holder  int      // its layer, from 1, if it holds others
	closed  []string // such layers whose rows are not shown
}

func (t *kerasTable) read(number int, line []byte) error {
	text := strings.TrimRight(string(line), " \t\r\n")
	if model, ok := strings.CutPrefix(strings.TrimSpace(text), "Model: "); ok && t.tree.file.Model.Name == "" {
		t.tree.file.Model.Name = strings.Trim(model, `"`)
	}
	switch {
	case !t.inside:
		if IsSummaryHeader(line) {
			t.begin(text)
		}
		return nil
	case strings.Trim(text, " \t=_-─━┏┳┓┡╇┩├┼┤└┴┘│┃|¯") == "":
		return nil
	}
	inner := strings.TrimLeft(text, "|") // rows of a model inside, in Keras 2
	depth := len(text) - len(inner)
	if depth > 0 {
		text = strings.Repeat(" ", 2*depth) + strings.TrimRight(inner, "| ") // each stroke shifts the columns to the left
	} else if cell, _, inside := strings.Cut(text, "└"); inside && strings.HasPrefix(text, "│") { // and in Keras 3
		depth = len(cell)
	}
	if name, value, ok := strings.Cut(strings.TrimSpace(text), ":"); ok {
		value, _, _ = strings.Cut(value, "(")
		if below, err := t.tree.total(name, value); below {
			t.tree.done = name == "Non-trainable params"
			return err
		}
	}
	if len(t.tree.totals) > 0 {
		return nil
	}
	cells, ok := t.cut(text)
	if !ok {
		t.tree.file.Warn(number, "not a row of the table: %q", reading.Clip(text))
		return nil
	}
	if t.cells[2] != "" && cells[2] != "" { // a row goes on in lines without parameters
		if err := t.flush(); err != nil {
			return fmt.Errorf("the row before: %w", err)
		}
	}
	if !t.pending {
		t.depth = depth
	}
	for i, c := range cells {
		t.cells[i] += c
	}
	t.pending = true
	return nil
}

// begin notes where the columns start in a header that blanks divide.
func (t *kerasTable) begin(header string) {
	t.inside = true
	if strings.Contains(header, "┃") {
		return
	}
	params := strings.Index(header, "Param #")
	next := params + len("Param #")
	if rest := strings.TrimLeft(header[next:], " "); rest != "" {
		next = len(header) - len(rest)
	} else {
		next = scan.MaxLine
	}
	t.starts = []int{strings.Index(header, "Output Shape"), params, next}
}

// tuple begins an output shape.
var tuple = regexp.MustCompile(`\((None|\d)`)

// cut divides a line into name, shape and parameters.
func (t *kerasTable) cut(text string) (cells [3]string, ok bool) {
	if t.starts == nil {
		parts := strings.Split(strings.Trim(strings.TrimSpace(text), "│"), "│")
		if len(parts) < 3 {
			return cells, false
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(parts[i])
		}
		return cells, true
	}
	shape, params := t.starts[0], t.starts[1]
	if at := tuple.FindStringIndex(text); at != nil { // where the cell really begins: a wide one pushes the next
		shape = at[0]
		if shape > 1 && text[shape-1] == '[' {
			shape--
		}
		if end := closing(text[shape:]); end > 0 { // a list goes on in the next line, or is cut off at its column
			params = shape + end
		}
	} else {
		params-- // numbers may stand one column to the left
	}
	cells[0], cells[1] = strings.TrimSpace(between(text, 0, shape)), strings.TrimSpace(between(text, shape, params))
	rest := strings.TrimLeft(between(text, params, len(text)), "], ")
	if fields := strings.Fields(rest); len(fields) > 0 && len(text)-len(rest) < t.starts[2] {
		cells[2] = fields[0]
	}
	return cells, true
}

// closing is the offset behind the bracket that closes the first of a text, or 0.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

// between is text[from:to], as far as there is one.
func between(text string, from, to int) string {
	to = max(0, min(to, len(text)))
	return text[max(0, min(from, to)):to]
}

// flush appends the row that was put together.
func (t *kerasTable) flush() error {
	cells := t.cells
	t.cells, t.pending = [3]string{}, false
	if cells[2] == "" {
		return nil
	}
	name, class := strings.TrimSpace(strings.TrimPrefix(cells[0], "└")), ""
	if open := strings.LastIndexByte(name, '('); open >= 0 {
		name, class = strings.TrimSpace(name[:open]), strings.Trim(name[open:], "() ")
	}
	t.open()
	if class == "InputLayer" {
		return nil
	}
	t.classes = append(t.classes, class)
	l := profile.Layer{Name: name, InPlace: draft.IsView(class)}
	var known bool
	l.Kind, known = draft.KindOfClass(class)
	digits := strings.TrimSpace(cells[2])
	if digits == "?" || strings.HasPrefix(digits, "0 (unbuilt)") {
		l.Unknown |= profile.ParamCounts
	} else {
		var err error
		if l.Params, err = scan.ParseCount(digits); err != nil {
			return fmt.Errorf("%s: parameters: %w", reading.Clip(name), err)
		}
	}
	if !known && l.Params == 0 && l.Unknown == 0 {
		return nil // a sum, a view, a container without weights
	}
	shape, batch, told := kerasShapeOf(cells[1])
	if t.tree.file.BatchSize.IsZero() && batch > 0 && batch <= profile.MaxBatch {
		t.tree.file.BatchSize = profile.Some(batch)
	}
	if told {
		draft.Measure(&l, shape, false)
	} else {
		l.Unknown |= profile.ActivationCounts
	}
	if !known && l.Params > 0 { // a model inside the model, or a layer of one's own
		l.MACs = profile.Opt[int64]{}
	}
	if strings.HasPrefix(class, "BatchNormalization") {
		l.Frozen = l.Params / 2
	}
	if strings.HasPrefix(class, "Functional") || strings.HasPrefix(class, "Sequential") || class == "Model" {
		l.Activations, l.Neurons, l.Unknown = 0, 0, l.Unknown|profile.ActivationCounts|profile.NeuronCounts
		t.holder, t.closed = len(t.tree.file.Model.Layers)+1, append(t.closed, name)
	}
	return t.tree.file.Add(l)
}

// open takes the row before this one for what it is, if this one lies inside it: a sum
// of what follows, which counts nothing itself.
func (t *kerasTable) open() {
	if t.holder > 0 && t.depth > t.level {
		l := &t.tree.file.Model.Layers[t.holder-1]
		*l = profile.Layer{Name: l.Name}
		t.closed = t.closed[:len(t.closed)-1]
	}
	t.holder, t.level = 0, t.depth
}

// kerasShapeOf reads "(None, 26, 26, 32)" or the first shape of a list: the dimensions
// behind the batch, and the batch, 0 where it is open. False is a shape that leaves
// another dimension open.
func kerasShapeOf(text string) (shape []int64, batch int, told bool) {
	_, text, _ = strings.Cut(text, "(")
	text, _, _ = strings.Cut(text, ")")
	first, rest, _ := strings.Cut(text, ",")
	batch, _ = strconv.Atoi(first) // None is open
	if rest = strings.TrimSpace(rest); rest == "" {
		return nil, batch, text != ""
	}
	shape, err := parseDims(strings.TrimSuffix(rest, ","))
	return shape, batch, err == nil && shape[0] > 0
}
