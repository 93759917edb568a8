package pretrained_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

func TestMemory(t *testing.T) {
	m, err := pretrained.Memory()
	if err != nil {
		t.Fatal(err)
	}
	p := m.Provenance()
	if p.Data == "" || p.License == "" || p.GPU == "" || p.Rows == 0 {
		t.Errorf("provenance is incomplete: %+v", p)
	}
	spec := profile.Spec{
		Model: profile.Model{Family: profile.CNN, Layers: []profile.Layer{
			{Name: "conv", Kind: profile.Conv, Neurons: 64, Params: 1792, Activations: 64 * 64 * 64},
			{Name: "relu", Kind: profile.Activation, Activations: 64 * 64 * 64},
		}},
		Training: profile.Training{BatchSize: 32},
	}
	e, err := m.Peak(&spec, predict.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Source.Kind != predict.Fitted || e.Value < float64(profile.GiB) || e.Value > 4*float64(profile.GiB) {
		t.Errorf("a small convolutional network: %+v", e)
	}
}

// TestGenerate fits again and expects the same bytes.
func TestGenerate(t *testing.T) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		t.Skip("COLLOC_DATA is not set: set it to the folder with the measurement files to run this test")
	}
	if testing.Short() || race.Enabled {
		t.Skip("fits all models: not with -short, and not with the race detector, for the program is not built with it")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "generate")
	if out, err := exec.Command("go", "build", "-o", bin, "./generate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no model files: %v", err)
	}
	for _, name := range files {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run COLLOC_DATA=... go generate ./predict/pretrained", name)
		}
	}
}
