package sizing

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

func drawCluster(t *rapid.T) site.Cluster {
	names := []string{"a", "b", "c"}
	node := rapid.Custom(func(t *rapid.T) site.NodeType {
		return site.NodeType{
			Count: rapid.IntRange(-1, 4).Draw(t, "count"), Partitions: rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "partitions"),
			CPUs: rapid.IntRange(0, 64).Draw(t, "cpus"), Memory: profile.Bytes(rapid.IntRange(0, 256).Draw(t, "memory")) * profile.GiB,
			GPU: rapid.SampledFrom([]string{"", "a100", "v100", "x"}).Draw(t, "gpu"), GPUs: rapid.IntRange(0, 8).Draw(t, "gpus"),
			GPUMemory: profile.Bytes(rapid.SampledFrom([]int{0, 40, 80}).Draw(t, "gpu memory")) * profile.GiB,
			Features:  rapid.SliceOfN(rapid.SampledFrom([]string{"ib", "A100-80GB", "big"}), 0, 2).Draw(t, "features"),
		}
	})
	partition := rapid.Custom(func(t *rapid.T) site.Partition {
		return site.Partition{
			Name: rapid.SampledFrom(names).Draw(t, "name"), Default: rapid.Bool().Draw(t, "default"), Down: rapid.Bool().Draw(t, "down"),
			MaxTime: time.Duration(rapid.Int64Range(0, 100).Draw(t, "time")) * time.Hour, MaxNodes: rapid.IntRange(0, 3).Draw(t, "nodes"),
		}
	})
	id := func(p site.Partition) string { return p.Name }
	return site.Cluster{Partitions: rapid.SliceOfNDistinct(partition, 0, 3, id).Draw(t, "partitions"), Nodes: rapid.SliceOfN(node, 0, 4).Draw(t, "nodes")}
}

func drawNeed(t *rapid.T) Need {
	point := rapid.Custom(func(t *rapid.T) advise.ScalingPoint {
		return advise.ScalingPoint{
			GPU:        rapid.SampledFrom([]string{"", "a100", "A100-80GB", "v100", "x", "y"}).Draw(t, "gpu"),
			GPUs:       rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16, 1 << 30}).Draw(t, "gpus"),
			Throughput: rapid.Float64Range(1e-3, 1e6).Draw(t, "throughput"),
		}
	})
	id := func(p advise.ScalingPoint) string { return p.GPU + string(rune(p.GPUs)) }
	return Need{
		Scaling: rapid.SliceOfNDistinct(point, 1, 6, id).Draw(t, "points"),
		Work:    rapid.SampledFrom([]float64{0, 1, 1e6, 1e99}).Draw(t, "work"),
		CPUs:    rapid.IntRange(0, 9).Draw(t, "cpus"), Memory: profile.Bytes(rapid.IntRange(0, 40).Draw(t, "memory")) * profile.GiB,
		GPUMemory: profile.Bytes(rapid.IntRange(0, 80).Draw(t, "gpu memory")) * profile.GiB,
		Partition: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "partition"),
	}
}

// What is advised, some kind of node in a partition that is up can hold; what is
// impossible, none can, for any measured number of GPUs.
func TestAdviseProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		need, cluster := drawNeed(t), drawCluster(t)
		a, err := Advise(need, cluster)
		switch {
		case errors.Is(err, site.ErrPartition):
			if slices.ContainsFunc(cluster.Partitions, func(p site.Partition) bool { return p.Name == need.Partition }) {
				t.Fatal(err)
			}
		case errors.Is(err, site.ErrImpossible):
			for _, p := range need.Scaling {
				for nodes := 1; nodes <= 4; nodes++ {
					if p.GPUs%nodes == 0 && holdsAny(&cluster, &need, p.GPU, nodes, p.GPUs/nodes) {
						t.Fatalf("%d x %s fit on %d nodes, but: %v", p.GPUs, p.GPU, nodes, err)
					}
				}
			}
		case err != nil:
			t.Fatal(err)
		default:
			r := &a.Request
			if _, err := r.Header(); err != nil {
				t.Fatal(err)
			}
			if !holdsAny(&cluster, &need, a.GPU, r.Nodes, r.Gres[0].Count) {
				t.Fatalf("no node holds\n%s", a)
			}
			if need.Work > 0 && (r.Time <= 0 || !r.Requeue && r.Time < a.Expected) {
				t.Fatalf("expected %v, limit %v", a.Expected, r.Time)
			}
		}
	})
}

// holdsAny is the obvious check of a request against a cluster.
func holdsAny(c *site.Cluster, need *Need, gpu string, nodes, gpus int) bool {
	for _, p := range c.Partitions {
		if p.Down || need.Partition != "" && need.Partition != p.Name || p.MaxNodes > 0 && nodes > p.MaxNodes {
			continue
		}
		for _, n := range c.Nodes {
			if slices.Contains(n.Partitions, p.Name) && goesBy(&n, gpu) && n.Count >= nodes && n.GPUs >= gpus && n.CPUs >= gpus*max(1, need.CPUs) &&
				n.Memory >= profile.Bytes(gpus)*need.Memory && (gpuMemory(&n) == 0 || float64(need.GPUMemory) <= 0.9*float64(gpuMemory(&n))) {
				return true
			}
		}
	}
	return false
}
