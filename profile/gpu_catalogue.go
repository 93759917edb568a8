package profile

import "fmt"

// product is a catalogue row in data-sheet units.
type product struct {
	name         string
	aliases      []string // gpuKey forms
	memoryMiB    int
	gbPerSec     float64
	sms          int
	l2MiB        int
	fp32         float64 // TFLOP/s, dense
	tf32         float64
	bf16         float64
	watts        float64
	capability   float64
	migFamily    migFamily
	migMemoryGB  [6]int // 1g, 1g double memory, 2g, 3g, 4g, 7g as NVIDIA names them
	unverified   []string
	migInstances [6]int // SMs of the same six sizes; 0 is unknown
}

type migFamily int

const (
	noMIG migFamily = iota
	sevenSlices
	fourSlices
)

// recalled is a product whose figures were typed from memory, in data-sheet
// units: GiB, GB/s, SMs, L2 in MiB (0 unknown), peak TFLOP/s in FP32, TF32 and
// 16 bits (0 has none), watts, compute capability.
func recalled(name string, gib int, gbPerSec float64, sms, l2MiB int, fp32, tf32, bf16, watts, capability float64, aliases ...string) product {
	return product{
		name: name, aliases: aliases, memoryMiB: gib << 10, gbPerSec: gbPerSec, sms: sms, l2MiB: l2MiB,
		fp32: fp32, tf32: tf32, bf16: bf16, watts: watts, capability: capability,
		unverified: []string{
			"memory_bytes", "bandwidth_bytes_per_sec", "sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops",
			"power_watts", "compute_capability",
		},
	}
}

// sliced gives a recalled product its MIG instances, by their memory in GB.
func (p product) sliced(family migFamily, gb ...int) product {
	p.migFamily = family
	copy(p.migMemoryGB[:], gb)
	p.unverified = append(p.unverified, "mig")
	return p
}

// model is the whole entry, the caller's own.
func (p *product) model() GPUModel {
	g := p.figures()
	g.MIG, g.Unverified = p.mig(), append([]string(nil), p.unverified...)
	return g
}

// figures is the entry without what must be allocated.
func (p *product) figures() GPUModel {
	const mega, giga, tera = 1 << 20, 1e9, 1e12
	return GPUModel{
		Name: p.name, Memory: Bytes(p.memoryMiB) * MiB, SMs: p.sms,
		BandwidthBytesPerSec: p.gbPerSec * giga, L2: Bytes(p.l2MiB) * mega,
		FP32: p.fp32 * tera, TF32: p.tf32 * tera, BF16: p.bf16 * tera,
		PowerWatts: p.watts, ComputeCapability: p.capability,
	}
}

// mig lists the instance sizes: one placement table holds for every product of
// a slice count, only names, memory and SMs differ.
func (p *product) mig() []MIGProfile {
	type shape struct {
		compute, size, max int
		starts             []int
	}
	var shapes [6]shape
	switch p.migFamily {
	case noMIG:
		return nil
	case sevenSlices:
		shapes = [6]shape{
			{1, 1, 7, []int{0, 1, 2, 3, 4, 5, 6}},
			{1, 2, 4, []int{0, 2, 4, 6}},
			{2, 2, 3, []int{0, 2, 4}},
			{3, 4, 2, []int{0, 4}},
			{4, 4, 1, []int{0}},
			{7, 8, 1, []int{0}},
		}
	case fourSlices:
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
		gb := p.migMemoryGB[i]
		list = append(list, MIGProfile{
			Name: fmt.Sprintf("%dg.%dgb", s.compute, gb), Compute: s.compute, Size: s.size, Starts: s.starts,
			Max: s.max, SMs: p.migInstances[i], Memory: Bytes(gb) * GiB,
		})
	}
	return list
}

