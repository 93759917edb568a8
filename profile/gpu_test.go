package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dataSheet is the collection of data-sheet figures that the catalogue was
// typed from, typed a second time: name, capability, GB, GB/s, SMs, L2 MiB,
// FP32, TF32 and BF16 in TFLOP/s, W, MIG slices. A ° marks a figure without a
// second source, – is none.
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
		g, ok := known[cells[0]]
		if !ok {
			t.Errorf("%s is not in the catalogue", cells[0])
			continue
		}
		rows++
		checkGPU(t, g, cells)
	}
	if rows != len(known) {
		t.Errorf("checked %d rows of %d", rows, len(known))
	}
}

func checkGPU(t *testing.T, g GPUModel, cells []string) {
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
		{"l2_bytes", g.L2.MiBs()},
		{"fp32_flops", g.FP32 / 1e12},
		{"tf32_flops", g.TF32 / 1e12},
		{"bf16_flops", g.BF16 / 1e12},
		{"power_watts", g.PowerWatts},
	} {
		text, marked := strings.CutSuffix(cells[i+1], "°")
		if marked {
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
	} {
		g, ok := LookupGPU(c.name)
		if !ok || g.Name != c.want {
			t.Errorf("%q: got %q, %t, want %q", c.name, g.Name, ok, c.want)
		}
	}
	for _, name := range []string{"", " ", "NVIDIA", "A10G", "A1000", "RTX", "GTX 1080", "gpu:", "gpu::", "MI300X", "MIG", "\x00", "A100-SXM4-60GB"} {
		if g, ok := LookupGPU(name); ok {
			t.Errorf("%q: got %q, want nothing", name, g.Name)
		}
	}
}

func TestCatalogueNamesAreClear(t *testing.T) {
	owner := map[string]string{}
	for i := range catalogue {
		p := &catalogue[i]
		if g, ok := LookupGPU(p.name); !ok || g.Name != p.name {
			t.Errorf("%s: its own name gives %q", p.name, g.Name)
		}
		for _, alias := range p.aliases {
			if alias != gpuKey(alias) || alias == "" {
				t.Errorf("%s: alias %q can never match", p.name, alias)
			}
			if owner[alias] != "" {
				t.Errorf("alias %q belongs to %s and %s", alias, owner[alias], p.name)
			}
			owner[alias] = p.name
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
