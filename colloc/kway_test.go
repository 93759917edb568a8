package colloc_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// kway is a made-up truth of sets under MPS in which company is no sum of pairs:
// nobody loses anything until all together want more than the GPU has, then each by
// its own sensitivity, and caches thrash with every task beyond the second.
//
//	speed = min(1, 1/Σ sm, 1/Σ dram)^s × (1 - 0.04 × (n - 2) × Σ dram / n)
type kway struct {
	tasks     []colloc.Task
	sensitive map[string]float64
}

func newKway(tb testing.TB, rng *rand.Rand, count int) *kway {
	tb.Helper()
	w := &kway{sensitive: make(map[string]float64)}
	for i := range count {
		id := fmt.Sprintf("k%02d", i)
		w.tasks = append(w.tasks, seen(tb, id, 0.1+0.7*rng.Float64(), 0.05+0.5*rng.Float64(), 2*profile.GiB))
		w.sensitive[id] = 0.6 + 0.8*rng.Float64()
	}
	return w
}

// Speeds implements packer.Model.
func (w *kway) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	profiles := make([]*profile.Profile, len(set))
	for i, t := range set {
		profiles[i] = t.Profile
	}
	copy(dst, w.speeds(profiles))
	return nil
}

func (w *kway) speeds(set []*profile.Profile) []float64 {
	var sm, dram float64
	for _, p := range set {
		busy, _ := p.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy)
		mem, _ := p.Vector.Either(profile.MeanDRAMActive, profile.MeanMemBusy)
		sm, dram = sm+busy, dram+mem
	}
	n, out := float64(len(set)), make([]float64, len(set))
	for i, p := range set {
		thrash := 1 - 0.04*max(0, n-2)*dram/n
		out[i] = math.Pow(min(1, 1/sm, 1/dram), w.sensitive[p.Spec.Model.Name]) * thrash
	}
	return out
}

// draw picks k different tasks.
func (w *kway) draw(rng *rand.Rand, k int) []*profile.Profile {
	var set []*profile.Profile
	for _, i := range rng.Perm(len(w.tasks))[:k] {
		set = append(set, w.tasks[i].Profile)
	}
	return set
}

// off is the mean error on 300 sets of k.
func (w *kway) off(tb testing.TB, speeds *interference.Predictor, gpu *profile.GPUModel, k int) float64 {
	tb.Helper()
	rng := rand.New(rand.NewPCG(99, uint64(k)))
	var sum float64
	for range 300 {
		set := w.draw(rng, k)
		said, err := speeds.Values(gpu, profile.MPS, set, nil)
		if err != nil {
			tb.Fatal(err)
		}
		for i, v := range w.speeds(set) {
			sum += math.Abs(v-said[i]) / float64(300*k)
		}
	}
	return sum
}

// BenchmarkSetsOfThreeAndFour says what so many observed sets, pairs, threes and fours
// in turn, and a refit teach of speeds of threes and fours that were never seen, and
// how much of the best plan by the truth a plan by what was learned does:
//
//	go test ./colloc -run '^$' -bench SetsOfThreeAndFour -benchtime 1x
func BenchmarkSetsOfThreeAndFour(b *testing.B) {
	for _, count := range []int{0, 12, 24, 48, 96, 192, 384} {
		b.Run(fmt.Sprint("sets=", count), func(b *testing.B) {
			var three, four, reached float64
			for b.Loop() {
				rng := rand.New(rand.NewPCG(20, 6))
				w := newKway(b, rng, 24)
				p := newPlanner(b, colloc.Config{Interference: &interference.Predictor{}, MaxSet: 4})
				gpu := gpuModel(b, "RTX 3090")
				w.teach(b, p, &gpu, rng, count)
				speeds := p.Config().Interference
				three, four, reached = w.off(b, speeds, &gpu, 3), w.off(b, speeds, &gpu, 4), w.reached(b, p, &gpu)
			}
			b.ReportMetric(three, "error_of_3")
			b.ReportMetric(four, "error_of_4")
			b.ReportMetric(reached, "of_best_plan")
		})
	}
}

// teach observes so many sets with 2 % of noise and fits anew.
func (w *kway) teach(tb testing.TB, p *colloc.Planner, gpu *profile.GPUModel, rng *rand.Rand, count int) {
	tb.Helper()
	for n := range count {
		set := w.draw(rng, 2+n%3)
		o := colloc.Observation{GPU: *gpu, Mechanism: profile.MPS}
		for i, v := range w.speeds(set) {
			o.Members = append(o.Members, colloc.Measurement{Profile: set[i], Speed: profile.Some(v * math.Exp(0.02*rng.NormFloat64()))})
		}
		if err := p.Observe(o); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.Refit(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// reached is what plans do, by the truth, of what the best ones do: 12 tasks on 4
// GPUs, five times.
func (w *kway) reached(tb testing.TB, p *colloc.Planner, gpu *profile.GPUModel) float64 {
	tb.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	var did, best float64
	for range 5 {
		var tasks []colloc.Task
		for _, i := range rng.Perm(len(w.tasks))[:12] {
			tasks = append(tasks, w.tasks[i])
		}
		var gpus []colloc.GPU
		problem := packer.Problem{Model: w, Limits: packer.Limits{MaxSet: 4}}
		for g := range 4 {
			id := fmt.Sprint("g", g)
			gpus = append(gpus, colloc.GPU{ID: id, Model: *gpu, Mechanisms: []profile.Mechanism{profile.MPS}})
			problem.GPUs = append(problem.GPUs, packer.GPU{ID: id, Type: gpu, Mechanisms: []profile.Mechanism{profile.MPS}})
		}
		byID := make(map[string]*profile.Profile)
		for i := range tasks {
			byID[tasks[i].ID] = tasks[i].Profile
			problem.Tasks = append(problem.Tasks, packer.Task{ID: tasks[i].ID, Profile: tasks[i].Profile, Memory: 2 * profile.GiB})
		}
		plan, err := p.Plan(tb.Context(), tasks, gpus)
		if err != nil {
			tb.Fatal(err)
		}
		for _, pl := range plan.Placements {
			var set []*profile.Profile
			for _, m := range pl.Members {
				set = append(set, byID[m.Task])
			}
			if len(set) == 1 {
				did++
				continue
			}
			for _, v := range w.speeds(set) {
				did += v
			}
		}
		s, err := solve.Auto{}.Pack(tb.Context(), &problem)
		if err != nil {
			tb.Fatal(err)
		}
		best += s.Throughput
	}
	return did / best
}
