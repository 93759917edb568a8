package table

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// ReadSummary reads the table that torchsummary prints.
func ReadSummary(r *scan.Input) (*draft.Draft, error) {
	f := &draft.Draft{}
	t := summaryTable{file: f}
	if err := scan.NewLines(r).Each(&t.done, t.read); err != nil {
		return nil, err
	}
	if len(f.Model.Layers) == 0 {
		return nil, errors.New("no layer found; want a table headed \"Layer (type) Output Shape Param #\"")
	}
	t.finish()
	return f, nil
}

// summaryTable is the state of reading one table.
type summaryTable struct {
	file       *draft.Draft
	inside     bool
	done       bool
	batch      int64 // 0 is not seen yet, -1 is open
	containers int
	uncounted  int
}

func (t *summaryTable) read(number int, line []byte) error {
	switch {
	case !t.inside:
		t.inside = IsSummaryHeader(line)
		return nil
	case IsRule(line):
		return nil
	}
	text := string(bytes.TrimSpace(line))
	if total, ok := strings.CutPrefix(text, "Total params:"); ok {
		t.done = true
		n, err := scan.ParseCount(total)
		if err != nil {
			return fmt.Errorf("total: %w", err)
		}
		t.file.TotalParams = profile.Some(n)
		return nil
	}
	if text == "" {
		return nil
	}
	return t.row(number, text)
}

// row reads "Conv2d-1  [-1, 64, 112, 112]  9,408".
func (t *summaryTable) row(number int, text string) error {
	open, end := strings.IndexByte(text, '['), strings.LastIndexByte(text, ']')
	if open < 1 || end < open {
		t.file.Warn(number, "not a row of the table: %q", reading.Clip(text))
		return nil
	}
	name := strings.TrimSpace(text[:open])
	class, _, _ := strings.Cut(name, "-")
	shape, elements, batch, err := parseShapes(text[open : end+1])
	if err != nil {
		return fmt.Errorf("%s: output shape: %w", reading.Clip(name), err)
	}
	params, err := scan.ParseCount(text[end+1:])
	if err != nil {
		return fmt.Errorf("%s: parameters: %w", reading.Clip(name), err)
	}
	kind, known := draft.KindOfTorchClass(class)
	switch {
	case !known && params == 0:
		t.containers++
		return nil
	case params == 0 && (kind == profile.Recurrent || kind == profile.Attention):
		t.uncounted++
	}
	if t.batch == 0 {
		t.batch = batch
	}
	l := profile.Layer{Name: name, Kind: kind, Params: params, InPlace: draft.IsView(class)}
	if params == 0 && (kind == profile.Recurrent || kind == profile.Attention) {
		l.Unknown |= profile.ParamCounts
	}
	draft.Measure(&l, shape, true)
	l.Activations = elements
	return t.file.Add(l)
}

func (t *summaryTable) finish() {
	f := t.file
	if t.batch > 0 && t.batch <= profile.MaxBatch {
		f.BatchSize = profile.Some(int(t.batch))
	}
	if t.containers > 0 {
		f.Warn(0, "%d rows of unknown classes without parameters were taken for containers and left out", t.containers)
	}
	if t.uncounted > 0 {
		f.Warn(0, "%d recurrent or attention layers stand without parameters: torchsummary does not count theirs", t.uncounted)
	}
	if total, ok := f.TotalParams.Get(); !ok {
		f.Warn(0, "the table has no total: it may be cut off")
	} else if sum := f.Model.Params(); sum != total {
		f.Warn(0, "the rows add up to %d parameters, the table says %d", sum, total)
	}
}

// IsSummaryHeader recognises the line of column names.
func IsSummaryHeader(line []byte) bool {
	return bytes.Contains(line, []byte("Layer (type)")) && bytes.Contains(line, []byte("Output Shape")) &&
		bytes.Contains(line, []byte("Param #"))
}

// IsRule recognises a line that holds only dashes or equal signs.
func IsRule(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && len(bytes.Trim(line, "=-_")) == 0
}

// parseShapes reads "[-1, 64, 7, 7]" or, for a layer with several outputs,
// "[[-1, 7], [[-1, 9], [-1, 9]]]". It returns the shape of the first output and
// the elements of all for one sample, and the batch.
func parseShapes(text string) (first []int64, elements, batch int64, err error) {
	for rest := text; rest != ""; {
		_, after, _ := strings.Cut(rest, "[")
		inner, _, _ := strings.Cut(after, "]")
		rest = after
		if strings.Contains(inner, "[") || strings.Trim(inner, " ,\t") == "" {
			continue
		}
		dims, err := parseDims(inner)
		if err != nil {
			return nil, 0, 0, err
		}
		if batch == 0 {
			first, batch = dims[1:], dims[0]
		}
		elements = scan.Add(elements, scan.Mul(dims[1:]...))
	}
	if batch == 0 {
		return nil, 0, 0, fmt.Errorf("%q holds no shape", reading.Clip(text))
	}
	return first, elements, batch, nil
}

// parseDims reads "-1, 64, 7"; only the first dimension may be -1.
func parseDims(text string) ([]int64, error) {
	var dims []int64
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", reading.Clip(strings.TrimSpace(field)))
		}
		if n > scan.MaxDim || n < 1 && (n != -1 || len(dims) > 0) || len(dims) == scan.MaxRank {
			return nil, fmt.Errorf("[%s] is no shape", reading.Clip(text))
		}
		dims = append(dims, n)
	}
	return dims, nil
}
