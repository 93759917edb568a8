package profile

import (
	"bytes"
	"cmp"
	"strings"
	"sync"
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
	// Unverified names the fields above for which no second source was found;
	// "mig" is the list of instances.
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
// one; [GPUModel.Canonical] also heeds the memory. It returns false for a name
// it does not know. O(length of the name); allocates.
func LookupGPU(name string) (GPUModel, bool) {
	var buf [keySize]byte
	i, ok := products()[string(appendKey(buf[:0], name))]
	if !ok {
		return GPUModel{}, false
	}
	return catalogue[i].model(), true
}

// Canonical returns the one name under which everything that is learned about a
// product is kept, whatever a scheduler calls it: the catalogue's, where
// [LookupGPU] knows the name. Of products that share the name the memory
// decides: "A100" with 80 GiB is "A100-80GB". A product that the catalogue does
// not have goes by its letters and digits without the vendor, so that "RTX 9090"
// and "NVIDIA GeForce RTX9090" are one. It returns "" for nil and for a model
// without a name. It allocates for a product out of the catalogue alone, and not
// if the name is canonical. O(length of the name).
func (g *GPUModel) Canonical() string {
	if g == nil {
		return ""
	}
	var buf [keySize]byte
	key := appendKey(buf[:0], g.Name)
	i, ok := products()[string(key)]
	switch {
	case ok:
		return catalogue[withMemory(i, key, g.Memory)].name
	case len(key) == 0: // no Latin letter and no digit
		return strings.ToLower(strings.TrimSpace(g.Name))
	case string(key) == g.Name:
		return g.Name
	}
	return string(key)
}

// Sliced reports whether the name is that of a MIG instance: it has the word "MIG" or
// the name of an instance profile, such as "1g.5gb", in it. An instance that goes by
// the name of its card cannot be told from it. It does not allocate. O(length of the
// name).
func (g *GPUModel) Sliced() bool {
	if g == nil {
		return false
	}
	const mig = "mig"
	digit := func(i int) bool { return i >= 0 && i < len(g.Name) && g.Name[i] >= '0' && g.Name[i] <= '9' }
	is := func(i int, want string) bool {
		return i+len(want) <= len(g.Name) && strings.EqualFold(g.Name[i:i+len(want)], want)
	}
	letter := func(i int) bool {
		return i >= 0 && i < len(g.Name) && (g.Name[i]|0x20) >= 'a' && (g.Name[i]|0x20) <= 'z'
	}
	for i := range len(g.Name) {
		if is(i, mig) && !letter(i-1) && !letter(i+len(mig)) || digit(i-1) && is(i, "g.") && digit(i+2) {
			return true
		}
	}
	return false
}

// Figures returns the model with the figures that it lacks taken from the
// catalogue's product of its [GPUModel.Canonical] name: a scheduler that knows
// name and memory alone need not look up the rest. MIG and Unverified stay as
// they are. It does not allocate for a product of the catalogue; for nil it
// returns the zero GPUModel.
func (g *GPUModel) Figures() GPUModel {
	if g == nil {
		return GPUModel{}
	}
	var buf [keySize]byte
	key := appendKey(buf[:0], g.Name)
	i, ok := products()[string(key)]
	if !ok {
		return *g
	}
	p := &catalogue[withMemory(i, key, g.Memory)]
	sheet, full := p.figures(), *g
	full.Memory, full.L2 = cmp.Or(g.Memory, sheet.Memory), cmp.Or(g.L2, sheet.L2)
	full.SMs = cmp.Or(g.SMs, sheet.SMs)
	for _, f := range [...]struct {
		to    *float64
		sheet float64
	}{
		{&full.BandwidthBytesPerSec, sheet.BandwidthBytesPerSec},
		{&full.FP32, sheet.FP32},
		{&full.TF32, sheet.TF32},
		{&full.BF16, sheet.BF16},
		{&full.PowerWatts, sheet.PowerWatts},
		{&full.ComputeCapability, sheet.ComputeCapability},
	} {
		*f.to = cmp.Or(*f.to, f.sheet)
	}
	return full
}

// MIGSlices returns how many compute and memory slices the whole GPU has: those
// of its largest instance, or of the catalogue's product of its name where it
// lists none; 7 and 8 for a product that has no MIG or is unknown. It does not
// allocate for a product of the catalogue.
func (g *GPUModel) MIGSlices() (compute, memory int) {
	if g == nil {
		return 7, 8
	}
	for i := range g.MIG {
		compute, memory = max(compute, g.MIG[i].Compute), max(memory, g.MIG[i].Size)
	}
	if compute > 0 && memory > 0 {
		return compute, memory
	}
	var buf [keySize]byte
	if i, ok := products()[string(appendKey(buf[:0], g.Name))]; ok && catalogue[i].migFamily == fourSlices {
		return 4, 4
	}
	return 7, 8
}

// GPUs returns the whole catalogue, older architectures first. The caller owns
// the result.
func GPUs() []GPUModel {
	all := make([]GPUModel, len(catalogue))
	for i := range catalogue {
		all[i] = catalogue[i].model()
	}
	return all
}

// products maps the key of every name in use to its row of the catalogue.
//
//nolint:gochecknoglobals // a read-only index of a read-only table
var products = sync.OnceValue(func() map[string]int {
	index := make(map[string]int)
	for i := range catalogue {
		for _, alias := range catalogue[i].aliases {
			index[alias] = i
		}
	}
	return index
})

// withMemory returns the product that goes by key followed by its memory in GB
// and has the given one, or i where that has it or none does.
func withMemory(i int, key []byte, memory Bytes) int {
	if memory <= 0 || catalogue[i].holds(memory) {
		return i
	}
	for j := range catalogue {
		if !catalogue[j].holds(memory) {
			continue
		}
		for _, alias := range catalogue[j].aliases {
			size, ok := strings.CutPrefix(alias, string(key))
			size, gb := strings.CutSuffix(size, "gb")
			if ok && gb && size != "" && size[0] != '0' && strings.Trim(size, "0123456789") == "" {
				return j
			}
		}
	}
	return i
}

// holds reports whether a total that a driver may print is the product's: within
// an eighth, because some of it is kept back.
func (p *product) holds(memory Bytes) bool {
	nominal := Bytes(p.memoryMiB) * MiB
	return memory >= nominal-nominal/8 && memory <= nominal+nominal/8
}

// keySize is longer than the key of any product: appendKey grows beyond it.
const keySize = 64

// appendKey appends a product name's letters and digits, in lower case, without
// the vendor and without how the GPU is shared.
func appendKey(dst []byte, name string) []byte {
	if kind, rest, ok := strings.Cut(name, ":"); ok && len(kind) >= 3 && strings.EqualFold(kind[len(kind)-3:], "gpu") {
		name, _, _ = strings.Cut(rest, ":") // gpu:TYPE:COUNT
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			dst = append(dst, c)
		}
	}
	for _, word := range [...]string{"nvidia", "tesla", "geforce"} {
		if len(dst) >= len(word) && string(dst[:len(word)]) == word {
			dst = dst[len(word):]
		}
	}
	if i := bytes.Index(dst, []byte("mig")); i >= 0 {
		dst = dst[:i]
	}
	for _, word := range [...]string{"shared", "generation"} {
		if n := len(dst) - len(word); n >= 0 && string(dst[n:]) == word {
			dst = dst[:n]
		}
	}
	return dst
}
