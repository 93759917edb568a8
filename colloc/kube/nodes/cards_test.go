package nodes_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/profile"
)

// labelled is a node with labels of GPU feature discovery, given without their prefix.
func labelled(labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		n.Labels["nvidia.com/"+labels[i]] = labels[i+1]
	}
	return n
}

// TestProducts maps what GPU feature discovery and DRA drivers call products to the
// catalogue.
func TestProducts(t *testing.T) {
	for _, tt := range []struct {
		label, mib string
		want       string // of the catalogue, or as it is where it has none
		slice      string
	}{
		{"NVIDIA-A100-SXM4-40GB", "40960", "A100-40GB", ""},
		{"NVIDIA-A100-SXM4-80GB", "81920", "A100-80GB", ""},
		{"NVIDIA-A100-PCIE-40GB", "40960", "A100-PCIe-40GB", ""},
		{"NVIDIA-A100-80GB-PCIe", "81920", "A100-PCIe-80GB", ""},
		{"NVIDIA-A100-SXM4-40GB-SHARED", "40960", "A100-40GB", ""},
		{"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "4864", "A100-40GB", "1g.5gb"},
		{"NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED", "19968", "A100-40GB", "3g.20gb"},
		{"NVIDIA-A100-SXM4-80GB-MIG-7g.80gb", "80896", "A100-80GB", "7g.80gb"},
		{"NVIDIA-H100-80GB-HBM3", "81559", "H100-SXM5-80GB", ""},
		{"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "9856", "H100-SXM5-80GB", "1g.10gb"},
		{"NVIDIA-H100-PCIe", "81559", "H100-PCIe-80GB", ""},
		{"NVIDIA-H200", "143771", "H200-SXM-141GB", ""},
		{"NVIDIA-H100-NVL", "95830", "H100-NVL-94GB", ""},
		{"NVIDIA-L4", "23034", "L4", ""},
		{"NVIDIA-L40", "46068", "L40", ""},
		{"NVIDIA-L40S", "46068", "L40S", ""},
		{"NVIDIA-A10", "23028", "A10", ""},
		{"NVIDIA-A10G", "23028", "A10G", ""},
		{"NVIDIA-A30", "24576", "A30", ""},
		{"NVIDIA-A40", "46068", "A40", ""},
		{"NVIDIA-A16", "15356", "A16", ""},
		{"NVIDIA-A2", "15356", "A2", ""},
		{"Tesla-T4", "15360", "T4", ""},
		{"Tesla-T4-SHARED", "15360", "T4", ""},
		{"Tesla-V100-SXM2-16GB", "16384", "V100-SXM2-16GB", ""},
		{"Tesla-V100-SXM2-32GB", "32768", "V100-SXM2-32GB", ""},
		{"Tesla-P100-PCIE-16GB", "16384", "P100-PCIe-16GB", ""},
		{"NVIDIA-GeForce-RTX-3090", "24576", "RTX3090", ""},
		{"NVIDIA-GeForce-RTX-4090", "24564", "RTX4090", ""},
		{"NVIDIA-RTX-A6000", "49140", "RTX-A6000", ""},
		{"NVIDIA-RTX-6000-Ada-Generation", "49140", "RTX-6000-Ada", ""},
		{"NVIDIA-GB200", "189471", "GB200-186GB", ""},
		{"NVIDIA-B200", "183359", "B200-180GB", ""},
		{"NVIDIA-GH200-480GB", "97871", "GH200-96GB", ""},
		{"Somebodys-X900-SHARED", "1024", "Somebodys-X900", ""},
	} {
		t.Run(tt.label, func(t *testing.T) {
			n := labelled("gpu.product", tt.label, "gpu.memory", tt.mib, "gpu.count", "14", "mig.config", "all-"+tt.slice)
			if tt.slice == "3g.20gb" || tt.slice == "7g.80gb" || tt.slice == "1g.10gb" || tt.slice == "1g.5gb" {
				n.Labels["nvidia.com/mig.strategy"] = "single"
			}
			var r nodes.Reader
			cards, notes := r.Cards(n, nil)
			if len(cards) != 14 {
				t.Fatalf("%d cards, want 14; %v", len(cards), notes)
			}
			c := cards[13]
			slice := ""
			if c.GPU.Slice != nil {
				slice = c.GPU.Slice.Name
			}
			if c.GPU.Model.Name != tt.want || slice != tt.slice || strconv.FormatInt(int64(c.GPU.Memory/profile.MiB), 10) != tt.mib {
				t.Errorf("got %q slice %q with %v, want %q slice %q with %s MiB", c.GPU.Model.Name, slice, c.GPU.Memory, tt.want, tt.slice, tt.mib)
			}
			if err := c.GPU.Validate(); err != nil {
				t.Error(err)
			}
			if c.GPU.Slice != cards[0].GPU.Slice {
				t.Error("equal cards have slices of their own: the Planner would judge each by itself")
			}
		})
	}
}

func TestLabels(t *testing.T) {
	a100 := []string{"gpu.product", "NVIDIA-A100-SXM4-40GB", "gpu.memory", "40960"}
	for _, tt := range []struct {
		name   string
		labels []string
		want   string // devices and addresses
		note   string // part of it
	}{
		{"no GPU", nil, "", ""},
		{"cards", append(a100, "gpu.count", "2"), "gpu-0=0 gpu-1=1", ""},
		{"replicas count once", append(a100, "gpu.count", "2", "gpu.replicas", "10"), "gpu-0=0 gpu-1=1", ""},
		{"instances", []string{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "gpu.memory", "19968", "gpu.count", "4", "mig.strategy", "single", "mig.config", "all-3g.20gb"}, "mig-0=0:0 mig-1=0:1 mig-2=1:0 mig-3=1:1", ""},
		{"instances of a layout that nobody tells", []string{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "gpu.count", "4", "mig.strategy", "single"}, "", "mig.config=all-3g.20gb"},
		{"mixed", append(a100, "gpu.count", "2", "mig.strategy", "mixed", "mig-1g.5gb.count", "7"), "", "strategy mixed"},
		{"mixed, none cut", append(a100, "gpu.count", "1", "mig.strategy", "mixed"), "gpu-0=0", "strategy mixed"},
		{"no count", a100, "", "gpu.count"},
		{"negative count", append(a100, "gpu.count", "-1"), "", "gpu.count"},
		{"huge count", append(a100, "gpu.count", "1000000000"), "", "gpu.count"},
		{"no memory of a known product", []string{"gpu.product", "Tesla-T4", "gpu.count", "1"}, "gpu-0=0", ""},
		{"no memory of an unknown one", []string{"gpu.product", "X900", "gpu.count", "1"}, "", "catalogue"},
		{"broken memory", []string{"gpu.product", "Tesla-T4", "gpu.count", "1", "gpu.memory", "16G"}, "gpu-0=0", "gpu.memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r nodes.Reader
			cards, notes := r.Cards(labelled(tt.labels...), nil)
			if got := devices(cards); got != tt.want {
				t.Errorf("got %q, want %q; %v", got, tt.want, notes)
			}
			if got := strings.Join(notes, "; "); (got == "") != (tt.note == "") || !strings.Contains(got, tt.note) {
				t.Errorf("notes are %q, want %q", got, tt.note)
			}
		})
	}
}

func devices(cards []nodes.Card) string {
	var list []string
	for _, c := range cards {
		list = append(list, c.Device+"="+c.Address)
	}
	return strings.Join(list, " ")
}

// slice is a ResourceSlice of node n1.
func slice(name string, generation int64, list ...resourcev1.Device) *resourcev1.ResourceSlice {
	node := "n1"
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: nodes.Driver, NodeName: &node, Devices: list, Pool: resourcev1.ResourcePool{Name: "n1", Generation: generation, ResourceSliceCount: 1},
	}}
}

