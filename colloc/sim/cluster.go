package sim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// Cluster is the machines that tasks run on.
type Cluster struct {
	Nodes []Node
	// Losses are GPUs that fail and come back, in any order.
	Losses []Loss
}

// Node is one machine.
type Node struct {
	// Name is for reports.
	Name string
	// GPUs are its cards. They are numbered through the cluster in the order of
	// nodes; that number is how policies name them.
	GPUs []GPU
	// CPU is the number of cores and Memory the host's; 0 means as much as
	// anybody wants.
	CPU    float64
	Memory profile.Bytes
}

// GPU is one card, or one MIG instance of one.
type GPU struct {
	// Model is the product, see [profile.LookupGPU]. Models of speeds go by its
	// name.
	Model profile.GPUModel
	// Memory is the total; 0 means Model.Memory, and if that is 0 too, as much
	// as anybody wants.
	Memory profile.Bytes
	// IdleWatts and BusyWatts are the power of the idle and of the fully used
	// card; 0 means 15 % of Model.PowerWatts and all of it.
	IdleWatts, BusyWatts float64
	// Slice is set for a MIG instance.
	Slice *profile.MIGProfile
}

// Loss is a GPU that fails.
type Loss struct {
	// GPU is its number.
	GPU int
	// At is when it fails, For how long; 0 means for good.
	At, For time.Duration
}

// idleShare is the part of its power limit that an idle data-centre card draws:
// 50 to 60 W of an A100's 400 W (NVIDIA DGX A100 user guide, nvidia-smi idle).
const idleShare = 0.15

func (g *GPU) memory() profile.Bytes {
	switch {
	case g.Memory > 0:
		return g.Memory
	case g.Model.Memory > 0:
		return g.Model.Memory
	}
	return math.MaxInt64
}

// Compute is the part of its card's compute slices that a MIG instance has; 1 for
// a card.
func (g *GPU) Compute() float64 {
	if g.Slice == nil {
		return 1
	}
	slices := g.Slice.Compute
	for i := range g.Model.MIG {
		slices = max(slices, g.Model.MIG[i].Compute)
	}
	return float64(g.Slice.Compute) / float64(max(1, slices))
}

// watts returns the power at a utilisation in [0, 1]:
//
//	idle + (busy - idle) · utilisation
func (g *GPU) watts(utilisation float64) float64 {
	idle, busy := g.IdleWatts, g.BusyWatts
	if busy == 0 {
		busy = g.Model.PowerWatts
	}
	if idle == 0 {
		idle = float64(idleShare * busy)
	}
	return idle + float64((busy-idle)*utilisation)
}

// maxGPUs bounds what ParseCluster builds and what a Cluster may hold.
const maxGPUs = 1 << 20

// ParseCluster reads a description such as "4xA100-40GB" or
// "16x8xV100,4x4xT4": comma-separated groups of either GPUs in one machine or
// machines × GPUs, of a product that [profile.LookupGPU] knows. It takes whole cards alone.
func ParseCluster(s string) (*Cluster, error) {
	c := &Cluster{}
	total := 0
	for group := range strings.SplitSeq(s, ",") {
		parts := strings.SplitN(strings.TrimSpace(group), "x", 3)
		counts := []int{1}
		for len(parts) > 1 {
			n, err := strconv.Atoi(parts[0])
			if err != nil {
				break
			}
			if n < 1 || n > maxGPUs {
				return nil, fmt.Errorf("sim: cluster %q: %d is out of range, want 1 to %d", s, n, maxGPUs)
			}
			counts, parts = append(counts, n), parts[1:]
		}
		nodes, gpus := counts[max(0, len(counts)-2)], counts[len(counts)-1]
		name := strings.Join(parts, "x")
		model, ok := profile.LookupGPU(name)
		if !ok || len(counts) < 2 {
			return nil, fmt.Errorf("sim: cluster %q: %q is not COUNTxGPU or NODESxCOUNTxGPU with a known GPU", s, group)
		}
		if (&profile.GPUModel{Name: name}).Sliced() {
			return nil, fmt.Errorf("sim: cluster %q: %q is a MIG instance, want a whole card: instances are set by GPU.Slice alone", s, name)
		}
		if total += nodes * gpus; total > maxGPUs {
			return nil, fmt.Errorf("sim: cluster %q: more than %d GPUs", s, maxGPUs)
		}
		for range nodes {
			n := Node{Name: fmt.Sprintf("node%d", len(c.Nodes)), GPUs: make([]GPU, gpus)}
			for i := range n.GPUs {
				n.GPUs[i].Model = model
			}
			c.Nodes = append(c.Nodes, n)
		}
	}
	return c, nil
}

// GPUs is the number of cards.
func (c *Cluster) GPUs() int {
	if c == nil {
		return 0
	}
	n := 0
	for i := range c.Nodes {
		n += len(c.Nodes[i].GPUs)
	}
	return n
}

// Validate reports every fault of the cluster.
func (c *Cluster) Validate() error {
	var errs []error
	n := c.GPUs()
	if n == 0 || n > maxGPUs {
		return fmt.Errorf("sim: cluster: %d GPUs, want 1 to %d", n, maxGPUs)
	}
	number := 0
	for i := range c.Nodes {
		node := &c.Nodes[i]
		if !(node.CPU >= 0) || math.IsInf(node.CPU, 1) || node.Memory < 0 {
			errs = append(errs, fmt.Errorf("node %d: CPU %v and Memory %d, want 0 or more", i, node.CPU, int64(node.Memory)))
		}
		for j := range node.GPUs {
			if err := node.GPUs[j].validate(); err != nil {
				errs = append(errs, fmt.Errorf("GPU %d: %w", number, err))
			}
			number++
		}
	}
	for i, l := range c.Losses {
		if l.GPU < 0 || l.GPU >= n || l.At < 0 || l.For < 0 {
			errs = append(errs, fmt.Errorf("loss %d: GPU %d at %v for %v, want a GPU below %d and times from 0", i, l.GPU, l.At, l.For, n))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("sim: cluster: %w", errors.Join(errs...))
}

func (g *GPU) validate() error {
	if g.Memory < 0 || g.Model.Memory < 0 {
		return fmt.Errorf("memory is %d bytes, want 0 or more", int64(min(g.Memory, g.Model.Memory)))
	}
	for _, w := range []float64{g.IdleWatts, g.BusyWatts, g.Model.PowerWatts} {
		if !(w >= 0 && w < 1e9) {
			return fmt.Errorf("power is %v W, want 0 or more", w)
		}
	}
	return nil
}
