package utilization

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// version is the version of the file form.
const (
	version = 1
	format  = "colloc-utilization"
)

// file is the file form of a Predictor.
type file struct {
	Format     string             `json:"format"`
	Version    int                `json:"version"`
	Provenance predict.Provenance `json:"provenance"`
	GPU        string             `json:"gpu"`
	Parts      []filePart         `json:"parts"`
}

// filePart is one part with what it predicts.
type filePart struct {
	Family   profile.Family `json:"family"`
	Quantity string         `json:"quantity"`
	Part     *part          `json:"part"`
}

// Save writes the model as JSON. The same model gives the same bytes.
func (u *Predictor) Save(w io.Writer) error {
	f := file{Format: format, Version: version, Provenance: u.from, GPU: u.gpu}
	for family := range u.parts {
		for k, p := range u.parts[family] {
			if p != nil {
				f.Parts = append(f.Parts, filePart{profile.Family(family), names[k], p})
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

// Load reads a model that [Predictor.Save] wrote. It returns an
// error for another format or version and for numbers that no fit can give.
func Load(r io.Reader) (*Predictor, error) {
	var f file
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: load utilization: %w", err)
	}
	if f.Format != format || f.Version != version {
		return nil, fmt.Errorf("predict: load utilization: format %q version %d, want %q version %d: fit the model again",
			f.Format, f.Version, format, version)
	}
	u := &Predictor{from: f.Provenance, gpu: (&profile.GPUModel{Name: f.GPU}).Canonical()}
	for i := range f.Parts {
		if err := u.setPart(&f.Parts[i]); err != nil {
			return nil, fmt.Errorf("predict: load utilization: part %d: %w", i, err)
		}
	}
	return u, nil
}

func (u *Predictor) setPart(f *filePart) error {
	for k, name := range names {
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
func (p *part) check() error {
	if p.Mean == nil {
		return errors.New("no trees")
	}
	if !num.Finite(p.Flat) || p.Flat < 0 || p.Rows < 0 {
		return errors.New("spread or rows are out of range")
	}
	return errors.Join(p.Mean.CheckOver(featureCount), p.Spread.CheckOver(featureCount), num.CheckRanges(p.Lo, p.Hi, featureCount), p.Scores.Check())
}
