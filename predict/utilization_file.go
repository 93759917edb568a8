package predict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/profile"
)

// useVersion is the version of the file form.
const (
	useVersion = 1
	useFormat  = "colloc-utilization"
)

// useFile is the file form of a Utilization.
type useFile struct {
	Format     string        `json:"format"`
	Version    int           `json:"version"`
	Provenance Provenance    `json:"provenance"`
	GPU        string        `json:"gpu"`
	Parts      []useFilePart `json:"parts"`
}

// useFilePart is one part with what it predicts.
type useFilePart struct {
	Family   profile.Family `json:"family"`
	Quantity string         `json:"quantity"`
	Part     *usePart       `json:"part"`
}

// Save writes the model as JSON. The same model gives the same bytes.
func (u *Utilization) Save(w io.Writer) error {
	f := useFile{Format: useFormat, Version: useVersion, Provenance: u.from, GPU: u.gpu}
	for family := range u.parts {
		for k, p := range u.parts[family] {
			if p != nil {
				f.Parts = append(f.Parts, useFilePart{profile.Family(family), useNames[k], p})
			}
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("predict: save utilization: %w", err)
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("predict: save utilization: %w", err)
	}
	return nil
}

// LoadUtilization reads a model that [Utilization.Save] wrote. It returns an
// error for another format or version and for numbers that no fit can give.
func LoadUtilization(r io.Reader) (*Utilization, error) {
	var f useFile
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: load utilization: %w", err)
	}
	if f.Format != useFormat || f.Version != useVersion {
		return nil, fmt.Errorf("predict: load utilization: format %q version %d, want %q version %d: fit the model again",
			f.Format, f.Version, useFormat, useVersion)
	}
	u := &Utilization{from: f.Provenance, gpu: (&profile.GPUModel{Name: f.GPU}).Canonical()}
	for i := range f.Parts {
		if err := u.setPart(&f.Parts[i]); err != nil {
			return nil, fmt.Errorf("predict: load utilization: part %d: %w", i, err)
		}
	}
	return u, nil
}

func (u *Utilization) setPart(f *useFilePart) error {
	for k, name := range useNames {
		if name != f.Quantity {
			continue
		}
		if f.Part == nil || u.parts[f.Family][k] != nil {
			return fmt.Errorf("%v %s is empty or appears twice", f.Family, name)
		}
		f.Part.memo = &useMemo{}
		u.parts[f.Family][k] = f.Part
		return f.Part.check()
	}
	return fmt.Errorf("unknown quantity %q", f.Quantity)
}

// check verifies a part that was read from a file.
func (p *usePart) check() error {
	if p.Mean == nil {
		return errors.New("no trees")
	}
	for _, t := range []*trees{p.Mean, p.Spread} {
		if t == nil {
			continue
		}
		if t.Columns != useFeatures {
			return fmt.Errorf("trees over %d features, want %d", t.Columns, useFeatures)
		}
		if err := t.check(); err != nil {
			return err
		}
	}
	if !finite(p.Flat) || p.Flat < 0 || p.Rows < 0 || len(p.Lo) != len(p.Hi) || len(p.Lo) > useFeatures {
		return errors.New("spread, rows or feature ranges are out of range")
	}
	for j := range p.Lo {
		if !finite(p.Lo[j]) || !finite(p.Hi[j]) || p.Lo[j] > p.Hi[j] {
			return fmt.Errorf("feature %d has range %v to %v", j, p.Lo[j], p.Hi[j])
		}
	}
	return p.Scores.check()
}
