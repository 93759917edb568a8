package modelfile

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// wide writes text as PowerShell does.
func wide(text string, order binary.AppendByteOrder) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestUTF16(t *testing.T) {
	config := `{"model_type":"gpt2","n_embd":8,"n_head":2,"n_layer":1,"vocab_size":10,"n_positions":4}`
	tree := infoTable(infoHead, "Net                                   [2, 10]                   --\n"+
		"├─Linear: 1-1                         [2, 10]                   110\n", "Total params: 110\n")
	for _, text := range []string{config, tree} {
		want, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			f, err := Read(strings.NewReader(wide(text, order)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Format != want.Format || f.Model.Params() != want.Model.Params() || f.Model.Params() == 0 {
				t.Errorf("%v: %v, %d parameters, want %v, %d", order, f.Format, f.Model.Params(), want.Format, want.Model.Params())
			}
		}
	}
	if _, err := Read(strings.NewReader("\xff\xfe"), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("a mark alone: %v", err)
	}
}

// TestForeign names what people have and nobody here can read.
func TestForeign(t *testing.T) {
	checkpoint := string(archive(t, "archive/data.pkl", strings.NewReader("x")))
	for text, want := range map[string]string{
		"":                            "the file is empty",
		"../../blobs/0123abcd":        "a symbolic link",
		"version https://git-lfs.x\n": "a Git LFS pointer",
		"\x89HDF\r\n\x1a\n\x00":       "HDF5",
		"\x80\x02}":                   "a Python pickle",
		"\x1c\x00\x00\x00TFL3\x00":    "TensorFlow Lite",
		"\x08\x01\x12\x05NoOp":        "a TensorFlow SavedModel",
		checkpoint:                    "a checkpoint of PyTorch",
	} {
		if _, err := Read(strings.NewReader(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text[:min(len(text), 20)], err, want)
		}
	}
}
