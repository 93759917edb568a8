package corun

import (
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Run is one co-run of a set: its tasks, what was measured of each and, for fits,
// the family of each.
type Run struct {
	Set    []*profile.Profile
	Speeds []profile.Opt[float64]
	Groups []string
}

// features are those of a profile that a fit reads.
//
//nolint:gochecknoglobals // a list of constants
var features = [...]profile.Feature{
	profile.MeanSMActive, profile.MeanGPUBusy, profile.MeanDRAMActive, profile.MeanMemBusy,
	profile.MedianStepTime, profile.BatchSize, profile.PeakMemory,
}

// Strip copies what a fit reads of a co-run, so that neither the caller's changes nor
// his layers are kept.
func Strip(r Run) Run {
	c := Run{Speeds: slices.Clone(r.Speeds), Groups: slices.Clone(r.Groups)}
	for _, p := range r.Set {
		if p == nil {
			c.Set = append(c.Set, nil)
			continue
		}
		t := taskOf(p)
		c.Set = append(c.Set, t.profile())
	}
	return c
}

// task is what a fit reads of a profile; a plain value, so that equal tasks are one.
type task struct {
	Model     string            `json:"model,omitempty"`
	Dataset   string            `json:"dataset,omitempty"`
	Batch     int               `json:"batch,omitempty"`
	Precision profile.Precision `json:"precision,omitempty"`
	Memory    profile.Bytes     `json:"gpu_memory,omitempty"`
	// Load is that of a server; 0 is none.
	Load float64 `json:"load,omitempty"`
	// Has holds a bit for each of features, Use the values of those.
	Has int                    `json:"has,omitempty"`
	Use [len(features)]float64 `json:"use"`
}

func taskOf(p *profile.Profile) task {
	t := task{
		Model: p.Spec.Model.Name, Dataset: p.Spec.Dataset.Name,
		Batch: p.Spec.Training.BatchSize, Precision: p.Spec.Training.Precision, Memory: p.GPU.Memory,
	}
	if p.Spec.Server != nil {
		t.Load = p.Spec.Server.Load()
	}
	for i, f := range features {
		if v, ok := p.Vector.Get(f); ok {
			t.Has |= 1 << i
			t.Use[i] = v
		}
	}
	return t
}

func (t *task) profile() *profile.Profile {
	p := &profile.Profile{}
	_ = t.fill(p) // it came out of a profile
	return p
}

// fill writes the task into an empty profile; it returns an error for a value that
// its feature cannot have.
func (t *task) fill(p *profile.Profile) error {
	p.Spec.Model.Name, p.Spec.Dataset.Name = t.Model, t.Dataset
	p.Spec.Training.BatchSize, p.Spec.Training.Precision = t.Batch, t.Precision
	p.GPU.Memory = t.Memory
	if t.Load != 0 {
		p.Spec.Server = &profile.Server{Rate: t.Load, Capacity: 1}
		if err := p.Spec.Server.Validate(); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	for i, f := range features {
		if t.Has&(1<<i) == 0 {
			continue
		}
		if err := p.Vector.Set(f, t.Use[i]); err != nil {
			return err
		}
	}
	return nil
}
