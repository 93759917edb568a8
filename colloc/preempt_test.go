package colloc_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// outcome is what a way to make room is judged by.
type outcome struct {
	found   bool
	some    int // whether anybody goes
	class   int
	net     float64
	victims int
}

// beats orders outcomes as Preempt says.
func (a outcome) beats(b outcome) bool {
	switch {
	case !b.found:
		return true
	case a.some != b.some:
		return a.some < b.some
	case a.class != b.class:
		return a.class < b.class
	case math.Abs(a.net-b.net) > 1e-5:
		return a.net > b.net
	}
	return a.victims < b.victims
}

// slowDoing is what each resident of a GPU does now and at speed 1, by Judge.
func slowDoing(t *testing.T, p *colloc.Planner, g colloc.GPU) (now, worth map[string]float64) {
	t.Helper()
	now, worth = map[string]float64{}, map[string]float64{}
	if len(g.Residents) == 0 {
		return now, worth
	}
	rest := g
	rest.Residents = g.Residents[:len(g.Residents)-1]
	judged, err := p.Judge(g.Residents[len(rest.Residents)], rest)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range judged.Members {
		w := g.Residents[i].Weight
		now[m.Task], worth[m.Task] = w*m.Pace.Value*m.Speed.Value, w*m.Pace.Value
	}
	return now, worth
}

// slowPreempt tries every choice of cards and of residents on them.
func slowPreempt(t *testing.T, p *colloc.Planner, task colloc.Task, gpus []colloc.GPU) outcome {
	t.Helper()
	var best outcome
	for cards := range 1 << len(gpus) {
		var some []colloc.GPU
		for i := range gpus {
			if cards>>i&1 == 1 {
				some = append(some, gpus[i])
			}
		}
		if len(some) != task.Width() || slices.ContainsFunc(some, func(g colloc.GPU) bool { return g.Model.Name != some[0].Model.Name }) {
			continue
		}
		var all []colloc.Task
		for _, g := range some {
			all = append(all, g.Residents...)
		}
		for set := range 1 << len(all) {
			gone := map[string]bool{}
			for i := range all {
				if set>>i&1 == 1 {
					gone[all[i].ID] = true
				}
			}
			if o := slowWay(t, p, task, some, gone); o.found && o.beats(best) {
				best = o
			}
		}
	}
	return best
}

// slowWay is the outcome if some residents go.
func slowWay(t *testing.T, p *colloc.Planner, task colloc.Task, some []colloc.GPU, gone map[string]bool) outcome {
	t.Helper()
	o := outcome{found: true, class: math.MinInt}
	counted := map[string]bool{}
	for i, g := range some {
		now, worth := slowDoing(t, p, g)
		left := g
		left.Residents = nil
		stays := 0.0
		for _, r := range g.Residents {
			if !gone[r.ID] {
				left.Residents = append(left.Residents, r)
				stays += now[r.ID]
				continue
			}
			if r.Foreign || r.Priority >= task.Priority {
				return outcome{}
			}
			if !counted[r.ID] {
				counted[r.ID], o.some = true, 1
				o.victims++
				o.class = max(o.class, r.Priority)
				o.net -= now[r.ID] + r.MoveCost*worth[r.ID]
			}
		}
		v, err := p.Fit(task, left)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Fits || task.Width() > 1 && len(left.Residents) > 0 {
			return outcome{}
		}
		if i == 0 {
			o.net += v.Throughput - stays
			if task.Home == g.ID {
				o.net += task.MoveCost * task.Weight * v.Pace.Value
			}
		}
	}
	if o.some == 0 {
		o.class = 0
	}
	return o
}

