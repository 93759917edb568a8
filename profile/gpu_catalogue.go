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

// The catalogue: dense rates, no sparsity. A field named in unverified was
// found in one source or none; every other figure agrees in at least two of:
// NVIDIA data sheets as quoted by Lightning's throughput table and by the
// ml-engineering handbook's accelerator chapter, the community collection
// gpu-specs, and the properties that PyTorch prints on such a device. Memory is
// the nominal size, except H200 and GH200-96 where NVML's total was seen.
// MIG: NVIDIA MIG user guide and `nvidia-smi mig -lgipp` output of A100, H100
// and H100 NVL; SM counts per instance as the driver printed them.
//
//nolint:gochecknoglobals // read-only table
var catalogue = []product{
	{ // one of the two GPUs of a board, as drivers and schedulers count them
		name: "K80", aliases: []string{"k80", "k8012gb"},
		memoryMiB: 12288, gbPerSec: 240, sms: 13, fp32: 4.37, watts: 150, capability: 3.7,
		unverified: []string{"sms", "l2_bytes", "fp32_flops", "power_watts"},
	},
	{
		name: "P100-PCIe-16GB", aliases: []string{"p100", "p10016gb", "p100pcie16gb", "p100pcie"},
		memoryMiB: 16384, gbPerSec: 732, sms: 56, l2MiB: 4, fp32: 9.3, bf16: 18.7, watts: 250, capability: 6.0,
		unverified: []string{"l2_bytes", "power_watts"},
	},
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
	{
		name: "T4", aliases: []string{"t4", "t416gb"},
		memoryMiB: 16384, gbPerSec: 320, sms: 40, l2MiB: 4, fp32: 8.1, bf16: 65, watts: 70, capability: 7.5,
	},
	{
		name: "RTX3090", aliases: []string{"rtx3090", "3090", "rtx309024gb"},
		memoryMiB: 24576, gbPerSec: 936, sms: 82, l2MiB: 6, fp32: 35.6, tf32: 35.6, bf16: 71, watts: 350, capability: 8.6,
		unverified: []string{"l2_bytes", "tf32_flops", "bf16_flops"},
	},
	{
		name: "A10", aliases: []string{"a10", "a1024gb"},
		memoryMiB: 24576, gbPerSec: 600, sms: 72, l2MiB: 6, fp32: 31.2, tf32: 62.5, bf16: 125, watts: 150, capability: 8.6,
	},
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
	{
		name: "L4", aliases: []string{"l4", "l424gb"},
		memoryMiB: 24576, gbPerSec: 300, sms: 58, l2MiB: 48, fp32: 30.3, tf32: 60, bf16: 121, watts: 72, capability: 8.9,
		unverified: []string{"l2_bytes"},
	},
	{
		name: "L40S", aliases: []string{"l40s", "l40s48gb"},
		memoryMiB: 49152, gbPerSec: 864, sms: 142, l2MiB: 96, fp32: 91.6, tf32: 183, bf16: 362, watts: 350, capability: 8.9,
		unverified: []string{"l2_bytes"},
	},
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
		name: "GH200-96GB", aliases: []string{"gh200", "gh20096gb", "gh200480gb"},
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
	{
		name: "B200-180GB", aliases: []string{"b200", "b200180gb", "b200sxm", "b200hgx"},
		memoryMiB: 184320, gbPerSec: 7700, sms: 148, l2MiB: 126, fp32: 75, tf32: 1100, bf16: 2250, watts: 1000, capability: 10.0,
		migFamily: sevenSlices, migMemoryGB: [6]int{23, 45, 45, 90, 90, 180}, migInstances: [6]int{18, 30, 36, 0, 0, 0},
	},
}

func (p *product) model() GPUModel {
	const mega, giga, tera = 1 << 20, 1e9, 1e12
	return GPUModel{
		Name: p.name, Memory: Bytes(p.memoryMiB) * MiB, SMs: p.sms,
		BandwidthBytesPerSec: p.gbPerSec * giga, L2: Bytes(p.l2MiB) * mega,
		FP32: p.fp32 * tera, TF32: p.tf32 * tera, BF16: p.bf16 * tera,
		PowerWatts: p.watts, ComputeCapability: p.capability,
		MIG: p.mig(), Unverified: append([]string(nil), p.unverified...),
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
