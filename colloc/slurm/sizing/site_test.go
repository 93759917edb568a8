package sizing

import (
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// racks are nodes, with two GPUs each unless they say otherwise, in some partitions.
func racks(partitions []string, nodes ...site.NodeType) site.Cluster {
	var c site.Cluster
	for _, name := range partitions {
		c.Partitions = append(c.Partitions, site.Partition{Name: name})
	}
	for _, n := range nodes {
		n.Count, n.Partitions, n.Memory = max(n.Count, 1), partitions, 64*profile.GiB
		if n.GPUs == 0 {
			n.GPUs = 2
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// TestAdviseOddSites: what a site leaves out, or has in an odd shape, is asked for in a
// way that it can grant, and said.
func TestAdviseOddSites(t *testing.T) {
	small, large := site.NodeType{GPU: "a100", CPUs: 8, GPUMemory: 40 * profile.GiB}, site.NodeType{GPU: "a100", GPUs: 1, CPUs: 8, GPUMemory: 80 * profile.GiB}
	few := site.NodeType{GPU: "a100", CPUs: 1, GPUMemory: 40 * profile.GiB}
	two := site.NodeType{Count: 2, GPU: "a100", CPUs: 8}
	for _, tt := range []struct {
		name       string
		partitions []string
		nodes      []site.NodeType
		gpus       int
		partition  string
		cpus       int
		says       string
	}{
		{"partitions alike", []string{"x", "y"}, []site.NodeType{small}, 1, "x", 4, "partition x: the first that has these GPUs"},
		{"other GPUs that no feature tells apart", []string{"x"}, []site.NodeType{small, large}, 1, "x", 4, "no feature tells these nodes from others in the partition whose GPUs have 80 GiB instead of 40 GiB"},
		{"fewer CPUs than GPUs", []string{"x"}, []site.NodeType{few}, 1, "x", 1, "1 CPUs for each GPU"},
		{"all nodes", []string{"x"}, []site.NodeType{two}, 4, "x", 8, "2 nodes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			need := Need{Scaling: []advise.ScalingPoint{{GPU: "a100", GPUs: tt.gpus, Throughput: 1}}}
			a, err := Advise(need, racks(tt.partitions, tt.nodes...))
			if err != nil {
				t.Fatal(err)
			}
			if a.GPUs != tt.gpus || a.Request.Partition != tt.partition || a.Request.CPUsPerTask != tt.cpus {
				t.Errorf("%d GPUs in partition %s with %d CPUs, want %d, %s and %d", a.GPUs, a.Request.Partition, a.Request.CPUsPerTask, tt.gpus, tt.partition, tt.cpus)
			}
			wantText(t, a.String(), tt.says)
		})
	}
	_, err := Advise(Need{Scaling: []advise.ScalingPoint{{GPU: "a100", GPUs: 3, Throughput: 1}}}, racks([]string{"x"}, two))
	wantFault(t, err, "3 x a100: takes 3 nodes of 2") // each node gets as many
}

// TestAdviseNoTypes: where a site gives its GPUs no type, a constraint keeps the job off other
// GPUs; nodes without GPUs need none.
func TestAdviseNoTypes(t *testing.T) {
	large := site.NodeType{CPUs: 8, GPUMemory: 40 * profile.GiB, Features: []string{"large"}}
	need := Need{Scaling: []advise.ScalingPoint{{GPUs: 1, Throughput: 1}}}
	cluster := racks([]string{"x"}, large, site.NodeType{CPUs: 8})
	cluster.Nodes[1].GPUs = 0
	for _, tt := range []struct {
		name string
		more []site.NodeType
		want string
	}{
		{"nodes without GPUs", nil, ""},
		{"GPUs with a type", racks([]string{"x"}, site.NodeType{CPUs: 8, GPU: "t4"}).Nodes, "large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cluster
			c.Nodes = slices.Concat(c.Nodes, tt.more)
			a, err := Advise(need, c)
			if err != nil || a.Request.Constraint != tt.want || strings.Contains(a.String(), "instead of") != (tt.want != "") {
				t.Errorf("%v, %v; want the constraint %q", a, err, tt.want)
			}
		})
	}
}

// TestAllUsable: a task that needs just what is usable of a GPU fits it, and one that
// needs a byte more does not.
func TestAllUsable(t *testing.T) {
	one := racks([]string{"x"}, site.NodeType{GPU: "a100", CPUs: 8, GPUMemory: 40 * profile.GiB})
	need := Need{Scaling: []advise.ScalingPoint{{GPU: "a100", GPUs: 1, Throughput: 1}}, GPUMemory: 36 * profile.GiB}
	if a, err := Advise(need, one); err != nil || !strings.Contains(a.String(), "36 GiB are needed of 40 GiB") {
		t.Errorf("36 GiB of 40 GiB: %v, %v", a, err)
	}
	need.GPUMemory++
	_, err := Advise(need, one)
	wantFault(t, err, "of 40 GiB on a GPU 36 GiB are usable")
	if a, err := Advise(need, racks([]string{"x"}, site.NodeType{CPUs: 8})); err == nil {
		t.Errorf("no such type: %v", a)
	}
	need.Scaling[0].GPU = "" // any, of which nobody knows the memory
	a, err := Advise(need, racks([]string{"x"}, site.NodeType{CPUs: 8}))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, a.String(), "whether the task fits into device memory is not known")
}

// TestProduct: of the names that a node's GPUs go by the one with the most memory says
// what they are, wherever it stands.
func TestProduct(t *testing.T) {
	for _, tt := range []struct {
		kind     string
		features []string
		want     string
	}{
		{"a100", nil, "a100"},
		{"a100", []string{"ib", "A100-80GB", "v100"}, "A100-80GB"},
		{"A100-80GB", []string{"A100-40GB"}, "A100-80GB"},
		{"tesla", []string{"ib"}, "tesla"},
		{"", []string{"T4"}, "T4"},
	} {
		if got := product(&site.NodeType{GPU: tt.kind, Features: tt.features}); got != tt.want {
			t.Errorf("%q with features %q is %q, want %q", tt.kind, tt.features, got, tt.want)
		}
	}
}
