package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/internal/enum"
	"example.com/colloc/profile/internal/catalogue"
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

// Equal reports whether all fields agree. A missing list equals an empty one.
func (g *GPUModel) Equal(o *GPUModel) bool {
	if g == nil || o == nil {
		return g == o
	}
	return g.Name == o.Name && g.Memory == o.Memory && g.SMs == o.SMs && g.BandwidthBytesPerSec == o.BandwidthBytesPerSec && g.L2 == o.L2 &&
		g.FP32 == o.FP32 && g.TF32 == o.TF32 && g.BF16 == o.BF16 && g.PowerWatts == o.PowerWatts && g.ComputeCapability == o.ComputeCapability &&
		slices.Equal(g.Unverified, o.Unverified) && len(g.MIG) == len(o.MIG) &&
		(len(g.MIG) == 0 || &g.MIG[0] == &o.MIG[0] || slices.EqualFunc(g.MIG, o.MIG, MIGProfile.equal))
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

func (p MIGProfile) equal(o MIGProfile) bool {
	return p.Name == o.Name && p.Compute == o.Compute && p.Size == o.Size && p.Max == o.Max && p.SMs == o.SMs && p.Memory == o.Memory &&
		slices.Equal(p.Starts, o.Starts)
}

// LookupGPU finds a product by any name in use: as NVML and nvidia-smi print
// it ("NVIDIA A100-SXM4-40GB"), as a Slurm gres ("a100", "gpu:h100:4",
// "nvidia_h100_80gb_hbm3"), as a Kubernetes label ("NVIDIA-A100-SXM4-80GB",
// also with a suffix like "-SHARED" or "-MIG-1g.5gb") or as people say it ("RTX
// 3090"). Case, blanks, dashes and the vendor's name do not matter. The name of
// a MIG instance gives the whole card: keep the name, for nothing else says
// which slice it is. A name that fits several products gives the one with the
// least memory; of boards that differ in form alone, "A100" is the SXM4 and
// "V100" and "H100" are the PCIe one; [GPUModel.Canonical] also heeds the
// memory. It returns false for a name it does not know. O(length of the name);
// allocates.
func LookupGPU(name string) (GPUModel, bool) {
	var buf [catalogue.KeySize]byte
	p := catalogue.Find(catalogue.AppendKey(buf[:0], name))
	if p == nil {
		return GPUModel{}, false
	}
	return modelOf(p), true
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
	var buf [catalogue.KeySize]byte
	key := catalogue.AppendKey(buf[:0], g.Name)
	p := catalogue.Find(key)
	switch {
	case p != nil:
		return p.WithMemory(key, int64(g.Memory)).Name
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
	var buf [catalogue.KeySize]byte
	key := catalogue.AppendKey(buf[:0], g.Name)
	p := catalogue.Find(key)
	if p == nil {
		return *g
	}
	sheet, full := figuresOf(p.WithMemory(key, int64(g.Memory))), *g
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
	var buf [catalogue.KeySize]byte
	if p := catalogue.Find(catalogue.AppendKey(buf[:0], g.Name)); p != nil && p.MIG == catalogue.FourSlices {
		return 4, 4
	}
	return 7, 8
}

// GPUs returns the whole catalogue, older architectures first. The caller owns
// the result.
func GPUs() []GPUModel {
	all := make([]GPUModel, len(catalogue.Products))
	for i := range catalogue.Products {
		all[i] = modelOf(&catalogue.Products[i])
	}
	return all
}

// modelOf is the whole entry, the caller's own.
func modelOf(p *catalogue.Product) GPUModel {
	g := figuresOf(p)
	g.MIG, g.Unverified = migOf(p), append([]string(nil), p.Unverified...)
	return g
}

// figuresOf is the entry without what must be allocated.
func figuresOf(p *catalogue.Product) GPUModel {
	const mega, giga, tera = 1 << 20, 1e9, 1e12
	return GPUModel{
		Name: p.Name, Memory: Bytes(p.MemoryMiB) * MiB, SMs: p.SMs,
		BandwidthBytesPerSec: p.GBPerSec * giga, L2: Bytes(p.L2MiB) * mega,
		FP32: p.FP32 * tera, TF32: p.TF32 * tera, BF16: p.BF16 * tera,
		PowerWatts: p.Watts, ComputeCapability: p.Capability,
	}
}

// migOf lists the instance sizes: one placement table holds for every product of
// a slice count, only names, memory and SMs differ.
func migOf(p *catalogue.Product) []MIGProfile {
	type shape struct {
		compute, size, max int
		starts             []int
	}
	var shapes [6]shape
	switch p.MIG {
	case catalogue.NoMIG:
		return nil
	case catalogue.SevenSlices:
		shapes = [6]shape{
			{1, 1, 7, []int{0, 1, 2, 3, 4, 5, 6}},
			{1, 2, 4, []int{0, 2, 4, 6}},
			{2, 2, 3, []int{0, 2, 4}},
			{3, 4, 2, []int{0, 4}},
			{4, 4, 1, []int{0}},
			{7, 8, 1, []int{0}},
		}
	case catalogue.FourSlices:
		shapes = [6]shape{
			{1, 1, 4, []int{0, 1, 2, 3}},
			{},
			{2, 2, 2, []int{0, 2}},
			{},
			{4, 4, 1, []int{0}},
			{},
		}
	}
	var list []MIGProfile
	for i, s := range shapes {
		if s.compute == 0 {
			continue
		}
		gb := p.MIGMemoryGB[i]
		list = append(list, MIGProfile{
			Name: fmt.Sprintf("%dg.%dgb", s.compute, gb), Compute: s.compute, Size: s.size, Starts: s.starts,
			Max: s.max, SMs: p.MIGInstances[i], Memory: Bytes(gb) * GiB,
		})
	}
	return list
}

// Rate returns the peak dense rate in operations per second at a precision: the
// tensor rate where the product has one, else FP32; 0 is unknown.
func (g *GPUModel) Rate(p Precision) float64 {
	switch {
	case p == TF32 && g.TF32 > 0:
		return g.TF32
	case p.ElementBytes() == 2 && g.BF16 > 0:
		return g.BF16
	default:
		return g.FP32
	}
}

// Mechanism is how the tasks of a set share one GPU. The zero value is Exclusive.
// Where colloc asks how several tasks are to share, Exclusive makes no sense and
// the zero value stands for TimeSlice, which needs no set-up. In a measurement of
// several tasks nothing stands for anything: there Exclusive is an error.
type Mechanism int

// The sharing mechanisms of NVIDIA GPUs.
const (
	// Exclusive runs one task alone.
	Exclusive Mechanism = iota
	// TimeSlice is what CUDA does when processes share a GPU without any
	// set-up: contexts take turns, memory is not fenced.
	TimeSlice
	// MPS runs kernels of several processes at the same time through the
	// Multi-Process Service; a thread percentage caps each client.
	MPS
	// MIG cuts the GPU into instances with their own SMs, cache and memory.
	MIG
)

// Mechanisms is the number of mechanisms.
const Mechanisms int = int(MIG) + 1

//nolint:gochecknoglobals // read-only name table of the enumeration
var mechanismNames = enum.Of("profile: mechanism", "exclusive", "time-slicing", "mps", "mig")

// String returns "exclusive", "time-slicing", "mps" or "mig".
func (m Mechanism) String() string { return mechanismNames.Text(int(m)) }

// ParseMechanism reads what String writes, ignoring case.
func ParseMechanism(s string) (m Mechanism, err error) {
	err = enum.Parse(mechanismNames, []byte(s), &m)
	return m, err
}

// MarshalText writes what String returns; an undefined mechanism is an error.
func (m Mechanism) MarshalText() ([]byte, error) { return mechanismNames.Marshal(int(m)) }

// UnmarshalText reads what MarshalText writes.
func (m *Mechanism) UnmarshalText(text []byte) error { return enum.Parse(mechanismNames, text, m) }
