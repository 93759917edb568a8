package catalogue

// Product is a catalogue row in data-sheet units.
type Product struct {
	Name         string
	Aliases      []string // as AppendKey makes them
	MemoryMiB    int
	GBPerSec     float64
	SMs          int
	L2MiB        int
	FP32         float64 // TFLOP/s, dense
	TF32         float64
	BF16         float64
	Watts        float64
	Capability   float64
	MIG          MIGFamily
	MIGMemoryGB  [6]int // 1g, 1g double memory, 2g, 3g, 4g, 7g as NVIDIA names them
	Unverified   []string
	MIGInstances [6]int // SMs of the same six sizes; 0 is unknown
}

// MIGFamily says how a GPU is cut into instances.
type MIGFamily int

// The ways to cut a GPU.
const (
	// NoMIG is a product that cannot be cut.
	NoMIG MIGFamily = iota
	// SevenSlices are those of compute, beside eight of memory.
	SevenSlices
	// FourSlices are those of compute and of memory.
	FourSlices
)

// recalled is a product whose figures were typed from memory, in data-sheet
// units: GiB, GB/s, SMs, L2 in MiB (0 unknown), peak TFLOP/s in FP32, TF32 and
// 16 bits (0 has none), watts, compute capability.
func recalled(name string, gib int, gbPerSec float64, sms, l2MiB int, fp32, tf32, bf16, watts, capability float64, aliases ...string) Product {
	return Product{
		Name: name, Aliases: aliases, MemoryMiB: gib << 10, GBPerSec: gbPerSec, SMs: sms, L2MiB: l2MiB,
		FP32: fp32, TF32: tf32, BF16: bf16, Watts: watts, Capability: capability,
		Unverified: []string{
			"memory_bytes", "bandwidth_bytes_per_sec", "sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops",
			"power_watts", "compute_capability",
		},
	}
}

// sliced gives a recalled product its MIG instances, by their memory in GB.
func (p Product) sliced(family MIGFamily, gb ...int) Product {
	p.MIG = family
	copy(p.MIGMemoryGB[:], gb)
	p.Unverified = append(p.Unverified, "mig")
	return p
}

