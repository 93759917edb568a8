package profile

import (
	"errors"
	"fmt"
	"strconv"
)

// Spec is what a task is, before it ran.
type Spec struct {
	Model    Model    `json:"model"`
	Dataset  Dataset  `json:"dataset,omitzero"`
	Training Training `json:"training"`
	Traced   Traced   `json:"traced,omitzero"`
	// Server is set for a task that answers requests; it is then no training, and its
	// speed says how many it can serve.
	Server *Server `json:"server,omitempty"`
	// Warnings are what whoever described the task left out or had to assume, for
	// whoever plans with it.
	Warnings []string `json:"warnings,omitempty"`
}

// Dataset is what the task reads.
type Dataset struct {
	// Name is what people call the data set; may be empty.
	Name string `json:"name,omitempty"`
	// Samples is the number of samples in one epoch.
	Samples Opt[int64] `json:"samples,omitzero"`
	// SampleElements is the number of input elements of one sample: pixels
	// times channels, or tokens.
	SampleElements Opt[int64] `json:"sample_elements,omitzero"`
	// SampleBytes is the size of one stored sample.
	SampleBytes Opt[Bytes] `json:"sample_bytes,omitzero"`
}

// Training is how the model is trained, per GPU.
type Training struct {
	// BatchSize is the number of samples one GPU holds at once, at least 1.
	BatchSize int `json:"batch_size"`
	// Precision is the number format; the zero value is FP32.
	Precision Precision `json:"precision,omitempty"`
	// Optimizer is the update rule; the zero value counts as Adam.
	Optimizer Optimizer `json:"optimizer,omitempty"`
	// Checkpointing says that activations are recomputed in the backward pass.
	Checkpointing bool `json:"checkpointing,omitempty"`
	// Workers is the number of data-loader processes.
	Workers int `json:"workers,omitempty"`
	// GPUs is the number of GPUs the task wants at once; 0 means 1.
	GPUs int `json:"gpus,omitempty"`
	// Parallelism is how several GPUs divide the work.
	Parallelism Parallelism `json:"parallelism,omitempty"`
	// Accumulation is the number of batches whose gradients are added up
	// before the optimiser steps; 0 means 1.
	Accumulation int `json:"accumulation,omitempty"`
	// ZeRO says what ShardedData shards: 1 the optimiser's state, 2 gradients
	// too, 3 weights too (FSDP's full sharding); 0 means 3 for ShardedData and
	// nothing for the others.
	ZeRO int `json:"zero,omitempty"`
}

// Traced is what a shape-only run of the task on the CPU counted, for example
// under PyTorch's FakeTensorMode. It needs no GPU and knows operators that a
// layer list does not show.
type Traced struct {
	// AfterForward is the live memory after the forward pass.
	AfterForward Opt[Bytes] `json:"after_forward,omitzero"`
	// AfterBackward is the live memory after the backward pass.
	AfterBackward Opt[Bytes] `json:"after_backward,omitzero"`
}

// MaxBatch is the largest batch per GPU that Validate accepts.
const MaxBatch = 1 << 30

// Validate reports every field that no task can have: a batch below 1 or beyond
// [MaxBatch], negative or absurd counts, undefined enumeration values. Each
// fault names its field; all are joined into one error. A Spec without layers
// is valid: then only what was observed is known.
func (s Spec) Validate() error {
	var errs []error
	for i := range s.Model.Layers {
		if err := s.Model.Layers[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("model.layers[%d] %q: %w", i, s.Model.Layers[i].Name, err))
		}
	}
	if p := s.Model.Params(); p > MaxCount {
		errs = append(errs, fmt.Errorf("model has %d parameters, want at most 1e15", p))
	}
	if a, _ := s.Model.Activations(); a > MaxCount {
		errs = append(errs, fmt.Errorf("model has %d activations per sample, want at most 1e15", a))
	}
	t := s.Training
	errs = append(errs,
		inRange("model.family", int64(s.Model.Family), 0, int64(Families)-1),
		inRange("training.batch_size", int64(t.BatchSize), 1, MaxBatch),
		inRange("training.workers", int64(t.Workers), 0, 1<<20),
		inRange("training.gpus", int64(t.GPUs), 0, 1<<20),
		inRange("training.accumulation", int64(t.Accumulation), 0, 1<<20),
		inRange("training.zero", int64(t.ZeRO), 0, 3),
		inRange("training.precision", int64(t.Precision), 0, int64(Precisions)-1),
		inRange("training.optimizer", int64(t.Optimizer), 0, int64(Optimizers)-1),
		inRange("training.parallelism", int64(t.Parallelism), 0, int64(Parallelisms)-1),
		inRange("dataset.samples", s.Dataset.Samples.Or(0), 0, MaxCount),
		inRange("dataset.sample_elements", s.Dataset.SampleElements.Or(0), 0, MaxCount),
		inRange("dataset.sample_bytes", int64(s.Dataset.SampleBytes.Or(0)), 0, MaxCount),
		inRange("traced.after_forward", int64(s.Traced.AfterForward.Or(0)), 0, MaxCount),
		inRange("traced.after_backward", int64(s.Traced.AfterBackward.Or(0)), 0, MaxCount))
	if s.Server != nil {
		if err := s.Server.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("server: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("profile: spec %q: %w", s.Model.Name, err)
	}
	return nil
}

func inRange(field string, n, lo, hi int64) error {
	if n < lo || n > hi {
		return fmt.Errorf("%s is %d, want %d to %d", field, n, lo, hi)
	}
	return nil
}

// Type returns the name under which runs of the same task type are remembered:
// model, data set, batch and precision. Two tasks of one type are expected to
// behave alike, so that what was learned from one holds for the other.
func (s Spec) Type() string {
	return s.Model.Name + "|" + s.Dataset.Name + "|bs" + strconv.Itoa(s.Training.BatchSize) + "|" + s.Training.Precision.String()
}