// device has attributes given as name and value, and an amount of memory.
func device(name, memory string, attributes ...string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	for i := 0; i < len(attributes); i += 2 {
		d.Attributes[resourcev1.QualifiedName(attributes[i])] = resourcev1.DeviceAttribute{StringValue: &attributes[i+1]}
	}
	if memory != "" {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}
	}
	return d
}

func TestSlices(t *testing.T) {
	whole := device("gpu-10", "40Gi", "uuid", "GPU-a", "productName", "NVIDIA A100-SXM4-40GB", "type", "gpu")
	second := device("gpu-9", "40Gi", nodes.Driver+"/uuid", "GPU-b", nodes.Driver+"/productName", "NVIDIA A100-SXM4-40GB")
	cut := device("gpu-0-mig-1", "19968Mi", "uuid", "MIG-c", "productName", "NVIDIA A100-SXM4-40GB", "profile", "3g.20gb", "type", "mig")
	tainted := device("gpu-1", "40Gi", "uuid", "GPU-d", "productName", "NVIDIA A100-SXM4-40GB")
	tainted.Taints = []resourcev1.DeviceTaint{{Key: "xid", Effect: resourcev1.DeviceTaintEffectNoExecute}}
	elsewhere, foreign := slice("e", 9, whole), slice("f", 9, whole)
	other := "n2"
	elsewhere.Spec.NodeName, foreign.Spec.Driver = &other, "gpu.example.com"

	n := labelled("gpu.product", "Tesla-T4", "gpu.count", "4") // what slices say wins
	var r nodes.Reader
	cards, notes := r.Cards(n, []*resourcev1.ResourceSlice{
		slice("b", 2, whole, second, cut), slice("a", 2, tainted, device("later", "40Gi", "productName", "NVIDIA A100-SXM4-40GB")),
		slice("old", 1, device("gpu-7", "40Gi", "uuid", "GPU-x", "productName", "Tesla T4")), elsewhere, foreign,
	})
	if got, want := devices(cards), "gpu-1=GPU-d gpu-9=GPU-b gpu-10=GPU-a gpu-0-mig-1=MIG-c"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if !strings.Contains(cards[0].Closed, "xid") || cards[1].Closed != "" {
		t.Errorf("closed are %q and %q, want the tainted one alone", cards[0].Closed, cards[1].Closed)
	}
	mig := cards[3].GPU
	if mig.Slice == nil || mig.Slice.Name != "3g.20gb" || mig.Model.Name != "A100-40GB" || mig.Memory != 19968*profile.MiB || mig.ID != "n1/gpu-0-mig-1" {
		t.Errorf("the instance is %+v", mig)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "later") {
		t.Errorf("notes are %q, want one about the device without a uuid", notes)
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "4864", "7", "single", "all-1g.5gb", "mps")
	f.Add("", "-1", "999999999999999999999", "mixed", "", "")
	f.Fuzz(func(t *testing.T, product, memory, count, strategy, layout, sharing string) {
		var r nodes.Reader
		cards, _ := r.Cards(labelled("gpu.product", product, "gpu.memory", memory, "gpu.count", count, "mig.strategy", strategy, "mig.config", layout, "gpu.sharing-strategy", sharing), nil)
		seen := map[string]bool{}
		for _, c := range cards {
			if seen[c.Address] || c.Address == "" {
				t.Fatalf("address %q comes twice or is empty", c.Address)
			}
			seen[c.Address] = true
			if c.GPU.Total() <= 0 {
				t.Fatalf("card %+v has no memory", c)
			}
		}
	})
}

