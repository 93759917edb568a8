package profile

import "time"

// Sample is what was seen of one GPU, or of one task on it, during a window.
// Ratios are in [0, 1]; whatever the source could not tell is missing.
type Sample struct {
	// At is the end of the window.
	At time.Time `json:"at,omitzero"`
	// Window is how long the averages below cover; 0 means an instant.
	Window time.Duration `json:"window,omitempty"`
	// SMActive is the mean share of SMs with at least one warp resident.
	SMActive Opt[float64] `json:"sm_active,omitzero"`
	// SMOccupancy is resident warps over the most that fit.
	SMOccupancy Opt[float64] `json:"sm_occupancy,omitzero"`
	// TensorActive is the share of cycles the tensor pipe was active.
	TensorActive Opt[float64] `json:"tensor_active,omitzero"`
	// DRAMActive is the share of cycles the device memory interface moved data.
	DRAMActive Opt[float64] `json:"dram_active,omitzero"`
	// GPUBusy is the share of time with at least one kernel resident: what
	// nvidia-smi calls utilization.gpu. It is not SM use.
	GPUBusy Opt[float64] `json:"gpu_busy,omitzero"`
	// MemBusy is the share of time device memory was read or written: what
	// nvidia-smi calls utilization.memory. It is not capacity.
	MemBusy Opt[float64] `json:"mem_busy,omitzero"`
	// FP32Active is the share of cycles the FP32 pipe was active.
	FP32Active Opt[float64] `json:"fp32_active,omitzero"`
	// CPUBusy is the share of the task's CPU allotment in use.
	CPUBusy Opt[float64] `json:"cpu_busy,omitzero"`
	// MemUsed is the device memory in use.
	MemUsed Opt[Bytes] `json:"mem_used,omitzero"`
	// PowerWatts is the board power.
	PowerWatts Opt[float64] `json:"power_watts,omitzero"`
	// EnergyJoules is the energy since an arbitrary start; it only grows.
	EnergyJoules Opt[float64] `json:"energy_joules,omitzero"`
	// SMClockMHz is the SM clock.
	SMClockMHz Opt[float64] `json:"sm_clock_mhz,omitzero"`
	// TempCelsius is the GPU temperature.
	TempCelsius Opt[float64] `json:"temp_celsius,omitzero"`
	// PCIeBytesPerSec is PCIe traffic, both directions together.
	PCIeBytesPerSec Opt[float64] `json:"pcie_bytes_per_sec,omitzero"`
	// StepTime is the duration of one training step (one batch).
	StepTime Opt[time.Duration] `json:"step_time,omitzero"`
}

// Trace is a series of samples of one task alone on one GPU, in order of time.
type Trace struct {
	// Samples are in order of time.
	Samples []Sample `json:"samples"`
	// Labels say where the trace came from: job, pod, device, file.
	Labels map[string]string `json:"labels,omitempty"`
	// Warnings are what a reader had to leave out, with line numbers.
	Warnings []error `json:"-"`
}
