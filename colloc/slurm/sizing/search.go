package sizing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// advisor is one search for resources.
type advisor struct {
	need    *Need
	cluster *site.Cluster

	points []advise.ScalingPoint // that some partition can hold
	places []place               // of points
	choice advise.ScalingChoice
	best   place
}

// place is where a number of GPUs can be had.
type place struct {
	partition *site.Partition
	node      *site.NodeType
	nodes     int // of them
	gpus      int // on each
}

// search finds the best place that the cluster has for a measured number of
// GPUs.
func (a *advisor) search() error {
	var lacks []string
	for _, p := range a.need.Scaling {
		where, why := a.place(p.GPU, p.GPUs)
		if where.node == nil {
			lacks = append(lacks, fmt.Sprintf("%d x %s: %s", p.GPUs, anyIfEmpty(p.GPU), why))
			continue
		}
		a.points, a.places = append(a.points, p), append(a.places, where)
	}
	choices, err := advise.ChooseGPUs(a.points, a.need.MinGain)
	if err != nil {
		return fmt.Errorf("slurm: advise: %w", err)
	}
	if len(choices) == 0 {
		return fmt.Errorf("slurm: advise: %w: %s", site.ErrImpossible, strings.Join(lacks, "; "))
	}
	a.choice = choices[0]
	i := slices.IndexFunc(a.points, func(p advise.ScalingPoint) bool { return p.GPU == a.choice.GPU && p.GPUs == a.choice.GPUs })
	a.best = a.places[i]
	return nil
}

// place finds the best nodes for n GPUs of a type, or says what stands against
// every one.
func (a *advisor) place(gpu string, n int) (place, string) {
	var best place
	why := errNoType
	for i := range a.cluster.Partitions {
		p := &a.cluster.Partitions[i]
		if p.Down || a.need.Partition != "" && p.Name != a.need.Partition {
			continue
		}
		for k := range a.cluster.Nodes {
			node := &a.cluster.Nodes[k]
			if node.GPUs == 0 || !goesBy(node, gpu) || !slices.Contains(node.Partitions, p.Name) {
				continue
			}
			where, err := a.onto(p, node, n)
			switch {
			case err != nil:
				why = err
			case best.node == nil || where.better(&best):
				best = where
			}
		}
	}
	return best, why.Error()
}

var errNoType = errors.New("no partition that is up has such GPUs")

func (w *place) better(o *place) bool {
	return w.nodes < o.nodes || w.nodes == o.nodes && w.partition.Default && !o.partition.Default
}

// onto puts n GPUs on as few nodes of one kind as possible, as many on each.
func (a *advisor) onto(p *site.Partition, node *site.NodeType, n int) (place, error) {
	total := gpuMemory(node)
	if usable := colloc.Usable(total, packer.DefaultHeadroom); total > 0 && a.need.GPUMemory > usable {
		return place{}, fmt.Errorf("the task needs %v, of %v on a GPU %v are usable", a.need.GPUMemory, total, usable)
	}
	most, err := a.most(node)
	if err != nil {
		return place{}, err
	}
	nodes := (n + most - 1) / most
	for ; n%nodes != 0 && nodes <= node.Count; nodes++ {
	}
	switch {
	case nodes > node.Count:
		return place{}, fmt.Errorf("takes %d nodes of %d in partition %s", nodes, node.Count, p.Name)
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return place{}, fmt.Errorf("takes %d nodes, partition %s allows %d", nodes, p.Name, p.MaxNodes)
	}
	return place{partition: p, node: node, nodes: nodes, gpus: n / nodes}, nil
}

// most is the number of GPUs of a node that can be had with the CPUs and the
// memory that each needs.
func (a *advisor) most(node *site.NodeType) (int, error) {
	cpus := max(1, a.need.CPUs)
	if cpus > node.CPUs {
		return 0, fmt.Errorf("a GPU takes %d CPUs, the node has %d", cpus, node.CPUs)
	}
	most := min(node.GPUs, node.CPUs/cpus)
	if a.need.Memory > node.Memory {
		return 0, fmt.Errorf("a GPU takes %v, the node has %v", a.need.Memory, node.Memory)
	}
	if a.need.Memory > 0 {
		most = int(min(profile.Bytes(most), node.Memory/a.need.Memory))
	}
	return most, nil
}

// product is the best name of a node's GPUs: a feature that names a product
// with more memory than the type is more precise than the type.
func product(n *site.NodeType) string {
	best, memory := n.GPU, profile.Bytes(0)
	for _, name := range append([]string{n.GPU}, n.Features...) {
		if m, ok := profile.LookupGPU(name); ok && m.Memory > memory {
			best, memory = name, m.Memory
		}
	}
	return best
}

func gpuMemory(n *site.NodeType) profile.Bytes {
	if n.GPUMemory > 0 {
		return n.GPUMemory
	}
	model, _ := profile.LookupGPU(product(n))
	return model.Memory
}

// goesBy reports whether the node's GPUs go by a name; the empty one is any.
func goesBy(n *site.NodeType, gpu string) bool {
	same := func(name string) bool { return strings.EqualFold(name, gpu) }
	if gpu == "" || same(n.GPU) || slices.ContainsFunc(n.Features, same) {
		return true
	}
	want, have := profile.GPUModel{Name: gpu}, profile.GPUModel{Name: product(n)}
	return want.Canonical() == have.Canonical()
}

func anyIfEmpty(gpu string) string {
	if gpu == "" {
		return "any GPU"
	}
	return gpu
}
