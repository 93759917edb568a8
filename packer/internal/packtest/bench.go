package packtest

import (
	"encoding/csv"
	"fmt"
	"math"
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// MatrixModel looks pair speeds up: speeds[i*n+j] is the speed of job i beside
// job j. A task's job is kept in its profile's batch size.
type MatrixModel struct {
	N     int
	Table []float64
}

// JobOf returns the job of a task.
func JobOf(t *packer.Task) int { return t.Profile.Spec.Training.BatchSize }

// Speeds implements packer.Model.
func (m *MatrixModel) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i, t := range set {
		slowdown := 1.0
		for _, o := range set {
			if o != t {
				slowdown += 1/m.Table[JobOf(t)*m.N+JobOf(o)] - 1
			}
		}
		dst[i] = 1 / slowdown
	}
	return nil
}

// PairSpeeds implements packer.BatchModel.
func (m *MatrixModel) PairSpeeds(task *packer.Task, partners []*packer.Task, _ *packer.GPU, _ profile.Mechanism, own, other []float64) error {
	i := JobOf(task)
	row := m.Table[i*m.N : (i+1)*m.N]
	for k, o := range partners {
		j := JobOf(o)
		own[k], other[k] = row[j], m.Table[j*m.N+i]
	}
	return nil
}

// Measured is a table of co-run speeds.
type Measured struct {
	Jobs  []string
	Speed map[[2]string]float64
}

// Weights returns the names of the instances that the benchmarks run on: a random one, and two
// drawn from measured co-runs, whose ties and near-ties are what makes matching slow; where there
// are no measurements, one that is made up like them.
func Weights() []string {
	if os.Getenv("COLLOC_DATA") == "" {
		return []string{"random", "tied"}
	}
	return []string{"random", "lucid", "gavel"}
}

// BenchModel makes speeds for n tasks.
func BenchModel(tb testing.TB, weights string, n int) *MatrixModel {
	tb.Helper()
	rng := rand.New(rand.NewPCG(42, uint64(n)))
	m := &MatrixModel{N: n, Table: make([]float64, n*n)}
	if weights == "random" {
		for i := range m.Table {
			m.Table[i] = 0.5 + rng.Float64()/2
		}
		return m
	}
	data := pairsOf(tb, weights)
	kind := make([]string, n)
	jitter := make([]float64, n)
	for i := range kind {
		kind[i] = data.Jobs[rng.IntN(len(data.Jobs))]
		jitter[i] = math.Exp(0.02 * rng.NormFloat64())
	}
	for i := range n {
		for j := range n {
			m.Table[i*n+j] = min(1, max(0.01, data.Speed[[2]string{kind[i], kind[j]}]*jitter[i]))
		}
	}
	return m
}

// pairsOf returns the pairs from which weights are drawn.
func pairsOf(tb testing.TB, weights string) *Measured {
	tb.Helper()
	if weights == "tied" {
		return tiedPairs()
	}
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		tb.Skip("set COLLOC_DATA to the directory with interference_lucid.csv and interference_gavel.csv to run on measured weights")
	}
	if weights == "lucid" {
		return ReadPairs(tb, filepath.Join(dir, "interference_lucid.csv"), "", "norm_speed_a", "norm_speed_b")
	}
	gpu := "v100"
	if weights == "k80" {
		gpu = weights
	}
	return ReadPairs(tb, filepath.Join(dir, "interference_gavel.csv"), gpu, "norm_speed_a", "norm_speed_b")
}

