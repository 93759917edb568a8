package predict

import (
	"encoding/json"
	"fmt"
	"io"

	"example.com/colloc/profile"
)

type migFile struct {
	Format     string     `json:"format"`
	Version    int        `json:"version"`
	Vector     int        `json:"vector_version"`
	Provenance string     `json:"provenance,omitempty"`
	Confidence float64    `json:"confidence"`
	Models     []migModel `json:"models"`
}

const (
	migFormat  = "colloc mig speed"
	migVersion = 1
)

// Save writes the coefficients as JSON.
func (m *MIGSpeed) Save(w io.Writer) error {
	f := migFile{migFormat, migVersion, profile.VectorVersion, m.provenance, m.level(), m.models[:]}
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("predict: mig: save: %w", err)
	}
	return nil
}

// LoadMIGSpeed reads what Save wrote; another format or version and numbers
// that no fit can have produced are errors.
func LoadMIGSpeed(r io.Reader) (*MIGSpeed, error) {
	var f migFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: mig: load: %w", err)
	}
	if f.Format != migFormat || f.Version != migVersion || f.Vector != profile.VectorVersion || len(f.Models) != migVariants {
		return nil, fmt.Errorf("predict: mig: load: format %q, version %d, features %d, %d models; want %q, %d, %d, %d: fit again",
			f.Format, f.Version, f.Vector, len(f.Models), migFormat, migVersion, profile.VectorVersion, migVariants)
	}
	m := &MIGSpeed{confidence: f.Confidence, provenance: f.Provenance}
	if !(f.Confidence > 0 && f.Confidence < 1) {
		return nil, fmt.Errorf("predict: mig: load: confidence is %v", f.Confidence)
	}
	for i, model := range f.Models {
		for _, v := range append(model.Coef[:], model.Factor, model.Probed, float64(model.Rows)) {
			if !finite(v) || v < 0 {
				return nil, fmt.Errorf("predict: mig: load: model %d holds %v, want 0 or more", i, v)
			}
		}
		m.models[i] = model
	}
	return m, nil
}
