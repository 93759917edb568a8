package slurm

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/replace"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pretrained"
)

// models are all that a planner learned, which watch teaches and plan uses.
type models struct {
	dir     string
	planner *colloc.Planner
}

// loadModels reads what was learned before, or else begins with the pretrained models.
// An empty dir learns nothing.
func loadModels(dir string) (*models, error) {
	m := &models{dir: dir}
	var err error
	m.planner, err = load(m.file("learned.json"), func(r io.Reader) (*colloc.Planner, error) { return colloc.Load(r, colloc.Config{}) }, m.older)
	return m, err
}

// older reads what older versions wrote: speeds and memory, each in a file of its
// own. They are left as they are; save writes all to the new file, which counts from
// then on.
func (m *models) older() (*colloc.Planner, error) {
	speeds, err := load(m.file("interference.json"), interference.Load, pretrained.Interference)
	if err != nil {
		return nil, err
	}
	peaks, err := load(m.file("memory.json"), memory.Load, pretrained.Memory)
	if err != nil {
		return nil, err
	}
	return colloc.New(colloc.Config{Interference: speeds, Memory: peaks})
}

func (m *models) file(name string) string {
	if m.dir == "" {
		return ""
	}
	return filepath.Join(m.dir, name)
}

// save writes what was learned.
func (m *models) save() error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := m.planner.Save(&text); err != nil {
		return err
	}
	return replace.Text(m.file("learned.json"), text.Bytes())
}
