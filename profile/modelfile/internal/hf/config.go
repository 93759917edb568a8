package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// config is a decoded config.json. Readers of its fields collect faults, so
// that a description runs to its end and all faults are told at once.
type config struct {
	modelType string
	path      string // of the file; "" is unknown
	fields    map[string]json.RawMessage
	faults    []error
}

func decodeConfig(r *scan.Input) (*config, error) {
	data, err := scan.Document(r)
	if err != nil {
		return nil, err
	}
	c := &config{path: r.Path}
	data = withoutInfinities(data)
	if err := json.Unmarshal(data, &c.fields); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := 1 + bytes.Count(data[:min(syntax.Offset, int64(len(data)))], []byte("\n"))
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		return nil, err
	}
	c.modelType = c.text("model_type")
	return c, nil
}

// withoutInfinities replaces what Python writes for numbers that JSON has not.
func withoutInfinities(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	out := make([]byte, 0, len(data))
	quoted := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case quoted && b == '\\' && i+1 < len(data):
			out = append(out, b)
			i++
		case b == '"':
			quoted = !quoted
		case !quoted && bytes.HasPrefix(data[i:], []byte("Infinity")):
			out = append(out, "1e308"...)
			i += len("Infinity") - 1
			continue
		case !quoted && bytes.HasPrefix(data[i:], []byte("NaN")):
			out = append(out, "null"...)
			i += len("NaN") - 1
			continue
		}
		out = append(out, data[i])
	}
	return out
}

// has says whether one of the keys is set to something other than null.
func (c *config) has(keys ...string) bool {
	_, ok := c.find(keys)
	return ok
}

func (c *config) find(keys []string) (json.RawMessage, bool) {
	for _, key := range keys {
		if raw, ok := c.fields[key]; ok && string(raw) != "null" {
			return raw, true
		}
	}
	return nil, false
}

// find1 returns one field, or nil.
func (c *config) find1(key string) json.RawMessage {
	raw, _ := c.find([]string{key})
	return raw
}

// text returns a string field, or "" where it is none.
func (c *config) text(key string) string {
	var s string
	if raw, ok := c.fields[key]; !ok || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// flag returns a boolean field, or missing where there is none.
func (c *config) flag(key string, missing bool) bool {
	raw, ok := c.find([]string{key})
	if !ok {
		return missing
	}
	var v bool
	if err := json.Unmarshal(raw, &v); err != nil {
		c.faults = append(c.faults, fmt.Errorf("%s is %s, want true or false", key, reading.Clip(string(raw))))
	}
	return v
}

// positive reports whether a numeric field is above 0.
func (c *config) positive(missing bool, keys ...string) bool {
	raw, ok := c.find(keys)
	if !ok {
		return missing
	}
	var v float64
	return json.Unmarshal(raw, &v) == nil && v > 0
}

// need returns the count under the first key that is set; none is a fault.
func (c *config) need(keys ...string) int64 {
	if !c.has(keys...) {
		c.faults = append(c.faults, fmt.Errorf("%s is missing", keys[0]))
		return 1
	}
	return c.count(1, keys...)
}

// count returns the count under the first key that is set, or missing.
func (c *config) count(missing int64, keys ...string) int64 {
	raw, ok := c.find(keys)
	if !ok {
		return missing
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil || n < 1 || n > maxConfig {
		c.faults = append(c.faults, fmt.Errorf("%s is %s, want a whole number from 1 to %d", keys[0], reading.Clip(string(raw)), int64(maxConfig)))
		return 1
	}
	return n
}

// count0 is count for a field that may also be 0, which is its default.
func (c *config) count0(key string) int64 {
	if string(c.find1(key)) == "0" {
		return 0
	}
	return c.count(0, key)
}

// list returns a list of numbers, or nil.
func (c *config) list(key string) (numbers []int64) {
	if raw := c.find1(key); raw != nil && json.Unmarshal(raw, &numbers) != nil {
		c.faults = append(c.faults, fmt.Errorf("%s is %s, want a list of whole numbers", key, reading.Clip(string(raw))))
	}
	return numbers
}

// classes is the number of labels of a classifier; the library's default is 2.
func (c *config) classes() int64 {
	var names map[string]json.RawMessage
	_ = json.Unmarshal(c.find1("id2label"), &names) // or there are none
	if len(names) > 0 {
		return int64(len(names))
	}
	return c.count(2, "num_labels")
}

// depth returns a number of blocks.
func (c *config) depth(keys ...string) int {
	n := c.need(keys...)
	if n > maxBlocks {
		c.faults = append(c.faults, fmt.Errorf("%s is %d, want at most %d", keys[0], n, maxBlocks))
		return 1
	}
	return int(n)
}

// depthOr is depth for a field with a default.
func (c *config) depthOr(missing int, key string) int {
	if !c.has(key) {
		return missing
	}
	return c.depth(key)
}

const (
	maxConfig = 1 << 31 // largest number in a config.json
	maxBlocks = 4096    // most blocks in one stack
)