// The catalogue: dense rates, no sparsity. A field named in unverified was
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
var catalogue = []product{
	recalled("K40", 12, 288, 15, 0, 4.29, 0, 0, 235, 3.5, "k40", "k40m", "k40c", "k40s"),
	{ // one of the two GPUs of a board, as drivers and schedulers count them
		name: "K80", aliases: []string{"k80", "k8012gb"},
		memoryMiB: 12288, gbPerSec: 240, sms: 13, fp32: 4.37, watts: 150, capability: 3.7,
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "power_watts"},
	},
	recalled("M40-12GB", 12, 288, 24, 3, 6.8, 0, 0, 250, 5.2, "m40", "m4012gb"),
	recalled("M40-24GB", 24, 288, 24, 3, 6.8, 0, 0, 250, 5.2, "m4024gb"),
	recalled("M60", 8, 160, 16, 2, 4.8, 0, 0, 150, 5.2, "m60", "m608gb"),
	recalled("GTX-TITAN-X", 12, 336.6, 24, 3, 6.7, 0, 0, 250, 5.2, "gtxtitanx"),
	recalled("P4", 8, 192, 20, 2, 5.5, 0, 0, 75, 6.1, "p4", "p48gb"),
	recalled("P40", 24, 346, 30, 3, 11.8, 0, 0, 250, 6.1, "p40", "p4024gb"),
	recalled("P100-PCIe-12GB", 12, 549, 56, 3, 9.3, 0, 18.7, 250, 6.0, "p10012gb", "p100pcie12gb"),
	{
		name: "P100-PCIe-16GB", aliases: []string{"p100", "p10016gb", "p100pcie16gb", "p100pcie"},
		memoryMiB: 16384, gbPerSec: 732, sms: 56, l2MiB: 4, fp32: 9.3, bf16: 18.7, watts: 250, capability: 6.0,
		unverified: []string{"l2_bytes", "power_watts"},
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
		name: "V100-PCIe-16GB", aliases: []string{"v100", "v10016gb", "v100pcie16gb", "v100pcie"},
		memoryMiB: 16384, gbPerSec: 900, sms: 80, l2MiB: 6, fp32: 14, bf16: 112, watts: 250, capability: 7.0,
	},
	{
		name: "V100-PCIe-32GB", aliases: []string{"v10032gb", "v100pcie32gb"},
		memoryMiB: 32768, gbPerSec: 900, sms: 80, l2MiB: 6, fp32: 14, bf16: 112, watts: 250, capability: 7.0,
	},
	{
		name: "V100-SXM2-16GB", aliases: []string{"v100sxm216gb", "v100sxm2"},
		memoryMiB: 16384, gbPerSec: 900, sms: 80, l2MiB: 6, fp32: 15.7, bf16: 125, watts: 300, capability: 7.0,
	},
	{
		name: "V100-SXM2-32GB", aliases: []string{"v100sxm232gb"},
		memoryMiB: 32768, gbPerSec: 900, sms: 80, l2MiB: 6, fp32: 15.7, bf16: 125, watts: 300, capability: 7.0,
	},
	recalled("V100-SXM3-32GB", 32, 981, 80, 6, 16.4, 0, 131, 350, 7.0, "v100sxm3", "v100sxm332gb"),
	recalled("V100-SXM3-32GB-H", 32, 981, 80, 6, 17.4, 0, 139, 450, 7.0, "v100sxm332gbh"),
	recalled("V100S-PCIe-32GB", 32, 1134, 80, 6, 16.4, 0, 130, 250, 7.0, "v100s", "v100s32gb", "v100spcie", "v100spcie32gb"),
	recalled("TITAN-V", 12, 653, 80, 0, 14.9, 0, 119, 250, 7.0, "titanv"),
	recalled("Quadro-GV100", 32, 870, 80, 6, 14.8, 0, 118.5, 250, 7.0, "quadrogv100", "gv100"),
	{
		name: "T4", aliases: []string{"t4", "t416gb"},
		memoryMiB: 16384, gbPerSec: 320, sms: 40, l2MiB: 4, fp32: 8.1, bf16: 65, watts: 70, capability: 7.5,
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
		name: "RTX3090", aliases: []string{"rtx3090", "3090", "rtx309024gb"},
		memoryMiB: 24576, gbPerSec: 936, sms: 82, l2MiB: 6, fp32: 35.6, tf32: 35.6, bf16: 71, watts: 350, capability: 8.6,
		unverified: []string{"l2_bytes", "tf32_flops", "bf16_flops"},
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
		name: "A10", aliases: []string{"a10", "a1024gb"},
		memoryMiB: 24576, gbPerSec: 600, sms: 72, l2MiB: 6, fp32: 31.2, tf32: 62.5, bf16: 125, watts: 150, capability: 8.6,
	},
	recalled("A10G", 24, 600, 80, 6, 35, 35, 70, 300, 8.6, "a10g", "a10g24gb"),
	{
		name: "A30", aliases: []string{"a30", "a3024gb"},
		memoryMiB: 24576, gbPerSec: 933, sms: 56, l2MiB: 24, fp32: 10.3, tf32: 82, bf16: 165, watts: 165, capability: 8.0,
		migFamily: fourSlices, migMemoryGB: [6]int{6, 0, 12, 0, 24, 0}, migInstances: [6]int{14, 0, 28, 0, 56, 0},
		unverified: []string{"bandwidth_bytes_per_sec", "l2_bytes", "tf32_flops", "bf16_flops"},
	},
	{
		name: "A40", aliases: []string{"a40", "a4048gb"},
		memoryMiB: 49152, gbPerSec: 696, sms: 84, l2MiB: 6, fp32: 37.4, tf32: 74.8, bf16: 149.7, watts: 300, capability: 8.6,
		unverified: []string{"l2_bytes", "fp32_flops", "tf32_flops", "power_watts"},
	},
	{
		name: "A100-PCIe-40GB", aliases: []string{"a100pcie40gb", "a100pcie", "a10040gbpcie"},
		memoryMiB: 40960, gbPerSec: 1555, sms: 108, l2MiB: 40, fp32: 19.5, tf32: 156, bf16: 312, watts: 250, capability: 8.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{5, 10, 10, 20, 20, 40}, migInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		name: "A100-40GB", aliases: []string{"a100", "a10040", "a10040gb", "a100sxm440gb", "a100sxm4", "a100sxm", "a10040gbsxm4"},
		memoryMiB: 40960, gbPerSec: 1555, sms: 108, l2MiB: 40, fp32: 19.5, tf32: 156, bf16: 312, watts: 400, capability: 8.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{5, 10, 10, 20, 20, 40}, migInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		name: "A100-PCIe-80GB", aliases: []string{"a100pcie80gb", "a10080gbpcie"},
		memoryMiB: 81920, gbPerSec: 1935, sms: 108, l2MiB: 40, fp32: 19.5, tf32: 156, bf16: 312, watts: 300, capability: 8.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, migInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	{
		name: "A100-80GB", aliases: []string{"a10080", "a10080gb", "a100sxm480gb", "a10080gbsxm4"},
		memoryMiB: 81920, gbPerSec: 2039, sms: 108, l2MiB: 40, fp32: 19.5, tf32: 156, bf16: 312, watts: 400, capability: 8.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, migInstances: [6]int{14, 14, 28, 42, 56, 98},
	},
	recalled("A800-PCIe-80GB", 80, 1935, 108, 40, 19.5, 156, 312, 300, 8.0, "a800pcie", "a80080gbpcie", "a800pcie80gb").sliced(sevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("A800-SXM4-80GB", 80, 2039, 108, 40, 19.5, 156, 312, 400, 8.0, "a800", "a80080gb", "a800sxm4", "a800sxm480gb").sliced(sevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("RTX-2000-Ada", 16, 224, 22, 12, 12, 24, 48, 70, 8.9, "rtx2000ada"),
	recalled("RTX-4000-SFF-Ada", 20, 280, 48, 48, 19.2, 38.3, 76.7, 70, 8.9, "rtx4000sffada"),
	recalled("RTX-4000-Ada", 20, 360, 48, 48, 26.7, 41, 81.9, 130, 8.9, "rtx4000ada"),
	recalled("RTX-4500-Ada", 24, 432, 60, 48, 39.6, 79.3, 158.5, 210, 8.9, "rtx4500ada"),
	recalled("RTX-5000-Ada", 32, 576, 100, 72, 65.3, 130.6, 261.1, 250, 8.9, "rtx5000ada"),
	recalled("RTX-5880-Ada", 48, 960, 110, 96, 69.3, 138.6, 277, 285, 8.9, "rtx5880ada"),
	recalled("RTX-6000-Ada", 48, 960, 142, 96, 91.1, 182.1, 364.2, 300, 8.9, "rtx6000ada", "6000ada", "rtx600048gb"),
	{
		name: "L4", aliases: []string{"l4", "l424gb"},
		memoryMiB: 24576, gbPerSec: 300, sms: 58, l2MiB: 48, fp32: 30.3, tf32: 60, bf16: 121, watts: 72, capability: 8.9,
		unverified: []string{"l2_bytes"},
	},
	recalled("L20", 48, 864, 92, 96, 59.8, 59.8, 119.5, 275, 8.9, "l20", "l2048gb"),
	recalled("L40", 48, 864, 142, 96, 90.5, 90.5, 181, 300, 8.9, "l40", "l4048gb"),
	{
		name: "L40S", aliases: []string{"l40s", "l40s48gb"},
		memoryMiB: 49152, gbPerSec: 864, sms: 142, l2MiB: 96, fp32: 91.6, tf32: 183, bf16: 362, watts: 350, capability: 8.9,
		unverified: []string{"l2_bytes"},
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
		name: "RTX4090", aliases: []string{"rtx4090", "4090", "rtx409024gb"},
		memoryMiB: 24576, gbPerSec: 1008, sms: 128, l2MiB: 72, fp32: 82.6, tf32: 82.6, bf16: 165, watts: 450, capability: 8.9,
		unverified: []string{"l2_bytes", "tf32_flops"},
	},
	{
		name: "H100-PCIe-80GB", aliases: []string{"h100pcie", "h10080gbpcie", "h100pcie80gb", "h100", "h10080gb"},
		memoryMiB: 81920, gbPerSec: 2000, sms: 114, l2MiB: 50, fp32: 51, tf32: 378, bf16: 756, watts: 350, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{10, 20, 20, 40, 40, 80},
		unverified: []string{"l2_bytes"},
	},
	{
		name: "H100-SXM5-80GB", aliases: []string{"h100sxm5", "h100sxm", "h10080gbhbm3", "h100sxm580gb", "h100sxm80gb"},
		memoryMiB: 81920, gbPerSec: 3350, sms: 132, l2MiB: 50, fp32: 67, tf32: 494.5, bf16: 989, watts: 700, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{10, 20, 20, 40, 40, 80}, migInstances: [6]int{16, 26, 32, 60, 64, 132},
	},
	{
		name: "H100-NVL-94GB", aliases: []string{"h100nvl", "h100nvl94gb", "h10094gb"},
		memoryMiB: 96256, gbPerSec: 3900, sms: 132, l2MiB: 50, fp32: 60, tf32: 417.5, bf16: 835.5, watts: 400, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{12, 24, 24, 47, 47, 94},
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	recalled("H800-PCIe-80GB", 80, 2000, 114, 50, 51, 378, 756, 350, 9.0, "h800pcie", "h800pcie80gb").sliced(sevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("H800-SXM5-80GB", 80, 3350, 132, 50, 67, 494.5, 989, 700, 9.0, "h800", "h80080gb", "h800sxm", "h800sxm5", "h800sxm580gb").sliced(sevenSlices, 10, 20, 20, 40, 40, 80),
	recalled("H20-96GB", 96, 4000, 78, 60, 44, 74, 148, 500, 9.0, "h20", "h2096gb").sliced(sevenSlices, 12, 24, 24, 48, 48, 96),
	recalled("H20-141GB", 140, 4800, 78, 60, 44, 74, 148, 500, 9.0, "h20141gb", "h203e").sliced(sevenSlices, 18, 35, 35, 71, 71, 141),
	{
		name: "H200-SXM-141GB", aliases: []string{"h200", "h200sxm", "h200141gb", "h200sxm141gb"},
		memoryMiB: 143771, gbPerSec: 4800, sms: 132, l2MiB: 60, fp32: 67, tf32: 494.5, bf16: 989, watts: 700, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{18, 35, 35, 71, 71, 141}, migInstances: [6]int{0, 0, 32, 60, 0, 0},
	},
	{
		name: "H200-NVL-141GB", aliases: []string{"h200nvl", "h200nvl141gb"},
		memoryMiB: 143771, gbPerSec: 4800, sms: 132, l2MiB: 60, fp32: 60, tf32: 417.5, bf16: 835.5, watts: 600, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{18, 35, 35, 71, 71, 141},
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops"},
	},
	{
		name: "GH200-96GB", aliases: []string{"gh200", "gh20096gb", "gh200480gb", "gh200120gb"},
		memoryMiB: 97871, gbPerSec: 4000, sms: 132, l2MiB: 50, fp32: 67, tf32: 494.5, bf16: 990, watts: 450, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{12, 24, 24, 48, 48, 96},
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	{
		name: "GH200-144GB", aliases: []string{"gh200144gb", "gh200144g", "gh200144ghbm3e"},
		memoryMiB: 147456, gbPerSec: 4800, sms: 132, l2MiB: 60, fp32: 67, tf32: 494.5, bf16: 990, watts: 450, capability: 9.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{18, 36, 36, 72, 72, 144},
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "tf32_flops", "bf16_flops", "power_watts"},
	},
	recalled("RTX-PRO-4000", 24, 672, 70, 48, 46.9, 94, 188, 145, 12.0, "rtxpro4000", "rtxpro4000blackwell"),
	recalled("RTX-PRO-4500", 32, 896, 82, 64, 54.9, 110, 220, 200, 12.0, "rtxpro4500", "rtxpro4500blackwell"),
	recalled("RTX-PRO-5000", 48, 1344, 110, 96, 73.7, 147, 295, 300, 12.0, "rtxpro5000", "rtxpro5000blackwell"),
	recalled("RTX-PRO-6000-Max-Q", 96, 1792, 188, 128, 110, 220, 440, 300, 12.0, "rtxpro6000maxq", "rtxpro6000blackwellmaxqworkstationedition").sliced(fourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX-PRO-6000-Server", 96, 1597, 188, 128, 117, 234, 468, 600, 12.0, "rtxpro6000server", "rtxpro6000blackwellserveredition").sliced(fourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX-PRO-6000", 96, 1792, 188, 128, 125, 251.9, 503.8, 600, 12.0, "rtxpro6000", "rtxpro6000blackwell", "rtxpro6000blackwellworkstationedition").sliced(fourSlices, 24, 0, 48, 0, 96, 0),
	recalled("RTX5060Ti", 16, 448, 36, 32, 23.7, 23.7, 47.4, 180, 12.0, "rtx5060ti", "5060ti"),
	recalled("RTX5070", 12, 672, 48, 48, 30.9, 30.9, 61.7, 250, 12.0, "rtx5070", "5070"),
	recalled("RTX5070Ti", 16, 896, 70, 64, 43.9, 43.9, 87.9, 300, 12.0, "rtx5070ti", "5070ti"),
	recalled("RTX5080", 16, 960, 84, 64, 56.3, 56.3, 112.6, 360, 12.0, "rtx5080", "5080"),
	recalled("RTX5090", 32, 1792, 170, 96, 104.8, 104.8, 209.5, 575, 12.0, "rtx5090", "5090"),
	{
		name: "B200-180GB", aliases: []string{"b200", "b200180gb", "b200sxm", "b200hgx"},
		memoryMiB: 184320, gbPerSec: 7700, sms: 148, l2MiB: 126, fp32: 75, tf32: 1100, bf16: 2250, watts: 1000, capability: 10.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{23, 45, 45, 90, 90, 180}, migInstances: [6]int{18, 30, 36, 0, 0, 0},
	},
	recalled("GB200-186GB", 185, 8000, 152, 126, 80, 1250, 2500, 1200, 10.0, "gb200", "gb200186gb", "gb200192gb").sliced(sevenSlices, 23, 47, 47, 93, 93, 186),
	recalled("B300-288GB", 268, 8000, 148, 126, 75, 1125, 2250, 1100, 10.3, "b300", "b300288gb", "b300sxm6ac").sliced(sevenSlices, 34, 67, 67, 135, 135, 269),
	recalled("GB300-288GB", 277, 8000, 152, 126, 80, 1250, 2500, 1400, 10.3, "gb300", "gb300288gb").sliced(sevenSlices, 35, 70, 70, 139, 139, 278),
}
