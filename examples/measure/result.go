package main

import (
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// status is how a task or a cell came to its end.
type status string

// The ends. A cell has the first status, in this order, that a member has.
const (
	statusCrash   status = "crash"   // the process ended or reported an error
	statusTimeout status = "timeout" // it hung and was killed
	statusGarbage status = "garbage" // it broke the protocol
	statusOOM     status = "oom"     // the device memory was not enough: a censored observation
	statusShort   status = "short"   // too few steps in the window to tell a speed
	statusOK      status = "ok"
)

// known reports whether s is one of the ends.
func (s status) known() bool {
	switch s {
	case statusOK, statusOOM, statusShort, statusCrash, statusTimeout, statusGarbage:
		return true
	}
	return false
}

// trouble reports whether the run says nothing about the task.
func (s status) trouble() bool {
	return s == statusCrash || s == statusTimeout || s == statusGarbage
}

// result is one measured cell, as it stands in the raw file.
type result struct {
	Cell    cell      `json:"cell"`
	Order   int       `json:"order"` // of measuring, from 0
	Started time.Time `json:"started"`
	Status  status    `json:"status"`
	Members []member  `json:"members"`
	// Window is missing where no speed can be told.
	Window *window `json:"window,omitempty"`
	// Baseline is the device memory in use before the members started, and Idle
	// how many other workloads of this program were waiting on the device.
	Baseline profile.Opt[profile.Bytes] `json:"baseline_bytes,omitzero"`
	Idle     int                        `json:"idle"`
	// Samples are those of the device from the start signal to the end.
	Samples []nvmlx.Sample `json:"samples,omitempty"`
	// SampleError is why there are no more of them.
	SampleError string `json:"sample_error,omitempty"`
}

// member is one task of the cell.
type member struct {
	Task    string `json:"task"`
	Status  status `json:"status"`
	Message string `json:"message,omitempty"`
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

	spec *profile.Spec // what the task says of itself; recorded once per task
}

// worst is the status of a cell.
func worst(members []member) status {
	for _, s := range []status{statusCrash, statusTimeout, statusGarbage, statusOOM, statusShort} {
		for i := range members {
			if members[i].Status == s {
				return s
			}
		}
	}
	return statusOK
}
