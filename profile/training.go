package profile

import (
	"strings"

	"example.com/colloc/internal/enum"
)

// Precision is the number format of the forward and backward pass.
type Precision int

// Number formats; the zero value is PyTorch's default.
const (
	// FP32 computes and stores in 32 bits.
	FP32 Precision = iota
	// TF32 stores 32 bits and multiplies in 19 on tensor cores.
	TF32
	// Mixed keeps 32-bit weights and computes in 16 bits (autocast).
	Mixed
	// BF16 stores and computes in bfloat16.
	BF16
	// FP16 stores and computes in half precision.
	FP16
)

// Precisions is the number of number formats.
const Precisions int = int(FP16) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var precisionNames = enum.Of("profile: precision", "fp32", "tf32", "mixed", "bf16", "fp16")

// String returns "fp32", "tf32", "mixed", "bf16" or "fp16".
func (p Precision) String() string { return precisionNames.Text(int(p)) }

// MarshalText writes what String returns; an undefined precision is an error.
func (p Precision) MarshalText() ([]byte, error) { return precisionNames.Marshal(int(p)) }

// UnmarshalText reads what MarshalText writes, ignoring case.
func (p *Precision) UnmarshalText(text []byte) error { return enum.Parse(precisionNames, text, p) }

// Optimizer is the update rule, as far as memory depends on its state.
type Optimizer int

// Update rules.
const (
	// UnknownOptimizer counts as Adam, the largest state in common use.
	UnknownOptimizer Optimizer = iota
	// SGD is plain gradient descent without state.
	SGD
	// Momentum is SGD with one momentum buffer.
	Momentum
	// Adam keeps two moments; AdamW and NAdam are the same here.
	Adam
	// Adafactor keeps factored second moments: almost no state.
	Adafactor
	// NoOptimizer is inference: no gradients and no state.
	NoOptimizer
)

// Optimizers is the number of update rules.
const Optimizers int = int(NoOptimizer) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var optimizerNames = enum.Of("profile: optimizer", "unknown", "sgd", "momentum", "adam", "adafactor", "none")

// String returns the rule's name in lower case; "none" is inference.
func (o Optimizer) String() string { return optimizerNames.Text(int(o)) }

// MarshalText writes what String returns; an undefined rule is an error.
func (o Optimizer) MarshalText() ([]byte, error) { return optimizerNames.Marshal(int(o)) }

// UnmarshalText reads what MarshalText writes, ignoring case; "adamw" and
// "nadam" are Adam.
func (o *Optimizer) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "adamw", "nadam":
		*o = Adam
		return nil
	}
	return enum.Parse(optimizerNames, text, o)
}

// Parallelism is how a task that wants several GPUs divides its work.
type Parallelism int

// Ways to divide one task over GPUs.
const (
	// SingleGPU does not divide.
	SingleGPU Parallelism = iota
	// DataParallel keeps a full replica on every GPU.
	DataParallel
	// ShardedData shards optimiser state, gradients and weights over the
	// replicas (ZeRO, FSDP).
	ShardedData
	// ModelParallel divides the layers themselves (tensor or pipeline).
	ModelParallel
)

// Parallelisms is the number of ways.
const Parallelisms int = int(ModelParallel) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var parallelismNames = enum.Of("profile: parallelism", "single", "data", "sharded", "model")

// String returns "single", "data", "sharded" or "model".
func (p Parallelism) String() string { return parallelismNames.Text(int(p)) }

// MarshalText writes what String returns; an undefined way is an error.
func (p Parallelism) MarshalText() ([]byte, error) { return parallelismNames.Marshal(int(p)) }

// UnmarshalText reads what MarshalText writes, ignoring case.
func (p *Parallelism) UnmarshalText(text []byte) error { return enum.Parse(parallelismNames, text, p) }

// StateElements returns the elements of state that the rule keeps for each
// parameter: 0 for SGD and inference, 1 for momentum, 2 for Adam and unknown
// rules. Adafactor's factored moments count as 0.
func (o Optimizer) StateElements() int {
	switch o {
	case SGD, Adafactor, NoOptimizer:
		return 0
	case Momentum:
		return 1
	default:
		return 2
	}
}

// passes is the work of a step in forward passes.
func (t *Training) passes() float64 {
	switch {
	case t.Optimizer == NoOptimizer:
		return 1
	case t.Checkpointing:
		return 4
	default:
		return 3
	}
}

// ElementBytes returns the size of one activation element in bytes: 4 for FP32
// and TF32, 2 for the 16-bit formats and for mixed precision.
func (p Precision) ElementBytes() float64 {
	switch p {
	case Mixed, BF16, FP16:
		return 2
	default:
		return 4
	}
}

// replicas is the number of GPUs that each work on a batch of their own.
func (t *Training) replicas() int64 {
	if t.Parallelism == DataParallel || t.Parallelism == ShardedData {
		return int64(max(1, t.GPUs))
	}
	return 1
}

// steps is the number of batches before the optimiser steps.
func (t *Training) steps() int64 { return int64(max(1, t.Accumulation)) }

// stage is the sharding stage in effect.
func (t *Training) stage() int {
	switch {
	case t.Parallelism != ShardedData:
		return 0
	case t.ZeRO == 0:
		return 3
	default:
		return t.ZeRO
	}
}
