package advise

import (
	"fmt"

	"example.com/colloc/internal/enum"
)

// Bottleneck is something that keeps a task from doing more work per GPU.
type Bottleneck int

// The bottlenecks, in the order in which to solve them. 0 is none.
const (
	// TooLargeToFit: the task needs more memory than the GPU offers.
	TooLargeToFit Bottleneck = iota + 1
	// StarvedByInput: the GPU waits for data, the CPUs cannot prepare more.
	StarvedByInput
	// FewWorkers: the GPU waits for data while CPUs are idle.
	FewWorkers
	// ComputeBound: the SMs are busy. The GPU is used well.
	ComputeBound
	// BandwidthBound: the memory interface is busy.
	BandwidthBound
	// Underused: the GPU is idle much of the time, and neither memory, CPUs
	// nor data loading explain it: the kernels are small.
	Underused
	// TooLargeToShare: no room is left for another task.
	TooLargeToShare
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var bottleneckNames = enum.Of("advise: bottleneck",
	"none", "too-large-to-fit", "starved-by-input", "few-workers", "compute-bound", "bandwidth-bound", "underused",
	"too-large-to-share")

// String returns a short name such as "starved-by-input".
func (p Bottleneck) String() string { return bottleneckNames.Text(int(p)) }

// MarshalText writes what String returns; an undefined value is an error.
func (p Bottleneck) MarshalText() ([]byte, error) { return bottleneckNames.Marshal(int(p)) }

// UnmarshalText reads what MarshalText writes.
func (p *Bottleneck) UnmarshalText(text []byte) error { return enum.Parse(bottleneckNames, text, p) }

// Finding is a bottleneck with what shows it.
type Finding struct {
	// Bottleneck is what was found.
	Bottleneck Bottleneck `json:"problem"`
	// Evidence are the comparisons that all hold.
	Evidence []Evidence `json:"evidence"`
	// Source is where the rule comes from.
	Source string `json:"source"`
}

// Evidence is one comparison of a measured or predicted value with a threshold.
type Evidence struct {
	// Feature is what was compared: the name of a [profile.Feature], or
	// "memory_share" for the reservation over the GPU's memory.
	Feature string `json:"feature"`
	// Value is what it is, Threshold what it was compared with.
	Value     float64 `json:"value"`
	Threshold float64 `json:"threshold"`
	// Above says that Value is at least Threshold; otherwise it is below.
	Above bool `json:"above"`
}

// String returns for example "mean_sm_active 0.22 < 0.5".
func (e Evidence) String() string {
	relation := "<"
	if e.Above {
		relation = ">="
	}
	return fmt.Sprintf("%s %.2g %s %.2g", e.Feature, e.Value, relation, e.Threshold)
}
