package solve

import (
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestHeavierRunsWhereRoundingHidesIt: 500 and 1 both count one unit beside 10^9.
func TestHeavierRunsWhereRoundingHidesIt(t *testing.T) {
	for _, weights := range [][]float64{{1, 500, 1e9}, {500, 1, 1e9}, {1e9, 1e-9, 2e-9}, {1e9, 1e9 - 0.25, 1e9 - 0.5}} {
		p := &packer.Problem{Model: packtest.Even{1}, Limits: packer.Limits{MaxSet: 1}}
		for i, w := range weights {
			p.Tasks = append(p.Tasks, packer.Task{ID: string(rune('a' + i)), Weight: w})
		}
		for _, id := range []string{"g", "h"} {
			p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
		}
		for _, m := range methods {
			s := packtest.Solve(t, m, p)
			for _, r := range s.Reasons {
				if !r.Placed && weights[r.Task] != slices.Min(weights) {
					t.Errorf("%T: of %v the task of weight %v waits", m, weights, weights[r.Task])
				}
			}
		}
	}
}

// TestNoExchangeGains: over weights of 18 orders of magnitude, with residents, homes,
// gangs and paces, no waiting task can take the place of a running one of smaller
// weight, that counts less than 16 units or as much as it, so that the value stays the
// same and is higher before rounding.
func TestNoExchangeGains(t *testing.T) {
	tried := 0
	for n := range race.Fewer(300) {
		rng := rand.New(rand.NewPCG(101, uint64(n)))
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 12, GPUs: 5, Kinds: 3, Residents: 2, MaxSet: 2, Homes: n%4 == 1, Gangs: n%4 == 2})
		scatter(rng, p)
		if n%3 == 0 {
			p = packtest.Paced(rng, p)
		}
		for _, m := range methods {
			s := packtest.Solve(t, m, p)
			for _, r := range s.Reasons {
				if r.Placed {
					continue
				}
				for _, set := range s.Sets {
					for k := range set.Tasks {
						tried += gainless(t, p, m, &set, k, r.Task)
					}
				}
			}
		}
	}
	if tried < race.Fewer(300) {
		t.Errorf("%d exchanges tried", tried)
	}
}

// gainless, on a GPU with one mechanism, fails if task w in place of the k-th task of set is better. It returns 1 if
// the two could be told apart by their weights alone.
func gainless(t *testing.T, p *packer.Problem, m packer.Method, set *packer.Set, k, w int) int {
	t.Helper()
	gpu, in, out := &p.GPUs[set.GPU], &p.Tasks[w], &p.Tasks[set.Tasks[k]]
	unit := p.Unit()
	if len(gpu.Mechanisms) > 1 || in.EffectiveWeight() <= out.EffectiveWeight() || in.Width() != out.Width() || out.EffectiveWeight()*packtest.PaceOf(p, out, gpu)/unit >= 16 {
		return 0
	}
	for i := range gpu.Residents {
		if gpu.Residents[i].Width() != in.Width() {
			return 0
		}
	}
	value := func(swap bool) (int64, []float64, bool) {
		var tasks []*packer.Task
		for i := range gpu.Residents {
			tasks = append(tasks, &gpu.Residents[i])
		}
		for n, i := range set.Tasks {
			if swap && n == k {
				i = w
			}
			tasks = append(tasks, &p.Tasks[i])
		}
		mech := set.Mechanism
		if len(tasks) == 1 {
			mech = profile.Exclusive
		}
		units, ok := packtest.SlowValue(p, gpu, tasks)
		parts := make([]float64, len(tasks))
		if err := p.Model.Speeds(tasks, gpu, mech, parts); err != nil {
			t.Fatal(err)
		}
		for n, task := range tasks {
			parts[n] *= task.EffectiveWeight() * packtest.PaceOf(p, task, gpu)
			if task.Home == gpu.ID && task.MoveCost > 0 {
				stay := max(1, int64(task.EffectiveWeight()*packtest.PaceOf(p, task, gpu)*task.MoveCost/unit+0.5))
				units += stay
				parts[n] += float64(stay) * unit
			}
		}
		return units, parts, ok
	}
	was, parts, _ := value(false)
	is, others, ok := value(true)
	gain := 0.0
	for n := range parts {
		gain += others[n] - parts[n]
	}
	if ok && was == is && gain > 1e-9*(parts[len(gpu.Residents)+k]+others[len(gpu.Residents)+k]) {
		t.Fatalf("%T: %q of weight %v waits and could take the place of %q of %v on %q: %d units both, %v more", m, in.ID, in.Weight, out.ID, out.Weight, gpu.ID, was, gain)
	}
	return 1
}
