package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/internal/regular"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/draft"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// ReadSafetensors reads the header of a safetensors file.
func ReadSafetensors(in *scan.Input) (*draft.Draft, error) {
	f := &draft.Draft{}
	t := newTensors(f)
	if err := safetensorsHeader(in, t); err != nil {
		return nil, err
	}
	if len(f.Model.Layers) == 0 {
		return nil, errors.New("the header names no parameter")
	}
	t.finish()
	return f, nil
}

// safetensorsHeader reads the JSON object {"name": {"dtype", "shape", ...}} one
// entry at a time.
func safetensorsHeader(in *scan.Input, t *tensors) error {
	n, err := in.Number(8)
	if err != nil {
		return err
	}
	if n > uint64(scan.MaxText) {
		return fmt.Errorf("offset 0: a header of %d bytes, at most %d are allowed", n, scan.MaxText)
	}
	dec := json.NewDecoder(io.LimitReader(in, int64(n)))
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("offset 8: %w", reading.NoEOF(err))
	}
	if tok != json.Delim('{') {
		return errors.New("offset 8: the header is no JSON object")
	}
	for dec.More() {
		if err := safetensorsEntry(dec, t); err != nil {
			return fmt.Errorf("offset %d: %w", 8+dec.InputOffset(), reading.NoEOF(err))
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("offset %d: %w", 8+dec.InputOffset(), reading.NoEOF(err))
	}
	return nil
}

func safetensorsEntry(dec *json.Decoder, t *tensors) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	name, ok := tok.(string)
	if !ok {
		return fmt.Errorf("%v is no name", tok)
	}
	if name == "__metadata__" {
		return dec.Decode(new(struct{}))
	}
	var entry struct {
		Type  string  `json:"dtype"`
		Shape []int64 `json:"shape"`
	}
	if err := dec.Decode(&entry); err != nil {
		return fmt.Errorf("tensor %q: %w", reading.Clip(name), err)
	}
	if err := scan.CheckShape(entry.Shape); err != nil {
		return fmt.Errorf("tensor %q: %w", reading.Clip(name), err)
	}
	float := strings.HasPrefix(entry.Type, "F") || strings.HasPrefix(entry.Type, "BF")
	if err := t.add(name, entry.Shape, float); err != nil {
		return fmt.Errorf("tensor %q: %w", reading.Clip(name), err)
	}
	return nil
}

// ReadIndex reads model.safetensors.index.json and the headers of
// the shards that stand beside it.
func ReadIndex(in *scan.Input) (*draft.Draft, error) {
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	data, err := scan.Document(in)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	var shards []string
	for _, name := range index.Weights {
		shards = append(shards, name)
	}
	slices.Sort(shards)
	shards = slices.Compact(shards)
	if in.Path == "" {
		return nil, fmt.Errorf("the index names %d shards beside it: use ReadFile", len(shards))
	}
	f := &draft.Draft{}
	t := newTensors(f)
	for _, name := range shards {
		if filepath.Base(name) != name || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("shard %q is not a name beside the index", reading.Clip(name))
		}
		if err := readShard(filepath.Join(filepath.Dir(in.Path), name), t); err != nil {
			return nil, fmt.Errorf("shard %s: %w", name, err)
		}
	}
	if len(f.Model.Layers) == 0 {
		return nil, errors.New("the index names no parameter")
	}
	t.finish()
	return f, nil
}

func readShard(path string, t *tensors) error {
	shard, err := regular.Found(path)
	if err != nil {
		return err
	}
	defer func() { _ = shard.Close() }() // read only: nothing is lost
	return safetensorsHeader(scan.NewInput(shard), t)
}

const (
	maxGGUFKeys   = 1 << 20
	maxGGUFString = 1 << 16
)

type gguf struct {
	in   *scan.Input
	file *draft.Draft
}

