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
	// Thresholds decide what is low and high.
	Thresholds Thresholds
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
	// Scaling are measurements of the task on several GPUs, see [ChooseGPUs];
	// none leaves that question open. MinGain is its threshold.
	Scaling []ScalingPoint
	MinGain float64
	// Offers are kinds of GPU to compare with those in Scaling or, without it, with
	// the profile's own: where nothing was measured on a kind, its throughput is
	// predicted by the Planner's paces, see [ScalingChoice]. A kind whose memory
	// the task does not fit is a warning.
	Offers []Offer
}

// Thresholds are the fractions from which a feature counts as low or high. 0
// means the default.
type Thresholds struct {
	// LowSM is the share of SMs below which a GPU is used ineffectively:
	// default 0.5. HighSM is the one from which it is used well: default 0.8.
	// Both are those of NVIDIA's DCGM manual, "SM activity".
	LowSM  float64
	HighSM float64
	// HighDRAM is the share of memory-interface cycles from which bandwidth
	// limits: default 0.6, three quarters of the 0.8 that the DCGM manual gives
	// as the most that can be reached.
	HighDRAM float64
	// HighCPU is the share of the CPU allotment from which it limits: default
	// 0.8.
	HighCPU float64
	// HighWait is the share of a step spent waiting for data from which that
	// limits: default 0.1.
	HighWait float64
	// HighMemory is the share of GPU memory from which a task is large enough
	// that an idle GPU is waste: default 0.5.
	HighMemory float64
	// LargeMemory is the share of GPU memory beyond which sharing makes no
	// sense: default 0.8. With 10 % headroom less than a tenth is left.
	LargeMemory float64
}

func (t *Thresholds) fill() {
	for _, f := range []struct {
		field *float64
		value float64
	}{
		{&t.LowSM, 0.5},
		{&t.HighSM, 0.8},
		{&t.HighDRAM, 0.6},
		{&t.HighCPU, 0.8},
		{&t.HighWait, 0.1},
		{&t.HighMemory, 0.5},
		{&t.LargeMemory, 0.8},
	} {
		if !(*f.field > 0 && *f.field <= 1) { // also NaN
			*f.field = f.value
		}
	}
}
