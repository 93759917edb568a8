package modelfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/profile/modelfile/internal/scan"
)

// TestRecognised: a format is told by what it alone has, and what none has is no format.
func TestRecognised(t *testing.T) {
	const gpt = `"model_type":"gpt2","n_embd":8,"n_head":2,"n_layer":1,"vocab_size":10,"n_positions":4`
	for name, c := range map[string]struct {
		text string
		want Format // UnknownFormat is an error that wraps ErrFormat
	}{
		"a configuration with the word of another": {`{"class_name":"GPT2Model",` + gpt + `}`, HuggingFace},
		"a configuration with a config inside":     {`{"config":{"a":1},` + gpt + `}`, HuggingFace},
		"a configuration behind a mark":            {"\xef\xbb\xbf \n{" + gpt + `}`, HuggingFace},
		"a text with a colon":                      {"epoch 1: loss 0.5", UnknownFormat},
		"a number and nothing else":                {"\x08\x07", UnknownFormat},
		"a number and a text without a graph":      {"\x08\x07\x12\x03abc", UnknownFormat},
		"a schema without operations":              {"\x08\x01\x12\x03abc", UnknownFormat},
		"the word of an operation":                 {"there is a NoOp here", UnknownFormat},
		"a path and more":                          {"../models/net.txt is read", UnknownFormat},
		"a table of Keras without a name":          {" Layer (type)    Output Shape    Param #\n a (Dense)       (None, 2)       4\n", KerasSummary},
		"zeros":                                    {strings.Repeat("\x00", 40), UnknownFormat},
	} {
		f, err := readText(c.text)
		switch {
		case c.want == UnknownFormat:
			if !errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "a TensorFlow") {
				t.Errorf("%s: got %v, want ErrFormat", name, err)
			}
		case err != nil || f.Format != c.want:
			t.Errorf("%s: got %v, %v, want %v", name, f, err, c.want)
		}
	}
	if _, err := readText("\xff\x00\x00\x00\x01\x00\x00\x00{"); err == nil || !strings.Contains(err.Error(), "safetensors: offset 0: a header of 4294967551 bytes") {
		t.Errorf("the beginning of weights: %v", err)
	}
	for f, want := range map[Format]string{-1: "unknown", UnknownFormat: "unknown", KerasSummary: "keras summary", KerasSummary + 1: "unknown"} {
		if got := f.String(); got != want {
			t.Errorf("format %d is called %q, want %q", int(f), got, want)
		}
	}
	for line, want := range map[int]string{0: "text", 1: "line 1: text", 12: "line 12: text"} {
		if got := (Warning{Line: line, Text: "text"}).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestBrokenReaders: what a reader fails with is told, wherever it fails.
func TestBrokenReaders(t *testing.T) {
	for name, r := range map[string]func() error{
		"from the start": func() error { _, err := Read(brokenReader{}, nil); return err },
		"in a document":  func() error { _, err := readAs(HuggingFace)(brokenReader{}, nil); return err },
		"in an archive":  func() error { _, err := readAs(Keras)(brokenReader{}, nil); return err },
		"in wide text":   func() error { _, err := Read(after("\xff\xfe{\x00"), nil); return err },
	} {
		if err := r(); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v, want the reader's error", name, err)
		}
	}
}

// afterReader fails after a text.
type afterReader struct{ *strings.Reader }

func after(text string) afterReader { return afterReader{strings.NewReader(text)} }

func (r afterReader) Read(p []byte) (int, error) {
	if r.Len() == 0 {
		return 0, errBroken
	}
	return r.Reader.Read(p)
}

// TestFilesAreClosed: what was opened is closed, shards beside an index too.
func TestFilesAreClosed(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"index.json": []byte(`{"weight_map": {"a.weight": "s"}}`), "s": safetensors([]weight{{"a.weight", []int64{2, 3}}})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "index.json"), nil); err != nil {
		t.Fatal(err)
	}
	open, _ := filepath.Glob("/proc/self/fd/*") // Linux has it
	for _, name := range open {
		if at, err := os.Readlink(name); err == nil && strings.HasPrefix(at, dir) {
			t.Errorf("%s is still open", at)
		}
	}
}

// readAs reads a file as one of a format, whatever it begins with.
func readAs(f Format) func(io.Reader, *Options) (*File, error) {
	return func(r io.Reader, o *Options) (*File, error) {
		file, err := f.read(scan.NewInput(r), o)
		if err != nil {
			err = fmt.Errorf("modelfile: %w", err)
		}
		return file, err
	}
}
