package sizing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
	"example.com/colloc/profile"
)

// node is one of the partition main with GPUs of a type.
func node(name, kind string, gpus int, features ...string) site.Node {
	return site.Node{
		Name: name, State: []string{"IDLE"}, Partitions: []string{"main"}, Features: features, CPUs: 32, Memory: 64 * profile.GiB,
		Gres: []site.Held{{Gres: site.Gres{Name: "gpu", Type: kind, Count: gpus}}},
	}
}

// TestKindOf: an amount of memory becomes what the site calls GPUs that have it.
func TestKindOf(t *testing.T) {
	t4, v100, a100 := node("t", "t4", 2, "turing"), node("v", "v100", 2, "volta", "big"), node("a", "a100", 4, "ampere", "big")
	for _, tt := range []struct {
		name   string
		memory profile.Bytes
		nodes  []site.Node
		want   sizing.Kind
		says   string
	}{
		{"nothing asked", 0, []site.Node{t4, a100}, sizing.Kind{Products: []string{"A100-40GB", "T4"}, Nodes: 2, PerNode: 4}, "A100-40GB, T4"},
		{"all have it", 15 * profile.GiB, []site.Node{v100, a100}, sizing.Kind{Products: []string{"A100-40GB", "V100-PCIe-32GB"}, Nodes: 2, PerNode: 4}, "A100-40GB, V100-PCIe-32GB"},
		{"a feature of all", 30 * profile.GiB, []site.Node{t4, v100, a100}, sizing.Kind{Constraint: "big", Products: []string{"A100-40GB", "V100-PCIe-32GB"}, Nodes: 2, PerNode: 4}, "A100-40GB, V100-PCIe-32GB, by the constraint big"},
		{"the type alone", 33 * profile.GiB, []site.Node{t4, v100, node("a", "a100", 4)}, sizing.Kind{Type: "a100", Products: []string{"A100-40GB"}, Nodes: 1, PerNode: 4}, "A100-40GB, by their type a100"},
		{"features of each", 30 * profile.GiB, []site.Node{node("t", "", 2, "t4"), node("v", "", 2, "V100-32GB"), node("a", "", 4, "A100-40GB")}, sizing.Kind{Constraint: "V100-32GB|A100-40GB", Products: []string{"A100-40GB", "V100-PCIe-32GB"}, Nodes: 2, PerNode: 4}, "A100-40GB, V100-PCIe-32GB, by the constraint V100-32GB|A100-40GB"},
		{"a product of two types, and one that nobody knows", 0, []site.Node{node("a", "a100", 1), node("b", "tesla", 1), node("o", "odd", 1)}, sizing.Kind{Products: []string{"A100-40GB"}, Nodes: 3, PerNode: 1}, "A100-40GB"},
		{"one GPU a type", 30 * profile.GiB, []site.Node{node("t", "t4", 1, "x"), node("a", "a100i0", 1, "y")}, sizing.Kind{Constraint: "y", Products: []string{"A100-40GB"}, Nodes: 1, PerNode: 1}, "A100-40GB, by the constraint y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &site.GPUOptions{Models: map[string]string{"v100": "V100-32GB", "a100": "A100-40GB", "tesla": "A100-40GB", "t4": "T4"}}
			got, err := sizing.KindOf(&site.State{Nodes: tt.nodes}, tt.memory, o, nil)
			tt.want.CPUs, tt.want.Memory = 32, 64*profile.GiB
			if err != nil || !cmp.Equal(got, tt.want) || got.String() != tt.says {
				t.Errorf("%v; it says %q, want %q (-want +got):\n%s", err, got, tt.says, cmp.Diff(tt.want, got))
			}
		})
	}
	for why, nodes := range map[string][]site.Node{
		"no GPU has 30 GiB: the largest that is known has 16 GiB": {t4},
		"neither a type nor a feature tells":                      {node("t", "t4i0", 1), node("u", "a100i0", 1)},
		"the largest that is known has 0 B":                       nil,
	} {
		o := &site.GPUOptions{Models: map[string]string{"a100": "A100-40GB", "t4": "T4"}}
		if k, err := sizing.KindOf(&site.State{Nodes: nodes}, 30*profile.GiB, o, nil); !errors.Is(err, site.ErrImpossible) || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v, %v; want ErrImpossible that says %q", k, err, why)
		}
	}
	mine := func(n *site.Node) bool { return n.Name == "t" }
	if k, err := sizing.KindOf(&site.State{Nodes: []site.Node{t4, a100}}, 10*profile.GiB, &site.GPUOptions{}, mine); err != nil || k.Nodes != 1 || k.PerNode != 2 {
		t.Errorf("of the nodes that suit: %+v, %v", k, err)
	}
}
