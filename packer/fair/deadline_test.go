package fair

import (
	"context"
	"fmt"
	"math"
	rand "math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// TestEarliestDeadlineMeetsWhatCanBeMet: on one GPU that nobody shares it meets all
// deadlines whenever for each of them the work that is due by then fits before it,
// which no order of rounds can do without; tasks without a deadline wait.
func TestEarliestDeadlineMeetsWhatCanBeMet(t *testing.T) {
	const problems = 60
	rng := rand.New(rand.NewPCG(71, 72))
	met, firstComeLate := 0, 0
	for range problems {
		var accounts []Account
		for range 2 + rng.IntN(5) {
			accounts = append(accounts, Account{
				Age: time.Duration(rng.IntN(100)) * time.Hour, Remaining: profile.Some(time.Duration(1+rng.IntN(4)) * roundLength),
				Deadline: profile.Some(time.Duration(1+rng.IntN(18)) * roundLength),
			})
		}
		accounts = append(accounts, Account{Age: 1000 * time.Hour, Remaining: profile.Some(time.Hour)})
		if !canBeMet(accounts) {
			continue
		}
		met++
		for _, alpha := range []float64{0, 0.3, 300} {
			if late := missed(t, EarliestDeadline{Alpha: alpha}, accounts); late > 0 {
				t.Errorf("alpha %v: %d late, and all can be met: %+v", alpha, late, accounts)
			}
		}
		firstComeLate += missed(t, FIFOFair{}, accounts)
	}
	if met < problems/5 || firstComeLate == 0 {
		t.Errorf("%d problems of %d can be met, %d late by first come first served: too easy or too hard to tell", met, problems, firstComeLate)
	}
}

// canBeMet is the definition: all work that is due by a deadline fits before it.
func canBeMet(accounts []Account) bool {
	for _, a := range accounts {
		due, has := a.Deadline.Get()
		work := time.Duration(0)
		for _, b := range accounts {
			if other, too := b.Deadline.Get(); too && other <= due {
				work += b.Remaining.Or(0)
			}
		}
		if has && work > due {
			return false
		}
	}
	return true
}

// missed plays rounds on one GPU and counts the tasks that are not done when due.
func missed(t *testing.T, policy Policy, given []Account) int {
	t.Helper()
	late := 0
	accounts := append([]Account(nil), given...)
	for len(accounts) > 0 {
		p := &packer.Problem{Model: packtest.Duo{}, Limits: packer.Limits{MaxSet: 1}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}}
		for i, w := range Weights(policy, accounts) {
			p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), Weight: w})
		}
		s, err := solve.Matching{}.Pack(context.Background(), p)
		if err != nil || len(s.Sets) != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		ran := s.Sets[0].Tasks[0]
		var rest []Account
		for i, a := range accounts {
			a.Age += roundLength
			if i == ran {
				a.Attained, a.Remaining = a.Attained+roundLength, profile.Some(a.Remaining.Or(0)-roundLength)
			}
			if due, has := a.Deadline.Get(); has {
				a.Deadline = profile.Some(due - roundLength)
			}
			switch {
			case a.Late():
				late++
			case a.Remaining.Or(0) > 0:
				rest = append(rest, a)
			}
		}
		accounts = rest
	}
	return late
}

// TestEarliestDeadlineWeighs: the formula, its ends, and what is late.
func TestEarliestDeadlineWeighs(t *testing.T) {
	some := profile.Some[time.Duration]
	const h = time.Hour
	for _, tt := range []struct {
		name string
		a    Account
		want float64 // with Alpha 2 and a horizon of 100 hours
		late bool
	}{
		{"due in ten hours", Account{Deadline: some(10 * h), Remaining: some(h)}, 100, false},
		{"counts three times", Account{Weight: 3, Deadline: some(10 * h), Remaining: some(h)}, 300, false},
		{"not due", Account{Remaining: some(h)}, 1, false},
		{"beyond the horizon", Account{Deadline: some(500 * h), Remaining: some(h)}, 1, false},
		{"due now, just so", Account{Deadline: some(h), Remaining: some(h)}, 1e4, false},
		{"late by a second", Account{Deadline: some(h), Remaining: some(h + time.Second)}, 1, true},
		{"length unknown", Account{Deadline: some(h), Attained: 9 * h}, 1e4, false},
		{"length unknown, and passed", Account{Deadline: some(-h)}, 1, true},
		{"done", Account{Deadline: some(-h), Remaining: some(0)}, 360000 * 360000, false},
		{"no work left by a wrong prediction", Account{Deadline: some(h), Remaining: some(math.MinInt64)}, 1e4, false},
		{"for ever", Account{Deadline: some(math.MinInt64), Remaining: some(math.MaxInt64)}, 1, true},
	} {
		policy := EarliestDeadline{Alpha: 2, Horizon: 100 * h}
		if got := policy.Weigh(&tt.a); !(math.Abs(got/tt.want-1) <= 1e-12) || tt.a.Late() != tt.late {
			t.Errorf("%s: weight %v, late %v; want %v, %v", tt.name, got, tt.a.Late(), tt.want, tt.late)
		}
		if got := math.Exp(policy.LogWeigh(&tt.a)); !(math.Abs(got/tt.want-1) <= 1e-9) {
			t.Errorf("%s: the logarithm is that of %v, want %v", tt.name, got, tt.want)
		}
	}
}
