package nvmlx

import (
	"fmt"
	"time"

	"example.com/colloc/internal/enum"
	"example.com/colloc/profile"
)

// ComputeMode is the driver's rule for how many processes may use a device.
type ComputeMode int

// The compute modes of NVML; 1 was retired by NVIDIA.
const (
	ComputeDefault          ComputeMode = 0
	ComputeProhibited       ComputeMode = 2
	ComputeExclusiveProcess ComputeMode = 3
)

// String returns "default", "prohibited" or "exclusive process".
func (m ComputeMode) String() string {
	switch m {
	case ComputeDefault:
		return "default"
	case ComputeProhibited:
		return "prohibited"
	case ComputeExclusiveProcess:
		return "exclusive process"
	}
	return fmt.Sprintf("compute mode(%d)", int(m))
}

// Process is one process on one device.
type Process struct {
	// PID is the process as the host counts; inside a container it may mean
	// another process or none.
	PID int `json:"pid"`
	// InnerPID is what the process is called in its own PID namespace, as in a container.
	// It is missing if that is no other, or cannot be seen from here.
	InnerPID profile.Opt[int] `json:"inner_pid,omitzero"`
	// Name is the program, where the driver tells.
	Name string `json:"name,omitempty"`
	// Kind is how the process uses the device.
	Kind ProcessKind `json:"kind"`
	// MemUsed is the device memory that the process holds.
	MemUsed profile.Opt[profile.Bytes] `json:"mem_used,omitzero"`
	// SMBusy is the share of time that kernels of the process ran, where the
	// driver accounts for it; never under MIG.
	SMBusy profile.Opt[float64] `json:"sm_busy,omitzero"`
	// GPUInstance and ComputeInstance number the MIG instance that the process
	// runs in.
	GPUInstance     profile.Opt[int] `json:"gpu_instance,omitzero"`
	ComputeInstance profile.Opt[int] `json:"compute_instance,omitzero"`
}

// ProcessKind is how a process uses a device.
type ProcessKind int

// The kinds of processes, as nvidia-smi pmon tells them apart (C, M+C, G).
const (
	ComputeProcess ProcessKind = iota
	MPSProcess
	GraphicsProcess
)

//nolint:gochecknoglobals // read-only name table
var processKinds = enum.Of("nvmlx: process kind", "compute", "mps", "graphics")

// String returns "compute", "mps" or "graphics".
func (k ProcessKind) String() string { return processKinds.Text(int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k ProcessKind) MarshalText() ([]byte, error) { return processKinds.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *ProcessKind) UnmarshalText(text []byte) error { return enum.Parse(processKinds, text, k) }

// MIGInventory is how one GPU is cut.
type MIGInventory struct {
	// Enabled says whether the GPU is in MIG mode now; Pending whether it will
	// be after the next reset.
	Enabled bool `json:"enabled"`
	Pending bool `json:"pending"`
	// MaxInstances is how many instances the GPU can hold at most.
	MaxInstances profile.Opt[int] `json:"max_instances,omitzero"`
	// Instances are the compute instances there are, by index.
	Instances []MIGInstance `json:"instances,omitempty"`
}

// MIGInstance is one compute instance: what CUDA sees as a device.
type MIGInstance struct {
	// ID is the instance's UUID.
	ID DeviceID `json:"id"`
	// Index is the driver's number of the instance in its GPU.
	Index int `json:"index"`
	// GPUInstance and ComputeInstance are the driver's numbers of the memory
	// partition and of the compute partition in it.
	GPUInstance     profile.Opt[int] `json:"gpu_instance,omitzero"`
	ComputeInstance profile.Opt[int] `json:"compute_instance,omitzero"`
	// GPUSlices is how many compute slices the GPU instance has, ComputeSlices
	// how many of them belong to this compute instance.
	GPUSlices     profile.Opt[int] `json:"gpu_slices,omitzero"`
	ComputeSlices profile.Opt[int] `json:"compute_slices,omitzero"`
	// SMs is the number of multiprocessors of the instance.
	SMs profile.Opt[int] `json:"sms,omitzero"`
	// Memory is the memory of the GPU instance.
	Memory profile.Opt[profile.Bytes] `json:"memory,omitzero"`
	// Start and Size are the memory slices that the GPU instance occupies. The
	// driver tells them to privileged callers only.
	Start profile.Opt[int] `json:"start,omitzero"`
	Size  profile.Opt[int] `json:"size,omitzero"`
}

// Event is something that happened to a device.
type Event struct {
	// Device is the GPU concerned.
	Device DeviceID `json:"device"`
	// At is when it was noticed; zero if the source has no clock.
	At time.Time `json:"at,omitzero"`
	// Kind is what happened.
	Kind EventKind `json:"kind"`
	// XID is the driver's error number, for EventXID.
	XID profile.Opt[int] `json:"xid,omitzero"`
	// Count is how many ticks were skipped, or how many attempts failed in a
	// row.
	Count int `json:"count,omitempty"`
	// Err is why, for EventLost and EventTrouble. Recordings do not hold it.
	Err error `json:"-"`
}

// EventKind is the kind of an Event.
type EventKind int

// The kinds of events.
const (
	// EventLost is the end of a device: it is not read any more.
	EventLost EventKind = iota
	// EventXID is the driver's report of a hardware or program fault.
	EventXID
	// EventMemory is an uncorrectable error in device memory.
	EventMemory
	// EventLate means that reading took so long that ticks were skipped.
	EventLate
	// EventTrouble means that reading failed and will be tried again.
	EventTrouble
)

//nolint:gochecknoglobals // read-only name table
var eventKinds = enum.Of("nvmlx: event kind", "lost", "xid", "memory", "late", "trouble")

// String returns "lost", "xid", "memory", "late" or "trouble".
func (k EventKind) String() string { return eventKinds.Text(int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k EventKind) MarshalText() ([]byte, error) { return eventKinds.Marshal(int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *EventKind) UnmarshalText(text []byte) error { return enum.Parse(eventKinds, text, k) }