// ReadGGUF reads the head of a GGUF file.
func ReadGGUF(in *scan.Input) (*draft.Draft, error) {
	g := &gguf{in: in, file: &draft.Draft{}}
	var head [4]uint64 // magic, version, tensors, metadata
	for i, width := range []int{4, 4, 8, 8} {
		n, err := in.Number(width)
		if err != nil {
			return nil, err
		}
		head[i] = n
		if i == 1 && n != 2 && n != 3 {
			return nil, fmt.Errorf("offset 4: version %d; 2 and 3 are read, little-endian only", n)
		}
	}
	if head[2] > uint64(scan.MaxLayers) || head[3] > maxGGUFKeys {
		return nil, fmt.Errorf("offset 8: %d tensors and %d metadata entries, at most %d and %d are allowed",
			head[2], head[3], scan.MaxLayers, maxGGUFKeys)
	}
	for range head[3] {
		if err := g.entry(); err != nil {
			return nil, err
		}
	}
	t := newTensors(g.file)
	for range head[2] {
		if err := g.tensor(t); err != nil {
			return nil, err
		}
	}
	if len(g.file.Model.Layers) == 0 {
		return nil, errors.New("the file names no parameter")
	}
	_, embeds := t.index["token_embd"]
	if _, projects := t.index["output"]; embeds && !projects {
		g.file.Warn(0, "no output tensor: the output is tied to the token embedding and counted once")
	}
	t.finish()
	return g.file, nil
}

func (g *gguf) text() (string, error) {
	n, err := g.in.Number(8)
	if err != nil {
		return "", err
	}
	b, err := g.in.Bytes(n, maxGGUFString)
	return string(b), err
}

// entry reads one key of the metadata with its value.
func (g *gguf) entry() error {
	key, err := g.text()
	if err != nil {
		return err
	}
	kind, err := g.in.Number(4)
	if err != nil {
		return err
	}
	if key == "general.name" && kind == ggufString {
		g.file.Model.Name, err = g.text()
		return err
	}
	if err := g.skip(kind, 0); err != nil {
		return fmt.Errorf("metadata %q: %w", reading.Clip(key), err)
	}
	return nil
}

const (
	ggufString = 8
	ggufArray  = 9
)

// ggufWidths are the sizes of the value types; strings and arrays have none.
//
//nolint:gochecknoglobals // read-only table
var ggufWidths = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// skip passes over one value.
func (g *gguf) skip(kind uint64, depth int) error {
	switch {
	case kind >= uint64(len(ggufWidths)):
		return fmt.Errorf("offset %d: value type %d is not known", g.in.Offset, kind)
	case kind == ggufString:
		n, err := g.in.Number(8)
		if err != nil {
			return err
		}
		return g.in.Skip(int64(min(n, 1<<62)))
	case kind != ggufArray:
		return g.in.Skip(ggufWidths[kind])
	case depth >= scan.MaxDepth:
		return fmt.Errorf("offset %d: arrays nest deeper than %d", g.in.Offset, scan.MaxDepth)
	}
	element, err := g.in.Number(4)
	if err != nil {
		return err
	}
	n, err := g.in.Number(8)
	if err != nil {
		return err
	}
	if element < uint64(len(ggufWidths)) && ggufWidths[element] > 0 {
		return g.in.Skip(scan.Mul(int64(min(n, 1<<62)), ggufWidths[element]))
	}
	for range n { // ends with the file: each element takes at least eight bytes
		if err := g.skip(element, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// tensor reads one tensor's name, shape, type and offset.
func (g *gguf) tensor(t *tensors) error {
	start := g.in.Offset
	name, err := g.text()
	if err != nil {
		return err
	}
	rank, err := g.in.Number(4)
	if err != nil {
		return err
	}
	if rank > scan.MaxRank {
		return fmt.Errorf("offset %d: tensor %q has %d dimensions, at most %d are allowed", start, reading.Clip(name), rank, scan.MaxRank)
	}
	shape := make([]int64, rank)
	for i := range shape {
		n, err := g.in.Number(8)
		if err != nil {
			return err
		}
		shape[i] = int64(min(n, scan.MaxDim+1))
	}
	kind, err := g.in.Number(4)
	if err != nil {
		return err
	}
	if _, err := g.in.Number(8); err != nil {
		return err
	}
	slices.Reverse(shape) // the file has the fastest dimension first
	err = scan.CheckShape(shape)
	if err == nil {
		err = t.add(name, shape, kind < 24 || kind > 27) // 24 to 27 are integers
	}
	if err != nil {
		return fmt.Errorf("offset %d: tensor %q: %w", start, reading.Clip(name), err)
	}
	return nil
}
