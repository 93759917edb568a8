package workload

import (
	"encoding/json"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// Command is a line to a workload. scripts/worker.py describes the protocol.
type Command struct {
	Cmd string `json:"cmd"` // prepare, go, quit
	// Warmup and Measure are seconds, for go.
	Warmup  float64 `json:"warmup,omitempty"`
	Measure float64 `json:"measure,omitempty"`
	// Act is what a simulated workload has to play; real ones get none.
	Act *Act `json:"act,omitempty"`
}

// Act is the part that a simulated workload plays.
type Act struct {
	At    float64       `json:"at"`   // Unix seconds of the start signal
	Rate  float64       `json:"rate"` // steps per second
	Peak  profile.Bytes `json:"peak"`
	Free  profile.Bytes `json:"free,omitempty"`  // when memory runs out
	Fault string        `json:"fault,omitempty"` // "COMMAND:FAULT", for example "go:hang"
}

// The events that a workload reports.
const (
	EventHello = "hello"
	EventReady = "ready"
	EventDone  = "done"
	EventOOM   = "oom"
	EventError = "error"
)

// Event is a line from a workload. What it does not know is absent.
type Event struct {
	Event string `json:"event"`

	Framework                             // hello
	DeviceUsed profile.Opt[profile.Bytes] `json:"device_used_bytes,omitzero"`
	Total      profile.Opt[profile.Bytes] `json:"total_bytes,omitzero"` // also oom

	Spec *profile.Spec `json:"spec,omitempty"` // ready

	Times         []float64                  `json:"times,omitempty"` // done: Unix seconds
	Counts        []int64                    `json:"counts,omitempty"`
	PeakAllocated profile.Opt[profile.Bytes] `json:"peak_allocated_bytes,omitzero"`
	PeakReserved  profile.Opt[profile.Bytes] `json:"peak_reserved_bytes,omitzero"`
	CPUSeconds    profile.Opt[float64]       `json:"cpu_seconds,omitzero"`

	Phase    string                     `json:"phase,omitempty"` // oom, error
	Message  string                     `json:"message,omitempty"`
	Free     profile.Opt[profile.Bytes] `json:"free_bytes,omitzero"`
	Reserved profile.Opt[profile.Bytes] `json:"reserved_bytes,omitzero"`
}

// Framework is the software that the workloads run on.
type Framework struct {
	Python    string `json:"python,omitempty"`
	Torch     string `json:"torch,omitempty"`
	TorchCUDA string `json:"torch_cuda,omitempty"`
	CUDNN     string `json:"cudnn,omitempty"`
	Device    string `json:"device,omitempty"`
}

// parseEvent reads one line and rejects what no workload says.
func parseEvent(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("not an event: %w", err)
	}
	switch e.Event {
	case EventHello, EventReady, EventOOM, EventError:
		return e, nil
	case EventDone:
		return e, CheckSteps(e.Times, e.Counts)
	}
	return e, fmt.Errorf("unknown event %q", e.Event)
}

// CheckSteps demands two or more moments in order, with counts that only grow.
func CheckSteps(times []float64, counts []int64) error {
	if len(times) < 2 || len(times) != len(counts) {
		return fmt.Errorf("%d times and %d counts of steps, want two or more of each", len(times), len(counts))
	}
	for i := range times {
		if math.IsNaN(times[i]) || math.IsInf(times[i], 0) {
			return fmt.Errorf("time %d is %v", i, times[i])
		}
		if i > 0 && !(times[i] > times[i-1] && counts[i] >= counts[i-1]) {
			return fmt.Errorf("moment %d (%v, %d steps) does not follow the one before", i, times[i], counts[i])
		}
	}
	return nil
}
