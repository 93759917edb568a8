package torchprint

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// Read reads a printed model.
func Read(in *scan.Input) (*draft.Draft, error) {
	t := printTree{file: &draft.Draft{}}
	err := scan.NewLines(in).Each(&t.done, func(number int, line []byte) error { return t.read(number, strings.TrimSpace(string(line))) })
	if err != nil {
		return nil, err
	}
	if len(t.file.Model.Layers) == 0 {
		return nil, errors.New("no layer found; want what print(model) prints")
	}
	t.finish()
	return t.file, nil
}

// Is recognises "Name(" at an end of a line and "(name): Class(" on
// the next one.
func Is(text []byte) bool {
	for range 20 { // a few lines of log may stand before
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		next := bytes.TrimSpace(rest)
		if bytes.HasSuffix(bytes.TrimSpace(line), []byte("(")) && bytes.HasPrefix(next, []byte("(")) && bytes.Contains(next, []byte("): ")) {
			return true
		}
		if !ok {
			return false
		}
		text = rest
	}
	return false
}

// printTree is the state of reading one printed model.
type printTree struct {
	file    *draft.Draft
	open    []printed // containers around the current line
	started bool
	done    bool
	table   map[[2]int64]bool // shapes of embeddings
	shared  map[[2]int64]bool // those of tables called shared
	maybe   string            // a head that may be tied
	tied    []string
	classes []string
	guessed int // leaves whose parameters nothing tells
	again   int // printed uses of a shared table
}

type printed struct {
	name   string
	class  string
	repeat int
	first  int // its first leaf
}

func (t *printTree) read(number int, text string) error {
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, ")") && len(t.open) > 0:
		return t.close(number, text)
	case !t.started && !strings.HasSuffix(text, "("):
		return nil // before the model
	case !t.started:
		t.started = true
	case len(t.open) == 0:
		if total, ok := strings.CutPrefix(text, "Total params:"); ok {
			n, err := scan.ParseCount(total)
			t.file.TotalParams, t.done = profile.Some(n), true
			return err
		}
		return nil // after the model
	}
	return t.module(number, text)
}

// module reads "(name): 12 x Class(args), N params" or its opening half.
func (t *printTree) module(number int, text string) error {
	name, rest := "", text
	if strings.HasPrefix(text, "(") {
		var ok bool
		if name, rest, ok = strings.Cut(text[1:], "): "); !ok {
			t.file.Warn(number, "not a module: %q", reading.Clip(text))
			return nil
		}
	}
	repeat := 1
	if times, after, ok := strings.Cut(rest, " x "); ok {
		n, err := strconv.Atoi(times)
		if err != nil || n < 1 || n > scan.MaxLayers {
			return fmt.Errorf("%q is no number of repetitions", reading.Clip(times))
		}
		repeat, rest = n, after
	}
	class, args, ok := strings.Cut(rest, "(")
	if !ok || class == "" {
		t.file.Warn(number, "not a module: %q", reading.Clip(text))
		return nil
	}
	if len(t.open) == 0 {
		t.file.Model.Name = class
	}
	if len(t.classes) < scan.MaxLayers {
		t.classes = append(t.classes, class)
	}
	if args == "" {
		if len(t.open) >= scan.MaxDepth {
			return fmt.Errorf("modules nest deeper than %d", scan.MaxDepth)
		}
		t.open = append(t.open, printed{name, class, repeat, len(t.file.Model.Layers)})
		return nil
	}
	return t.leaf(name, class, args, repeat)
}

func (t *printTree) leaf(name, class, text string, repeat int) error {
	args, count := strings.TrimSuffix(text, ")"), ""
	if digits, ok := strings.CutSuffix(text, " params"); ok {
		end := strings.LastIndex(digits, "), ")
		if end < 0 {
			return fmt.Errorf("no bracket before the count in %q", reading.Clip(text))
		}
		args, count = digits[:end], digits[end+3:]
	}
	a := parseArguments(args)
	l := profile.Layer{Name: t.path(name)}
	l.Kind, _ = draft.KindOfTorchClass(class)
	if l.Kind == profile.Activation { // a fused module, such as ConvReLU2d, is named after its last part
		switch {
		case a.named["in_features"] != "":
			l.Kind = profile.Linear
		case a.named["kernel_size"] != "" && len(a.plain) > 1:
			l.Kind = profile.Conv
		}
	}
	l.InPlace = draft.IsView(class) || a.named["inplace"] == "True"
	known := a.size(&l, class)
	if count != "" {
		n, err := scan.ParseCount(count)
		if err != nil {
			return err
		}
		l.Params, known = n, true
	}
	l.Unknown = profile.ActivationCounts
	if !known {
		l.Params, l.Unknown = 0, l.Unknown|profile.ParamCounts
		t.guessed++
	}
	t.tie(&l, name, a)
	first := len(t.file.Model.Layers)
	if err := t.file.Add(l); err != nil {
		return err
	}
	return t.repeat(first, repeat)
}

