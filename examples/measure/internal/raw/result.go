package raw

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Result is one measured cell, as it stands in the raw file.
type Result struct {
	Cell    plan.Cell       `json:"cell"`
	Order   int             `json:"order"` // of measuring, from 0
	Started time.Time       `json:"started"`
	Status  workload.Status `json:"status"`
	Members []Member        `json:"members"`
	// Window is missing where no speed can be told.
	Window *Window `json:"window,omitempty"`
	// Baseline is the device memory in use before the members started, and Idle
	// how many other workloads of this program were waiting on the device.
	Baseline profile.Opt[profile.Bytes] `json:"baseline_bytes,omitzero"`
	Idle     int                        `json:"idle"`
	// Samples are those of the device from the start signal to the end.
	Samples []nvmlx.Sample `json:"samples,omitempty"`
	// SampleError is why there are no more of them.
	SampleError string `json:"sample_error,omitempty"`
}

// Window is a span of time in Unix seconds.
type Window struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Seconds returns its length.
func (w Window) Seconds() float64 { return w.To - w.From }

// Member is one task of the cell.
type Member struct {
	Task    string          `json:"task"`
	Status  workload.Status `json:"status"`
	Message string          `json:"message,omitempty"`
	// Runs is how often the process had measured before.
	Runs int `json:"runs"`
	// Context is the process's device memory before the first tensor.
	Context profile.Opt[profile.Bytes] `json:"context_bytes,omitzero"`
	// PeakAllocated and PeakReserved are PyTorch's, ProcessPeak the driver's.
	PeakAllocated profile.Opt[profile.Bytes] `json:"peak_allocated_bytes,omitzero"`
	PeakReserved  profile.Opt[profile.Bytes] `json:"peak_reserved_bytes,omitzero"`
	ProcessPeak   profile.Opt[profile.Bytes] `json:"process_peak_bytes,omitzero"`
	// Free is the device memory that was free when the task ran out of it, and
	// Held what the task itself had reserved by then.
	Free       profile.Opt[profile.Bytes] `json:"free_bytes,omitzero"`
	Held       profile.Opt[profile.Bytes] `json:"held_bytes,omitzero"`
	CPUSeconds profile.Opt[float64]       `json:"cpu_seconds,omitzero"`
	// Times and Counts say how many steps were done at which Unix time.
	Times  []float64 `json:"times,omitempty"`
	Counts []int64   `json:"counts,omitempty"`

	// Spec is what the task says of itself, which is recorded once per task.
	Spec *profile.Spec `json:"-"`
}

// Complaints joins the messages of the members.
func (r *Result) Complaints() string {
	var all []string
	for i := range r.Members {
		if m := &r.Members[i]; m.Message != "" {
			all = append(all, m.Task+": "+m.Message)
		}
	}
	return strings.Join(all, "; ")
}

// Worst is the status of a cell.
func Worst(members []Member) workload.Status {
	for _, s := range []workload.Status{workload.Crash, workload.Timeout, workload.Garbage, workload.OOM, workload.Short} {
		for i := range members {
			if members[i].Status == s {
				return s
			}
		}
	}
	return workload.OK
}

// check finds what no run of this program writes.
func (r *Result) check() error {
	if len(r.Cell.Tasks) == 0 || len(r.Members) != len(r.Cell.Tasks) {
		return fmt.Errorf("result with %d tasks and %d members", len(r.Cell.Tasks), len(r.Members))
	}
	if n := len(r.Cell.Threads); n != 0 && n != len(r.Cell.Tasks) {
		return fmt.Errorf("result with %d tasks and %d thread shares", len(r.Cell.Tasks), n)
	}
	for i := range r.Members {
		m := &r.Members[i]
		if !m.Status.Known() {
			return fmt.Errorf("member %s: unknown status %q", m.Task, m.Status)
		}
		if len(m.Times) == 0 && len(m.Counts) == 0 && r.Window == nil {
			continue
		}
		if err := workload.CheckSteps(m.Times, m.Counts); err != nil {
			return fmt.Errorf("member %s: %w", m.Task, err)
		}
	}
	if !r.Status.Known() {
		return fmt.Errorf("unknown status %q", r.Status)
	}
	return nil
}