// A card whose UUID is told keeps its name when another falls off the bus; until the list
// is right again nobody is placed there.
func TestUUIDs(t *testing.T) {
	var r nodes.Reader
	n := labelled("gpu.product", "NVIDIA-A100-SXM4-40GB", "gpu.memory", "40960", "gpu.count", "2")
	for _, tt := range []struct{ uuids, count, want, note string }{
		{"GPU-0a,GPU-1B", "2", "n1/gpu-0a GPU-0a n1/gpu-1b GPU-1B", ""},
		{"GPU-0a,GPU-1B", "1", "", "names 2: a GPU has come or gone"},
		{"GPU-1B", "1", "n1/gpu-1b GPU-1B", ""},
		{"GPU-1B,GPU-1B", "2", "", "comes twice"},
		{"all,GPU-1B", "2", "", "is no UUID"},
	} {
		n.Annotations = map[string]string{api.AnnotationUUIDs: tt.uuids}
		n.Labels["nvidia.com/gpu.count"] = tt.count
		cards, notes := r.Cards(n, nil)
		var got []string
		for _, c := range cards {
			got = append(got, c.GPU.ID, c.Address)
		}
		if strings.Join(got, " ") != tt.want || (tt.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, ""), tt.note) {
			t.Errorf("%s of %s: %q, %q, want %q, %q", tt.uuids, tt.count, got, notes, tt.want, tt.note)
		}
	}
}

// The device plugin's word for MPS is none: its daemon reaches only its own pods. An administrator's is.
func TestSharing(t *testing.T) {
	n := labelled("gpu.product", "Tesla-T4", "gpu.count", "1", "gpu.sharing-strategy", "mps")
	var r nodes.Reader
	for _, want := range [][]profile.Mechanism{nil, {profile.MPS}} {
		cards, _ := r.Cards(n, nil)
		if len(cards) != 1 || !slices.Equal(cards[0].GPU.Mechanisms, want) || cards[0].Limits != (api.Limits{MPS: want != nil}) {
			t.Errorf("%+v, want mechanisms %v", cards, want)
		}
		n.Labels[api.LabelMPS] = api.True
	}
}
