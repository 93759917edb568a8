package fleet

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strings"

	"example.com/colloc/profile"
)

// none is the absence of a number.
const none = -1

// Node is a machine with GPUs of one type.
type Node struct {
	// ID names the node in errors.
	ID string
	// CPU is in thousandths of a core.
	CPU int
	// Memory is of the host.
	Memory profile.Bytes
	// GPUs is their number, at most 1024, and Type the name by which a Demand asks
	// for them.
	GPUs int
	Type string
}

// Slot is where a demand was placed.
type Slot struct {
	// Node is an index as given to New, GPUs are those of the node.
	Node int
	GPUs []int
}

// Fleet places demands for parts of nodes one at a time, by reservations alone:
// the other half of packing, for clusters in which a task asks for a fraction of
// a GPU instead of being measured. It remembers the score of every node for
// every kind of demand, so placing one costs O(nodes) look-ups and O(mix) work
// for each node that changed since the last one like it. A Fleet is not safe for
// concurrent use; the same calls give the same places.
type Fleet struct {
	options Options
	nodes   []fleetNode
	tables  []mixTable
	kinds   map[string]*fleetKind
	rng     *rand.Rand
	version uint32
	maxCPU  float64
	maxGPUs float64
	trial   []int32
	fit     []int
}

type fleetNode struct {
	Node
	cpu      int // free
	memory   profile.Bytes
	free     []int32 // thousandths of each GPU
	table    int
	version  uint32
	unusable float64
}

// fleetKind remembers the scores of one kind of demand.
type fleetKind struct {
	demand Demand
	cells  []fleetCell
}

type fleetCell struct {
	version uint32
	gpu     int32 // for a share of one GPU
	fits    bool
	score   float64
}

const (
	maxNodeGPUs = 1 << 10 // of a node
	// maxScores bounds the memory of remembered scores: 64 MiB.
	maxScores = 1 << 22
)

// New returns empty nodes. mix is what LeastFragmentation expects, see
// [Mix]; the other rules need none.
func New(nodes []Node, mix []MixPart, o *Options) (*Fleet, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Rule < 0 || o.Rule > RandomFit || o.Tie < 0 || o.Tie > FullestNode {
		return nil, errFleetOptions
	}
	for i := range mix {
		if err := mix[i].Demand.validate(); err != nil {
			return nil, err
		}
		if f := mix[i].Fraction; !(f >= 0 && f <= 1) {
			return nil, fmt.Errorf("packer: fragmentation: mix[%d]: Fraction is %v; want 0 to 1", i, f)
		}
	}
	f := &Fleet{options: *o, kinds: map[string]*fleetKind{}, rng: rand.New(rand.NewPCG(o.Seed, 0x666c656574))}
	types := map[string]int{}
	for i, n := range nodes {
		if n.CPU < 0 || n.Memory < 0 || n.GPUs < 0 || n.GPUs > maxNodeGPUs {
			return nil, fmt.Errorf("packer: fragmentation: nodes[%d] (%q): %+v; want numbers of 0 or more and at most %d GPUs", i, n.ID, n, maxNodeGPUs)
		}
		t, known := types[n.Type]
		if !known {
			t = len(f.tables)
			types[n.Type] = t
			f.tables = append(f.tables, newMixTable(mix, n.Type))
		}
		node := fleetNode{Node: n, cpu: n.CPU, memory: n.Memory, table: t, free: make([]int32, n.GPUs)}
		for g := range node.free {
			node.free[g] = Whole
		}
		f.nodes = append(f.nodes, node)
		f.maxCPU, f.maxGPUs = max(f.maxCPU, float64(n.CPU)), max(f.maxGPUs, float64(n.GPUs))
		f.touch(&f.nodes[i])
	}
	return f, nil
}

// touch makes known that a node has changed.
func (f *Fleet) touch(n *fleetNode) {
	f.version++
	n.version = f.version
	n.unusable = f.tables[n.table].unusable(n.cpu, n.free)
}

// Place reserves what d asks for on the best node; ok is false if it fits on
// none.
func (f *Fleet) Place(d Demand) (slot Slot, ok bool, err error) {
	if err := d.validate(); err != nil {
		return Slot{}, false, err
	}
	k := f.kindOf(d)
	best, score := none, math.Inf(-1)
	f.fit = f.fit[:0]
	for i := range f.nodes {
		n, c := &f.nodes[i], &k.cells[i]
		if c.version != n.version {
			*c = f.evaluate(n, &d)
		}
		if !c.fits {
			continue
		}
		if f.options.Rule == RandomFit {
			f.fit = append(f.fit, i)
		}
		if best == none || c.score > score || c.score == score && f.options.Tie == FullestNode && n.freeGPU() < f.nodes[best].freeGPU() {
			best, score = i, c.score
		}
	}
	if best == none {
		return Slot{}, false, nil
	}
	if f.options.Rule == RandomFit {
		best = f.fit[f.rng.IntN(len(f.fit))]
	}
	slot = Slot{Node: best, GPUs: f.nodes[best].choose(&d, int(k.cells[best].gpu))}
	f.take(slot, &d, 1)
	return slot, true, nil
}

