package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/modelfile/internal/scan"
)

// weight is one named tensor of a made file.
type weight struct {
	name  string
	shape []int64
}

// gpt2Weights are the tensors of GPT-2, with the masks that its file holds.
const (
	ggufString = 8
	ggufArray  = 9
)

func gpt2Weights(layers int) []weight {
	const width = 768
	list := []weight{{"wte.weight", []int64{50257, width}}, {"wpe.weight", []int64{1024, width}}}
	for i := range layers {
		h := fmt.Sprintf("h.%d.", i)
		list = append(list, weight{h + "attn.bias", []int64{1, 1, 1024, 1024}})
		for _, norm := range []string{"ln_1", "ln_2"} {
			list = append(list, weight{h + norm + ".weight", []int64{width}}, weight{h + norm + ".bias", []int64{width}})
		}
		for _, d := range []struct {
			name    string
			in, out int64
		}{{"attn.c_attn", width, 3 * width}, {"attn.c_proj", width, width}, {"mlp.c_fc", width, 4 * width}, {"mlp.c_proj", 4 * width, width}} {
			list = append(list, weight{h + d.name + ".weight", []int64{d.in, d.out}}, weight{h + d.name + ".bias", []int64{d.out}})
		}
	}
	return append(list, weight{"ln_f.weight", []int64{width}}, weight{"ln_f.bias", []int64{width}})
}

