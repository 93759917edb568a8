package pretrained_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/predict/utilization"
)

// TestLoadersRefuseEachOther: a file of one kind is none of another, and a file
// cut short is none at all.
func TestLoadersRefuseEachOther(t *testing.T) {
	names := []string{"memory.json", "interference.json", "utilization.json", "mig.json"}
	loaders := []func(io.Reader) error{
		func(r io.Reader) error { _, err := memory.Load(r); return err },
		func(r io.Reader) error { _, err := interference.Load(r); return err },
		func(r io.Reader) error { _, err := utilization.Load(r); return err },
		func(r io.Reader) error { _, err := pace.LoadMIGSpeed(r); return err },
		func(r io.Reader) error { _, err := pace.LoadMPSProbe(r); return err },
	}
	for i, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for j, load := range loaders {
			if err := load(bytes.NewReader(file)); (err == nil) != (i == j) {
				t.Errorf("%s by loader %d: %v", name, j, err)
			}
		}
		var syntax *json.SyntaxError
		if err := loaders[i](bytes.NewReader(file[:len(file)/2])); err == nil || (!errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("half of %s: %v", name, err)
		}
	}
}
