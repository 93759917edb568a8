package mig_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// slowBestShared tries every instance for every task on every layout; -1 if
// there is no way.
func slowBestShared(tb testing.TB, table *mig.Table, running mig.Layout, tasks int, value func(uint, int) float64) float64 {
	tb.Helper()
	layouts, err := table.Reachable(running)
	if err != nil {
		tb.Fatal(err)
	}
	best := -1.0
	for _, l := range layouts {
		var free []mig.Placement
		for _, p := range l {
			taken := false
			for _, r := range running {
				taken = taken || r == p
			}
			if !taken {
				free = append(free, p)
			}
		}
		members := make([]uint, len(free))
		var place func(i int)
		place = func(i int) {
			if i < tasks {
				for n := range free {
					members[n] |= 1 << i
					place(i + 1)
					members[n] &^= 1 << i
				}
				return
			}
			sum := 0.0
			for n, m := range members {
				if m == 0 {
					continue
				}
				v := value(m, free[n].Profile)
				if v == 0 {
					return
				}
				sum += v
			}
			best = max(best, sum)
		}
		place(0)
	}
	return best
}

func TestBestSharedAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	gpu := lookup(t, "A30", false)
	table, err := mig.New(gpu)
	if err != nil {
		t.Fatal(err)
	}
	layouts := table.Layouts()
	refused := 0
	for range 200 {
		running := layouts[rng.IntN(len(layouts))]
		tasks := rng.IntN(5)
		known := map[string]float64{}
		value := func(members uint, p int) float64 {
			key := fmt.Sprint(members, p)
			if _, ok := known[key]; !ok {
				known[key] = max(0, 2*rng.Float64()-0.5)
			}
			return known[key]
		}
		got, ok, err := table.BestShared(running, tasks, value)
		if err != nil {
			t.Fatal(err)
		}
		want := slowBestShared(t, table, running, tasks, value)
		if ok != (want >= 0) || ok && !(math.Abs(got.Value-want) <= 1e-12) {
			t.Fatalf("running %v, %d tasks: got %v, %v, want %v", running, tasks, got, ok, want)
		}
		if !ok {
			refused++
			continue
		}
		if err := table.Check(got.Layout); err != nil {
			t.Fatal(err)
		}
		members := make([]uint, len(got.Layout))
		for i, n := range got.Instance {
			members[n] |= 1 << i
		}
		sum := 0.0
		for n, m := range members {
			if m > 0 {
				sum += value(m, got.Layout[n].Profile)
			}
		}
		if !(math.Abs(sum-got.Value) <= 1e-12) {
			t.Fatalf("assignment %v is worth %v, not %v", got, sum, got.Value)
		}
	}
	if refused == 0 || refused == 200 {
		t.Errorf("%d of 200 cases have no answer: the test sees one side only", refused)
	}
}

func TestBestSharedRefuses(t *testing.T) {
	table, err := mig.New(lookup(t, "A30", false))
	if err != nil {
		t.Fatal(err)
	}
	one := func(uint, int) float64 { return 1 }
	if _, _, err := table.BestShared(nil, 9, one); err == nil {
		t.Error("nine tasks are accepted")
	}
	if _, _, err := table.BestShared(nil, -1, one); err == nil {
		t.Error("a negative number of tasks is accepted")
	}
	if _, _, err := table.BestShared(nil, 2, func(uint, int) float64 { return math.NaN() }); err == nil {
		t.Error("a value that is no number is accepted")
	}
	if _, _, err := table.BestShared(mig.Layout{{Profile: 99}}, 1, one); err == nil {
		t.Error("an unknown running instance is accepted")
	}
}

// Three light tasks share the smallest instance of an A30 by MPS, so that the
// fourth can have a larger one.
func ExampleTable_BestShared() {
	gpu, _ := profile.LookupGPU("A30")
	table, err := mig.New(&gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	demand := []float64{0.3, 0.3, 0.4, 2} // compute slices that each would fill
	value := func(members uint, p int) float64 {
		want, n := 0.0, 0.0
		for i, d := range demand {
			if members>>i&1 == 1 {
				want, n = want+d, n+1
			}
		}
		return n * min(1, float64(gpu.MIG[p].Compute)/want) // slices divided in proportion
	}
	best, _, err := table.BestShared(nil, len(demand), value)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range best.Instance {
		fmt.Printf("task %d on %s\n", i, gpu.MIG[best.Layout[n].Profile].Name)
	}
	fmt.Printf("%.2f tasks' worth of work\n", best.Value)
	// Output:
	// task 0 on 1g.6gb
	// task 1 on 1g.6gb
	// task 2 on 1g.6gb
	// task 3 on 2g.12gb
	// 4.00 tasks' worth of work
}
