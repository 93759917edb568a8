package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
)

// version is the version of the file form. It grows when a feature or a
// term changes its meaning, or when something is added.
const version = 4

// file is the file form of a Predictor.
type file struct {
	Format     string             `json:"format"`
	Version    int                `json:"version"`
	Provenance predict.Provenance `json:"provenance"`
	Parts      []filePart         `json:"parts"`
	Hosts      []host             `json:"hosts,omitempty"`
	Learned    []learnedModel     `json:"learned,omitempty"`
	Floors     []floor            `json:"floors,omitempty"`
	Together   *togetherFile      `json:"together,omitempty"`
}

// togetherFile is the margin of tasks that share a GPU.
type togetherFile struct {
	Provenance predict.Provenance `json:"provenance"`
	Over       conformal.Bounds   `json:"over_bytes"`
}

// filePart is one part with its name.
type filePart struct {
	Kind string `json:"kind"`
	Part *part  `json:"part"`
}

const format = "colloc-memory"

// Save writes the model as JSON. The same model gives the same bytes.
func (m *Predictor) Save(w io.Writer) error {
	data, err := m.encode()
	if err != nil {
		return fmt.Errorf("predict: save memory: %w", err)
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("predict: save memory: %w", err)
	}
	return nil
}

// encode returns the model as JSON.
func (m *Predictor) encode() ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f := file{Format: format, Version: version, Provenance: m.from, Hosts: m.hosts, Learned: m.learned, Floors: m.floors}
	for k := range tracedPart + 1 {
		if p := m.part(k); p != nil {
			f.Parts = append(f.Parts, filePart{Kind: partName(k), Part: p})
		}
	}
	if m.together != nil {
		f.Together = &togetherFile{m.together.from, m.together.over}
	}
	return json.Marshal(f)
}

// part returns the k-th part, a family's or the traced one; nil is not fitted.
func (m *Predictor) part(k int) *part {
	if k == tracedPart {
		return m.traced
	}
	return m.parts[k]
}

// Load reads a model that [Predictor.Save] wrote. It returns an error for
// another format or version and for numbers that no fit can give.
func Load(r io.Reader) (*Predictor, error) {
	var f file
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: load memory: %w", err)
	}
	if f.Format != format || f.Version != version {
		return nil, fmt.Errorf("predict: load memory: format %q version %d, want %q version %d: fit the model again",
			f.Format, f.Version, format, version)
	}
	m := &Predictor{from: f.Provenance, hosts: f.Hosts, learned: f.Learned, floors: f.Floors}
	if f.Together != nil {
		if err := f.Together.Over.Check(); err != nil {
			return nil, fmt.Errorf("predict: load memory: together: %w", err)
		}
		m.together = &Together{over: f.Together.Over, from: f.Together.Provenance}
	}
	for i := range f.Parts {
		if err := m.setPart(&f.Parts[i]); err != nil {
			return nil, fmt.Errorf("predict: load memory: part %d %q: %w", i, f.Parts[i].Kind, err)
		}
	}
	if err := m.checkFloors(); err != nil {
		return nil, fmt.Errorf("predict: load memory: %w", err)
	}
	if len(m.hosts) > mostHosts || len(m.learned) > mostModels {
		return nil, fmt.Errorf("predict: load memory: %d hosts and %d models, want at most %d and %d", len(m.hosts), len(m.learned), mostHosts, mostModels)
	}
	for i, h := range m.hosts {
		if h.Context < 0 || h.Context > float64(predict.MaxContext) || h.Rows < 0 {
			return nil, fmt.Errorf("predict: load memory: host %d %q is out of range", i, h.Name)
		}
		if i > 0 && m.hosts[i-1].Name >= h.Name {
			return nil, fmt.Errorf("predict: load memory: host %d %q is not in order", i, h.Name)
		}
	}
	for i, l := range m.learned {
		if l.Offset < -10 || l.Offset > 10 || l.Rows < 0 || l.Order > 1<<62 || (i > 0 && m.learned[i-1].Key >= l.Key) {
			return nil, fmt.Errorf("predict: load memory: learned model %d is out of range or not in order", i)
		}
		m.told = max(m.told, l.Order)
	}
	return m, nil
}

func (m *Predictor) setPart(p *filePart) error {
	if p.Part == nil {
		return errors.New("no coefficients")
	}
	for k := range tracedPart + 1 {
		if partName(k) != p.Kind {
			continue
		}
		if m.part(k) != nil {
			return errors.New("appears twice")
		}
		if k == tracedPart {
			m.traced = p.Part
		} else {
			m.parts[k] = p.Part
		}
		return p.Part.check()
	}
	return fmt.Errorf("unknown kind; known are the families and %q", partName(tracedPart))
}
