package profile

import (
	"errors"
	"fmt"
)

// Change says what to do differently in a task. The zero Change changes
// nothing; each field that is set changes one thing.
type Change struct {
	// Precision is the number format.
	Precision Opt[Precision]
	// Optimizer is the update rule.
	Optimizer Opt[Optimizer]
	// Checkpointing turns recomputation of activations on or off.
	Checkpointing Opt[bool]
	// BatchSize is the batch that one GPU holds at once.
	BatchSize Opt[int]
	// Accumulation is the number of batches before the optimiser steps.
	Accumulation Opt[int]
	// DataParallel is the number of GPUs that the batch is divided over. 1 is
	// one GPU.
	DataParallel Opt[int]
	// ZeRO is the sharding stage over those GPUs: 0 replicates, 1 shards the
	// optimiser's state, 2 gradients too, 3 weights too.
	ZeRO Opt[int]
}

// With returns what the task would be after a change. The samples of one
// optimiser step, BatchSize × Accumulation × GPUs, stay as they are unless the
// change sets BatchSize: more accumulation or more GPUs make the batch of one
// GPU smaller, rounded up. What was traced holds no longer once batch, precision
// or checkpointing change, and is dropped. [Spec.Terms] tells what a change does
// to memory and work.
//
// It returns an error for a change that makes no valid task, and for sharding
// without several GPUs. The layers are shared with s, not copied. O(layers).
func (s Spec) With(c Change) (Spec, error) {
	before := s.Training
	t := &s.Training
	t.Precision = c.Precision.Or(t.Precision)
	t.Optimizer = c.Optimizer.Or(t.Optimizer)
	t.Checkpointing = c.Checkpointing.Or(t.Checkpointing)
	t.Accumulation = c.Accumulation.Or(t.Accumulation)
	err := errors.Join(c.divide(t), atLeastOne("Accumulation", c.Accumulation), atLeastOne("DataParallel", c.DataParallel))
	if err != nil {
		return Spec{}, fmt.Errorf("profile: change of %q: %w", s.Model.Name, err)
	}
	t.BatchSize = c.BatchSize.Or(splitBatch(before, *t))
	if t.BatchSize != before.BatchSize || t.Precision != before.Precision || t.Checkpointing != before.Checkpointing {
		s.Traced = Traced{}
	}
	if err := s.Validate(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// divide sets the number of GPUs and how they share the work.
func (c *Change) divide(t *Training) error {
	if gpus, ok := c.DataParallel.Get(); ok {
		t.GPUs = gpus
		switch {
		case gpus <= 1:
			t.Parallelism, t.ZeRO = SingleGPU, 0
		case t.Parallelism != ShardedData:
			t.Parallelism = DataParallel
		}
	}
	stage, ok := c.ZeRO.Get()
	switch {
	case !ok:
		return nil
	case stage < 0 || stage > 3:
		return fmt.Errorf("ZeRO stage %d, want 0 to 3", stage)
	case stage == 0:
		t.ZeRO = 0
		if t.Parallelism == ShardedData {
			t.Parallelism = DataParallel
		}
		return nil
	case t.GPUs < 2:
		return fmt.Errorf("ZeRO stage %d on one GPU: there is nothing to shard over; set DataParallel", stage)
	}
	t.Parallelism, t.ZeRO = ShardedData, stage
	return nil
}

func atLeastOne(field string, o Opt[int]) error {
	if n := o.Or(1); n < 1 {
		return fmt.Errorf("%s is %d, want 1 or more", field, n)
	}
	return nil
}

// splitBatch returns the batch of one GPU that keeps the samples of a step. A
// batch that is out of range stays what it is, for Validate to refuse.
func splitBatch(before, after Training) int {
	old, now := before.replicas()*before.steps(), after.replicas()*after.steps()
	if old == now || before.BatchSize < 1 || before.BatchSize > MaxBatch || old > 1<<32 || now > 1<<41 {
		return before.BatchSize
	}
	samples := int64(before.BatchSize) * old
	return int((samples + now - 1) / now)
}
