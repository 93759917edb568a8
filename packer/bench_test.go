package packer

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"example.com/colloc/profile"
)

// matrixModel looks pair speeds up: speeds[i*n+j] is the speed of job i beside
// job j. A task's job is kept in its profile's batch size.
type matrixModel struct {
	n      int
	speeds []float64
}

func jobOf(t *Task) int { return t.Profile.Spec.Training.BatchSize }

func (m *matrixModel) Speeds(set []*Task, _ *GPU, _ profile.Mechanism, dst []float64) error {
	for i, t := range set {
		slowdown := 1.0
		for _, o := range set {
			if o != t {
				slowdown += 1/m.speeds[jobOf(t)*m.n+jobOf(o)] - 1
			}
		}
		dst[i] = 1 / slowdown
	}
	return nil
}

func (m *matrixModel) PairSpeeds(task *Task, partners []*Task, _ *GPU, _ profile.Mechanism, own, other []float64) error {
	i := jobOf(task)
	row := m.speeds[i*m.n : (i+1)*m.n]
	for k, o := range partners {
		j := jobOf(o)
		own[k], other[k] = row[j], m.speeds[j*m.n+i]
	}
	return nil
}

// measured is a table of co-run speeds.
type measured struct {
	jobs  []string
	speed map[[2]string]float64
}

// weights are the instances that the benchmarks run on: two drawn from
// measured co-runs, whose ties and near-ties are what makes matching slow, and
// a random one.
var weights = []string{"random", "lucid", "gavel"}

// benchModel makes speeds for n tasks.
func benchModel(tb testing.TB, weights string, n int) *matrixModel {
	tb.Helper()
	rng := rand.New(rand.NewPCG(42, uint64(n)))
	m := &matrixModel{n: n, speeds: make([]float64, n*n)}
	if weights == "random" {
		for i := range m.speeds {
			m.speeds[i] = 0.5 + rng.Float64()/2
		}
		return m
	}
	data := pairsOf(tb, weights)
	kind := make([]string, n)
	jitter := make([]float64, n)
	for i := range kind {
		kind[i] = data.jobs[rng.IntN(len(data.jobs))]
		jitter[i] = math.Exp(0.02 * rng.NormFloat64())
	}
	for i := range n {
		for j := range n {
			m.speeds[i*n+j] = min(1, max(0.01, data.speed[[2]string{kind[i], kind[j]}]*jitter[i]))
		}
	}
	return m
}

// pairsOf returns the pairs from which weights are drawn.
func pairsOf(tb testing.TB, weights string) *measured {
	tb.Helper()
	if weights == "tied" {
		return tiedPairs()
	}
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		tb.Skip("set COLLOC_DATA to the directory with interference_lucid.csv and interference_gavel.csv to run on measured weights")
	}
	if weights == "lucid" {
		return readPairs(tb, filepath.Join(dir, "interference_lucid.csv"), "", "norm_speed_a", "norm_speed_b")
	}
	gpu := "v100"
	if weights == "k80" {
		gpu = weights
	}
	return readPairs(tb, filepath.Join(dir, "interference_gavel.csv"), gpu, "norm_speed_a", "norm_speed_b")
}

// readPairs reads measured pair speeds; pairs that were not measured get the
// product of both jobs' mean speeds over the mean of all.
func readPairs(tb testing.TB, file, gpu, colA, colB string) *measured {
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
	m := &measured{speed: map[[2]string]float64{}}
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
			if !slices.Contains(m.jobs, x.job) {
				m.jobs = append(m.jobs, x.job)
			}
			m.speed[[2]string{x.job, x.with}] = x.speed
			own[x.job] += x.speed
			other[x.with] += x.speed
			count[x.job]++
			total += x.speed
			pairs++
		}
	}
	for _, a := range m.jobs {
		for _, b := range m.jobs {
			if _, ok := m.speed[[2]string{a, b}]; !ok {
				m.speed[[2]string{a, b}] = own[a] / count[a] * other[b] / count[b] / (total / pairs)
			}
		}
	}
	return m
}

// benchProblem has n tasks on the given numbers of GPUs of as many kinds.
func benchProblem(m *matrixModel, gpus ...int) *Problem {
	p := &Problem{Model: m}
	for i := range m.n {
		prof := &profile.Profile{}
		prof.Spec.Training.BatchSize = i
		p.Tasks = append(p.Tasks, Task{ID: fmt.Sprintf("t%05d", i), Profile: prof})
	}
	for k, n := range gpus {
		for i := range n {
			p.GPUs = append(p.GPUs, GPU{ID: fmt.Sprintf("g%d-%05d", k, i), Memory: profile.Bytes(k+1) * profile.GiB})
		}
	}
	return p
}

