package fair

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

var policies = []Policy{
	FIFOFair{},
	AlphaFair{},
	FinishTimeFair{},
	ShortestFirst{},
	ShortestFirst{Service: true},
	Makespan{},
	CostPerHour{},
	CostPerJoule{},
	EarliestDeadline{},
	EarliestDeadline{Alpha: 300, Horizon: time.Nanosecond},
}

// flat is the policy of maximal throughput.
type flat struct{}

func (flat) Weigh(*Account) float64 { return 1 }

// TestPropertyWeightsAreWeights: whatever the accounts, a Problem takes them.
func TestPropertyWeightsAreWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1, 5e-324}))
		length := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "ns")) })
		accounts := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Account {
			a := Account{
				Weight: number.Draw(t, "weight"), GPUs: rapid.Int().Draw(t, "gpus"), Age: length.Draw(t, "age"),
				Attained: length.Draw(t, "attained"), Price: number.Draw(t, "price"), Power: number.Draw(t, "power"),
			}
			if rapid.Bool().Draw(t, "predicted") {
				a.Remaining = profile.Some(length.Draw(t, "remaining"))
			}
			if rapid.Bool().Draw(t, "due") {
				a.Deadline = profile.Some(length.Draw(t, "deadline"))
			}
			return a
		})).Draw(t, "accounts")
		for _, p := range policies {
			weights := Weights(p, accounts)
			for i, w := range weights {
				if len(weights) != len(accounts) || !(w >= leastWeight && w <= 1) {
					t.Fatalf("%T: weight %v for %+v", p, w, accounts[i])
				}
			}
		}
	})
}

func TestPoliciesPrefer(t *testing.T) {
	some := profile.Some[time.Duration]
	const h = time.Hour
	for _, test := range []struct {
		policy         Policy
		heavier, light Account
	}{
		{FIFOFair{}, Account{Age: 2 * h}, Account{Age: h}},
		{AlphaFair{}, Account{Age: 2 * h, Attained: h}, Account{Age: 2 * h, Attained: 2 * h}},
		{FinishTimeFair{}, Account{Age: 4 * h, Attained: h, Remaining: some(h)}, Account{Age: 4 * h, Attained: 3 * h, Remaining: some(h)}},
		{ShortestFirst{}, Account{Remaining: some(h)}, Account{Remaining: some(2 * h)}},
		{ShortestFirst{Service: true}, Account{Remaining: some(h), GPUs: 2}, Account{Remaining: some(h), GPUs: 4}},
		{Makespan{}, Account{Remaining: some(2 * h)}, Account{Remaining: some(h)}},
		{CostPerHour{}, Account{Price: 1}, Account{Price: 3}},
		{CostPerJoule{}, Account{Power: 100}, Account{Power: 300}},
		{ShortestFirst{}, Account{Attained: h}, Account{Attained: 2 * h}},
		{CostPerHour{}, Account{Price: 2, Weight: 3}, Account{Price: 1}},
	} {
		if a, b := test.policy.Weigh(&test.heavier), test.policy.Weigh(&test.light); !(a > b) {
			t.Errorf("%T: %v for %+v, %v for %+v", test.policy, a, test.heavier, b, test.light)
		}
	}
}

// TestWeightsOfAMoment: what has just arrived, or is about to end, weighs what the formulas
// say, with a second where they would divide by nothing.
func TestWeightsOfAMoment(t *testing.T) {
	second := profile.Some(time.Second)
	for _, test := range []struct {
		name    string
		policy  Policy
		account Account
		want    float64
	}{
		{"FIFO, new", FIFOFair{Patience: time.Second}, Account{}, 1},
		{"FIFO, at its patience", FIFOFair{Patience: time.Second}, Account{Age: time.Second}, 2},
		{"alpha, new", AlphaFair{Alpha: 1}, Account{}, 1},
		{"alpha, a second late", AlphaFair{Alpha: 1}, Account{Age: time.Second}, 2},
		{"finish time, new", FinishTimeFair{Alpha: 1}, Account{Remaining: second}, 1},
		{"shortest, nothing left", ShortestFirst{}, Account{}, 1},
		{"shortest, a second left", ShortestFirst{}, Account{Remaining: second}, 0.5},
		{"makespan, nothing left", Makespan{}, Account{}, 1},
		{"makespan, a second left on two", Makespan{}, Account{Remaining: second, GPUs: 2}, 4},
		{"due now", EarliestDeadline{Alpha: 1, Horizon: 8 * time.Second}, Account{Remaining: profile.Some(time.Duration(0)), Deadline: profile.Some(time.Duration(0))}, 8},
	} {
		if got := test.policy.Weigh(&test.account); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// corpus is a small cluster that is re-planned in rounds of six minutes.
type corpus struct {
	accounts []Account
	total    []time.Duration // work of each task; 0: endless
	gpus     int
	model    packer.Model
}

// newCorpus has six tasks on two GPUs, each shorter and a worse partner than the
// one before.
func newCorpus() *corpus {
	c := &corpus{gpus: 2, model: packtest.Duo{}}
	speeds := packtest.Duo{}
	for i := range 6 {
		for j := range i {
			speeds[fmt.Sprintf("t%dt%d", j, i)] = 0.95 - 0.07*float64(i) - 0.01*float64(j)
		}
		c.accounts = append(c.accounts, Account{Price: float64(1 + i%3), Power: float64(100 + 100*(i%2))})
		c.total = append(c.total, time.Duration(6-i)*time.Hour)
	}
	c.model = speeds
	return c
}

const roundLength = 6 * time.Minute

// run plays rounds and returns when each task had done all its work.
func (c *corpus) run(t *testing.T, policy Policy, rounds int) []int {
	t.Helper()
	done := make([]int, len(c.accounts))
	for round := range rounds {
		p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: c.model}
		for g := range c.gpus {
			p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprint("g", g), Memory: profile.GiB})
		}
		var index []int
		var live []Account
		for i, a := range c.accounts {
			if c.total[i] == 0 || a.Attained < c.total[i] {
				if c.total[i] > 0 {
					a.Remaining = profile.Some(c.total[i] - a.Attained)
				}
				index, live = append(index, i), append(live, a)
			}
		}
		for n, w := range Weights(policy, live) {
			p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", index[n]), Weight: w})
		}
		s, err := solve.Matching{}.Pack(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range s.Sets {
			for k, n := range set.Tasks {
				c.accounts[index[n]].Attained += time.Duration(set.Speeds[k] * float64(roundLength))
			}
		}
		for i := range c.accounts {
			a := &c.accounts[i]
			a.Age += roundLength
			if done[i] == 0 && c.total[i] > 0 && a.Attained >= c.total[i] {
				done[i] = round + 1
			}
		}
	}
	return done
}

