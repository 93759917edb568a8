package profile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile/internal/catalogue"
)

// dataSheet is the collection of data-sheet figures that the catalogue was
// typed from, typed a second time: name, capability, GB, GB/s, SMs, L2 MiB,
// FP32, TF32 and BF16 in TFLOP/s, W, MIG slices. A ° marks a figure without a
// second source, on the name all of the row; – is none.
const dataSheet = `
K80            | 3.7  | 12   | 240  | 13°  | –°   | 4.37° | –      | –      | 150° | –
P100-PCIe-16GB | 6.0  | 16  | 732  | 56   | 4°   | 9.3   | –      | 18.7   | 250° | –
V100-PCIe-16GB | 7.0  | 16  | 900  | 80   | 6    | 14    | –      | 112    | 250  | –
V100-PCIe-32GB | 7.0  | 32  | 900  | 80   | 6    | 14    | –      | 112    | 250  | –
V100-SXM2-16GB | 7.0  | 16  | 900  | 80   | 6    | 15.7  | –      | 125    | 300  | –
V100-SXM2-32GB | 7.0  | 32  | 900  | 80   | 6    | 15.7  | –      | 125    | 300  | –
T4             | 7.5  | 16  | 320  | 40   | 4    | 8.1   | –      | 65     | 70   | –
A10            | 8.6  | 24  | 600  | 72   | 6    | 31.2  | 62.5   | 125    | 150  | –
A30            | 8.0  | 24  | 933° | 56   | 24°  | 10.3  | 82°    | 165°   | 165  | 4
A40            | 8.6  | 48  | 696  | 84   | 6°   | 37.4° | 74.8°  | 149.7  | 300° | –
A100-PCIe-40GB | 8.0  | 40  | 1555 | 108  | 40   | 19.5  | 156    | 312    | 250  | 7
A100-40GB      | 8.0  | 40  | 1555 | 108  | 40   | 19.5  | 156    | 312    | 400  | 7
A100-PCIe-80GB | 8.0  | 80  | 1935 | 108  | 40   | 19.5  | 156    | 312    | 300  | 7
A100-80GB      | 8.0  | 80  | 2039 | 108  | 40   | 19.5  | 156    | 312    | 400  | 7
L4             | 8.9  | 24  | 300  | 58   | 48°  | 30.3  | 60     | 121    | 72   | –
L40S           | 8.9  | 48  | 864  | 142  | 96°  | 91.6  | 183    | 362    | 350  | –
RTX3090        | 8.6  | 24  | 936  | 82   | 6°   | 35.6  | 35.6°  | 71°    | 350  | –
RTX4090        | 8.9  | 24  | 1008 | 128  | 72°  | 82.6  | 82.6°  | 165    | 450  | –
H100-PCIe-80GB | 9.0  | 80  | 2000 | 114  | 50°  | 51    | 378    | 756    | 350  | 7
H100-SXM5-80GB | 9.0  | 80  | 3350 | 132  | 50   | 67    | 494.5  | 989    | 700  | 7
H100-NVL-94GB  | 9.0  | 94  | 3900 | 132° | 50°  | 60°   | 417.5° | 835.5° | 400° | 7
H200-SXM-141GB | 9.0  | 141 | 4800 | 132  | 60   | 67    | 494.5  | 989    | 700  | 7
H200-NVL-141GB | 9.0  | 141 | 4800 | 132° | 60°  | 60°   | 417.5° | 835.5  | 600  | 7
GH200-96GB     | 9.0  | 96  | 4000 | 132° | 50°  | 67°   | 494.5° | 990°   | 450° | 7
GH200-144GB    | 9.0  | 144 | 4800 | 132° | 60°  | 67°   | 494.5° | 990°   | 450° | 7
B200-180GB     | 10.0 | 180 | 7700 | 148  | 126  | 75    | 1100   | 2250   | 1000 | 7
K40° | 3.5 | 12 | 288 | 15 | – | 4.29 | – | – | 235 | –
M40-12GB° | 5.2 | 12 | 288 | 24 | 3 | 6.8 | – | – | 250 | –
M40-24GB° | 5.2 | 24 | 288 | 24 | 3 | 6.8 | – | – | 250 | –
M60° | 5.2 | 8 | 160 | 16 | 2 | 4.8 | – | – | 150 | –
GTX-TITAN-X° | 5.2 | 12 | 336.6 | 24 | 3 | 6.7 | – | – | 250 | –
P4° | 6.1 | 8 | 192 | 20 | 2 | 5.5 | – | – | 75 | –
P40° | 6.1 | 24 | 346 | 30 | 3 | 11.8 | – | – | 250 | –
P100-PCIe-12GB° | 6.0 | 12 | 549 | 56 | 3 | 9.3 | – | 18.7 | 250 | –
P100-SXM2-16GB° | 6.0 | 16 | 732 | 56 | 4 | 10.6 | – | 21.2 | 300 | –
GTX1070° | 6.1 | 8 | 256 | 15 | 2 | 6.5 | – | – | 150 | –
GTX1080° | 6.1 | 8 | 320 | 20 | 2 | 8.9 | – | – | 180 | –
GTX1080Ti° | 6.1 | 11 | 484 | 28 | – | 11.3 | – | – | 250 | –
TITAN-X-Pascal° | 6.1 | 12 | 480 | 28 | 3 | 11 | – | – | 250 | –
TITAN-Xp° | 6.1 | 12 | 547.6 | 30 | 3 | 12.15 | – | – | 250 | –
Quadro-P5000° | 6.1 | 16 | 288 | 20 | 2 | 8.9 | – | – | 180 | –
Quadro-P6000° | 6.1 | 24 | 432 | 30 | 3 | 12.6 | – | – | 250 | –
V100-SXM3-32GB° | 7.0 | 32 | 981 | 80 | 6 | 16.4 | – | 131 | 350 | –
V100-SXM3-32GB-H° | 7.0 | 32 | 981 | 80 | 6 | 17.4 | – | 139 | 450 | –
V100S-PCIe-32GB° | 7.0 | 32 | 1134 | 80 | 6 | 16.4 | – | 130 | 250 | –
TITAN-V° | 7.0 | 12 | 653 | 80 | – | 14.9 | – | 119 | 250 | –
Quadro-GV100° | 7.0 | 32 | 870 | 80 | 6 | 14.8 | – | 118.5 | 250 | –
T4G° | 7.5 | 16 | 320 | 40 | 4 | 8.1 | – | 65 | 70 | –
RTX2060° | 7.5 | 6 | 336 | 30 | 3 | 6.5 | – | 26 | 160 | –
RTX2070° | 7.5 | 8 | 448 | 36 | 4 | 7.5 | – | 29.9 | 175 | –
RTX2070-Super° | 7.5 | 8 | 448 | 40 | 4 | 9.1 | – | 36.3 | 215 | –
RTX2080° | 7.5 | 8 | 448 | 46 | 4 | 10.1 | – | 40.3 | 215 | –
RTX2080-Super° | 7.5 | 8 | 496 | 48 | 4 | 11.2 | – | 44.6 | 250 | –
RTX2080Ti° | 7.5 | 11 | 616 | 68 | – | 13.4 | – | 53.8 | 250 | –
RTX2070-Max-Q° | 7.5 | 8 | 384 | 36 | 4 | 5.46 | – | 21.8 | 90 | –
RTX2080-Max-Q° | 7.5 | 8 | 384 | 46 | 4 | 6.4 | – | 25.8 | 90 | –
RTX2080-Super-Max-Q° | 7.5 | 8 | 352 | 48 | 4 | 6.6 | – | 26.5 | 90 | –
TITAN-RTX° | 7.5 | 24 | 672 | 72 | 6 | 16.3 | – | 130.5 | 280 | –
Quadro-RTX-4000° | 7.5 | 8 | 416 | 36 | 4 | 7.1 | – | 57 | 160 | –
Quadro-RTX-5000° | 7.5 | 16 | 448 | 48 | 4 | 11.2 | – | 89.2 | 230 | –
Quadro-RTX-6000° | 7.5 | 24 | 672 | 72 | 6 | 16.3 | – | 130.5 | 260 | –
Quadro-RTX-8000° | 7.5 | 48 | 672 | 72 | 6 | 16.3 | – | 130.5 | 260 | –
RTX3060° | 8.6 | 12 | 360 | 28 | 3 | 12.7 | 12.7 | 25.5 | 170 | –
RTX3060Ti° | 8.6 | 8 | 448 | 38 | 4 | 16.2 | 16.2 | 32.4 | 200 | –
RTX3070° | 8.6 | 8 | 448 | 46 | 4 | 20.3 | 20.3 | 40.6 | 220 | –
RTX3070Ti° | 8.6 | 8 | 608 | 48 | 4 | 21.7 | 21.7 | 43.5 | 290 | –
RTX3080-Laptop° | 8.6 | 16 | 384 | 48 | 4 | 15.3 | 15.3 | 30.6 | 115 | –
RTX3080-10GB° | 8.6 | 10 | 760 | 68 | 5 | 29.8 | 29.8 | 59.5 | 320 | –
RTX3080-12GB° | 8.6 | 12 | 912 | 70 | 6 | 30.6 | 30.6 | 61.3 | 350 | –
RTX3080Ti° | 8.6 | 12 | 912 | 80 | 6 | 34.1 | 34.1 | 68.2 | 350 | –
RTX3090Ti° | 8.6 | 24 | 1008 | 84 | 6 | 40 | 40 | 80 | 450 | –
RTX-A2000-6GB° | 8.6 | 6 | 288 | 26 | 3 | 8 | 16 | 32 | 70 | –
RTX-A2000-12GB° | 8.6 | 12 | 288 | 26 | 3 | 8 | 16 | 32 | 70 | –
RTX-A4000° | 8.6 | 16 | 448 | 48 | 4 | 19.2 | 38.3 | 76.7 | 140 | –
RTX-A4500° | 8.6 | 20 | 640 | 56 | 6 | 23.7 | 47.3 | 94.6 | 200 | –
RTX-A5000° | 8.6 | 24 | 768 | 64 | 6 | 27.8 | 55.6 | 111.1 | 230 | –
RTX-A5500° | 8.6 | 24 | 768 | 80 | 6 | 34.1 | 68.2 | 136.4 | 230 | –
RTX-A6000° | 8.6 | 48 | 768 | 84 | 6 | 38.7 | 77.4 | 154.8 | 300 | –
A2° | 8.6 | 16 | 200 | 10 | 2 | 4.5 | 9 | 18 | 60 | –
A16° | 8.6 | 16 | 200 | 10 | 2 | 4.5 | 9 | 18 | 62 | –
A10G° | 8.6 | 24 | 600 | 80 | 6 | 35 | 35 | 70 | 300 | –
A800-PCIe-80GB° | 8.0 | 80 | 1935 | 108 | 40 | 19.5 | 156 | 312 | 300 | 7
A800-SXM4-80GB° | 8.0 | 80 | 2039 | 108 | 40 | 19.5 | 156 | 312 | 400 | 7
RTX-2000-Ada° | 8.9 | 16 | 224 | 22 | 12 | 12 | 24 | 48 | 70 | –
RTX-4000-SFF-Ada° | 8.9 | 20 | 280 | 48 | 48 | 19.2 | 38.3 | 76.7 | 70 | –
RTX-4000-Ada° | 8.9 | 20 | 360 | 48 | 48 | 26.7 | 41 | 81.9 | 130 | –
RTX-4500-Ada° | 8.9 | 24 | 432 | 60 | 48 | 39.6 | 79.3 | 158.5 | 210 | –
RTX-5000-Ada° | 8.9 | 32 | 576 | 100 | 72 | 65.3 | 130.6 | 261.1 | 250 | –
RTX-5880-Ada° | 8.9 | 48 | 960 | 110 | 96 | 69.3 | 138.6 | 277 | 285 | –
RTX-6000-Ada° | 8.9 | 48 | 960 | 142 | 96 | 91.1 | 182.1 | 364.2 | 300 | –
L20° | 8.9 | 48 | 864 | 92 | 96 | 59.8 | 59.8 | 119.5 | 275 | –
L40° | 8.9 | 48 | 864 | 142 | 96 | 90.5 | 90.5 | 181 | 300 | –
RTX4060° | 8.9 | 8 | 272 | 24 | 24 | 15.1 | 15.1 | 30.2 | 115 | –
RTX4060Ti-8GB° | 8.9 | 8 | 288 | 34 | 32 | 22.1 | 22.1 | 44.1 | 160 | –
RTX4060Ti-16GB° | 8.9 | 16 | 288 | 34 | 32 | 22.1 | 22.1 | 44.1 | 165 | –
RTX4070° | 8.9 | 12 | 504 | 46 | 36 | 29.1 | 29.1 | 58.3 | 200 | –
RTX4070-Super° | 8.9 | 12 | 504 | 56 | 48 | 35.5 | 35.5 | 71 | 220 | –
RTX4070Ti° | 8.9 | 12 | 504 | 60 | 48 | 40.1 | 40.1 | 80.2 | 285 | –
RTX4070Ti-Super° | 8.9 | 16 | 672 | 66 | 48 | 44.1 | 44.1 | 88.2 | 285 | –
RTX4080° | 8.9 | 16 | 717 | 76 | 64 | 48.7 | 48.7 | 97.5 | 320 | –
RTX4080-Super° | 8.9 | 16 | 736 | 80 | 64 | 52.2 | 52.2 | 104.4 | 320 | –
RTX4090-Laptop° | 8.9 | 16 | 576 | 76 | 64 | 33 | 33 | 66 | 150 | –
RTX4090-D° | 8.9 | 24 | 1008 | 114 | 72 | 73.5 | 73.5 | 147 | 425 | –
H800-PCIe-80GB° | 9.0 | 80 | 2000 | 114 | 50 | 51 | 378 | 756 | 350 | 7
H800-SXM5-80GB° | 9.0 | 80 | 3350 | 132 | 50 | 67 | 494.5 | 989 | 700 | 7
H20-96GB° | 9.0 | 96 | 4000 | 78 | 60 | 44 | 74 | 148 | 500 | 7
H20-141GB° | 9.0 | 140 | 4800 | 78 | 60 | 44 | 74 | 148 | 500 | 7
RTX-PRO-4000° | 12.0 | 24 | 672 | 70 | 48 | 46.9 | 94 | 188 | 145 | –
RTX-PRO-4500° | 12.0 | 32 | 896 | 82 | 64 | 54.9 | 110 | 220 | 200 | –
RTX-PRO-5000° | 12.0 | 48 | 1344 | 110 | 96 | 73.7 | 147 | 295 | 300 | –
RTX-PRO-6000-Max-Q° | 12.0 | 96 | 1792 | 188 | 128 | 110 | 220 | 440 | 300 | 4
RTX-PRO-6000-Server° | 12.0 | 96 | 1597 | 188 | 128 | 117 | 234 | 468 | 600 | 4
RTX-PRO-6000° | 12.0 | 96 | 1792 | 188 | 128 | 125 | 251.9 | 503.8 | 600 | 4
RTX5060Ti° | 12.0 | 16 | 448 | 36 | 32 | 23.7 | 23.7 | 47.4 | 180 | –
RTX5070° | 12.0 | 12 | 672 | 48 | 48 | 30.9 | 30.9 | 61.7 | 250 | –
RTX5070Ti° | 12.0 | 16 | 896 | 70 | 64 | 43.9 | 43.9 | 87.9 | 300 | –
RTX5080° | 12.0 | 16 | 960 | 84 | 64 | 56.3 | 56.3 | 112.6 | 360 | –
RTX5090° | 12.0 | 32 | 1792 | 170 | 96 | 104.8 | 104.8 | 209.5 | 575 | –
GB200-186GB° | 10.0 | 185 | 8000 | 152 | 126 | 80 | 1250 | 2500 | 1200 | 7
B300-288GB° | 10.3 | 268 | 8000 | 148 | 126 | 75 | 1125 | 2250 | 1100 | 7
GB300-288GB° | 10.3 | 277 | 8000 | 152 | 126 | 80 | 1250 | 2500 | 1400 | 7
`

