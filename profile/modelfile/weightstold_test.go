package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"testing"
)

// TestWeightsTold: what names and shapes of weights tell, in the order of the file.
func TestWeightsTold(t *testing.T) {
	const silent = "\n! a file of weights tells no activations: they are unknown; a config.json tells them"
	check(t, readText, []sample{
		{"a bias tells the outputs, before or after the weight", string(ggufFile([]weight{
			{"a.weight", []int64{16, 8}}, {"a.bias", []int64{8}}, {"b.bias", []int64{8}}, {"b.weight", []int64{16, 8}}, {"c.bias", []int64{3}}, {"c.scale", []int64{7}},
		})), `
gguf "made up", total 282
a: linear units 8 params 136 without activations
b: linear units 8 params 136 without activations
c: other units 3 params 10 without activations` + silent},
		{"matrices that are not called weight, and experts in one tensor", string(ggufFile([]weight{
			{"attn.in_proj_weight", []int64{12, 4}}, {"mlp.experts.gate_up_proj", []int64{8, 4, 6}}, {"mlp.gate.e_score", []int64{8, 2, 2}}, {"conv.weight", []int64{8, 2, 3}}, {"alone", []int64{5}},
		})), `
gguf "made up", transformer, total 325
attn: linear units 12 params 48 without activations
mlp.experts: linear units 8 params 192 without activations
mlp.gate: other params 32 without activations
conv: conv units 8 params 48 without activations
alone: other params 5 without activations` + silent},
		{"a tied output, and what is not trained", string(ggufFile([]weight{
			{"token_embd.weight", []int64{10, 4}}, {"rope_freqs.weight", []int64{2}}, {"blk.0.attn.bias", []int64{1, 1, 5, 5}}, {"output_norm.weight", []int64{4}},
		})), `
gguf "made up", total 71
token_embd: embedding units 4 params 40 without activations
output_norm: norm params 4 without activations
! no output tensor: the output is tied to the token embedding and counted once` + silent + `
! 2 tensors that are not trained (statistics, masks, indices) are left out`},
		{"the most dimensions", string(ggufFile([]weight{{"a.weight", []int64{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}})), `
gguf "made up", total 2
a: conv units 2 params 2 without activations` + silent},
	})
}

// TestSafetensorsOffsets: an error tells the offset in the file.
func TestSafetensorsOffsets(t *testing.T) {
	for header, want := range map[string]string{
		``:                                   "modelfile: safetensors: offset 8: unexpected EOF",
		`[1]`:                                "modelfile: safetensors: offset 8: the header is no JSON object",
		`{"a":{"dtype":"F32","shape":[-1]}}`: `modelfile: safetensors: offset 41: tensor "a": a dimension of -1`,
		`{"a":{"dtype":"F32","shape":[1]}`:   "modelfile: safetensors: offset 40: unexpected EOF",
		`{"a":{"dtype":"F32","shape":"1"}}`:  `modelfile: safetensors: offset 40: tensor "a": json: cannot unmarshal string into Go struct field .shape of type []int64`,
	} {
		_, err := readAs(Safetensors)(bytes.NewReader(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)), nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", header, err, want)
		}
	}
}

// TestIndexTold: the shards beside an index are read as one file.
func TestIndexTold(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	index := map[string]string{}
	for shard, w := range map[string]weight{"s1": {"a.weight", []int64{2, 3}}, "s2": {"a.bias", []int64{2}}} {
		index[w.name] = shard
		if err := os.WriteFile(shard, safetensors([]weight{w}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) (*File, error) {
		if err := os.WriteFile("index.json", []byte(text), 0o600); err != nil {
			return nil, err
		}
		return ReadFile("index.json", nil)
	}
	check(t, read, []sample{
		{"two shards", string(text), `
safetensors index "index", total 8
a: linear units 2 params 8 without activations
! a file of weights tells no activations: they are unknown; a config.json tells them`},
		{"none", `{"weight_map": {}}`, `modelfile: index.json: safetensors index: the index names no parameter`},
		{"a shard elsewhere", `{"weight_map": {"a": "../s1"}}`, `modelfile: index.json: safetensors index: shard "../s1" is not a name beside the index`},
		{"a folder, or a pipe", `{"weight_map": {"a": "folder"}}`, `modelfile: index.json: safetensors index: shard folder: open folder: invalid argument`},
		{"the folder", `{"weight_map": {"a": ".."}}`, `modelfile: index.json: safetensors index: shard ".." is not a name beside the index`},
	})
}

// TestWeightsCut: a file that is cut off anywhere is refused, in a file and in a stream.
func TestWeightsCut(t *testing.T) {
	list := []weight{{"a.weight", []int64{16, 8}}, {"a.bias", []int64{16}}}
	for name, whole := range map[string][]byte{"gguf": ggufFile(list), "safetensors": safetensors(list)} {
		for n := range len(whole) {
			_, err := Read(bytes.NewReader(whole[:n]), nil)
			_, streamed := Read(io.MultiReader(bytes.NewReader(whole[:n])), nil)
			if err == nil || streamed == nil {
				t.Errorf("%s: %d of %d bytes: %v, as a stream %v", name, n, len(whole), err, streamed)
			}
		}
	}
	kind := binary.LittleEndian.AppendUint32(append(binary.LittleEndian.AppendUint64(nil, 1), 'k'), 13)
	head := append(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte("GGUF\x03\x00\x00\x00"), 1), 1), kind...)
	if _, err := readAs(GGUF)(bytes.NewReader(head), nil); err == nil || err.Error() != `modelfile: gguf: metadata "k": offset 37: value type 13 is not known` {
		t.Errorf("a value of an unknown type: %v", err)
	}
}
