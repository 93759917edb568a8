package sizing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Advise says what to ask a cluster for: which GPUs and how many, on how many
// nodes, with which CPUs, memory, time limit, constraint and partition.
//
// Among what some partition can hold, it takes GPUs as [advise.ChooseGPUs] does:
// more of them until one more adds less than MinGain of what the first does, and
// of several types the cheapest per work, or the fastest if prices are missing.
// It prefers few nodes, then the default partition, then the site's order.
//
// An unknown Partition is [site.ErrPartition]. What no node can hold, however empty,
// is [site.ErrImpossible]; the error says for each kind of GPU what it lacks.
// O(points x node types x partitions).
func Advise(n Need, c site.Cluster) (*Advice, error) {
	if err := n.check(&c); err != nil {
		return nil, err
	}
	a := &advisor{need: &n, cluster: &c}
	if err := a.search(); err != nil {
		return nil, err
	}
	return a.advice(), nil
}

func (n *Need) check(c *site.Cluster) error {
	var errs []error
	if !(n.Work >= 0 && n.Work <= 1e100) {
		errs = append(errs, fmt.Errorf("slurm: advise: Work is %v, want 0 or more", n.Work))
	}
	if n.CPUs < 0 || n.CPUs > mostCount || n.Memory < 0 || n.Memory > mostMemory || n.GPUMemory < 0 {
		errs = append(errs, fmt.Errorf("slurm: advise: CPUs is %d, Memory %v and GPUMemory %v, want 0 or more", n.CPUs, n.Memory, n.GPUMemory))
	}
	if len(n.Scaling) == 0 {
		errs = append(errs, errors.New("slurm: advise: no Scaling: nothing is known of the task"))
	}
	if _, err := advise.ChooseGPUs(n.Scaling, n.MinGain); err != nil {
		errs = append(errs, fmt.Errorf("slurm: advise: %w", err))
	}
	for i, t := range c.Nodes {
		if t.GPUs < 0 || t.GPUs > mostCount || t.CPUs < 0 || t.Memory < 0 || t.GPUMemory < 0 {
			errs = append(errs, fmt.Errorf("slurm: advise: node type %d has %d GPUs, %d CPUs and %v, want 0 or more", i, t.GPUs, t.CPUs, t.Memory))
		}
	}
	known := func(p site.Partition) bool { return p.Name == n.Partition }
	if n.Partition != "" && !slices.ContainsFunc(c.Partitions, known) {
		errs = append(errs, fmt.Errorf("slurm: advise: %w %q: the cluster has %s", site.ErrPartition, n.Partition, namesOf(c)))
	}
	return errors.Join(errs...)
}

// Bounds of what is counted and of memory, so that sums and products cannot
// overflow.
const (
	mostCount  = 1 << 24
	mostMemory = 256 * profile.GiB * 1024
)

func namesOf(c *site.Cluster) string {
	if len(c.Partitions) == 0 {
		return "none"
	}
	names := make([]string, len(c.Partitions))
	for i, p := range c.Partitions {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
