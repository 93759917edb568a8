package learned

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/internal/replace"
)

// Models are all that a planner learned, which watch teaches and plan uses.
type Models struct {
	dir string
	// Planner predicts with what was learned, and learns more.
	Planner *colloc.Planner
}

// Load reads what was learned before, or else begins with the pretrained models.
// An empty dir learns nothing.
func Load(dir string, c colloc.Config) (*Models, error) {
	m := &Models{dir: dir}
	var err error
	m.Planner, err = files.Load(m.file("learned.json"), func(r io.Reader) (*colloc.Planner, error) { return colloc.Load(r, c) }, func() (*colloc.Planner, error) { return colloc.New(c) })
	return m, err
}

func (m *Models) file(name string) string {
	if m.dir == "" {
		return ""
	}
	return filepath.Join(m.dir, name)
}

// Save writes what was learned.
func (m *Models) Save() error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := m.Planner.Save(&text); err != nil {
		return err
	}
	return replace.Text(m.file("learned.json"), text.Bytes())
}
