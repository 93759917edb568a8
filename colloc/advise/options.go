package advise

import (
	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Options says what to diagnose against. The zero value, or nil, is the
// documented default.
type Options struct {
	// Planner predicts memory and speeds, with its headroom, risk and limits;
	// nil is New(Config{}), which reads the pretrained models anew, a tenth of
	// a second: pass one if you have it.
	Planner *colloc.Planner
	// GPU is the product the task is to run on; the zero GPUModel is the one of
	// the profile.
	GPU profile.GPUModel
	// Mechanism is how tasks would share; the zero value is time-slicing.
	Mechanism profile.Mechanism
	// DataWait is the share of its steps in which the task waited for its data, in
	// [0, 1]. A profiler's trace tells (tracefile.File.DataWait). Missing is not measured.
	DataWait profile.Opt[float64]
	// CPUs is the number of CPU cores the task may use; 0 is unknown and counts
	// as 8 where data-loader workers are advised.
	CPUs int
	// MaxCopies is the largest number of tasks like this one that may share a
	// GPU; 0 means 8.
	MaxCopies int
	// MaxGPUs is the largest number of GPUs for one task that does not fit on
	// one; 0 means 8.
	MaxGPUs int
}

// The shares from which a feature counts as low or high.
const (
	// lowSM is the share of SMs below which a GPU is used ineffectively, highSM the one
	// from which it is used well. Both are those of NVIDIA's DCGM manual, "SM activity".
	lowSM  = 0.5
	highSM = 0.8
	// highDRAM is the share of memory-interface cycles from which bandwidth limits:
	// three quarters of the 0.8 that the DCGM manual gives as the most that can be
	// reached.
	highDRAM = 0.6
	// highCPU is the share of the CPU allotment from which it limits.
	highCPU = 0.8
	// highWait is the share of a step spent waiting for data from which that limits.
	highWait = 0.1
	// highMemory is the share of GPU memory from which a task is large enough that an
	// idle GPU is waste.
	highMemory = 0.5
	// largeMemory is the share of GPU memory beyond which sharing makes no sense: with
	// 10 % headroom less than a tenth is left.
	largeMemory = 0.8
)
