package utilization

import "example.com/colloc/predict"

// SoloUse is how busy a task alone keeps a GPU; fractions in [0, 1], each with
// an interval. The names are those of [profile.Sample].
type SoloUse struct {
	SMActive    predict.Estimate `json:"sm_active"`
	SMOccupancy predict.Estimate `json:"sm_occupancy"`
	DRAMActive  predict.Estimate `json:"dram_active"`
	GPUBusy     predict.Estimate `json:"gpu_busy"`
}
