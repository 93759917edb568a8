package profile

import (
	"slices"
	"strings"
)

// GPUModel is one product: what its data sheet promises for dense arithmetic.
// A field that is zero or missing is unknown. Memory is nominal: where NVML
// answers, its total is the truth for one card.
type GPUModel struct {
	// Name is the catalogue's name, for example "A100-40GB".
	Name string `json:"name"`
	// Memory is the nominal device memory.
	Memory Bytes `json:"memory_bytes"`
	// SMs is the number of streaming multiprocessors.
	SMs int `json:"sms"`
	// BandwidthBytesPerSec is the peak device-memory bandwidth.
	BandwidthBytesPerSec float64 `json:"bandwidth_bytes_per_sec"`
	// L2 is the size of the level-2 cache.
	L2 Bytes `json:"l2_bytes"`
	// FP32, TF32 and BF16 are peak dense rates in operations per second; BF16
	// is the FP16 tensor rate where the product has no bfloat16. 0 is "has
	// none".
	FP32 float64 `json:"fp32_flops"`
	TF32 float64 `json:"tf32_flops"`
	BF16 float64 `json:"bf16_flops"`
	// PowerWatts is the board power limit.
	PowerWatts float64 `json:"power_watts"`
	// ComputeCapability is CUDA's, for example 8.0.
	ComputeCapability float64 `json:"compute_capability"`
	// MIG lists the instance profiles; empty where the product has no MIG.
	MIG []MIGProfile `json:"mig,omitempty"`
	// Unverified names the fields above for which no second source was found.
	Unverified []string `json:"unverified,omitempty"`
}

// MIGProfile is one size of MIG instance. An instance occupies Size memory
// slices from one of Starts on, and Compute of the GPU's compute slices.
type MIGProfile struct {
	// Name is NVIDIA's, for example "3g.20gb". Names move with driver
	// versions: compare Compute and Size instead.
	Name string `json:"name"`
	// Compute is the number of compute slices (of 7; of 4 on A30).
	Compute int `json:"compute"`
	// Size is the number of memory slices (of 8; of 4 on A30).
	Size int `json:"size"`
	// Starts are the memory slices at which an instance may begin.
	Starts []int `json:"starts"`
	// Max is how many such instances one GPU can hold.
	Max int `json:"max"`
	// SMs is the number of SMs; 0 is unknown.
	SMs int `json:"sms,omitempty"`
	// Memory is the nominal memory of an instance.
	Memory Bytes `json:"memory_bytes"`
}

// LookupGPU finds a product by any name in use: as NVML and nvidia-smi print
// it ("NVIDIA A100-SXM4-40GB"), as a Slurm gres ("a100", "gpu:h100:4",
// "nvidia_h100_80gb_hbm3"), as a Kubernetes label ("NVIDIA-A100-SXM4-80GB",
// also with a suffix like "-SHARED" or "-MIG-1g.5gb") or as people say it ("RTX
// 3090"). Case, blanks, dashes and the vendor's name do not matter. A name that
// fits several products gives the one with the least memory; of boards that
// differ in form alone, "A100" is the SXM4 and "V100" and "H100" are the PCIe
// one. It returns false for a name it does not know. O(catalogue); allocates.
func LookupGPU(name string) (GPUModel, bool) {
	key := gpuKey(name)
	for i := range catalogue {
		if slices.Contains(catalogue[i].aliases, key) {
			return catalogue[i].model(), true
		}
	}
	return GPUModel{}, false
}

// GPUs returns the whole catalogue in order of age. The caller owns the result.
func GPUs() []GPUModel {
	all := make([]GPUModel, len(catalogue))
	for i := range catalogue {
		all[i] = catalogue[i].model()
	}
	return all
}

// gpuKey reduces a product name to its letters and digits without the vendor
// and without how the GPU is shared.
func gpuKey(name string) string {
	if kind, rest, ok := strings.Cut(name, ":"); ok && strings.HasSuffix(strings.ToLower(kind), "gpu") {
		name, _, _ = strings.Cut(rest, ":") // gpu:TYPE:COUNT
	}
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(name))
	for _, word := range []string{"nvidia", "tesla", "geforce"} {
		key = strings.TrimPrefix(key, word)
	}
	key, _, _ = strings.Cut(key, "mig")
	return strings.TrimSuffix(key, "shared")
}
