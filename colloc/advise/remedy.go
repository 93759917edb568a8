package advise

import (
	"fmt"
	"math"

	"example.com/colloc/internal/enum"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Action is something to do about a [Bottleneck].
type Action int

// The actions.
const (
	// Collocate: let Count tasks like this one share the GPU.
	Collocate Action = iota + 1
	// LightenInput: let the CPUs do less per sample, or give the task more of
	// them: decode on the GPU, cache what is decoded, store it smaller.
	LightenInput
	// AddWorkers: load data in Count worker processes.
	AddWorkers
	// MixPrecision: compute in 16 bits, keep 32-bit weights.
	MixPrecision
	// Recompute: keep few activations and compute the others again in the
	// backward pass.
	Recompute
	// RecomputeMixed: both.
	RecomputeMixed
	// ChangeBatch: train with Count samples per step and GPU.
	ChangeBatch
	// ShardData: in addition to both, divide weights, gradients and optimiser
	// state over Count data-parallel GPUs.
	ShardData
	// SplitModel: in addition to both, divide the layers over Count GPUs.
	SplitModel
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var actionNames = enum.Of("advise: action",
	"none", "collocate", "lighten-input", "add-workers", "mix-precision", "recompute", "recompute-mixed",
	"change-batch", "shard-data", "split-model")

// String returns a short name such as "add-workers".
func (a Action) String() string { return actionNames.Text(int(a)) }

// MarshalText writes what String returns; an undefined value is an error.
func (a Action) MarshalText() ([]byte, error) { return actionNames.Marshal(int(a)) }

// UnmarshalText reads what MarshalText writes.
func (a *Action) UnmarshalText(text []byte) error { return enum.Parse(actionNames, text, a) }

// Remedy is one thing to do, with what it is predicted to change.
type Remedy struct {
	// Action is what to do, Count how many of it: tasks, workers, samples or
	// GPUs; 0 where that does not apply.
	Action Action `json:"action"`
	Count  int    `json:"count,omitempty"`
	// Throughput is the work per time and GPU that follows, as a multiple of today's.
	// For a task that does not run today it is a multiple of what it would be on a GPU
	// that were large enough.
	Throughput Effect `json:"throughput"`
	// Memory is the predicted peak on each GPU, in bytes; missing if it does
	// not change or cannot be told. Reserved is what a Planner would set aside,
	// Fits whether that fits the GPU; known where Memory is.
	Memory   profile.Opt[predict.Estimate] `json:"memory_bytes,omitzero"`
	Reserved profile.Bytes                 `json:"reserved_bytes,omitempty"`
	Fits     bool                          `json:"fits,omitempty"`
	// Training is the configuration to try; missing if it stays.
	Training profile.Opt[profile.Training] `json:"training,omitzero"`
	// Text says it for people, Source where the rule comes from.
	Text   string `json:"text"`
	Source string `json:"source"`

	urgency int // on the ladder of a task that does not fit, falling; 0 is none
}

// Effect is a factor with the range it is expected in. It comes from a rule, not
// from a fit: there is no probability.
type Effect struct {
	// Value is the middle of the range, in the mean of the logarithms, unless
	// something better is known.
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// between is the effect that lies somewhere from lo to hi.
func between(lo, hi float64) Effect {
	hi = max(lo, hi)
	return Effect{Value: math.Sqrt(lo * hi), Lo: lo, Hi: hi}
}

// String returns for example "x1.4 (1.0 to 2.0)".
func (e Effect) String() string { return fmt.Sprintf("x%.2f (%.2f to %.2f)", e.Value, e.Lo, e.Hi) }

// String says what to do and what follows.
func (r Remedy) String() string {
	text := fmt.Sprintf("%s: %s; throughput %v", r.Action, r.Text, r.Throughput)
	if m, ok := r.Memory.Get(); ok {
		verdict := "does not fit"
		if r.Fits {
			verdict = "fits"
		}
		text += fmt.Sprintf(", memory %v per GPU (reserve %v: %s)", profile.BytesOf(m.Value), r.Reserved, verdict)
	}
	return text
}