// Release gives back what Place reserved for d.
func (f *Fleet) Release(slot Slot, d Demand) error {
	if err := d.validate(); err != nil {
		return err
	}
	if slot.Node < 0 || slot.Node >= len(f.nodes) || len(slot.GPUs) != d.GPUs {
		return fmt.Errorf("packer: fragmentation: slot %+v is none of this fleet's for %d GPUs", slot, d.GPUs)
	}
	n := &f.nodes[slot.Node]
	for _, g := range slot.GPUs {
		if g < 0 || g >= len(n.free) || int(n.free[g])+d.share() > Whole {
			return fmt.Errorf("packer: fragmentation: slot %+v: GPU %d of node %q does not hold a share of %d", slot, g, n.ID, d.share())
		}
	}
	if n.cpu+d.CPU > n.CPU || n.memory+d.Memory > n.Memory {
		return fmt.Errorf("packer: fragmentation: slot %+v: node %q does not hold %d thousandths of a core and %v", slot, n.ID, d.CPU, d.Memory)
	}
	f.take(slot, &d, -1)
	return nil
}

// take reserves what d asks for, or with -1 gives it back.
func (f *Fleet) take(slot Slot, d *Demand, sign int) {
	n := &f.nodes[slot.Node]
	n.cpu -= sign * d.CPU
	n.memory -= profile.Bytes(sign) * d.Memory
	for _, g := range slot.GPUs {
		n.free[g] -= int32(sign * d.share())
	}
	f.touch(n)
}

// Allocated returns how many GPUs are reserved, in parts too, and how many there
// are.
func (f *Fleet) Allocated() (used, total float64) {
	free := 0
	for i := range f.nodes {
		total += float64(len(f.nodes[i].free))
		free += f.nodes[i].freeGPU()
	}
	return total - float64(free)/Whole, total
}

// Unusable returns how many of the free GPUs, in parts too, the next demand of
// the mix cannot use on average; 0 without a mix.
func (f *Fleet) Unusable() float64 {
	sum := 0.0
	for i := range f.nodes {
		sum += f.nodes[i].unusable
	}
	return sum / Whole
}

func (f *Fleet) kindOf(d Demand) *fleetKind {
	key := fmt.Sprint(d.CPU, int64(d.Memory), d.GPUs, d.share(), strings.Join(d.Types, "|"))
	k := f.kinds[key]
	if k == nil {
		if (len(f.kinds)+1)*len(f.nodes) > maxScores {
			clear(f.kinds)
		}
		k = &fleetKind{demand: d, cells: make([]fleetCell, len(f.nodes))}
		f.kinds[key] = k
	}
	return k
}

func (n *fleetNode) freeGPU() int {
	sum := 0
	for _, g := range n.free {
		sum += int(g)
	}
	return sum
}

// holds reports whether d fits on n.
func (n *fleetNode) holds(d *Demand) bool {
	if n.cpu < d.CPU || n.memory < d.Memory {
		return false
	}
	if d.GPUs == 0 {
		return true
	}
	if !d.runsOn(n.Type) {
		return false
	}
	fits := 0
	for _, g := range n.free {
		if int(g) >= d.share() {
			fits++
		}
	}
	return fits >= d.GPUs
}

// evaluate scores n for d.
func (f *Fleet) evaluate(n *fleetNode, d *Demand) fleetCell {
	c := fleetCell{version: n.version, fits: n.holds(d), gpu: none}
	if !c.fits {
		return c
	}
	switch f.options.Rule {
	case LeastFragmentation:
		f.gradient(n, d, &c)
		return c
	case BestFit, WorstFit:
		left := float64(n.cpu-d.CPU)/max(1, f.maxCPU) + float64(n.freeGPU()-d.GPUs*d.share())/(max(1, f.maxGPUs)*Whole)
		c.score = -left
		if f.options.Rule == WorstFit {
			c.score = left
		}
	default:
	}
	return c
}

// gradient scores n by what placing d makes unusable, on the GPU where that is
// least.
func (f *Fleet) gradient(n *fleetNode, d *Demand, c *fleetCell) {
	table := &f.tables[n.table]
	f.trial = append(f.trial[:0], n.free...)
	if d.GPUs != 1 {
		for _, g := range n.choose(d, none) {
			f.trial[g] -= int32(d.share())
		}
		c.score = f.options.score(n.unusable, table.unusable(n.cpu-d.CPU, f.trial))
		return
	}
	c.score = math.Inf(-1)
	share := int32(d.share())
	for g, free := range n.free {
		if free < share || slices.Contains(n.free[:g], free) {
			continue
		}
		f.trial[g] -= share
		if s := f.options.score(n.unusable, table.unusable(n.cpu-d.CPU, f.trial)); s > c.score {
			c.score, c.gpu = s, int32(g)
		}
		f.trial[g] += share
	}
}

// choose returns the GPUs of n that d takes: the one given, or else the fullest
// that do, the first of those.
func (n *fleetNode) choose(d *Demand, gpu int) []int {
	if d.GPUs == 1 && gpu != none {
		return []int{gpu}
	}
	var out []int
	for range d.GPUs {
		best := none
		for g, free := range n.free {
			if int(free) >= d.share() && !slices.Contains(out, g) && (best == none || free < n.free[best]) {
				best = g
			}
		}
		out = append(out, best)
	}
	return out
}