// tie remembers tables, and clears the weights of a head that reuses one.
func (t *printTree) tie(l *profile.Layer, name string, a arguments) {
	switch {
	case l.Kind == profile.Embedding && a.rows > 0:
		shape := [2]int64{a.rows, a.width}
		if t.table == nil {
			t.table, t.shared = map[[2]int64]bool{}, map[[2]int64]bool{}
		}
		t.table[shape] = true
		if name == "embed_tokens" && t.shared[shape] {
			l.Params = 0 // printed again where encoder and decoder use it
			t.again++
		}
		t.shared[shape] = t.shared[shape] || name == "shared"
	case l.Kind == profile.Linear && t.table[[2]int64{a.rows, a.width}] && l.Params >= scan.Mul(a.rows, a.width):
		switch ties(t.classes, name, a.width) {
		case separate:
			return
		case either:
			l.Params, l.Unknown = 0, l.Unknown|profile.ParamCounts
			t.maybe = l.Name
			return
		case shared:
		}
		l.Params -= scan.Mul(a.rows, a.width)
		t.tied = append(t.tied, l.Name)
	}
}

func (t *printTree) path(name string) string {
	var parts []string
	for _, p := range t.open[min(1, len(t.open)):] {
		parts = append(parts, p.name)
	}
	return strings.Join(append(parts, name), ".")
}

// close ends a container: "), N params" or ")".
func (t *printTree) close(number int, text string) error {
	c := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	n, counted := int64(0), false
	if digits, ok := strings.CutSuffix(strings.TrimPrefix(text, "), "), " params"); ok && digits != text {
		var err error
		if n, err = scan.ParseCount(digits); err != nil {
			return err
		}
		counted = true
	}
	if err := errors.Join(t.attention(&c, n, counted), t.repeat(c.first, c.repeat)); err != nil || !counted {
		return err
	}
	if len(t.open) == 0 {
		t.file.TotalParams = profile.Some(n)
	} else if own := (profile.Model{Layers: t.file.Model.Layers[c.first:]}).Params(); n < own {
		t.file.Warn(number, "the modules inside add up to %d parameters, the text says %d", own, n)
	}
	return nil
}

// attention adds what MultiheadAttention holds besides the output projection
// that is printed inside: the projections of queries, keys and values, as one
// matrix that is no module. Its size is what the count leaves over, or else three
// times that of the output projection, unknown where that one is.
func (t *printTree) attention(c *printed, count int64, counted bool) error {
	inside := t.file.Model.Layers[c.first:]
	if c.class != "MultiheadAttention" || len(inside) != 1 || inside[0].Kind != profile.Linear {
		return nil
	}
	out := inside[0]
	in := profile.Layer{
		Name: t.path(c.name) + ".in_proj", Kind: profile.Attention, Neurons: scan.Mul(3, out.Neurons), Params: scan.Mul(3, out.Params), Unknown: out.Unknown,
	}
	if counted {
		in.Params = max(0, count-out.Params)
	}
	return t.file.Add(in)
}

// repeat writes the leaves from first on out a number of times.
func (t *printTree) repeat(first, times int) error {
	block := t.file.Model.Layers[first:]
	if len(block) == 0 {
		return nil // however often
	}
	for range times - 1 {
		for _, l := range block {
			if err := t.file.Add(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// classify says what kind of network the classes tell, and freezes what adapters
// leave frozen.
func (t *printTree) classify() {
	f := t.file
	f.Model.Architecture = f.Model.Name
	f.Model.Family = draft.FamilyOfClasses(f.Model.Name, slices.Values(t.classes))
	f.FreezeBesideAdapters()
}

func (t *printTree) finish() {
	f := t.file
	t.classify()
	f.Warn(0, "print(model) tells no activations: they are unknown")
	if len(t.tied) > 0 {
		f.Warn(0, "%s has the shape of the embedding and counts as tied to it: its weights are counted once", strings.Join(t.tied[:1], ""))
	}
	if t.maybe != "" {
		f.Warn(0, "%s has the shape of the embedding, and print(model) does not tell whether it shares its weights: its parameters are unknown", t.maybe)
	}
	if t.again > 0 {
		f.Warn(0, "the shared embedding is printed %d more times; its weights are counted once", t.again)
	}
	if t.guessed > 0 {
		f.Warn(0, "%d modules tell no parameters: theirs are unknown", t.guessed)
	}
	if len(t.open) > 0 {
		f.Warn(0, "the text ends inside %d modules: it may be cut off", len(t.open))
	}
	if total, ok := f.TotalParams.Get(); ok && total != f.Model.Params() {
		f.Warn(0, "the leaves, each once, hold %d parameters, the text says %d", f.Model.Params(), total)
	}
}
