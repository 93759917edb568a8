package online

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// BenchmarkSessionThreshold prints, for measured GPUs, loads and thresholds, the
// mean completion time of 1500 tasks on 32 GPUs, in units of their mean length,
// over 5 seeds: what DefaultThreshold rests on. Loads are multiples of what the
// GPUs do exclusively. Predictions err by 10 %. Run it with -benchtime 1x.
func BenchmarkSessionThreshold(b *testing.B) {
	for _, gpus := range [][]string{{"lucid"}, {"v100"}, {"k80"}, {"v100", "k80"}} {
		tables := measuredTables(b, gpus)
		for _, load := range []float64{0.8, 1, 1.2, 1.4, 1.6} {
			for _, threshold := range []float64{0, 0.05, 0.1, 0.2, 0.3, 0.5} {
				b.Run(fmt.Sprintf("gpus=%s/load=%.1f/threshold=%.2f", strings.Join(gpus, "+"), load, threshold), func(b *testing.B) {
					for b.Loop() {
						mean := 0.0
						for seed := range uint64(5) {
							mean += newOnline(b, tables, threshold, seed).run(b, load) / 5
						}
						b.ReportMetric(mean, "jct")
						b.ReportMetric(0, "ns/op")
					}
				})
			}
		}
	}
}

// measuredTable are the speeds of kinds of job on one GPU: alone, relative to the
// first GPU, and beside each other, relative to alone.
type measuredTable struct {
	alone []float64
	*packtest.MatrixModel
}

// measuredTables reads those of the jobs that were measured on all the GPUs.
func measuredTables(tb testing.TB, gpus []string) []measuredTable {
	tb.Helper()
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		tb.Skip("set COLLOC_DATA to the directory with interference_lucid.csv and interference_gavel.csv")
	}
	var pairs, solo []*packtest.Measured
	for _, gpu := range gpus {
		file := filepath.Join(dir, "interference_gavel.csv")
		a, b := "solo_a_steps_per_s", "solo_b_steps_per_s"
		if gpu == "lucid" {
			file, gpu, a, b = filepath.Join(dir, "interference_lucid.csv"), "", "solo_speed_native_per_s_a", "solo_speed_native_per_s_b"
		}
		pairs = append(pairs, packtest.ReadPairs(tb, file, gpu, "norm_speed_a", "norm_speed_b"))
		solo = append(solo, packtest.ReadPairs(tb, file, gpu, a, b))
	}
	var out []measuredTable
	jobs := pairs[0].Jobs
	n := len(jobs)
	for g := range pairs {
		t := measuredTable{MatrixModel: &packtest.MatrixModel{N: n}}
		for _, a := range jobs {
			t.alone = append(t.alone, solo[g].Speed[[2]string{a, a}]/solo[0].Speed[[2]string{a, a}])
			for _, b := range jobs {
				t.Table = append(t.Table, min(1, pairs[g].Speed[[2]string{a, b}]))
			}
		}
		out = append(out, t)
	}
	return out
}

// tablesModel has a table for each type of GPU, told apart by memory.
type tablesModel []measuredTable

func (m tablesModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	t := m[int(gpu.Total()/profile.GiB)-1]
	if err := t.Speeds(set, gpu, mech, dst); err != nil {
		return err
	}
	for i := range set {
		dst[i] *= t.alone[packtest.JobOf(set[i])]
	}
	return nil
}

// wrong returns the model with errors.
func (m tablesModel) wrong(sd float64, rng *rand.Rand) tablesModel {
	var out tablesModel
	for _, t := range m {
		w := measuredTable{alone: t.alone, MatrixModel: &packtest.MatrixModel{N: t.N}}
		for _, s := range t.Table {
			w.Table = append(w.Table, min(1, s*math.Exp(sd*rng.NormFloat64())))
		}
		out = append(out, w)
	}
	return out
}

// online plays a cluster: tasks arrive and run as fast as was measured, while the
// session decides by predictions.
type online struct {
	session *Session
	truth   tablesModel
	rng     *rand.Rand
	left    map[string]float64 // work of the tasks that run or wait
	arrived map[string]float64
}

const onlineGPUs, onlineTasks = 32, 1500

func newOnline(tb testing.TB, truth tablesModel, threshold float64, seed uint64) *online {
	tb.Helper()
	o := &online{truth: truth, rng: rand.New(rand.NewPCG(seed, 5)), left: map[string]float64{}, arrived: map[string]float64{}}
	gpus := make([]packer.GPU, onlineGPUs)
	for i := range gpus {
		gpus[i] = packer.GPU{ID: strconv.Itoa(i), Memory: profile.Bytes(1+i%len(truth)) * profile.GiB}
	}
	var err error
	o.session, err = NewSession(gpus, truth.wrong(0.1, o.rng), packer.Limits{}, &SessionOptions{Threshold: profile.Some(threshold)})
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// capacity is the work that the GPUs do exclusively in a unit of time.
func (o *online) capacity() float64 {
	sum := 0.0
	for _, t := range o.truth {
		for _, s := range t.alone {
			sum += s / float64(t.N)
		}
	}
	return sum / float64(len(o.truth)) * onlineGPUs
}

// run returns the mean time from arrival to end of all tasks.
func (o *online) run(tb testing.TB, load float64) float64 {
	tb.Helper()
	kinds := packtest.BenchProblem(o.truth[0].MatrixModel).Tasks
	between := 1 / o.capacity() / load
	now, next, sum := 0.0, 0.0, 0.0
	for came := 0; came < onlineTasks || len(o.left) > 0; {
		rates := o.rates(tb)
		first, in := "", math.Inf(1)
		for id, rate := range rates {
			if t := o.left[id] / rate; t < in || t == in && id < first {
				first, in = id, t
			}
		}
		arrives := came < onlineTasks && next-now < in
		if arrives {
			in = next - now
		}
		now += in
		for id, rate := range rates {
			o.left[id] -= float64(rate * in)
		}
		var err error
		if arrives {
			task := kinds[o.rng.IntN(len(kinds))]
			task.ID, task.Kind = strconv.Itoa(came), task.ID
			o.left[task.ID], o.arrived[task.ID] = math.Exp(o.rng.NormFloat64()-0.5), now
			_, err = o.session.Arrive(task)
			next += o.rng.ExpFloat64() * between
			came++
		} else {
			sum += now - o.arrived[first]
			delete(o.left, first)
			_, err = o.session.Finish(first)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return sum / onlineTasks
}

// rates returns the true speeds of the running tasks.
func (o *online) rates(tb testing.TB) map[string]float64 {
	tb.Helper()
	out := map[string]float64{}
	for g := range onlineGPUs {
		var set []*packer.Task
		for t := range o.session.Running(g) {
			set = append(set, t)
		}
		speeds := make([]float64, len(set))
		if err := o.truth.Speeds(set, &o.session.p.GPUs[g], profile.TimeSlice, speeds); err != nil {
			tb.Fatal(err)
		}
		for i, t := range set {
			out[t.ID] = speeds[i]
		}
	}
	return out
}