// endless runs a corpus of tasks that never end and returns what each attained.
func endless(t *testing.T, policy Policy) []time.Duration {
	t.Helper()
	c := newCorpus()
	clear(c.total)
	c.run(t, policy, 100)
	var out []time.Duration
	for _, a := range c.accounts {
		out = append(out, a.Attained)
	}
	return out
}

func smallest(d []time.Duration) (out time.Duration) {
	out = math.MaxInt64
	for _, x := range d {
		out = min(out, x)
	}
	return out
}

func TestPoliciesStarveNobody(t *testing.T) {
	if got := smallest(endless(t, flat{})); got != 0 {
		t.Fatalf("the corpus is too easy: maximal throughput gives everybody %v", got)
	}
	for _, p := range []Policy{FIFOFair{}, AlphaFair{}, AlphaFair{Alpha: 1}, FinishTimeFair{}} {
		c := newCorpus()
		clear(c.total)
		c.accounts[0].Age = 0
		// Five tasks are always new, the worst partner is not.
		for round := range 200 {
			c.run(t, p, 1)
			for i := range 5 {
				c.accounts[i].Age, c.accounts[i].Attained = roundLength, roundLength/2
			}
			if c.accounts[5].Attained > 0 {
				break
			}
			if round == 199 {
				t.Errorf("%T: a task starves", p)
			}
		}
	}
}

func TestMaxMinRaisesTheMinimum(t *testing.T) {
	last := time.Duration(0)
	for _, alpha := range []float64{1, 4} {
		got := smallest(endless(t, AlphaFair{Alpha: alpha}))
		if got <= last {
			t.Errorf("alpha %v: the least has %v, with less alpha %v", alpha, got, last)
		}
		last = got
	}
}

func TestPoliciesReachTheirGoals(t *testing.T) {
	finish := func(p Policy) (mean, last float64) {
		for _, round := range newCorpus().run(t, p, 400) {
			if round == 0 {
				t.Fatalf("%T: a task never ends", p)
			}
			mean += float64(round) / 6
			last = max(last, float64(round))
		}
		return mean, last
	}
	shortMean, shortLast := finish(ShortestFirst{})
	fifoMean, _ := finish(FIFOFair{})
	longMean, longLast := finish(Makespan{})
	t.Logf("mean and last: shortest first %.1f %.0f, FIFO %.1f, makespan %.1f %.0f", shortMean, shortLast, fifoMean, longMean, longLast)
	if !(shortMean < fifoMean && shortMean < longMean) {
		t.Errorf("mean completion: shortest first %v, FIFO %v, longest first %v", shortMean, fifoMean, longMean)
	}
	if longLast > shortLast {
		t.Errorf("makespan: longest first %v, shortest first %v", longLast, shortLast)
	}
	for _, test := range []struct {
		policy Policy
		of     func(a *Account) float64
	}{
		{CostPerHour{}, func(a *Account) float64 { return a.Price }},
		{CostPerJoule{}, func(a *Account) float64 { return a.Power }},
	} {
		rate := func(p Policy) float64 {
			c := newCorpus()
			clear(c.total)
			c.run(t, p, 50)
			work, spent := 0.0, 0.0
			for i := range c.accounts {
				work += c.accounts[i].Attained.Hours()
				spent += c.accounts[i].Attained.Hours() * test.of(&c.accounts[i])
			}
			return spent / work
		}
		if got, plain := rate(test.policy), rate(flat{}); got >= plain {
			t.Errorf("%T: %v for an hour of work, by throughput %v", test.policy, got, plain)
		}
	}
}
