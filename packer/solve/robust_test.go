package solve

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// noisy predicts the speeds of another table with errors of known size.
type noisy struct {
	packtest.MatrixModel
	sd []float64 // relative, of each speed
}

func (m *noisy) HalfWidths(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i, t := range set {
		variance := 0.0
		for _, o := range set {
			if o != t {
				at := packtest.JobOf(t)*m.N + packtest.JobOf(o)
				part := m.sd[at] * m.Table[at]
				variance += part * part
			}
		}
		dst[i] = math.Sqrt(variance)
	}
	return nil
}

// withNoise draws predictions: speeds x exp(sd·N), 1 at most. If mixed, each has
// a sd of its own between 0 and 2·sd, as where some pairs were measured and
// others guessed.
func withNoise(rng *rand.Rand, m *packtest.MatrixModel, sd float64, mixed bool) *noisy {
	out := &noisy{MatrixModel: packtest.MatrixModel{N: m.N, Table: slices.Clone(m.Table)}, sd: make([]float64, len(m.Table))}
	for i := range out.Table {
		out.sd[i] = sd
		if mixed {
			out.sd[i] *= 2 * rng.Float64()
		}
		out.Table[i] = min(1, max(0.01, out.Table[i]*math.Exp(out.sd[i]*rng.NormFloat64())))
	}
	return out
}

// trueLoss plans by predictions with caution and returns how far the true value
// of the plan is from the best, on average over seeds.
func trueLoss(tb testing.TB, weights string, sd float64, mixed bool, caution float64) float64 {
	tb.Helper()
	const seeds, n = 5, 100
	total := 0.0
	for seed := range uint64(seeds) {
		m := packtest.BenchModel(tb, weights, n)
		p := packtest.BenchProblem(m, n/2)
		best, err := (Matching{}).Pack(tb.Context(), p)
		if err != nil {
			tb.Fatal(err)
		}
		p.Model = packer.Robust{Model: withNoise(rand.New(rand.NewPCG(seed, 9)), m, sd, mixed), Caution: caution}
		got, err := (Matching{}).Pack(tb.Context(), p)
		if err != nil {
			tb.Fatal(err)
		}
		value := 0.0
		for _, set := range got.Sets {
			members := make([]*packer.Task, len(set.Tasks))
			for k, i := range set.Tasks {
				members[k] = &p.Tasks[i]
			}
			speeds := make([]float64, len(members))
			if err := m.Speeds(members, nil, set.Mechanism, speeds); err != nil {
				tb.Fatal(err)
			}
			for _, s := range speeds {
				value += s
			}
		}
		total += 1 - value/best.Throughput
	}
	return total / seeds
}

// BenchmarkCaution reports what is lost to errors of prediction.
func BenchmarkCaution(b *testing.B) {
	for _, w := range packtest.Weights() {
		for _, mixed := range []bool{false, true} {
			for _, sd := range []float64{0.05, 0.1, 0.2} {
				for _, caution := range []float64{0, 0.5, 1, 1.5, 2, 3} {
					b.Run(fmt.Sprintf("weights=%s/mixed=%v/sd=%v/caution=%v", w, mixed, sd, caution), func(b *testing.B) {
						loss := 0.0
						for b.Loop() {
							loss = trueLoss(b, w, sd, mixed, caution)
						}
						b.ReportMetric(100*loss, "loss_pct")
					})
				}
			}
		}
	}
}

func TestCautionPays(t *testing.T) {
	for _, w := range packtest.Weights() {
		t.Run(w, func(t *testing.T) {
			bold, cautious := trueLoss(t, w, 0.2, true, 0), trueLoss(t, w, 0.2, true, 1)
			t.Logf("loss %.2f %%, with caution %.2f %%", 100*bold, 100*cautious)
			if cautious >= bold {
				t.Errorf("caution does not pay: loss %v, without %v", cautious, bold)
			}
		})
	}
}

func TestRobust(t *testing.T) {
	m := withNoise(rand.New(rand.NewPCG(1, 1)), packtest.BenchModel(t, "random", 10), 0.1, true)
	p := packtest.BenchProblem(&m.MatrixModel, 5)
	p.Limits.MaxSet = 3
	for _, caution := range []float64{0, 1, 10} {
		p.Model = packer.Robust{Model: m, Caution: caution}
		for _, method := range []packer.Method{Greedy{}, ColumnGen{}} {
			for _, set := range packtest.Solve(t, method, p).Sets {
				if len(set.Tasks) == 1 && set.Value != 1 {
					t.Errorf("a task alone does %v", set.Value)
				}
			}
		}
	}
	for _, test := range []struct {
		model packer.Robust
		want  string
	}{
		{packer.Robust{}, "Model is nil"},
		{packer.Robust{Model: m, Caution: -1}, "Caution is -1"},
		{packer.Robust{Model: m, Caution: math.NaN()}, "Caution is NaN"},
		{packer.Robust{Model: &noisy{m.MatrixModel, slices.Repeat([]float64{math.NaN()}, 100)}, Caution: 1}, "half-width of the speed is NaN"},
	} {
		p.Model = test.model
		if _, err := (Greedy{}).Pack(t.Context(), p); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}