// ReadPairs reads measured pair speeds; pairs that were not measured get the
// product of both jobs' mean speeds over the mean of all.
func ReadPairs(tb testing.TB, file, gpu, colA, colB string) *Measured {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	col := func(name string) int { return slices.Index(rows[0], name) }
	m := &Measured{Speed: map[[2]string]float64{}}
	own, other, count := map[string]float64{}, map[string]float64{}, map[string]float64{}
	total, pairs := 0.0, 0.0
	for _, row := range rows[1:] {
		if gpu != "" && row[col("gpu")] != gpu {
			continue
		}
		a, b := row[col("job_a")], row[col("job_b")]
		sa, errA := strconv.ParseFloat(row[col(colA)], 64)
		sb, errB := strconv.ParseFloat(row[col(colB)], 64)
		if errA != nil || errB != nil {
			continue
		}
		for _, x := range []struct {
			job, with string
			speed     float64
		}{{a, b, sa}, {b, a, sb}} {
			if !slices.Contains(m.Jobs, x.job) {
				m.Jobs = append(m.Jobs, x.job)
			}
			m.Speed[[2]string{x.job, x.with}] = x.speed
			own[x.job] += x.speed
			other[x.with] += x.speed
			count[x.job]++
			total += x.speed
			pairs++
		}
	}
	for _, a := range m.Jobs {
		for _, b := range m.Jobs {
			if _, ok := m.Speed[[2]string{a, b}]; !ok {
				m.Speed[[2]string{a, b}] = own[a] / count[a] * other[b] / count[b] / (total / pairs)
			}
		}
	}
	return m
}

// BenchProblem has n tasks on the given numbers of GPUs of as many kinds.
func BenchProblem(m *MatrixModel, gpus ...int) *packer.Problem {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: m}
	for i := range m.N {
		prof := &profile.Profile{}
		prof.Spec.Training.BatchSize = i
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprintf("t%05d", i), Profile: prof})
	}
	for k, n := range gpus {
		for i := range n {
			p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprintf("g%d-%05d", k, i), Memory: profile.Bytes(k+1) * profile.GiB})
		}
	}
	return p
}

// KindModel makes the kinds of GPU differ: the larger ones suffer less from
// sharing.
type KindModel struct {
	*MatrixModel
	Kinds int
}

func (m KindModel) soften(gpu *packer.GPU, s float64) float64 {
	return math.Pow(s, 1.2-0.2*gpu.Total().GiBs())
}

// Speeds implements packer.Model.
func (m KindModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	err := m.MatrixModel.Speeds(set, gpu, mech, dst)
	for i := range dst {
		dst[i] = m.soften(gpu, dst[i])
	}
	return err
}

// PairSpeeds implements packer.BatchModel.
func (m KindModel) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	err := m.MatrixModel.PairSpeeds(task, partners, gpu, mech, own, other)
	for i := range own {
		own[i], other[i] = m.soften(gpu, own[i]), m.soften(gpu, other[i])
	}
	return err
}

// tiedPairs makes up 40 kinds of job with speeds in steps of 5 %.
func tiedPairs() *Measured {
	rng := rand.New(rand.NewPCG(40, 40))
	m := &Measured{Speed: map[[2]string]float64{}}
	load := make([]float64, 40)
	for i := range load {
		load[i] = rng.Float64()
		m.Jobs = append(m.Jobs, strconv.Itoa(i))
	}
	for i, a := range m.Jobs {
		for j, b := range m.Jobs {
			m.Speed[[2]string{a, b}] = max(0.1, math.Round(20/(1+load[i]*load[j]+0.3*load[j]))/20)
		}
	}
	return m
}

// TypedProblem has n tasks drawn from the jobs of a measured or made up table,
// with their memory.
func TypedProblem(tb testing.TB, weights string, n, gpus, maxSet int) *packer.Problem {
	tb.Helper()
	const types = 56
	m := BenchModel(tb, weights, types)
	p := &packer.Problem{Model: m, Limits: packer.Limits{MaxSet: maxSet}}
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	profiles := make([]*profile.Profile, types)
	memory := make([]profile.Bytes, types)
	for i := range profiles {
		profiles[i] = &profile.Profile{}
		profiles[i].Spec.Training.BatchSize = i
		memory[i] = profile.Bytes(1+rng.IntN(9)) * profile.GiB
	}
	for i := range n {
		k := rng.IntN(types)
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprintf("t%06d", i), Profile: profiles[k], Memory: memory[k]})
	}
	for i := range gpus {
		p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprintf("g%05d", i), Memory: 24 * profile.GiB})
	}
	return p
}
