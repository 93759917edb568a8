package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func readSafetensors(in *input, _ *Options) (*File, error) {
	f := &File{}
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
func safetensorsHeader(in *input, t *tensors) error {
	n, err := in.number(8)
	if err != nil {
		return err
	}
	if n > uint64(MaxText) {
		return fmt.Errorf("offset 0: a header of %d bytes, at most %d are allowed", n, MaxText)
	}
	dec := json.NewDecoder(io.LimitReader(in, int64(n)))
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("offset 8: %w", noEOF(err))
	}
	if tok != json.Delim('{') {
		return errors.New("offset 8: the header is no JSON object")
	}
	for dec.More() {
		if err := safetensorsEntry(dec, t); err != nil {
			return fmt.Errorf("offset %d: %w", 8+dec.InputOffset(), noEOF(err))
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("offset %d: %w", 8+dec.InputOffset(), noEOF(err))
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
		return fmt.Errorf("tensor %q: %w", clip(name), err)
	}
	if err := checkShape(entry.Shape); err != nil {
		return fmt.Errorf("tensor %q: %w", clip(name), err)
	}
	float := strings.HasPrefix(entry.Type, "F") || strings.HasPrefix(entry.Type, "BF")
	if err := t.add(name, entry.Shape, float); err != nil {
		return fmt.Errorf("tensor %q: %w", clip(name), err)
	}
	return nil
}

func checkShape(shape []int64) error {
	if len(shape) > maxRank {
		return fmt.Errorf("a shape of %d dimensions, at most %d are allowed", len(shape), maxRank)
	}
	for _, d := range shape {
		if d < 0 || d > maxDim {
			return fmt.Errorf("a dimension of %d", d)
		}
	}
	return nil
}

// readSafetensorsIndex reads model.safetensors.index.json and the headers of
// the shards that stand beside it.
func readSafetensorsIndex(in *input, _ *Options) (*File, error) {
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	data, err := readText(in)
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
	if in.path == "" {
		return nil, fmt.Errorf("the index names %d shards beside it: use ReadFile", len(shards))
	}
	f := &File{}
	t := newTensors(f)
	for _, name := range shards {
		if filepath.Base(name) != name || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("shard %q is not a name beside the index", clip(name))
		}
		if err := readShard(filepath.Join(filepath.Dir(in.path), name), t); err != nil {
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
	shard, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = shard.Close() }() // read only: nothing is lost
	return safetensorsHeader(newInput(shard), t)
}
