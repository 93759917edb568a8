package solve

import (
	"errors"
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestPacesAgainstBruteForce: with paces, residents, homes, gangs and copies no
// method beats the best plan, no bound is below it, and those that search well
// mostly find it.
func TestPacesAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	rounds := race.Fewer(300)
	matched, generated := 0, 0
	for n := range rounds {
		o := packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 3, Residents: 2, MaxSet: 2, Homes: n%3 == 1, Gangs: n%3 == 2}
		if o.Gangs {
			o.Tasks, o.GPUs = 5, 7
		}
		p := packtest.Draw(rng, o)
		if n%6 == 0 {
			p = packtest.Repeated(rng, p, 2)
			p.Tasks = p.Tasks[:min(len(p.Tasks), 7)]
		}
		p = packtest.Paced(rng, p)
		twin := packtest.SlowBest
		if o.Gangs {
			twin = packtest.SlowGangs
		}
		best := twin(p)
		for _, m := range methods {
			s := packtest.Solve(t, m, p)
			got := packtest.Units(p, s.Throughput)
			if got > best || !math.IsInf(s.Bound, 1) && packtest.Units(p, s.Bound) < best {
				t.Fatalf("round %d, %T: %d of %d units, bound %v", n, m, got, best, s.Bound)
			}
			if m == (Matching{}) && got == best {
				matched++
			}
		}
		p.Limits.MaxSet = 3
		best = twin(p)
		s := packtest.Solve(t, ColumnGen{}, p)
		if got := packtest.Units(p, s.Throughput); got > best || !math.IsInf(s.Bound, 1) && packtest.Units(p, s.Bound) < best {
			t.Fatalf("round %d, column generation: %d of %d units, bound %v", n, got, best, s.Bound)
		} else if got == best {
			generated++
		}
	}
	t.Logf("of %d: matching optimal in %d, column generation in %d", rounds, matched, generated)
	if matched < rounds*95/100 || generated < rounds*95/100 {
		t.Errorf("of %d: matching optimal in %d, column generation in %d", rounds, matched, generated)
	}
}

// TestTheHigherPaceWins: one task and any two empty GPUs, whatever their order and
// memory. Equal paces go to less memory, then to the ID.
func TestTheHigherPaceWins(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	for range race.Fewer(300) {
		paces := []float64{math.Pow(100, -rng.Float64()), math.Pow(100, -rng.Float64())}
		if rng.IntN(4) == 0 {
			paces[1] = paces[0]
		}
		p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Tasks: []packer.Task{{ID: "t", Weight: math.Pow(10, 9-18*rng.Float64())}}}
		table := packtest.PaceTable{}
		for g, pace := range paces {
			p.GPUs = append(p.GPUs, packer.GPU{ID: fmt.Sprint("g", g), Memory: profile.Bytes(1+rng.IntN(2)) * profile.GiB, Labels: []string{strconv.Itoa(g)}})
			table[strconv.Itoa(g)] = pace
		}
		p.Model = table
		want := 0
		if a, b := paces[0], paces[1]; b > a || b == a && p.GPUs[1].Memory < p.GPUs[0].Memory {
			want = 1
		}
		if rng.IntN(2) == 0 {
			slices.Reverse(p.GPUs)
			want = 1 - want
		}
		for _, m := range methods {
			if _, ok := m.(LocalSearch); ok && paces[0] == paces[1] {
				continue // it breaks ties at random
			}
			if s := packtest.Solve(t, m, p); len(s.Sets) != 1 || s.Sets[0].GPU != want || s.Sets[0].Speeds[0] != 1 {
				t.Fatalf("%T: paces %v, GPUs %+v: %+v, want GPU %d at speed 1", m, paces, p.GPUs, s.Sets, want)
			}
		}
	}
}

// TestPaceIsNoSpeed: a limit on speed binds company, not the pace, and MinGain
// compares what one GPU does.
func TestPaceIsNoSpeed(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.PaceTable{"slow": 0.01, "pair": 0.6}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB, Labels: []string{"slow"}}}}
	p.Tasks = []packer.Task{{ID: "a", MinSpeed: 0.5}, {ID: "b", MinSpeed: 0.5}}
	p.Limits.MinGain = 0.15
	for _, m := range methods {
		s := packtest.Solve(t, m, p)
		if len(s.Sets) != 1 || len(s.Sets[0].Tasks) != 2 || s.Sets[0].Speeds[0] != 0.6 || math.Abs(s.Throughput-0.012) > 1e-6 {
			t.Errorf("%T: %+v, throughput %v, want both at speed 0.6, worth 0.012", m, s.Sets, s.Throughput)
		}
	}
	p.Limits.MinGain = 0.25
	for _, m := range methods {
		s := packtest.Solve(t, m, p)
		if len(s.Sets) != 1 || len(s.Sets[0].Tasks) != 1 || s.Reasons[0].Code != packer.NoGain || math.Abs(s.Reasons[0].Apart-0.01) > 1e-6 {
			t.Errorf("%T: %+v, %+v, want one alone for lack of gain over 0.01", m, s.Sets, s.Reasons)
		}
	}
}

// TestPaceRefused names the task, the GPU and the number.
func TestPaceRefused(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 1e4, 1e-4} {
		p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.PaceTable{"bad": bad}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB, Labels: []string{"bad"}}}}
		p.Tasks = []packer.Task{{ID: "t"}}
		for _, m := range methods {
			_, err := m.Pack(t.Context(), p)
			var e *packer.PaceError
			if !errors.As(err, &e) || e.Task != "t" || e.GPU != "h" || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
				t.Errorf("%T: pace %v: error %v", m, bad, err)
			}
		}
		sol := &packer.Solution{Sets: []packer.Set{{GPU: 1, Tasks: []int{0}, Speeds: []float64{1}, Value: 1}}, Throughput: 1, Bound: 1}
		if err := p.Check(sol); !errors.As(err, new(*packer.PaceError)) {
			t.Errorf("Check: pace %v: error %v", bad, err)
		}
	}
}

// TestPaceOfHomes: leaving home costs MoveCost of what the task does there.
func TestPaceOfHomes(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.PaceTable{"slow": 0.5, "fast": 0.7}, GPUs: []packer.GPU{
		{ID: "g", Memory: profile.GiB, Labels: []string{"slow"}}, {ID: "h", Memory: profile.GiB, Labels: []string{"fast"}},
	}}
	for _, test := range []struct {
		cost float64
		want int
	}{{0.3, 1}, {0.5, 0}} { // 0.5 + cost · 0.5 against 0.7
		p.Tasks = []packer.Task{{ID: "t", Home: "g", MoveCost: test.cost}}
		for _, m := range methods {
			if s := packtest.Solve(t, m, p); s.Sets[0].GPU != test.want {
				t.Errorf("%T: MoveCost %v: %+v, want GPU %d", m, test.cost, s.Sets, test.want)
			}
		}
	}
}

// TestPaceOfOne changes nothing: the same plan, to the byte, as without paces.
func TestPaceOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	for range race.Fewer(60) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 5, Kinds: 3, Residents: 3, MaxSet: 2, Homes: true})
		q := *p
		q.Model = struct {
			packer.Model
			onePace
		}{Model: p.Model}
		for _, m := range methods {
			if a, b := byName(p, packtest.Solve(t, m, p)), byName(&q, packtest.Solve(t, m, &q)); !slices.Equal(a, b) {
				t.Fatalf("%T: %v with paces of 1, %v without", m, b, a)
			}
		}
	}
}

type onePace struct{}

func (onePace) Pace(*packer.Task, *packer.GPU) float64 { return 1 }
