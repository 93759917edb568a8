package site

import (
	"testing"

	"example.com/colloc/profile"
)

// TestModelOfSlice: the type of a MIG instance says which card and which part of it.
func TestModelOfSlice(t *testing.T) {
	for _, tt := range []struct {
		kind     string
		models   map[string]string
		features []string
		want     string
		memory   profile.Bytes
	}{
		{kind: "a100_3g.20gb", want: "A100-40GB MIG 3g.20gb", memory: 20 * profile.GiB},
		{kind: "a100_1g.10gb", models: map[string]string{"a100": "A100-80GB"}, want: "A100-80GB MIG 1g.10gb", memory: 10 * profile.GiB},
		{kind: "1g.10gb", models: map[string]string{"1g.10gb": "H100"}, want: "H100-PCIe-80GB MIG 1g.10gb", memory: 10 * profile.GiB},
		{kind: "2g.20gb", features: []string{"ib", "a100-80gb"}, want: "A100-80GB MIG 2g.20gb", memory: 20 * profile.GiB},
		{kind: "nvidia_a100_80gb_pcie_3g.40gb", want: "A100-PCIe-80GB MIG 3g.40gb", memory: 40 * profile.GiB},
		{kind: "1g.10gb"},
		{kind: "a100_9g.99gb"}, // no such part
		{kind: "v100_1g.5gb"},  // no MIG
		{kind: "a100i3", want: "A100-40GB", memory: 40 * profile.GiB},
		{kind: "a100g.gb", models: map[string]string{"a100g.gb": "T4"}, want: "T4", memory: 16 * profile.GiB},
	} {
		o := &GPUOptions{Models: tt.models}
		m, ok := o.Model(&Device{Type: tt.kind}, &Node{Features: tt.features})
		if ok != (tt.want != "") || m.Name != tt.want || m.Memory != tt.memory {
			t.Errorf("%q: %q with %v, %t; want %q with %v", tt.kind, m.Name, m.Memory, ok, tt.want, tt.memory)
		}
		if slice := m.Sliced(); slice != (ok && m.Memory != 16*profile.GiB && tt.kind != "a100i3") {
			t.Errorf("%q is a part of a card: %t", tt.kind, slice)
		}
	}
	for kind, want := range map[string]bool{"a100i3": true, "a100": false, "3g.20gb": false, "i3": false} {
		if got := (&Device{Type: kind, Pinned: true}).Numbered(); got != want {
			t.Errorf("%s is the number of a GPU: %t", kind, got)
		}
	}
}
