package table

import (
	"path/filepath"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/internal/regular"
)

// Load reads a tidy table, or makes one of a raw file.
func Load(name string) ([]Row, error) {
	if filepath.Ext(name) == ".jsonl" {
		c, err := raw.Load(name)
		if err != nil {
			return nil, err
		}
		return Tidy(c), nil
	}
	f, err := regular.Named(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readCSV(name, f)
}