// Products is the catalogue: dense rates, no sparsity. A field named in unverified was
// found in one source or none; every other figure agrees in at least two of:
// NVIDIA data sheets as quoted by Lightning's throughput table and by the
// ml-engineering handbook's accelerator chapter, the community collection
// gpu-specs, and the properties that PyTorch prints on such a device. Memory is
// the nominal size, except H200 and GH200-96 where NVML's total was seen.
// Products written as a call of recalled are from memory of NVIDIA's data sheets
// and of what drivers print: every figure of them is marked unverified.
// MIG: NVIDIA MIG user guide and `nvidia-smi mig -lgipp` output of A100, H100
// and H100 NVL; SM counts per instance as the driver printed them.
//
//nolint:gochecknoglobals // read-only table
var Products = []Product{
	recalled("K40", 12, 288, 15, 0, 4.29, 0, 0, 235, 3.5, "k40", "k40m", "k40c", "k40s"),
	{ // one of the two GPUs of a board, as drivers and schedulers count them
		Name: "K80", Aliases: []string{"k80", "k8012gb"},
		MemoryMiB: 12288, GBPerSec: 240, SMs: 13, FP32: 4.37, Watts: 150, Capability: 3.7,
		Unverified: []string{"sms", "l2_bytes", "fp32_flops", "power_watts"},
	},
	recalled("M40-12GB", 12, 288, 24, 3, 6.8, 0, 0, 250, 5.2, "m40", "m4012gb"),
	recalled("M40-24GB", 24, 288, 24, 3, 6.8, 0, 0, 250, 5.2, "m4024gb"),
	recalled("M60", 8, 160, 16, 2, 4.8, 0, 0, 150, 5.2, "m60", "m608gb"),
	recalled("GTX-TITAN-X", 12, 336.6, 24, 3, 6.7, 0, 0, 250, 5.2, "gtxtitanx"),
	recalled("P4", 8, 192, 20, 2, 5.5, 0, 0, 75, 6.1, "p4", "p48gb"),
	recalled("P40", 24, 346, 30, 3, 11.8, 0, 0, 250, 6.1, "p40", "p4024gb"),
	recalled("P100-PCIe-12GB", 12, 549, 56, 3, 9.3, 0, 18.7, 250, 6.0, "p10012gb", "p100pcie12gb"),
	{
		Name: "P100-PCIe-16GB", Aliases: []string{"p100", "p10016gb", "p100pcie16gb", "p100pcie"},
		MemoryMiB: 16384, GBPerSec: 732, SMs: 56, L2MiB: 4, FP32: 9.3, BF16: 18.7, Watts: 250, Capability: 6.0,
		Unverified: []string{"l2_bytes", "power_watts"},
	},
	recalled("P100-SXM2-16GB", 16, 732, 56, 4, 10.6, 0, 21.2, 300, 6.0, "p100sxm2", "p100sxm216gb", "p100sxm"),
	recalled("GTX1070", 8, 256, 15, 2, 6.5, 0, 0, 150, 6.1, "gtx1070", "1070"),
	recalled("GTX1080", 8, 320, 20, 2, 8.9, 0, 0, 180, 6.1, "gtx1080", "1080"),
	recalled("GTX1080Ti", 11, 484, 28, 0, 11.3, 0, 0, 250, 6.1, "gtx1080ti", "1080ti"),
	recalled("TITAN-X-Pascal", 12, 480, 28, 3, 11, 0, 0, 250, 6.1, "titanx", "titanxpascal"),
	recalled("TITAN-Xp", 12, 547.6, 30, 3, 12.15, 0, 0, 250, 6.1, "titanxp"),
	recalled("Quadro-P5000", 16, 288, 20, 2, 8.9, 0, 0, 180, 6.1, "quadrop5000", "p5000"),
	recalled("Quadro-P6000", 24, 432, 30, 3, 12.6, 0, 0, 250, 6.1, "quadrop6000", "p6000"),
	{
		Name: "V100-PCIe-16GB", Aliases: []string{"v100", "v10016gb", "v100pcie16gb", "v100pcie"},
		MemoryMiB: 16384, GBPerSec: 900, SMs: 80, L2MiB: 6, FP32: 14, BF16: 112, Watts: 250, Capability: 7.0,
	},
	{
		Name: "V100-PCIe-32GB", Aliases: []string{"v10032gb", "v100pcie32gb"},
		MemoryMiB: 32768, GBPerSec: 900, SMs: 80, L2MiB: 6, FP32: 14, BF16: 112, Watts: 250, Capability: 7.0,
	},
	{
		Name: "V100-SXM2-16GB", Aliases: []string{"v100sxm216gb", "v100sxm2"},
		MemoryMiB: 16384, GBPerSec: 900, SMs: 80, L2MiB: 6, FP32: 15.7, BF16: 125, Watts: 300, Capability: 7.0,
	},
	{
		Name: "V100-SXM2-32GB", Aliases: []string{"v100sxm232gb"},
		MemoryMiB: 32768, GBPerSec: 900, SMs: 80, L2MiB: 6, FP32: 15.7, BF16: 125, Watts: 300, Capability: 7.0,
	},
	recalled("V100-SXM3-32GB", 32, 981, 80, 6, 16.4, 0, 131, 350, 7.0, "v100sxm3", "v100sxm332gb"),
	recalled("V100-SXM3-32GB-H", 32, 981, 80, 6, 17.4, 0, 139, 450, 7.0, "v100sxm332gbh"),
	recalled("V100S-PCIe-32GB", 32, 1134, 80, 6, 16.4, 0, 130, 250, 7.0, "v100s", "v100s32gb", "v100spcie", "v100spcie32gb"),
	recalled("TITAN-V", 12, 653, 80, 0, 14.9, 0, 119, 250, 7.0, "titanv"),
	recalled("Quadro-GV100", 32, 870, 80, 6, 14.8, 0, 118.5, 250, 7.0, "quadrogv100", "gv100"),
	{
		Name: "T4", Aliases: []string{"t4", "t416gb"},
		MemoryMiB: 16384, GBPerSec: 320, SMs: 40, L2MiB: 4, FP32: 8.1, BF16: 65, Watts: 70, Capability: 7.5,
	},
	recalled("T4G", 16, 320, 40, 4, 8.1, 0, 65, 70, 7.5, "t4g", "t4g16gb"),
	recalled("RTX2060", 6, 336, 30, 3, 6.5, 0, 26, 160, 7.5, "rtx2060", "2060"),
	recalled("RTX2070", 8, 448, 36, 4, 7.5, 0, 29.9, 175, 7.5, "rtx2070", "2070"),
	recalled("RTX2070-Super", 8, 448, 40, 4, 9.1, 0, 36.3, 215, 7.5, "rtx2070super", "2070super"),
	recalled("RTX2080", 8, 448, 46, 4, 10.1, 0, 40.3, 215, 7.5, "rtx2080", "2080"),
	recalled("RTX2080-Super", 8, 496, 48, 4, 11.2, 0, 44.6, 250, 7.5, "rtx2080super", "2080super"),
	recalled("RTX2080Ti", 11, 616, 68, 0, 13.4, 0, 53.8, 250, 7.5, "rtx2080ti", "2080ti"),
	recalled("RTX2070-Max-Q", 8, 384, 36, 4, 5.46, 0, 21.8, 90, 7.5, "rtx2070withmaxqdesign", "rtx2070maxq"),
	recalled("RTX2080-Max-Q", 8, 384, 46, 4, 6.4, 0, 25.8, 90, 7.5, "rtx2080withmaxqdesign", "rtx2080maxq"),
	recalled("RTX2080-Super-Max-Q", 8, 352, 48, 4, 6.6, 0, 26.5, 90, 7.5, "rtx2080superwithmaxqdesign", "rtx2080supermaxq"),
	recalled("TITAN-RTX", 24, 672, 72, 6, 16.3, 0, 130.5, 280, 7.5, "titanrtx"),
	recalled("Quadro-RTX-4000", 8, 416, 36, 4, 7.1, 0, 57, 160, 7.5, "quadrortx4000", "rtx4000"),
	recalled("Quadro-RTX-5000", 16, 448, 48, 4, 11.2, 0, 89.2, 230, 7.5, "quadrortx5000", "rtx5000"),
	recalled("Quadro-RTX-6000", 24, 672, 72, 6, 16.3, 0, 130.5, 260, 7.5, "quadrortx6000", "rtx6000", "rtx600024gb"),
	recalled("Quadro-RTX-8000", 48, 672, 72, 6, 16.3, 0, 130.5, 260, 7.5, "quadrortx8000", "rtx8000"),
	recalled("RTX3060", 12, 360, 28, 3, 12.7, 12.7, 25.5, 170, 8.6, "rtx3060", "3060"),
	recalled("RTX3060Ti", 8, 448, 38, 4, 16.2, 16.2, 32.4, 200, 8.6, "rtx3060ti", "3060ti"),
	recalled("RTX3070", 8, 448, 46, 4, 20.3, 20.3, 40.6, 220, 8.6, "rtx3070", "3070"),
	recalled("RTX3070Ti", 8, 608, 48, 4, 21.7, 21.7, 43.5, 290, 8.6, "rtx3070ti", "3070ti"),
	recalled("RTX3080-Laptop", 16, 384, 48, 4, 15.3, 15.3, 30.6, 115, 8.6, "rtx3080laptop", "rtx3080laptopgpu"),
	recalled("RTX3080-10GB", 10, 760, 68, 5, 29.8, 29.8, 59.5, 320, 8.6, "rtx3080", "3080", "rtx308010gb"),
	recalled("RTX3080-12GB", 12, 912, 70, 6, 30.6, 30.6, 61.3, 350, 8.6, "rtx308012gb"),
	recalled("RTX3080Ti", 12, 912, 80, 6, 34.1, 34.1, 68.2, 350, 8.6, "rtx3080ti", "3080ti"),
	{
		Name: "RTX3090", Aliases: []string{"rtx3090", "3090", "rtx309024gb"},
		MemoryMiB: 24576, GBPerSec: 936, SMs: 82, L2MiB: 6, FP32: 35.6, TF32: 35.6, BF16: 71, Watts: 350, Capability: 8.6,
		Unverified: []string{"l2_bytes", "tf32_flops", "bf16_flops"},
	},
	recalled("RTX3090Ti", 24, 1008, 84, 6, 40, 40, 80, 450, 8.6, "rtx3090ti", "3090ti"),
	recalled("RTX-A2000-6GB", 6, 288, 26, 3, 8, 16, 32, 70, 8.6, "rtxa2000", "a2000", "rtxa20006gb"),
	recalled("RTX-A2000-12GB", 12, 288, 26, 3, 8, 16, 32, 70, 8.6, "rtxa200012gb", "a200012gb"),
	recalled("RTX-A4000", 16, 448, 48, 4, 19.2, 38.3, 76.7, 140, 8.6, "rtxa4000", "a4000"),
	recalled("RTX-A4500", 20, 640, 56, 6, 23.7, 47.3, 94.6, 200, 8.6, "rtxa4500", "a4500"),
	recalled("RTX-A5000", 24, 768, 64, 6, 27.8, 55.6, 111.1, 230, 8.6, "rtxa5000", "a5000"),
	recalled("RTX-A5500", 24, 768, 80, 6, 34.1, 68.2, 136.4, 230, 8.6, "rtxa5500", "a5500"),
	recalled("RTX-A6000", 48, 768, 84, 6, 38.7, 77.4, 154.8, 300, 8.6, "rtxa6000", "a6000"),
	recalled("A2", 16, 200, 10, 2, 4.5, 9, 18, 60, 8.6, "a2", "a216gb"),
	recalled("A16", 16, 200, 10, 2, 4.5, 9, 18, 62, 8.6, "a16", "a1616gb"),
	{
		Name: "A10", Aliases: []string{"a10", "a1024gb"},
		MemoryMiB: 24576, GBPerSec: 600, SMs: 72, L2MiB: 6, FP32: 31.2, TF32: 62.5, BF16: 125, Watts: 150, Capability: 8.6,
	},
	recalled("A10G", 24, 600, 80, 6, 35, 35, 70, 300, 8.6, "a10g", "a10g24gb"),
	{
		Name: "A30", Aliases: []string{"a30", "a3024gb"},
		MemoryMiB: 24576, GBPerSec: 933, SMs: 56, L2MiB: 24, FP32: 10.3, TF32: 82, BF16: 165, Watts: 165, Capability: 8.0,
		MIG: FourSlices, MIGMemoryGB: [6]int{6, 0, 12, 0, 24, 0}, MIGInstances: [6]int{14, 0, 28, 0, 56, 0},
		Unverified: []string{"bandwidth_bytes_per_sec", "l2_bytes", "tf32_flops", "bf16_flops"},
	},
	{
		Name: "A40", Aliases: []string{"a40", "a4048gb"},
		MemoryMiB: 49152, GBPerSec: 696, SMs: 84, L2MiB: 6, FP32: 37.4, TF32: 74.8, BF16: 149.7, Watts: 300, Capability: 8.6,
		Unverified: []string{"l2_bytes", "fp32_flops", "tf32_flops", "power_watts"},
	},
	{
		Name: "A100-PCIe-40GB", Aliases: []string{"a100pcie40gb", "a100pcie", "a10040gbpcie"},
		MemoryMiB: 40960, GBPerSec: 1555, SMs: 108, L2MiB: 40, FP32: 19.5, TF32: 156, BF16: 312, Watts: 250, Capability: 8.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{5, 10, 10, 20, 20, 40}, MIGInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		Name: "A100-40GB", Aliases: []string{"a100", "a10040", "a10040gb", "a100sxm440gb", "a100sxm4", "a100sxm", "a10040gbsxm4"},
		MemoryMiB: 40960, GBPerSec: 1555, SMs: 108, L2MiB: 40, FP32: 19.5, TF32: 156, BF16: 312, Watts: 400, Capability: 8.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{5, 10, 10, 20, 20, 40}, MIGInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		Name: "A100-PCIe-80GB", Aliases: []string{"a100pcie80gb", "a10080gbpcie"},
		MemoryMiB: 81920, GBPerSec: 1935, SMs: 108, L2MiB: 40, FP32: 19.5, TF32: 156, BF16: 312, Watts: 300, Capability: 8.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, MIGInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		Name: "A100-80GB", Aliases: []string{"a10080", "a10080gb", "a100sxm480gb", "a10080gbsxm4"},
		MemoryMiB: 81920, GBPerSec: 2039, SMs: 108, L2MiB: 40, FP32: 19.5, TF32: 156, BF16: 312, Watts: 400, Capability: 8.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, MIGInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	recalled("A800-PCIe-80GB", 80, 1935, 108, 40, 19.5, 156, 312, 300, 8.0, "a800pcie", "a80080gbpcie", "a800pcie80gb").sliced(SevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("A800-SXM4-80GB", 80, 2039, 108, 40, 19.5, 156, 312, 400, 8.0, "a800", "a80080gb", "a800sxm4", "a800sxm480gb").sliced(SevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("RTX-2000-Ada", 16, 224, 22, 12, 12, 24, 48, 70, 8.9, "rtx2000ada"),
	recalled("RTX-4000-SFF-Ada", 20, 280, 48, 48, 19.2, 38.3, 76.7, 70, 8.9, "rtx4000sffada"),
	recalled("RTX-4000-Ada", 20, 360, 48, 48, 26.7, 41, 81.9, 130, 8.9, "rtx4000ada"),
	recalled("RTX-4500-Ada", 24, 432, 60, 48, 39.6, 79.3, 158.5, 210, 8.9, "rtx4500ada"),
	recalled("RTX-5000-Ada", 32, 576, 100, 72, 65.3, 130.6, 261.1, 250, 8.9, "rtx5000ada"),
	recalled("RTX-5880-Ada", 48, 960, 110, 96, 69.3, 138.6, 277, 285, 8.9, "rtx5880ada"),
	recalled("RTX-6000-Ada", 48, 960, 142, 96, 91.1, 182.1, 364.2, 300, 8.9, "rtx6000ada", "6000ada", "rtx600048gb"),
	{
		Name: "L4", Aliases: []string{"l4", "l424gb"},
		MemoryMiB: 24576, GBPerSec: 300, SMs: 58, L2MiB: 48, FP32: 30.3, TF32: 60, BF16: 121, Watts: 72, Capability: 8.9,
		Unverified: []string{"l2_bytes"},
	},
	recalled("L20", 48, 864, 92, 96, 59.8, 59.8, 119.5, 275, 8.9, "l20", "l2048gb"),
	recalled("L40", 48, 864, 142, 96, 90.5, 90.5, 181, 300, 8.9, "l40", "l4048gb"),
	{
		Name: "L40S", Aliases: []string{"l40s", "l40s48gb"},
		MemoryMiB: 49152, GBPerSec: 864, SMs: 142, L2MiB: 96, FP32: 91.6, TF32: 183, BF16: 362, Watts: 350, Capability: 8.9,
		Unverified: []string{"l2_bytes"},
	},
	recalled("RTX4060", 8, 272, 24, 24, 15.1, 15.1, 30.2, 115, 8.9, "rtx4060", "4060"),
	recalled("RTX4060Ti-8GB", 8, 288, 34, 32, 22.1, 22.1, 44.1, 160, 8.9, "rtx4060ti", "4060ti", "rtx4060ti8gb"),
	recalled("RTX4060Ti-16GB", 16, 288, 34, 32, 22.1, 22.1, 44.1, 165, 8.9, "rtx4060ti16gb"),
	recalled("RTX4070", 12, 504, 46, 36, 29.1, 29.1, 58.3, 200, 8.9, "rtx4070", "4070"),
	recalled("RTX4070-Super", 12, 504, 56, 48, 35.5, 35.5, 71, 220, 8.9, "rtx4070super", "4070super"),
	recalled("RTX4070Ti", 12, 504, 60, 48, 40.1, 40.1, 80.2, 285, 8.9, "rtx4070ti", "4070ti"),
	recalled("RTX4070Ti-Super", 16, 672, 66, 48, 44.1, 44.1, 88.2, 285, 8.9, "rtx4070tisuper", "4070tisuper"),
	recalled("RTX4080", 16, 717, 76, 64, 48.7, 48.7, 97.5, 320, 8.9, "rtx4080", "4080"),
	recalled("RTX4080-Super", 16, 736, 80, 64, 52.2, 52.2, 104.4, 320, 8.9, "rtx4080super", "4080super"),
	recalled("RTX4090-Laptop", 16, 576, 76, 64, 33, 33, 66, 150, 8.9, "rtx4090laptop", "rtx4090laptopgpu"),
	recalled("RTX4090-D", 24, 1008, 114, 72, 73.5, 73.5, 147, 425, 8.9, "rtx4090d", "4090d"),
	{
		Name: "RTX4090", Aliases: []string{"rtx4090", "4090", "rtx409024gb"},
		MemoryMiB: 24576, GBPerSec: 1008, SMs: 128, L2MiB: 72, FP32: 82.6, TF32: 82.6, BF16: 165, Watts: 450, Capability: 8.9,
		Unverified: []string{"l2_bytes", "tf32_flops"},
	},
	{
		Name: "H100-PCIe-80GB", Aliases: []string{"h100pcie", "h10080gbpcie", "h100pcie80gb", "h100", "h10080gb"},
		MemoryMiB: 81920, GBPerSec: 2000, SMs: 114, L2MiB: 50, FP32: 51, TF32: 378, BF16: 756, Watts: 350, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{10, 20, 20, 40, 40, 80},
		Unverified: []string{"l2_bytes"},
	},
	{
		Name: "H100-SXM5-80GB", Aliases: []string{"h100sxm5", "h100sxm", "h10080gbhbm3", "h100sxm580gb", "h100sxm80gb"},
		MemoryMiB: 81920, GBPerSec: 3350, SMs: 132, L2MiB: 50, FP32: 67, TF32: 494.5, BF16: 989, Watts: 700, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, MIGInstances: [6]int{16, 26, 32, 60, 64, 132},
	},
	{
		Name: "H100-NVL-94GB", Aliases: []string{"h100nvl", "h100nvl94gb", "h10094gb"},
		MemoryMiB: 96256, GBPerSec: 3900, SMs: 132, L2MiB: 50, FP32: 60, TF32: 417.5, BF16: 835.5, Watts: 400, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{12, 24, 24, 47, 47, 94},
		Unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	recalled("H800-PCIe-80GB", 80, 2000, 114, 50, 51, 378, 756, 350, 9.0, "h800pcie", "h800pcie80gb").sliced(SevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("H800-SXM5-80GB", 80, 3350, 132, 50, 67, 494.5, 989, 700, 9.0, "h800", "h80080gb", "h800sxm", "h800sxm5", "h800sxm580gb").sliced(SevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("H20-96GB", 96, 4000, 78, 60, 44, 74, 148, 500, 9.0, "h20", "h2096gb").sliced(SevenSlices, 12, 24, 24, 48, 48, 96),
	recalled("H20-141GB", 140, 4800, 78, 60, 44, 74, 148, 500, 9.0, "h20141gb", "h203e").sliced(SevenSlices, 18, 35, 35, 71, 71, 141),
	{
		Name: "H200-SXM-141GB", Aliases: []string{"h200", "h200sxm", "h200141gb", "h200sxm141gb"},
		MemoryMiB: 143771, GBPerSec: 4800, SMs: 132, L2MiB: 60, FP32: 67, TF32: 494.5, BF16: 989, Watts: 700, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{18, 35, 35, 71, 71, 141}, MIGInstances: [6]int{0, 0, 32, 60, 0, 0},
	},
	{
		Name: "H200-NVL-141GB", Aliases: []string{"h200nvl", "h200nvl141gb"},
		MemoryMiB: 143771, GBPerSec: 4800, SMs: 132, L2MiB: 60, FP32: 60, TF32: 417.5, BF16: 835.5, Watts: 600, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{18, 35, 35, 71, 71, 141},
		Unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops"},
	},
	{
		Name: "GH200-96GB", Aliases: []string{"gh200", "gh20096gb", "gh200480gb", "gh200120gb"},
		MemoryMiB: 97871, GBPerSec: 4000, SMs: 132, L2MiB: 50, FP32: 67, TF32: 494.5, BF16: 990, Watts: 450, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{12, 24, 24, 48, 48, 96},
		Unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	{
		Name: "GH200-144GB", Aliases: []string{"gh200144gb", "gh200144g", "gh200144ghbm3e"},
		MemoryMiB: 147456, GBPerSec: 4800, SMs: 132, L2MiB: 60, FP32: 67, TF32: 494.5, BF16: 990, Watts: 450, Capability: 9.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{18, 36, 36, 72, 72, 144},
		Unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	recalled("RTX-PRO-4000", 24, 672, 70, 48, 46.9, 94, 188, 145, 12.0, "rtxpro4000", "rtxpro4000blackwell"),
	recalled("RTX-PRO-4500", 32, 896, 82, 64, 54.9, 110, 220, 200, 12.0, "rtxpro4500", "rtxpro4500blackwell"),
	recalled("RTX-PRO-5000", 48, 1344, 110, 96, 73.7, 147, 295, 300, 12.0, "rtxpro5000", "rtxpro5000blackwell"),
	recalled("RTX-PRO-6000-Max-Q", 96, 1792, 188, 128, 110, 220, 440, 300, 12.0, "rtxpro6000maxq", "rtxpro6000blackwellmaxqworkstationedition").sliced(FourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX-PRO-6000-Server", 96, 1597, 188, 128, 117, 234, 468, 600, 12.0, "rtxpro6000server", "rtxpro6000blackwellserveredition").sliced(FourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX-PRO-6000", 96, 1792, 188, 128, 125, 251.9, 503.8, 600, 12.0, "rtxpro6000", "rtxpro6000blackwell", "rtxpro6000blackwellworkstationedition").sliced(FourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX5060Ti", 16, 448, 36, 32, 23.7, 23.7, 47.4, 180, 12.0, "rtx5060ti", "5060ti"),
	recalled("RTX5070", 12, 672, 48, 48, 30.9, 30.9, 61.7, 250, 12.0, "rtx5070", "5070"),
	recalled("RTX5070Ti", 16, 896, 70, 64, 43.9, 43.9, 87.9, 300, 12.0, "rtx5070ti", "5070ti"),
	recalled("RTX5080", 16, 960, 84, 64, 56.3, 56.3, 112.6, 360, 12.0, "rtx5080", "5080"),
	recalled("RTX5090", 32, 1792, 170, 96, 104.8, 104.8, 209.5, 575, 12.0, "rtx5090", "5090"),
	{
		Name: "B200-180GB", Aliases: []string{"b200", "b200180gb", "b200sxm", "b200hgx"},
		MemoryMiB: 184320, GBPerSec: 7700, SMs: 148, L2MiB: 126, FP32: 75, TF32: 1100, BF16: 2250, Watts: 1000, Capability: 10.0,
		MIG: SevenSlices, MIGMemoryGB: [6]int{23, 45, 45, 90, 90, 180}, MIGInstances: [6]int{18, 30, 36, 0, 0, 0},
	},
	recalled("GB200-186GB", 185, 8000, 152, 126, 80, 1250, 2500, 1200, 10.0, "gb200", "gb200186gb", "gb200192gb").sliced(SevenSlices, 23, 47, 47, 93, 93, 186),
	recalled("B300-288GB", 268, 8000, 148, 126, 75, 1125, 2250, 1100, 10.3, "b300", "b300288gb", "b300sxm6ac").sliced(SevenSlices, 34, 67, 67, 135, 135, 269),
	recalled("GB300-288GB", 277, 8000, 152, 126, 80, 1250, 2500, 1400, 10.3, "gb300", "gb300288gb").sliced(SevenSlices, 35, 70, 70, 139, 139, 278),
}
