package packtest

import (
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Costly is a model in which costs add up: matrixModel's, and what each task pays
// once for any company.
type Costly struct {
	*MatrixModel
	Once []float64
}

// Speeds implements packer.Model.
func (m Costly) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	err := m.MatrixModel.Speeds(set, gpu, mech, dst)
	if len(set) > 1 {
		for i, t := range set {
			dst[i] = max(0.2, 1/(1/dst[i]+m.Once[JobOf(t)]))
		}
	}
	return err
}

// PairSpeeds hides that of matrixModel, which knows no once.
func (Costly) PairSpeeds() {}

// Monotone implements packer.MonotoneModel.
func (Costly) Monotone(*packer.GPU, profile.Mechanism) bool { return true }

// Additive implements packer.AdditiveModel.
func (m Costly) Additive(t *packer.Task, _ *packer.GPU, _ profile.Mechanism) (once, least float64, ok bool) {
	return m.Once[JobOf(t)], 0.2, true
}

// CostlyProblem has n tasks, some of them heavier, slower to accept or larger.
func CostlyProblem(tb testing.TB, rng *rand.Rand, n, maxSet int) *packer.Problem {
	tb.Helper()
	m := Costly{MatrixModel: BenchModel(tb, "random", n), Once: make([]float64, n)}
	p := BenchProblem(m.MatrixModel, (n+maxSet-1)/maxSet)
	p.Model, p.Limits.MaxSet = m, maxSet
	for i := range n {
		m.Once[i] = max(0, rng.Float64()/2-0.25)
		t := &p.Tasks[i]
		t.Memory, t.Weight, t.MinSpeed = profile.Bytes(rng.IntN(500))*profile.MiB, 1+float64(rng.IntN(3)), rng.Float64()/2
	}
	return p
}

// Duo slows both tasks of a pair to the speed given for their IDs.
type Duo map[string]float64

// Speeds implements packer.Model.
func (d Duo) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	dst[0] = 1
	if len(set) == 2 {
		dst[0] = max(d[set[0].ID+set[1].ID], d[set[1].ID+set[0].ID])
		dst[1] = dst[0]
	}
	return nil
}

// Falling makes the promise for a model that keeps it.
type Falling struct{ packer.Model }

// Monotone implements packer.MonotoneModel.
func (Falling) Monotone(*packer.GPU, profile.Mechanism) bool { return true }

// Counting counts the questions to a model.
type Counting struct {
	packer.Model
	Asked int
}

// Speeds implements packer.Model.
func (c *Counting) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	c.Asked++
	return c.Model.Speeds(set, gpu, mech, dst)
}

// Even slows every member of a set to the same speed, set by the set's size.
type Even []float64

// Speeds implements packer.Model.
func (e Even) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = e[min(len(set), len(e))-1]
	}
	return nil
}
