package predict

import (
	"example.com/colloc/internal/enum"
)

// SourceKind says what an estimate rests on.
type SourceKind int

// The kinds of source, from the weakest to the strongest.
const (
	// Prior is a documented rule of thumb: nothing of this kind was measured.
	Prior SourceKind = iota
	// Fitted comes from a model that was fitted to measurements of other tasks.
	Fitted
	// Measured comes from measurements of this very task.
	Measured
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var sourceKinds = enum.Of("predict: source kind", "prior", "fitted", "measured")

// String returns "prior", "fitted" or "measured".
func (k SourceKind) String() string { return sourceKinds.Text(int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k SourceKind) MarshalText() ([]byte, error) { return sourceKinds.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *SourceKind) UnmarshalText(text []byte) error { return enum.Parse(sourceKinds, text, k) }

// Source says where an estimate comes from and how far it is from the data.
type Source struct {
	// Kind is what the estimate rests on.
	Kind SourceKind `json:"kind"`
	// Distance tells how unlike the data the task is: 0 in the middle of them,
	// 1 at their edge, more than 1 outside. Each model documents its measure; 0
	// for a prior, which has no data.
	Distance float64 `json:"distance"`
	// Groups is on how many independent groups of measurements the interval
	// rests: families of models, each left out of a fit, where the task is of a
	// family that the data lack; single measurements where it is known; 0 is none.
	// Of a new family no interval misses with probability a or less, whatever the
	// errors, on fewer than 1/a - 1 groups: 9 for 90 %, 99 for a reservation at 1 %
	// risk. On fewer, from 3, the interval rests on an assumption about its tail
	// (exponential, or Student's t); with less than 3 Kind is Prior.
	Groups int `json:"groups,omitempty"`
}

// Estimate is a predicted number with the interval that holds the true one
// with probability Confidence, in the unit that the predictor documents.
type Estimate struct {
	// Value is the best single number, in [Lo, Hi].
	Value float64 `json:"value"`
	// Lo and Hi bound the interval.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Confidence is the probability, in (0, 1), that the interval covers.
	Confidence float64 `json:"confidence"`
	// Source is what the estimate rests on.
	Source Source `json:"source"`
}

// Provenance says what a model was fitted to. It is stored with the model.
type Provenance struct {
	// Data names the measurements.
	Data string `json:"data,omitempty"`
	// License is the licence of the data, not of the coefficients.
	License string `json:"license,omitempty"`
	// GPU is where they were measured.
	GPU string `json:"gpu,omitempty"`
	// Rows is their number.
	Rows int `json:"rows,omitempty"`
}