// safetensors makes the head of a file; no data follows.
func safetensors(list []weight) []byte {
	entries := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	end := int64(0)
	for _, w := range list {
		start := end
		end += 4 * scan.Mul(w.shape...)
		entries[w.name] = map[string]any{"dtype": "F32", "shape": w.shape, "data_offsets": []int64{start, end}}
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
}

func TestSafetensorsGPT2(t *testing.T) {
	f, err := Read(bytes.NewReader(safetensors(gpt2Weights(12))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != Safetensors || f.Model.Params() != 124_439_808 || f.TotalParams.Or(0) != 124_439_808+12*1024*1024 {
		t.Errorf("got %v, %d parameters, %v in all", f.Format, f.Model.Params(), f.TotalParams)
	}
	got := map[profile.LayerKind]int{}
	for _, l := range f.Model.Layers {
		got[l.Kind]++
		if l.Name == "h.0.mlp.c_fc" && l.Neurons != 3072 { // [in, out], which only the bias tells
			t.Errorf("c_fc has %d neurons", l.Neurons)
		}
	}
	if want := map[profile.LayerKind]int{profile.Embedding: 2, profile.Linear: 48, profile.Norm: 25}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSafetensorsKinds(t *testing.T) {
	f, err := readAs(Safetensors)(bytes.NewReader(safetensors([]weight{
		{"conv1.weight", []int64{64, 3, 7, 7}},
		{"bn1.weight", []int64{64}},
		{"bn1.bias", []int64{64}},
		{"bn1.running_mean", []int64{64}},
		{"cls_token", []int64{1, 1, 8}},
		{"model.embed_tokens.weight", []int64{100, 8}},
		{"model.layers.0.self_attn.q_proj.weight", []int64{16, 8}},
	})), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]profile.Layer{
		"bn1":                             {Kind: profile.Norm, Params: 128},
		"cls_token":                       {Params: 8},
		"conv1":                           {Kind: profile.Conv, Params: 9408, Neurons: 64},
		"model.embed_tokens":              {Kind: profile.Embedding, Params: 800, Neurons: 8},
		"model.layers.0.self_attn.q_proj": {Kind: profile.Linear, Params: 128, Neurons: 16},
	}
	got := map[string]profile.Layer{}
	for _, l := range f.Model.Layers {
		name := l.Name
		if l.Unknown != profile.ActivationCounts {
			t.Errorf("%s: unknown are %v, want the activations", name, l.Unknown)
		}
		l.Name, l.Unknown = "", 0
		got[name] = l
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(profile.Opt[int64]{})); diff != "" {
		t.Error(diff)
	}
}

func TestSafetensorsIndex(t *testing.T) {
	dir := t.TempDir()
	list := gpt2Weights(2)
	half := len(list) / 2
	index := map[string]string{}
	for i, part := range [][]weight{list[:half], list[half:]} {
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", i+1)
		for _, w := range part {
			index[w.name] = name
		}
		if err := os.WriteFile(filepath.Join(dir, name), safetensors(part), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, weights map[string]string) string {
		data, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": weights})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f, err := ReadFile(write("model.safetensors.index.json", index), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := readAs(Safetensors)(bytes.NewReader(safetensors(list)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != SafetensorsIndex || f.Model.Params() != want.Model.Params() || len(f.Model.Layers) != len(want.Model.Layers) {
		t.Errorf("got %v, %d in %d layers, want %d in %d", f.Format, f.Model.Params(), len(f.Model.Layers), want.Model.Params(), len(want.Model.Layers))
	}
	for name, shard := range map[string]string{"escape": "../x", "absolute": "/etc/passwd", "missing": "none.safetensors"} {
		if _, err := ReadFile(write(name, map[string]string{"w": shard}), nil); err == nil {
			t.Errorf("%s: shard %s was taken", name, shard)
		}
	}
	if _, err := Read(strings.NewReader(`{"weight_map": {"a": "b"}}`), nil); err == nil || !strings.Contains(err.Error(), "use ReadFile") {
		t.Errorf("got %v", err)
	}
}

func TestSafetensorsErrors(t *testing.T) {
	entry := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "unexpected EOF"},
		{"1 TB of header", append(binary.LittleEndian.AppendUint64(nil, 1<<40), '{'), "offset 0: a header of 1099511627776 bytes"},
		{"largest length", append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), '{'), "offset 0: a header"},
		{"cut off", safetensors(gpt2Weights(1))[:200], "unexpected EOF"},
		{"no object", entry(`[1]`), "no JSON object"},
		{"no tensors", entry(`{}`), "names no parameter"},
		{"a key of no text", entry(`{7:1}`), "invalid character '7'"},
		{"negative", entry(`{"a":{"dtype":"F32","shape":[-1]}}`), `tensor "a": a dimension of -1`},
		{"overflow", entry(`{"a":{"dtype":"F32","shape":[1000000000,1000000000]}}`), "want 0 to 1e15"},
		{"deep nesting", entry(`{"a":` + strings.Repeat("[", 1_000_000)), "exceeded max depth"},
		{"rank", entry(`{"a":{"dtype":"F32","shape":[` + strings.Repeat("1,", 99) + `1]}}`), "100 dimensions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readAs(Safetensors)(bytes.NewReader(c.data), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// ggufFile makes the head of a GGUF file.
func ggufFile(list []weight) []byte {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(list))), 4)
	b = text(le.AppendUint32(text(b, "general.name"), ggufString), "made up")
	b = le.AppendUint32(le.AppendUint32(text(b, "x.block_count"), 4), 12)
	b = le.AppendUint64(le.AppendUint32(le.AppendUint32(text(b, "tokens"), ggufArray), ggufString), 2)
	b = text(text(b, "a"), "bc")
	b = le.AppendUint64(le.AppendUint32(le.AppendUint32(text(b, "scores"), ggufArray), 6), 3)
	b = append(b, make([]byte, 12)...)
	for _, w := range list {
		b = le.AppendUint32(text(b, w.name), uint32(len(w.shape)))
		for _, d := range slices.Backward(w.shape) {
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint64(le.AppendUint32(b, 2), 0)
	}
	return b
}

// llamaGGUF are the tensors of Llama 3 8B.
func llamaGGUF() []weight {
	const width, inner, kv, vocab = 4096, 14336, 1024, 128256
	list := []weight{{"token_embd.weight", []int64{vocab, width}}}
	for i := range 32 {
		b := fmt.Sprintf("blk.%d.", i)
		list = append(list,
			weight{b + "attn_norm.weight", []int64{width}}, weight{b + "ffn_norm.weight", []int64{width}},
			weight{b + "attn_q.weight", []int64{width, width}}, weight{b + "attn_k.weight", []int64{kv, width}},
			weight{b + "attn_v.weight", []int64{kv, width}}, weight{b + "attn_output.weight", []int64{width, width}},
			weight{b + "ffn_gate.weight", []int64{inner, width}}, weight{b + "ffn_up.weight", []int64{inner, width}},
			weight{b + "ffn_down.weight", []int64{width, inner}})
	}
	return append(list, weight{"output_norm.weight", []int64{width}}, weight{"output.weight", []int64{vocab, width}}, weight{"rope_freqs.weight", []int64{64}})
}

func TestGGUF(t *testing.T) {
	f, err := Read(bytes.NewReader(ggufFile(llamaGGUF())), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != GGUF || f.Model.Name != "made up" || f.Model.Params() != 8_030_261_248 {
		t.Errorf("got %v %q, %d parameters", f.Format, f.Model.Name, f.Model.Params())
	}
	if first := f.Model.Layers[0]; first.Kind != profile.Embedding || first.Neurons != 4096 {
		t.Errorf("got %+v", first)
	}
}

func TestGGUFErrors(t *testing.T) {
	le := binary.LittleEndian
	good := ggufFile(llamaGGUF()[:3])
	head := func(version uint32, tensors, keys uint64, rest ...byte) []byte {
		return append(le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), version), tensors), keys), rest...)
	}
	// An array of arrays of arrays ...: 12 bytes a level.
	deep := le.AppendUint64(nil, 1)
	deep = le.AppendUint32(append(deep, 'k'), ggufArray)
	for range 1_000_000 {
		deep = le.AppendUint64(le.AppendUint32(deep, ggufArray), 1)
	}
	arrays := func(n int) []byte { // so many, one in the other, the innermost empty
		b := le.AppendUint32(append(le.AppendUint64(nil, 1), 'k'), ggufArray)
		for range n - 1 {
			b = le.AppendUint64(le.AppendUint32(b, ggufArray), 1)
		}
		return le.AppendUint64(le.AppendUint32(b, 4), 0)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"only magic", []byte("GGUF"), "unexpected EOF"},
		{"version 1", head(1, 0, 0), "offset 4: version 1"},
		{"big endian", []byte("GGUF\x00\x00\x00\x03"), "little-endian only"},
		{"too many tensors", head(3, 1<<40, 0), "offset 8: 1099511627776 tensors"},
		{"the most tensors", head(3, scan.MaxLayers, 0), "unexpected EOF"},
		{"one tensor more", head(3, scan.MaxLayers+1, 0), "offset 8: 262145 tensors"},
		{"arrays in arrays", head(3, 0, 1, arrays(64)...), "names no parameter"},
		{"arrays one deeper", head(3, 0, 1, arrays(65)...), "nest deeper than 64"},
		{"the most dimensions", ggufFile([]weight{{"a", slices.Repeat([]int64{1}, 17)}}), `tensor "a" has 17 dimensions, at most 16`},
		{"a dimension beyond any", ggufFile([]weight{{"a", []int64{1<<40 + 1}}}), `tensor "a": a dimension of 1099511627777`},
		{"too many keys", head(3, 0, 1<<40), "metadata entries"},
		{"1 TB key", head(3, 0, 1, le.AppendUint64(nil, 1<<40)...), "offset 32: a length of 1099511627776 bytes"},
		{"1 TB array", head(3, 0, 1, append(le.AppendUint32(append(le.AppendUint64(nil, 1), 'k'), ggufArray), le.AppendUint64(le.AppendUint32(nil, 4), 1<<40)...)...), "passes the end of the file"},
		{"deep nesting", head(3, 0, 1, deep...), "nest deeper than 64"},
		{"no tensors", head(3, 0, 0), "names no parameter"},
		{"cut off", good[:len(good)-5], "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readAs(GGUF)(bytes.NewReader(c.data), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// checkFile fails for a file that no reader may return.
func checkFile(t *testing.T, f *File) {
	t.Helper()
	for i, l := range f.Model.Layers {
		if err := l.Validate(); err != nil {
			t.Errorf("layer %d: %v", i, err)
		}
	}
	if len(f.Model.Layers) == 0 || len(f.Model.Layers) > scan.MaxLayers || len(f.Warnings) > reading.MaxWarnings+1 {
		t.Errorf("%d layers, %d warnings", len(f.Model.Layers), len(f.Warnings))
	}
}

func FuzzReadSafetensors(f *testing.F) {
	f.Add(safetensors(gpt2Weights(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(Safetensors)(bytes.NewReader(data), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func FuzzReadGGUF(f *testing.F) {
	f.Add(ggufFile(llamaGGUF()[:4]))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := readAs(GGUF)(bytes.NewReader(data), nil); err == nil {
			checkFile(t, file)
		}
	})
}

func ExampleRead_safetensors() {
	file := safetensors([]weight{{"fc.weight", []int64{10, 784}}, {"fc.bias", []int64{10}}})
	f, err := Read(bytes.NewReader(file), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l := f.Model.Layers[0]
	fmt.Println(l.Name, l.Kind, l.Neurons, l.Params)
	// Output: fc linear 10 7850
}

func ExampleRead_gGUF() {
	f, err := Read(bytes.NewReader(ggufFile(llamaGGUF())), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(f.Model.Layers), f.Model.Params())
	// Output: 291 8030261248
}

func BenchmarkReadSafetensors(b *testing.B) {
	data := safetensors(gpt2Weights(48))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAs(Safetensors)(bytes.NewReader(data), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadGGUF(b *testing.B) {
	data := ggufFile(llamaGGUF())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAs(GGUF)(bytes.NewReader(data), nil); err != nil {
			b.Fatal(err)
		}
	}
}