// drawEviction makes up to 3 cards with up to 6 residents, and a task.
func drawEviction(t *testing.T, rng *rand.Rand, pool []colloc.Task) (colloc.Task, []colloc.GPU) {
	t.Helper()
	n := 0
	draw := func() colloc.Task {
		task := pool[rng.IntN(len(pool))]
		task.ID = fmt.Sprint("t", n)
		n++
		task.Reserved = profile.Bytes(1+rng.IntN(12)) * profile.GiB
		task.Weight, task.Priority = float64(1+rng.IntN(3)), rng.IntN(4)-1
		task.MoveCost = float64(rng.IntN(3)) / 4
		task.Foreign = rng.IntN(10) == 0
		if rng.IntN(3) == 0 {
			task = tenant(task, []string{"red", "blue"}[rng.IntN(2)])
		}
		return task
	}
	var gpus []colloc.GPU
	for g := range 1 + rng.IntN(3) {
		gpu := card(t, fmt.Sprint("g", g))
		if rng.IntN(4) == 0 {
			gpu.Model = gpuModel(t, "V100")
		}
		for range rng.IntN(3) {
			gpu.Residents = append(gpu.Residents, draw())
		}
		gpus = append(gpus, gpu)
	}
	task := draw()
	task.Foreign = false
	task.Priority++
	if rng.IntN(3) == 0 {
		task.GPUs = 2
		if len(gpus) > 1 && rng.IntN(2) == 0 { // a gang that runs on two cards
			gang := draw()
			gang.GPUs, gang.Reserved, gang.Foreign = 2, profile.GiB, false
			gpus[0].Residents, gpus[1].Residents = []colloc.Task{gang}, []colloc.Task{gang}
		}
	} else {
		task.Home = gpus[rng.IntN(len(gpus))].ID
	}
	return task, gpus
}

// TestPreemptAgainstExhaustive: on random problems of at most 7 tasks nobody finds a
// better way to make room, and the answer is one that works.
func TestPreemptAgainstExhaustive(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 3})
	pool := crowd(t, 8)
	rng := rand.New(rand.NewPCG(31, 32))
	kinds := map[string]int{}
	rounds := 300
	if testing.Short() || raceEnabled {
		rounds = 80
	}
	for round := range rounds {
		task, gpus := drawEviction(t, rng, pool)
		want := slowPreempt(t, p, task, gpus)
		if on, _, err := p.BestGang(task, gpus); err != nil {
			t.Fatal(err)
		} else if task.Width() > 1 && len(on) > 0 && (!want.found || want.some > 0) { // it joins others
			got, err := p.Preempt(task, gpus)
			if err != nil || len(got.Victims) > 0 || len(got.GPUs) != len(on) || got.GPUs[0] != gpus[on[0]].ID || !got.Verdict.Fits || !got.Exact {
				t.Fatalf("round %d: %+v, %v, want no victims on %v", round, got, err, on)
			}
			kinds["gang joins"]++
			continue
		}
		got, err := p.Preempt(task, gpus)
		if err != nil {
			t.Fatal(err)
		}
		if (len(got.GPUs) > 0) != want.found || !got.Exact {
			t.Fatalf("round %d: %+v, want %+v", round, got, want)
		}
		if !want.found {
			kinds["none"]++
			if got.Verdict.Fits || got.Verdict.Code == 0 {
				t.Fatalf("round %d: no way, and %v", round, got.Verdict)
			}
			continue
		}
		is := outcome{true, min(1, len(got.Victims)), got.Class, got.Gain - got.Loss, len(got.Victims)}
		if is.beats(want) || want.beats(is) {
			t.Fatalf("round %d: %+v is %+v, want %+v", round, got, is, want)
		}
		gone := map[string]bool{}
		for _, id := range got.Victims {
			gone[id] = true
		}
		var some []colloc.GPU
		for _, g := range gpus {
			if slices.Contains(got.GPUs, g.ID) {
				some = append(some, g)
			}
		}
		if works := slowWay(t, p, task, some, gone); !works.found || works.beats(is) || is.beats(works) || len(some) != task.Width() {
			t.Fatalf("round %d: %+v does not work: %+v", round, got, works)
		}
		kinds[fmt.Sprintf("gang %v, victims %d, worth %v", task.Width() > 1, len(got.Victims), len(got.GPUs) > 0 && got.Gain > got.Loss)]++
	}
	t.Log(kinds)
	for _, kind := range []string{"none", "gang joins", "gang false, victims 0, worth true", "gang false, victims 1, worth true", "gang false, victims 1, worth false"} {
		if kinds[kind] == 0 {
			t.Errorf("no problem of the kind %q", kind)
		}
	}
}

