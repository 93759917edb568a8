package fair

import (
	"context"
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// TestWeightsFollowStarvation: whatever Alpha, who got less weighs more, strictly,
// and the lightest still counts.
func TestWeightsFollowStarvation(t *testing.T) {
	const age = 240 * time.Hour
	starved := []Account{ // by falling need
		{Age: age},
		{Age: age, Attained: time.Second},
		{Age: age, Attained: time.Hour},
		{Age: age, Attained: 120 * time.Hour},
		{Age: age, Attained: 121 * time.Hour},
		{Age: age, Attained: 200 * time.Hour},
		{Age: age, Attained: age},
	}
	for i := range starved {
		starved[i].Remaining = profile.Some(10 * time.Hour)
	}
	for _, alpha := range []float64{0, 0.1, 0.5, 1, 2, 4, 8, 16, 40, 64, 100, 200, 300, 1e6, math.Inf(1)} {
		for _, p := range []Policy{AlphaFair{Alpha: alpha}, FinishTimeFair{Alpha: alpha}} {
			weights := Weights(p, starved)
			if weights[0] != 1 || weights[len(weights)-1] < leastWeight {
				t.Errorf("%T, alpha %v: weights %v, want 1 first and 2^-16 at least", p, alpha, weights)
			}
			for i := range weights[1:] {
				if !(weights[i] > weights[i+1]) {
					t.Errorf("%T, alpha %v: weights %v do not fall", p, alpha, weights)
				}
			}
			for _, a := range starved {
				if w := p.Weigh(&a); !(w > 0) || math.IsInf(w, 1) {
					t.Errorf("%T, alpha %v: Weigh returns %v", p, alpha, w)
				}
			}
		}
	}
}

// TestWeightsKeepRatios: where the weights fit, and for neighbours where they do
// not, their ratios are those of the policy.
func TestWeightsKeepRatios(t *testing.T) {
	prices := func(x ...float64) (out []Account) {
		for _, p := range x {
			out = append(out, Account{Price: 1 / p})
		}
		return out
	}
	for _, test := range []struct {
		name string
		p    []float64 // weights by the policy
		want []float64
	}{
		{"near", []float64{1, 8, 2}, []float64{0.125, 1, 0.25}},
		{"just fit", []float64{1, 1 << 16}, []float64{leastWeight, 1}},
		{"one far above", []float64{2, 1, 1 << 40}, []float64{1.0 / (1 << 15), leastWeight, 1}},
		{"one far below", []float64{1 << 40, 1 << 39, 1}, []float64{1, 0.5, leastWeight}},
		{"all far apart", []float64{1, 1 << 20, 1 << 40}, []float64{leastWeight, 1.0 / 256, 1}},
		{"equal stay equal", []float64{1, 1 << 30, 1}, []float64{leastWeight, 1, leastWeight}},
	} {
		got := Weights(CostPerHour{}, prices(test.p...))
		for i := range got {
			if !(math.Abs(got[i]/test.want[i]-1) <= 1e-12) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
				break
			}
		}
	}
}

// TestWeightsOutOfRange: weights that no float64 can tell apart, and ratios that a
// LogPolicy knows, come from its logarithms.
func TestWeightsOutOfRange(t *testing.T) {
	ahead := func(bits, alpha float64) Account { // of the weight 2^-bits
		return Account{Attained: time.Duration((math.Exp2(bits/alpha) - 1) * float64(time.Second))}
	}
	for _, test := range []struct {
		name     string
		accounts []Account
		want     []float64
	}{
		{"the lighter is no float64", []Account{ahead(1080, 60), ahead(1073, 60)}, []float64{1.0 / 128, 1}},
		{"the heavier comes first", []Account{ahead(1073, 60), ahead(1080, 60)}, []float64{1, 1.0 / 128}},
		{"near neighbours beside a far one", []Account{ahead(0, 60), ahead(4, 60), ahead(900, 60)}, []float64{1, 1.0 / 16, leastWeight}},
	} {
		got := Weights(AlphaFair{Alpha: 60}, test.accounts)
		for i := range got {
			if !(math.Abs(got[i]/test.want[i]-1) <= 1e-3) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
				break
			}
		}
	}
}

// TestPropertyWeightsKeepOrder draws accounts and compares with the logarithms.
func TestPropertyWeightsKeepOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 2000 {
		accounts := make([]Account, 1+rng.IntN(12))
		for i := range accounts {
			age := time.Duration(math.Exp2(30 + 25*rng.Float64()))
			accounts[i] = Account{Weight: float64(1 + rng.IntN(3)), Age: age, Attained: time.Duration(rng.Float64() * float64(age))}
		}
		p := AlphaFair{Alpha: 300 * rng.Float64()}
		weights := Weights(p, accounts)
		for i := range accounts {
			for j := range accounts {
				if d := p.LogWeigh(&accounts[i]) - p.LogWeigh(&accounts[j]); d > 1e-6 && !(weights[i] > weights[j]) {
					t.Fatalf("alpha %v: %+v weighs %v, %+v %v; the logarithms differ by %v", p.Alpha, accounts[i], weights[i], accounts[j], weights[j], d)
				}
			}
		}
	}
}

// TestFairSharesWhateverAlpha: seven equal tasks that cannot share two GPUs get two
// sevenths of the time each.
func TestFairSharesWhateverAlpha(t *testing.T) {
	const tasks, gpus, rounds = 7, 2, 600
	for _, alpha := range []float64{0, 1, 4, 30, 64, 100, 300} {
		for _, policy := range []Policy{AlphaFair{Alpha: alpha}, FinishTimeFair{Alpha: alpha}} {
			accounts := make([]Account, tasks)
			for range rounds {
				p := &packer.Problem{Model: packtest.Duo{}, Limits: packer.Limits{MaxSet: 1}}
				for g := range gpus {
					p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprint("g", g), Memory: profile.GiB})
				}
				for i, w := range Weights(policy, accounts) {
					p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), Weight: w})
				}
				s, err := solve.Matching{}.Pack(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				for _, set := range s.Sets {
					accounts[set.Tasks[0]].Attained += roundLength
				}
				for i := range accounts {
					accounts[i].Age += roundLength
					accounts[i].Remaining = profile.Some(max(0, 100*time.Hour-accounts[i].Attained))
				}
			}
			var rates []float64
			for i := range accounts {
				rates = append(rates, accounts[i].rate())
			}
			const want = float64(gpus) / tasks
			if slices.Min(rates) < 0.97*want || slices.Max(rates) > 1.03*want {
				t.Errorf("%T, alpha %v: rates %.3f, want %.3f each", policy, alpha, rates, want)
			}
		}
	}
}
