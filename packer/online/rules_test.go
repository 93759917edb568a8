package online

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestBestRule: of all rules the one decides under which the rest of the day is best, if it is enough better than under
// the plain one: by 2 %, and in nothing worse, while tasks come, and by .3 % once nobody does.
func TestBestRule(t *testing.T) {
	m := packtest.BenchModel(t, "random", 64)
	kinds := packtest.BenchProblem(m).Tasks
	var little, chosen [2]int // calm or not: another rule is better by .3 to 2 %, another decides
	for seed := range uint64(max(8, race.Fewer(120))) {
		rng := rand.New(rand.NewPCG(seed, 46))
		var cards []packer.GPU
		for i := range 2 + rng.IntN(3) {
			cards = append(cards, packer.GPU{ID: fmt.Sprint("g", i), Memory: 40 * profile.GiB})
		}
		s, err := NewScheduler(cards, m, packer.Limits{MaxSet: 2 + rng.IntN(3)}, &SchedulerOptions{Budget: profile.Some(1 << 40), Without: Moves | Detours})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Duration(0)
		if seed%4 < 2 { // which ends last, whatever the rule
			long := Job{Task: kinds[rng.IntN(len(kinds))], Left: profile.Some(30 * time.Hour)}
			long.ID, long.Alone = "long", true
			if err := s.Adopt(long, 0); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 4 + rng.IntN(12) {
			now += time.Duration(rng.IntN(10)) * time.Minute
			task := kinds[rng.IntN(len(kinds))]
			task.ID, task.Memory = fmt.Sprint("t", n), profile.Bytes(1+rng.IntN(25))*profile.GiB
			if err := s.Submit(Job{Task: task, Left: profile.Some(time.Duration(1+rng.IntN(300)) * time.Minute), Came: profile.Some(now)}); err != nil {
				t.Fatal(err)
			}
		}
		calm := int(seed % 2)
		now += time.Duration(calm) * 10 * time.Hour
		if err := s.Advance(now); err != nil {
			t.Fatal(err)
		}
		s.fillEngine()
		s.rule = plain
		base := s.engine.Play(s.chosen())
		costs, best := make([]float64, len(s.rules)), math.Inf(1)
		cost, last := base.Cost, base.Last
		for i := range s.rules {
			o := s.engine.Play(&s.rules[i])
			costs[i] = 0.6*(o.Cost+1)/(cost+1) + 0.4*float64(o.Last+1)/float64(last+1)
			if s.rules[i].Stop || o.Void || calm == 0 && (o.Cost > cost || o.Last > last) {
				costs[i] = math.Inf(1)
			}
			best = min(best, costs[i])
		}
		if best < 1-0.003 && best > 1-0.02 {
			little[calm]++
		}
		enough := best < 1-[]float64{0.02, 0.003}[calm]
		if _, err := s.Decide(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if enough {
			chosen[calm]++
		}
		if enough != (s.rule != plain) || enough && costs[s.rule] > best+1e-7 {
			t.Fatalf("seed %d, calm %d: rule %d decides, the best makes %v of the plain one's day: %v", seed, calm, s.rule, best, costs)
		}
	}
	t.Logf("calm or not: better by little %v, chosen %v", little, chosen)
	if !race.Enabled && (min(little[0], little[1]) == 0 || min(chosen[0], chosen[1]) == 0) {
		t.Errorf("calm or not: better by little %v, chosen %v", little, chosen)
	}
}
