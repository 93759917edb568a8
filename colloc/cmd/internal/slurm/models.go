package slurm

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"example.com/colloc/colloc"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pretrained"
)

// models are the predictors, which watch teaches and plan uses.
type models struct {
	dir          string
	interference *interference.Predictor
	memory       *memory.Predictor
}

// loadModels reads what was learned before, or else the pretrained models. An
// empty dir learns nothing.
func loadModels(dir string) (*models, error) {
	m := &models{dir: dir}
	var err error
	if m.interference, err = load(m.file("interference.json"), interference.Load, pretrained.Interference); err != nil {
		return nil, err
	}
	m.memory, err = load(m.file("memory.json"), memory.Load, pretrained.Memory)
	return m, err
}

func (m *models) file(name string) string {
	if m.dir == "" {
		return ""
	}
	return filepath.Join(m.dir, name)
}

func (m *models) planner() (*colloc.Planner, error) {
	return colloc.New(colloc.Config{Interference: m.interference, Memory: m.memory, Shared: true})
}

// save writes what was learned.
func (m *models) save() error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{"interference.json": m.interference.Save, "memory.json": m.memory.Save} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		if err := replace(m.file(name), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
