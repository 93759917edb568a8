package speed

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Pairs is a table of measured pairs: how fast a task of one type runs beside one
// of another, for each GPU, as a share of its speed alone. Build it with NewPairs
// or package trace; it does not change afterwards and is safe for concurrent use.
//
// Three questions that no table answers have these answers:
//
//   - a pair that was not measured runs as the mean of its types' measured pairs
//     on that GPU, (mean(a beside any) + mean(any beside b)) / 2;
//   - a pair that was tried and did not fit the memory runs at Floor each;
//   - in sets of three or more the slowdowns of the pairs add up,
//     speed(i) = 1 / (1 + Σ_j (1/speed(i beside j) - 1)).
type Pairs struct {
	gpus map[string]*pairTable
}

// Floor is the speed of each of a pair that did not fit when it was measured: an
// assumption, that of a program that swaps.
const Floor = 0.1

// PairSpeed is one measurement of a pair.
type PairSpeed struct {
	// GPU is the product, A and B the types.
	GPU, A, B string
	// SpeedA and SpeedB are those of a task of type A, and B, in the pair, as a share of
	// that alone. Both are 0 if the pair did not fit.
	SpeedA, SpeedB float64
	// SoloA and SoloB are their speeds alone on this GPU, in units that are the
	// same for all GPUs; 0 is unknown.
	SoloA, SoloB float64
}

// pairTable is what was measured on one GPU.
type pairTable struct {
	index  map[string]int
	names  []string
	beside [][]float64 // [i][j] of i beside j; NaN is not measured
	solo   []float64   // relative to the reference GPU
}

// NewPairs builds a table. Speeds alone count relative to those on the reference
// GPU; where one is unknown, or reference is empty, all GPUs are equal. It
// returns an error that names the measurement with a number that is not finite
// or negative.
func NewPairs(measured []PairSpeed, reference string) (*Pairs, error) {
	p := &Pairs{gpus: map[string]*pairTable{}}
	for i, m := range measured {
		for _, x := range []float64{m.SpeedA, m.SpeedB, m.SoloA, m.SoloB} {
			if !(x >= 0 && x <= sim.MaxSpeed) {
				return nil, fmt.Errorf("speed: pair %d (%s beside %s on %s): %v: %w", i, m.A, m.B, m.GPU, x, sim.ErrSpeed)
			}
		}
		t := p.table(m.GPU)
		a, b := t.add(m.A), t.add(m.B)
		if m.SpeedA == 0 || m.SpeedB == 0 {
			m.SpeedA, m.SpeedB = Floor, Floor
		}
		t.beside[a][b], t.beside[b][a] = m.SpeedA, m.SpeedB
		t.solo[a], t.solo[b] = m.SoloA, m.SoloB
	}
	for _, t := range p.gpus {
		t.complete()
	}
	p.relate(reference)
	return p, nil
}

func (p *Pairs) table(gpu string) *pairTable {
	name := productName(gpu)
	t, ok := p.gpus[name]
	if !ok {
		t = &pairTable{index: map[string]int{}}
		p.gpus[name] = t
	}
	return t
}

// productName is the canonical name of a product.
func productName(gpu string) string { return (&profile.GPUModel{Name: gpu}).Canonical() }

// add makes a type known.
func (t *pairTable) add(name string) int {
	i, ok := t.index[name]
	if ok {
		return i
	}
	i = len(t.names)
	t.index[name] = i
	t.names = append(t.names, name)
	t.solo = append(t.solo, 0)
	for j := range t.beside {
		t.beside[j] = append(t.beside[j], math.NaN())
	}
	row := make([]float64, i+1)
	for j := range row {
		row[j] = math.NaN()
	}
	t.beside = append(t.beside, row)
	return i
}

// complete fills in what was not measured.
func (t *pairTable) complete() {
	n := len(t.names)
	own, other := make([]mean, n), make([]mean, n)
	for i := range n {
		for j := range n {
			if x := t.beside[i][j]; !math.IsNaN(x) {
				own[i].add(x)
				other[j].add(x)
			}
		}
	}
	for i := range n {
		for j := range n {
			if math.IsNaN(t.beside[i][j]) {
				t.beside[i][j] = (own[i].value() + other[j].value()) / 2
			}
		}
	}
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m *mean) value() float64 { return m.sum / float64(max(1, m.n)) }

// relate divides the speeds alone by those on the reference GPU.
func (p *Pairs) relate(reference string) {
	ref := p.gpus[productName(reference)]
	base := map[string]float64{}
	if ref != nil {
		for i, name := range ref.names {
			base[name] = ref.solo[i]
		}
	}
	for _, t := range p.gpus {
		for i, name := range t.names {
			if b := base[name]; b > 0 && t.solo[i] > 0 {
				t.solo[i] /= b
			} else {
				t.solo[i] = 1
			}
		}
	}
}

// Types lists the types that a GPU was measured with, sorted; nil for an unknown
// GPU.
func (p *Pairs) Types(gpu string) []string {
	t := p.gpus[productName(gpu)]
	if t == nil {
		return nil
	}
	names := slices.Clone(t.names)
	slices.Sort(names)
	return names
}

// errPair says that a table does not know a GPU or type.
var errPair = errors.New("not in the table of measured pairs")

var _ sim.Model = (*Pairs)(nil)

// Speeds implements [sim.Model]. O(k²) look-ups for k tasks.
func (p *Pairs) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	t := p.gpus[gpu.Model.Name]
	if t == nil {
		if t = p.gpus[productName(gpu.Model.Name)]; t == nil {
			return fmt.Errorf("GPU %q: %w", gpu.Model.Name, errPair)
		}
	}
	var room [8]int
	index := room[:0]
	for _, task := range set {
		i, ok := t.index[task.Type]
		if !ok {
			return fmt.Errorf("task %q of type %q on %s: %w", task.ID, task.Type, gpu.Model.Name, errPair)
		}
		index = append(index, i)
	}
	for k, i := range index {
		slow := 1.0
		for l, j := range index {
			if l != k {
				slow += 1/t.beside[i][j] - 1
			}
		}
		dst[k] = t.solo[i] * gpu.Compute() / max(slow, 1.0/16)
	}
	return nil
}
