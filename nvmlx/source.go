package nvmlx

import (
	"context"

	"example.com/colloc/profile"
)

// Source reads GPUs. See the package comment for the rules of concurrency.
//
// A call to a real driver cannot be interrupted: implementations look at ctx
// before and between driver calls, not during one.
type Source interface {
	// Info returns the versions of the software below.
	Info(ctx context.Context) (SystemInfo, error)
	// Devices lists every GPU, each followed by its MIG instances, in the order
	// of the driver's indices. No GPU is an empty list, not an error.
	Devices(ctx context.Context) ([]DeviceInfo, error)
	// Read returns the counters in what of one device. A counter that cannot be
	// had is missing in the sample, with a reason where one is known; an error
	// means that nothing was read: ErrNoDevice, ErrDeviceLost, ErrUnavailable,
	// or io.EOF at the end of a recording. A source that has no clock leaves
	// Sample.At zero.
	Read(ctx context.Context, id DeviceID, what Fields) (Sample, error)
	// Close releases the source. Closing twice is allowed.
	Close() error
}

// ProcessReader is a Source that knows who uses a device. Having the method is
// no promise: wrappers return ErrNotSupported where the source below has none.
type ProcessReader interface {
	// Processes lists the processes on one device, by kind and PID.
	Processes(ctx context.Context, id DeviceID) ([]Process, error)
}

// MIGReader is a Source that knows how a GPU is cut into instances.
type MIGReader interface {
	// MIG describes the instances of one GPU. What needs privilege is missing.
	MIG(ctx context.Context, id DeviceID) (MIGInventory, error)
}

// EventReader is a Source that reports faults of devices as they happen.
type EventReader interface {
	// Events reports on the given devices, or on all if none is given, until ctx
	// is done or the source is closed; then the channel is closed. Events that
	// nobody takes are dropped once the channel's buffer is full.
	Events(ctx context.Context, ids ...DeviceID) (<-chan Event, error)
}

// SystemInfo is the software under a Source. Empty fields are unknown.
type SystemInfo struct {
	// Driver is the version of the kernel driver, for example "580.95.05".
	Driver string `json:"driver,omitempty"`
	// NVML is the version of the management library.
	NVML string `json:"nvml,omitempty"`
	// CUDA is the newest CUDA version that the driver can run, "13.0".
	CUDA string `json:"cuda,omitempty"`
}

// DeviceID names a GPU ("GPU-...") or a MIG instance ("MIG-...") for as long as it
// exists. It is the UUID that the driver, CUDA_VISIBLE_DEVICES and Slurm use.
type DeviceID string

// DeviceInfo is what does not change while a device is in use.
type DeviceInfo struct {
	// ID is the device's UUID.
	ID DeviceID `json:"id"`
	// Parent is the GPU that a MIG instance is part of; empty for a GPU.
	Parent DeviceID `json:"parent,omitempty"`
	// Index is the driver's number of the GPU, or of the instance in its GPU.
	Index int `json:"index"`
	// Name is the product as the driver prints it.
	Name string `json:"name"`
	// PCIBusID is the address on the bus, "00000000:3B:00.0".
	PCIBusID string `json:"pci_bus_id,omitempty"`
	// ComputeCapability is CUDA's, for example 9.0.
	ComputeCapability profile.Opt[float64] `json:"compute_capability,omitzero"`
	// Memory is all device memory, as the driver counts it.
	Memory profile.Opt[profile.Bytes] `json:"memory,omitzero"`
	// MemReserved is the part of Memory that the driver keeps for itself.
	MemReserved profile.Opt[profile.Bytes] `json:"mem_reserved,omitzero"`
	// SMs is the number of multiprocessors as the driver counts them; it knows
	// them for MIG instances.
	SMs profile.Opt[int] `json:"sms,omitzero"`
	// NUMANode is the host memory node next to the device.
	NUMANode profile.Opt[int] `json:"numa_node,omitzero"`
	// ComputeMode says how many processes may use the device.
	ComputeMode profile.Opt[ComputeMode] `json:"compute_mode,omitzero"`
	// MIGEnabled says whether the GPU is in MIG mode.
	MIGEnabled profile.Opt[bool] `json:"mig_enabled,omitzero"`
	// MPSActive says whether processes of the Multi-Process Service were seen on
	// the device; missing where that cannot be told.
	MPSActive profile.Opt[bool] `json:"mps_active,omitzero"`
	// GPM says whether the device has GPU performance monitoring.
	GPM profile.Opt[bool] `json:"gpm,omitzero"`
}

// GPU returns the catalogue's entry for the product. The memory and the SMs are those
// that the driver reported, not the nominal ones. For a MIG instance these are the
// instance's, while rates and bandwidth stay the product's. If the catalogue does
// not know the product, it returns false with what the driver reported alone.
func (d DeviceInfo) GPU() (profile.GPUModel, bool) {
	model, ok := profile.LookupGPU(d.Name)
	if !ok {
		model = profile.GPUModel{Name: d.Name, ComputeCapability: d.ComputeCapability.Or(0)}
	}
	model.Memory = d.Memory.Or(model.Memory)
	model.SMs = d.SMs.Or(model.SMs)
	return model, ok
}