// TestPreemptManyResidents: beyond 12 that may go the answer works, and says that it may not
// be the best.
func TestPreemptManyResidents(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 15, MaxSlowdown: math.Inf(1)})
	gpu := card(t, "g")
	for i := range 14 {
		r := seen(t, "resident", 0.1, 0.05, profile.GiB)
		r.ID, r.Reserved = fmt.Sprint("r", i), profile.GiB
		gpu.Residents = append(gpu.Residents, r)
	}
	task := seen(t, "task", 0.1, 0.05, profile.GiB)
	task.Reserved, task.Priority = 10*profile.GiB, 1
	got, err := p.Preempt(task, []colloc.GPU{gpu})
	if err != nil || got.Exact || len(got.Victims) == 0 || len(got.Victims) == len(gpu.Residents) {
		t.Fatalf("%+v, %v", got, err)
	}
	for spared, fits := range []bool{true, false} { // all residents are alike: with one more it does not fit
		left := gpu
		left.Residents = gpu.Residents[:len(gpu.Residents)-len(got.Victims)+spared]
		if v, err := p.Fit(task, left); err != nil || v.Fits != fits {
			t.Errorf("with %d victims spared: %v, %v", spared, v, err)
		}
	}
	few := gpu
	few.Residents = gpu.Residents[:12]
	if got, err := p.Preempt(task, []colloc.GPU{few}); err != nil || !got.Exact {
		t.Errorf("of 12 residents: %+v, %v; want what is best", got, err)
	}
	if _, err := p.Preempt(colloc.Task{}, []colloc.GPU{gpu}); len(colloc.Faults(err)) == 0 {
		t.Errorf("a task without anything: %v", err)
	}
	if got, err := p.Preempt(task, nil); err != nil || len(got.GPUs) > 0 || got.Verdict != (colloc.Verdict{}) {
		t.Errorf("no GPUs: %+v, %v", got, err)
	}
	task.GPUs = 2
	if got, err := p.Preempt(task, []colloc.GPU{card(t, "a")}); err != nil || len(got.GPUs) > 0 || got.Verdict.Code != packer.TooFewGPUs {
		t.Errorf("a gang on too few: %+v, %v", got, err)
	}
}

// TestPreemptSparesTheDearest: of too many residents to try every choice the one of the
// highest class stays, of one class the one with the largest weight.
func TestPreemptSparesTheDearest(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 15, MaxSlowdown: math.Inf(1)})
	for _, dear := range []colloc.Task{{Priority: 1, Weight: 1}, {Weight: 5}} {
		gpu := card(t, "g")
		for i := range 14 {
			r := seen(t, fmt.Sprint("r", i), 0.1, 0.05, profile.GiB)
			r.Reserved, r.Weight = profile.GiB, 1
			gpu.Residents = append(gpu.Residents, r)
		}
		last := &gpu.Residents[13]
		last.Priority, last.Weight = dear.Priority, dear.Weight
		task := seen(t, "task", 0.1, 0.05, profile.GiB)
		task.Reserved, task.Priority = 20*profile.GiB, 2
		got, err := p.Preempt(task, []colloc.GPU{gpu})
		if err != nil || len(got.Victims) != 13 || slices.Contains(got.Victims, last.ID) {
			t.Errorf("class %d, weight %v: %q go, %v; want all but %s", dear.Priority, dear.Weight, got.Victims, err, last.ID)
		}
	}
}

// TestPreemptGangClass: the class of a card is that of the highest of its residents, whichever
// comes first, and a gang takes cards of a lower class, whatever is lost with them.
func TestPreemptGangClass(t *testing.T) {
	resident := func(id string, class int, weight float64) colloc.Task {
		r := seen(t, id, 0.2, 0.1, profile.GiB)
		r.Priority, r.Weight = class, weight
		return r
	}
	high, low := resident("high", 2, 0.1), resident("low", 0, 0.1)
	task := gang(t, "gang", 2)
	task.Alone = true
	task.Priority = 3
	for _, both := range [][]colloc.Task{{high, low}, {low, high}} {
		gpus := []colloc.GPU{card(t, "a", both...), card(t, "b", resident("x", 1, 10)), card(t, "c", resident("y", 1, 10))}
		if got, err := shared(t).Preempt(task, gpus); err != nil || !slices.Equal(got.GPUs, []string{"b", "c"}) || got.Class != 1 {
			t.Errorf("%s first: %+v, %v; want the cards of class 1", both[0].ID, got, err)
		}
	}
}