func benchPack(b *testing.B, method Method, p *Problem) {
	b.Helper()
	b.ReportAllocs()
	var s *Solution
	for b.Loop() {
		var err error
		if s, err = method.Pack(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*s.Gap(), "gap_pct")
	b.ReportMetric(s.Throughput, "objective")
}

func BenchmarkMatching(b *testing.B) {
	for _, w := range weights {
		for _, n := range []int{100, 1000, 2000} {
			b.Run(fmt.Sprintf("weights=%s/n=%d", w, n), func(b *testing.B) {
				benchPack(b, Matching{}, benchProblem(benchModel(b, w, n), n/2))
			})
		}
	}
}

func BenchmarkMatchingTol(b *testing.B) {
	for _, w := range weights {
		b.Run(fmt.Sprintf("weights=%s/n=5000", w), func(b *testing.B) {
			benchPack(b, Matching{Tol: 0.0015}, benchProblem(benchModel(b, w, 5000), 2500))
		})
	}
}

// BenchmarkMatchingLoad has more tasks than seats, and fewer.
func BenchmarkMatchingLoad(b *testing.B) {
	for _, w := range weights {
		for _, gpus := range []int{300, 800} {
			b.Run(fmt.Sprintf("weights=%s/n=1000/gpus=%d", w, gpus), func(b *testing.B) {
				benchPack(b, Matching{}, benchProblem(benchModel(b, w, 1000), gpus))
			})
		}
	}
}

func BenchmarkTypes(b *testing.B) {
	for _, w := range weights {
		b.Run("n=600/weights="+w, func(b *testing.B) {
			m := kindModel{matrixModel: benchModel(b, w, 600), kinds: 3}
			p := benchProblem(m.matrixModel, 100, 100, 100)
			p.Model = m
			benchPack(b, Matching{}, p)
		})
	}
}

// setsProblem has n tasks on just enough GPUs for sets of k.
func setsProblem(tb testing.TB, weights string, n, k int) *Problem {
	tb.Helper()
	p := benchProblem(benchModel(tb, weights, n), (n+k-1)/k)
	p.Limits.MaxSet = k
	return p
}

func BenchmarkColumnGen(b *testing.B) {
	for _, k := range []int{3, 4} {
		for _, w := range weights {
			b.Run(fmt.Sprintf("k=%d/n=100/weights=%s", k, w), func(b *testing.B) {
				benchPack(b, ColumnGen{}, setsProblem(b, w, 100, k))
			})
		}
	}
}

// BenchmarkLocalSearch reports the gap to the bound of ColumnGen.
func BenchmarkLocalSearch(b *testing.B) {
	for _, k := range []int{3, 4} {
		for _, w := range weights {
			b.Run(fmt.Sprintf("k=%d/n=100/weights=%s", k, w), func(b *testing.B) {
				p := setsProblem(b, w, 100, k)
				proved, err := ColumnGen{Tol: 0.01}.Pack(b.Context(), p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var s *Solution
				for b.Loop() {
					if s, err = (LocalSearch{}).Pack(b.Context(), p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(100*(proved.Bound-s.Throughput)/proved.Bound, "gap_pct")
				b.ReportMetric(s.Throughput, "objective")
			})
		}
	}
}

func BenchmarkTyped(b *testing.B) {
	for _, w := range weights {
		b.Run("tasks=10000/weights="+w, func(b *testing.B) {
			benchPack(b, ColumnGen{}, typedProblem(b, w, 10_000, 2_000, 4))
		})
	}
}

// kindModel makes the kinds of GPU differ: the larger ones suffer less from
// sharing.
type kindModel struct {
	*matrixModel
	kinds int
}

func (m kindModel) soften(gpu *GPU, s float64) float64 {
	return math.Pow(s, 1.2-0.2*gpu.memory().GiBs())
}

func (m kindModel) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	err := m.matrixModel.Speeds(set, gpu, mech, dst)
	for i := range dst {
		dst[i] = m.soften(gpu, dst[i])
	}
	return err
}

func (m kindModel) PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	err := m.matrixModel.PairSpeeds(task, partners, gpu, mech, own, other)
	for i := range own {
		own[i], other[i] = m.soften(gpu, own[i]), m.soften(gpu, other[i])
	}
	return err
}