func TestCatalogue(t *testing.T) {
	known := map[string]GPUModel{}
	for _, g := range GPUs() {
		known[g.Name] = g
	}
	rows := 0
	for line := range strings.Lines(strings.TrimSpace(dataSheet)) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name, recalled := strings.CutSuffix(cells[0], "°")
		g, ok := known[name]
		if !ok {
			t.Errorf("%s is not in the catalogue", cells[0])
			continue
		}
		rows++
		checkGPU(t, g, cells, recalled)
	}
	if rows != len(known) {
		t.Errorf("checked %d rows of %d", rows, len(known))
	}
}

func checkGPU(t *testing.T, g GPUModel, cells []string, recalled bool) {
	t.Helper()
	var unverified []string
	for i, c := range []struct {
		field string
		got   float64
	}{
		{"compute_capability", g.ComputeCapability},
		{"memory_bytes", g.Memory.GiBs()},
		{"bandwidth_bytes_per_sec", g.BandwidthBytesPerSec / 1e9},
		{"sms", float64(g.SMs)},
		{"l2_bytes", float64(g.L2) / float64(MiB)},
		{"fp32_flops", g.FP32 / 1e12},
		{"tf32_flops", g.TF32 / 1e12},
		{"bf16_flops", g.BF16 / 1e12},
		{"power_watts", g.PowerWatts},
	} {
		text, marked := strings.CutSuffix(cells[i+1], "°")
		if marked || recalled {
			unverified = append(unverified, c.field)
		}
		if text == "–" {
			text = "0"
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		// Memory that NVML reported is a few hundred MiB off the round number.
		if tolerance := 1e-9 * want; c.field != "memory_bytes" && (c.got < want-tolerance || c.got > want+tolerance) ||
			c.field == "memory_bytes" && (c.got < 0.99*want || c.got > 1.01*want) {
			t.Errorf("%s: %s is %v, want %v", g.Name, c.field, c.got, want)
		}
	}
	if recalled && g.MIG != nil {
		unverified = append(unverified, "mig")
	}
	if !slices.Equal(slices.Sorted(slices.Values(g.Unverified)), slices.Sorted(slices.Values(unverified))) {
		t.Errorf("%s: unverified %v, want %v", g.Name, g.Unverified, unverified)
	}
	slices7 := 0
	for _, m := range g.MIG {
		slices7 = max(slices7, m.Compute)
	}
	if want := strings.ReplaceAll(cells[10], "–", "0"); strconv.Itoa(slices7) != want {
		t.Errorf("%s: %d MIG slices, want %s", g.Name, slices7, want)
	}
}

func TestLookupGPU(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		// As NVML and nvidia-smi print them.
		{"Tesla P100-PCIE-16GB", "P100-PCIe-16GB"},
		{"Tesla V100-PCIE-16GB", "V100-PCIe-16GB"},
		{"Tesla V100-PCIE-32GB", "V100-PCIe-32GB"},
		{"Tesla V100-SXM2-16GB", "V100-SXM2-16GB"},
		{"Tesla V100-SXM2-32GB", "V100-SXM2-32GB"},
		{"Tesla T4", "T4"},
		{"NVIDIA A10", "A10"},
		{"NVIDIA A30", "A30"},
		{"NVIDIA A40", "A40"},
		{"NVIDIA A100-PCIE-40GB", "A100-PCIe-40GB"},
		{"NVIDIA A100-SXM4-40GB", "A100-40GB"},
		{"NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"},
		{"NVIDIA A100-SXM4-80GB", "A100-80GB"},
		{"NVIDIA L4", "L4"},
		{"NVIDIA L40S", "L40S"},
		{"NVIDIA GeForce RTX 3090", "RTX3090"},
		{"NVIDIA GeForce RTX 4090", "RTX4090"},
		{"NVIDIA H100 PCIe", "H100-PCIe-80GB"},
		{"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
		{"NVIDIA H100 NVL", "H100-NVL-94GB"},
		{"NVIDIA H200", "H200-SXM-141GB"},
		{"NVIDIA H200 NVL", "H200-NVL-141GB"},
		{"NVIDIA GH200 480GB", "GH200-96GB"},
		{"NVIDIA GH200 144G HBM3e", "GH200-144GB"},
		{"NVIDIA B200", "B200-180GB"},
		// As Slurm gres types.
		{"a100", "A100-40GB"},
		{"gpu:a100:4", "A100-40GB"},
		{"gres/gpu:h200", "H200-SXM-141GB"},
		{"nvidia_h100_80gb_hbm3", "H100-SXM5-80GB"},
		{"nvidia_a100-pcie-40gb", "A100-PCIe-40GB"},
		{"tesla_v100-sxm2-32gb", "V100-SXM2-32GB"},
		{"nvidia_geforce_rtx_3090", "RTX3090"},
		// As Kubernetes labels of NVIDIA's feature discovery.
		{"NVIDIA-A100-SXM4-80GB", "A100-80GB"},
		{"NVIDIA-A100-SXM4-40GB-SHARED", "A100-40GB"},
		{"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100-40GB"},
		{"NVIDIA-H100-80GB-HBM3", "H100-SXM5-80GB"},
		{"NVIDIA-GeForce-RTX-4090", "RTX4090"},
		// As people write them.
		{"A100 80GB", "A100-80GB"},
		{"a100-40", "A100-40GB"},
		{"H100 SXM", "H100-SXM5-80GB"},
		{"h100", "H100-PCIe-80GB"},
		{"v100", "V100-PCIe-16GB"},
		{"RTX 3090", "RTX3090"},
		{" rtx-4090 ", "RTX4090"},
		{"GH200", "GH200-96GB"},
		{"B200", "B200-180GB"},
		{"a10g", "A10G"},
		{"NVIDIA RTX A6000", "RTX-A6000"},
		{"a6000", "RTX-A6000"},
		{"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"},
		{"rtx_6000_ada", "RTX-6000-Ada"},
		{"Quadro RTX 6000", "Quadro-RTX-6000"},
		{"h100_pcie", "H100-PCIe-80GB"},
		{"NVIDIA A2", "A2"},
		{"NVIDIA A16", "A16"},
		{"NVIDIA H20", "H20-96GB"},
		{"NVIDIA GB200", "GB200-186GB"},
		{"NVIDIA B300 SXM6 AC", "B300-288GB"},
		{"NVIDIA GeForce RTX 5090", "RTX5090"},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-Server"},
		{"NVIDIA GeForce RTX 2080 with Max-Q Design", "RTX2080-Max-Q"},
		{"NVIDIA GeForce GTX 1080 Ti", "GTX1080Ti"},
		{"NVIDIA TITAN Xp", "TITAN-Xp"},
		{"NVIDIA TITAN X (Pascal)", "TITAN-X-Pascal"},
		{"Tesla M60", "M60"},
		{"Tesla P40", "P40"},
		{"NVIDIA L40", "L40"},
		{"NVIDIA GH200 120GB", "GH200-96GB"},
	} {
		g, ok := LookupGPU(c.name)
		if !ok || g.Name != c.want {
			t.Errorf("%q: got %q, %t, want %q", c.name, g.Name, ok, c.want)
		}
	}
	for _, name := range []string{"", " ", "NVIDIA", "A1000", "RTX", "GTX 1060", "gpu:", "gpu::", "MI300X", "MIG", "\x00", "A100-SXM4-60GB"} {
		if g, ok := LookupGPU(name); ok {
			t.Errorf("%q: got %q, want nothing", name, g.Name)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory Bytes
		want   string
	}{
		{"A100", 0, "A100-40GB"},
		{"a100", 40 * GiB, "A100-40GB"},
		{"a100", 80 * GiB, "A100-80GB"},
		{"NVIDIA A100-SXM4-80GB", 81920 * MiB, "A100-80GB"},
		{"nvidia_a100-pcie", 80 * GiB, "A100-PCIe-80GB"},
		{"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GiB, "A100-40GB"},
		{"v100", 32510 * MiB, "V100-PCIe-32GB"},
		{"H100", 94 * GiB, "H100-NVL-94GB"},
		{"RTX 6000", 24 * GiB, "Quadro-RTX-6000"},
		{"RTX 6000", 48 * GiB, "RTX-6000-Ada"},
		{"NVIDIA A10", 40 * GiB, "A10"}, // not "a100" and "40gb"
		{"A100-40GB", 80 * GiB, "A100-40GB"},
		{"NVIDIA GeForce RTX 9090", 0, "rtx9090"},
		{"RTX9090", 24 * GiB, "rtx9090"},
		{"MI300X", 192 * GiB, "mi300x"},
		{"gpu:mi300x:8", 0, "mi300x"},
		{" 寒武纪 ", 0, "寒武纪"},
		{"", 80 * GiB, ""},
	} {
		if got := (&GPUModel{Name: c.name, Memory: c.memory}).Canonical(); got != c.want {
			t.Errorf("%q with %v: got %q, want %q", c.name, c.memory, got, c.want)
		}
	}
	if got := (*GPUModel)(nil).Canonical(); got != "" {
		t.Errorf("nil: got %q", got)
	}
	for _, g := range GPUs() {
		if got := g.Canonical(); got != g.Name {
			t.Errorf("%s: got %q", g.Name, got)
		}
	}
}

func TestCanonicalAllocatesNothing(t *testing.T) {
	g := GPUModel{Name: "NVIDIA A100-SXM4-80GB", Memory: 80 * GiB}
	var name string
	if n := testing.AllocsPerRun(100, func() { name = g.Canonical() }); n != 0 || name != "A100-80GB" {
		t.Errorf("%q: %v allocations", name, n)
	}
}

func TestFigures(t *testing.T) {
	want, _ := LookupGPU("A100-80GB")
	want.Name, want.Memory, want.MIG, want.Unverified = "a100", 79*GiB, nil, nil
	if diff := cmp.Diff(want, (&GPUModel{Name: "a100", Memory: 79 * GiB}).Figures()); diff != "" {
		t.Errorf("by name and memory (-want +got):\n%s", diff)
	}
	own := GPUModel{Name: "T4", Memory: 15 * GiB, FP32: 7e12}
	if got := own.Figures(); got.FP32 != 7e12 || got.Memory != 15*GiB || got.BandwidthBytesPerSec != 320e9 {
		t.Errorf("what was given is kept: got %+v", got)
	}
	for _, g := range []*GPUModel{nil, {}, {Name: "RTX 9090", FP32: 1}} {
		want := GPUModel{}
		if g != nil {
			want = *g
		}
		if diff := cmp.Diff(want, g.Figures()); diff != "" {
			t.Errorf("unknown (-want +got):\n%s", diff)
		}
	}
}

func TestMIGSlices(t *testing.T) {
	a30, _ := LookupGPU("A30")
	for _, c := range []struct {
		gpu             *GPUModel
		compute, memory int
	}{
		{&a30, 4, 4},
		{&GPUModel{Name: "NVIDIA A30"}, 4, 4},
		{&GPUModel{Name: "NVIDIA A100-SXM4-40GB"}, 7, 8},
		{&GPUModel{Name: "own", MIG: []MIGProfile{{Compute: 2, Size: 3}}}, 2, 3},
		{&GPUModel{Name: "own", MIG: []MIGProfile{{Compute: 2}}}, 7, 8}, // half a description is none
		{nil, 7, 8},
	} {
		if compute, memory := c.gpu.MIGSlices(); compute != c.compute || memory != c.memory {
			t.Errorf("%v: %d and %d slices, want %d and %d", c.gpu, compute, memory, c.compute, c.memory)
		}
	}
}

func TestCatalogueNamesAreClear(t *testing.T) {
	owner := map[string]string{}
	for i := range catalogue.Products {
		p := &catalogue.Products[i]
		if g, ok := LookupGPU(p.Name); !ok || g.Name != p.Name {
			t.Errorf("%s: its own name gives %q", p.Name, g.Name)
		}
		for _, alias := range p.Aliases {
			if alias != string(catalogue.AppendKey(nil, alias)) || alias == "" {
				t.Errorf("%s: alias %q can never match", p.Name, alias)
			}
			if owner[alias] != "" {
				t.Errorf("alias %q belongs to %s and %s", alias, owner[alias], p.Name)
			}
			owner[alias] = p.Name
		}
	}
}

func TestMIGProfiles(t *testing.T) {
	want := []MIGProfile{
		{Name: "1g.5gb", Compute: 1, Size: 1, Starts: []int{0, 1, 2, 3, 4, 5, 6}, Max: 7, SMs: 14, Memory: 5 * GiB},
		{Name: "1g.10gb", Compute: 1, Size: 2, Starts: []int{0, 2, 4, 6}, Max: 4, SMs: 14, Memory: 10 * GiB},
		{Name: "2g.10gb", Compute: 2, Size: 2, Starts: []int{0, 2, 4}, Max: 3, SMs: 28, Memory: 10 * GiB},
		{Name: "3g.20gb", Compute: 3, Size: 4, Starts: []int{0, 4}, Max: 2, SMs: 42, Memory: 20 * GiB},
		{Name: "4g.20gb", Compute: 4, Size: 4, Starts: []int{0}, Max: 1, SMs: 56, Memory: 20 * GiB},
		{Name: "7g.40gb", Compute: 7, Size: 8, Starts: []int{0}, Max: 1, SMs: 98, Memory: 40 * GiB},
	}
	a100, _ := LookupGPU("A100")
	if diff := cmp.Diff(want, a100.MIG); diff != "" {
		t.Errorf("A100 (-want +got):\n%s", diff)
	}
	want = []MIGProfile{
		{Name: "1g.6gb", Compute: 1, Size: 1, Starts: []int{0, 1, 2, 3}, Max: 4, SMs: 14, Memory: 6 * GiB},
		{Name: "2g.12gb", Compute: 2, Size: 2, Starts: []int{0, 2}, Max: 2, SMs: 28, Memory: 12 * GiB},
		{Name: "4g.24gb", Compute: 4, Size: 4, Starts: []int{0}, Max: 1, SMs: 56, Memory: 24 * GiB},
	}
	a30, _ := LookupGPU("A30")
	if diff := cmp.Diff(want, a30.MIG); diff != "" {
		t.Errorf("A30 (-want +got):\n%s", diff)
	}
	for name, gb := range map[string]string{
		"A100-80GB": "10 20 20 40 40 80", "H100-SXM5-80GB": "10 20 20 40 40 80", "H100-NVL-94GB": "12 24 24 47 47 94",
		"GH200-96GB": "12 24 24 48 48 96", "GH200-144GB": "18 36 36 72 72 144", "H200-SXM-141GB": "18 35 35 71 71 141",
		"B200-180GB": "23 45 45 90 90 180",
	} {
		g, _ := LookupGPU(name)
		var got []string
		for _, m := range g.MIG {
			got = append(got, strconv.Itoa(int(m.Memory/GiB)))
		}
		if strings.Join(got, " ") != gb {
			t.Errorf("%s: got %v, want %s", name, got, gb)
		}
	}
	h100, _ := LookupGPU("NVIDIA H100 80GB HBM3")
	for i, sms := range []int{16, 26, 32, 60, 64, 132} { // as the driver prints them
		if h100.MIG[i].SMs != sms {
			t.Errorf("H100 %s: %d SMs, want %d", h100.MIG[i].Name, h100.MIG[i].SMs, sms)
		}
	}
}

// TestMIGPlacementsFit checks that instances at their starts lie within the
// memory slices and that max of them fit side by side.
func TestMIGPlacementsFit(t *testing.T) {
	for _, g := range GPUs() {
		whole := 0
		for _, m := range g.MIG {
			whole = max(whole, m.Size)
		}
		for _, m := range g.MIG {
			end, placed := 0, 0
			for _, s := range m.Starts {
				if s+m.Size > whole {
					t.Errorf("%s %s: start %d passes slice %d", g.Name, m.Name, s, whole)
				}
				if s >= end {
					end, placed = s+m.Size, placed+1
				}
			}
			if placed != m.Max {
				t.Errorf("%s %s: %d fit side by side, max says %d", g.Name, m.Name, placed, m.Max)
			}
		}
	}
}

func TestGPUsIsTheCallers(t *testing.T) {
	all := GPUs()
	for i := range all {
		all[i].Name = "gone"
		all[i].Unverified = append(all[i].Unverified[:0], "gone")
		for j := range all[i].MIG {
			all[i].MIG[j].Starts[0] = 99
		}
	}
	for _, g := range GPUs() {
		if g.Name == "gone" || slices.Contains(g.Unverified, "gone") || len(g.MIG) > 0 && g.MIG[0].Starts[0] != 0 {
			t.Fatalf("a caller changed the catalogue: %+v", g)
		}
	}
}

func FuzzLookupGPU(f *testing.F) {
	f.Add("NVIDIA A100-SXM4-40GB")
	f.Add("gpu:a100:4")
	f.Fuzz(func(t *testing.T, name string) {
		if g, ok := LookupGPU(name); ok != (g.Name != "") {
			t.Errorf("%q: %q, %t", name, g.Name, ok)
		}
	})
}

func ExampleLookupGPU() {
	for _, name := range []string{"NVIDIA A100-SXM4-40GB", "rtx 3090", "abacus"} {
		g, ok := LookupGPU(name)
		fmt.Println(ok, g.Name, g.Memory, g.SMs, len(g.MIG))
	}
	// Output:
	// true A100-40GB 40 GiB 108 6
	// true RTX3090 24 GiB 82 0
	// false  0 B 0 0
}

func ExampleGPUs() {
	for _, g := range GPUs() {
		if g.Memory > 100*GiB && len(g.Unverified) == 0 {
			fmt.Println(g.Name, g.Memory)
		}
	}
	// Output:
	// H200-SXM-141GB 140.4 GiB
	// B200-180GB 180 GiB
}

func TestSliced(t *testing.T) {
	for name, want := range map[string]bool{
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb": true, "A100 mig": true, "mig-1g.10gb+me": true, "H100 2g.20gb": true,
		"": false, "A100-40GB": false, "NVIDIA H100 80GB HBM3": false, "AMIGO 9000": false, "1g": false, "Migrant": false,
	} {
		if got := (&GPUModel{Name: name}).Sliced(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	for _, g := range GPUs() {
		if g.Sliced() {
			t.Errorf("%s of the catalogue is no slice", g.Name)
		}
	}
	if (*GPUModel)(nil).Sliced() {
		t.Error("nil is a slice")
	}
}

// TestSlicedWords: the digits of an instance profile may be any, and "mig" is a word.
func TestSlicedWords(t *testing.T) {
	for name, want := range map[string]bool{
		"A100 0g.5gb": true, "A100 9g.9gb": true, "A100 1g.0gb": true, "A100-MIG": true, "mig": true, "MIG-1": true,
		"A100 /g.5gb": false, "A100 :g.5gb": false, "1g.": false, "g.5gb": false, "1g.x": false, "migrant": false, "amig": false,
	} {
		if got := (&GPUModel{Name: name}).Sliced(); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// TestGPUModelEqual: two products differ by any one of their fields, and by nothing else.
func TestGPUModelEqual(t *testing.T) {
	a, _ := LookupGPU("A100-40GB")
	again, ok := LookupGPU("A100-40GB")
	if !ok {
		t.Fatal("the catalogue lacks the A100-40GB")
	}
	if none := (*GPUModel)(nil); !a.Equal(&again) || none.Equal(&a) || a.Equal(nil) || !none.Equal(nil) {
		t.Error("want a product to equal itself read again and no other, and no product to equal none")
	}
	change := func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
		default:
			v.SetInt(v.Int() + 1)
		}
	}
	for i := range reflect.TypeOf(a).NumField() {
		b := a
		change(reflect.ValueOf(&b).Elem().Field(i))
		if a.Equal(&b) || b.Equal(&a) {
			t.Errorf("%s: a change is not noticed", reflect.TypeOf(a).Field(i).Name)
		}
	}
	one, other := GPUModel{MIG: []MIGProfile{{Compute: 1}}}, GPUModel{MIG: []MIGProfile{{Compute: 2}}}
	if one.Equal(&other) || !one.Equal(&GPUModel{MIG: []MIGProfile{{Compute: 1}}}) {
		t.Error("want products of one kind of instance to be equal if the instances are")
	}
	for i := range reflect.TypeOf(a.MIG[0]).NumField() {
		b := a
		b.MIG = slices.Clone(a.MIG)
		change(reflect.ValueOf(&b.MIG[0]).Elem().Field(i))
		if a.Equal(&b) {
			t.Errorf("MIG: %s: a change is not noticed", reflect.TypeOf(a.MIG[0]).Field(i).Name)
		}
	}
}
