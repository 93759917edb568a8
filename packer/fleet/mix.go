package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/colloc/profile"
)

// Whole is a whole GPU in the unit of [Demand].Share, a thousandth.
const Whole = 1000

// Demand is what a pod, or a task that reserves a fixed part of a node, asks for.
type Demand struct {
	// CPU is in thousandths of a core.
	CPU int
	// Memory is of the host.
	Memory profile.Bytes
	// GPUs is their number, 0 for none.
	GPUs int
	// Share is the part of each GPU, in thousandths, from 1 to Whole; several
	// GPUs are taken whole. 0 means Whole.
	Share int
	// Types are the GPU types that will do; none means any.
	Types []string
}

// share returns the part in force.
func (d *Demand) share() int {
	if d.Share == 0 {
		return Whole
	}
	return d.Share
}

func (d *Demand) validate() error {
	if d.CPU < 0 || d.Memory < 0 || d.GPUs < 0 || d.Share < 0 || d.Share > Whole || d.GPUs > 1 && d.share() < Whole {
		return fmt.Errorf("packer: fragmentation: demand %+v; want numbers of 0 or more, a share of at most %d, and %d where there are several GPUs", *d, Whole, Whole)
	}
	return nil
}

// MixPart is one kind of demand and how often it comes.
type MixPart struct {
	Demand Demand
	// Fraction of all demands, in [0, 1].
	Fraction float64
}

// Mix returns the kinds of demand that make up at least cover of all, the most
// frequent first, with fractions that sum to 1: what is to be expected of the
// future if it is like the past. Host memory does not tell kinds apart. cover is
// in (0, 1]. O(demands · log demands).
func Mix(demands []Demand, cover float64) ([]MixPart, error) {
	if !(cover > 0 && cover <= 1) {
		return nil, fmt.Errorf("packer: fragmentation: cover is %v; want a fraction in (0, 1]", cover)
	}
	at := map[string]int{}
	var parts []MixPart
	for i := range demands {
		d := demands[i]
		if err := d.validate(); err != nil {
			return nil, err
		}
		d.Memory = 0
		key := fmt.Sprint(d.CPU, d.GPUs, d.share(), strings.Join(d.Types, "|"))
		n, known := at[key]
		if !known {
			n = len(parts)
			at[key] = n
			parts = append(parts, MixPart{Demand: d})
		}
		parts[n].Fraction++
	}
	slices.SortStableFunc(parts, func(a, b MixPart) int { return cmp.Compare(b.Fraction, a.Fraction) })
	sum, n := 0.0, 0
	for sum < cover*float64(len(demands)) { // all of them reach any cover
		sum += parts[n].Fraction
		n++
	}
	parts = parts[:n]
	for i := range parts {
		parts[i].Fraction /= sum
	}
	return parts, nil
}

// mixTable answers how much of a node of one GPU type a mix of demands can use.
type mixTable struct {
	all    float64 // sum of all fractions: 1, or 0 without a mix
	groups []mixGroup
}

// mixGroup are the demands that need the same of the GPUs.
type mixGroup struct {
	gpus  int
	share int32
	cpu   []int     // ascending
	sum   []float64 // fraction of all demands that need at most so much CPU
}

func newMixTable(mix []MixPart, gpuType string) mixTable {
	var table mixTable
	sorted := slices.Clone(mix)
	slices.SortStableFunc(sorted, func(a, b MixPart) int { return cmp.Compare(a.Demand.CPU, b.Demand.CPU) })
	for i := range sorted {
		d := &sorted[i].Demand
		table.all += sorted[i].Fraction
		if d.GPUs == 0 || !d.runsOn(gpuType) {
			continue
		}
		n := slices.IndexFunc(table.groups, func(g mixGroup) bool { return g.gpus == d.GPUs && int(g.share) == d.share() })
		if n < 0 {
			n = len(table.groups)
			table.groups = append(table.groups, mixGroup{gpus: d.GPUs, share: int32(d.share())})
		}
		g := &table.groups[n]
		before := 0.0
		if len(g.sum) > 0 {
			before = g.sum[len(g.sum)-1]
		}
		g.cpu, g.sum = append(g.cpu, d.CPU), append(g.sum, before+sorted[i].Fraction)
	}
	return table
}

func (d *Demand) runsOn(gpuType string) bool {
	return len(d.Types) == 0 || slices.Contains(d.Types, gpuType)
}

// unusable returns the expected part of the free GPU shares, in thousandths of a
// GPU, that the next demand cannot use:
//
//	F = Σ over demands m of fraction(m) · { all that is free      if m does not fit
//	                                      { Σ free(g) < share(m)  if it does
func (t *mixTable) unusable(cpu int, free []int32) float64 {
	total := int32(0)
	for _, f := range free {
		total += f
	}
	usable := 0.0
	for i := range t.groups {
		g := &t.groups[i]
		n, fits := 0, int32(0)
		for _, f := range free {
			if f >= g.share {
				n++
				fits += f
			}
		}
		if n < g.gpus {
			continue
		}
		k := len(g.cpu)
		if g.cpu[k-1] > cpu {
			k, _ = slices.BinarySearch(g.cpu, cpu+1)
		}
		if k > 0 {
			usable += float64(g.sum[k-1] * float64(fits))
		}
	}
	return float64(float64(total)*t.all) - usable
}

// Rule says which node is best for a demand.
type Rule int

// The rules. The first is fragmentation gradient descent (FGD): the node on
// which the expected share of GPUs that nobody can use grows least.
//
// Weng et al., Beware of fragmentation: scheduling GPU-sharing workloads with
// fragmentation gradient descent, USENIX ATC 2023.
const (
	LeastFragmentation Rule = iota
	// BestFit leaves least free: half of it cores of the largest node's, half
	// GPUs of the most that a node has.
	BestFit
	// WorstFit leaves most free.
	WorstFit
	// RandomFit takes any node on which the demand fits.
	RandomFit
)

// String returns a short name such as "fgd".
func (r Rule) String() string {
	names := [...]string{"fgd", "best-fit", "worst-fit", "random"}
	if r < 0 || int(r) >= len(names) {
		return fmt.Sprintf("rule(%d)", int(r))
	}
	return names[r]
}

// Tie says which of several equally good nodes to take.
type Tie int

// The ways to break ties.
const (
	// FirstNode is the one with the lowest index.
	FirstNode Tie = iota
	// FullestNode is the one with the least free GPU share, the first of those.
	FullestNode
)

// Options choose how a Fleet places; nil is the zero value.
type Options struct {
	// Rule says which node is best, Tie which of those that are equally good.
	Rule Rule
	Tie  Tie
	// Steps is how many steps the score of LeastFragmentation has, 0 means 100 as
	// in the authors' scheduler: the score is rounded down to a step after a
	// sigmoid, so that nearly equal nodes are tied and Tie decides, which packs
	// better than the exact gradient does. Negative means exact.
	Steps int
	// Seed is for RandomFit.
	Seed uint64
}

// score returns the value of a change of unusable share, higher is better.
func (o *Options) score(before, after float64) float64 {
	gain := math.Round((before-after)*(1<<20)) / (1 << 20) // the last bits must not break ties
	if o.Steps < 0 {
		return gain
	}
	steps := o.Steps
	if steps == 0 {
		steps = 100
	}
	return math.Floor(float64(steps) / (1 + math.Exp(-gain/Whole)))
}

var errFleetOptions = errors.New("packer: fragmentation: unknown Rule or Tie")
