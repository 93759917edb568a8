package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/colloc/profile"
)

// read decodes a recorded specification; a field that profile does not know is an
// error.
func read(t *testing.T, path string) profile.Spec {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s profile.Spec
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

// TestRecorded holds what colloc_export.py wrote of the networks of
// testdata/record.py, with torch 1.13 on a CPU, against counts made by hand.
func TestRecorded(t *testing.T) {
	const width, length, words = 32, 16, 100
	block := int64(width*3*width + 3*width + width*width + width) // one attention
	language := read(t, "testdata/language.json")
	m := language.Model
	if want := 2*block + words*width + length*width + 2*width; m.Params() != want || m.Trainable() != want-block {
		t.Errorf("%d parameters, %d trained, want %d and %d", m.Params(), m.Trainable(), want, want-block)
	}
	// Both products of both attentions, scores and mix; the norm; the tied head.
	work := 2*length*(block+2*length*width) + length*width + length*width*words
	if macs, ok := m.MACs(); macs != work || !ok {
		t.Errorf("%d multiply-adds (%t), want %d", macs, ok, work)
	}
	if m.Guess() != profile.Transformer || language.Dataset.SampleElements != profile.Some[int64](length) {
		t.Errorf("family %v, %v elements a sample", m.Guess(), language.Dataset.SampleElements)
	}
	if got := language.Training; got.BatchSize != 4 || got.Optimizer != profile.Adam || len(language.Warnings) != 1 {
		t.Errorf("training %+v, warnings %q", got, language.Warnings)
	}
	forward, backward := language.Traced.AfterForward.Or(0), language.Traced.AfterBackward.Or(0)
	if least := profile.Bytes(4 * m.Params()); forward <= least || backward <= forward {
		t.Errorf("%v after the forward pass, %v in the backward pass, parameters take %v", forward, backward, least)
	}

	images := read(t, "testdata/images.json")
	if want := int64(8*27 + 16 + 90); images.Model.Params() != want || images.Model.Guess() != profile.CNN {
		t.Errorf("%d parameters, want %d; family %v", images.Model.Params(), want, images.Model.Guess())
	}
	if macs, _ := images.Model.MACs(); macs != 256*8*27+256*8+90 {
		t.Errorf("%d multiply-adds", macs)
	}
	if got := images.Training; got.Optimizer != profile.Momentum || got.Precision != profile.Mixed {
		t.Errorf("training %+v", got)
	}
	if l := images.Model.Layers[2]; l.Kind != profile.Activation || !l.InPlace {
		t.Errorf("%+v, want a non-linearity in place", l)
	}
	for _, s := range []profile.Spec{language, images} {
		if _, err := profile.New(s, profile.Trace{}, profile.GPUModel{}); err != nil {
			t.Error(err)
		}
	}
}

// TestExport runs the exporter where COLLOC_TORCH names a Python that has torch
// 1.13, and compares with what is recorded:
//
//	COLLOC_TORCH=/usr/bin/python3 go test ./examples/export
func TestExport(t *testing.T) {
	python := os.Getenv("COLLOC_TORCH")
	if python == "" {
		t.Skip("COLLOC_TORCH names no Python with torch")
	}
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/record.py", folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"language.json", "images.json"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is recorded:\n%s", name, got)
		}
	}
}
