package mig_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// lookup returns a GPU, without its double-memory profile if base.
func lookup(tb testing.TB, name string, base bool) *profile.GPUModel {
	tb.Helper()
	gpu, ok := profile.LookupGPU(name)
	if !ok {
		tb.Fatalf("no GPU %q", name)
	}
	if base {
		gpu.MIG = slices.DeleteFunc(gpu.MIG, func(p profile.MIGProfile) bool { return p.Compute == 1 && p.Size == 2 })
	}
	return &gpu
}

// TestCounts checks the numbers that the placement table implies.
func TestCounts(t *testing.T) {
	for _, test := range []struct {
		gpu                        string
		base                       bool
		layouts, multisets, maxima int
	}{
		{"A100-40GB", true, 297, 37, 19},
		{"H100", true, 297, 37, 19},
		{"A30", false, 0, 9, 5},
		{"A100-40GB", false, 0, 77, 78},
	} {
		t.Run(fmt.Sprint(test.gpu, test.base), func(t *testing.T) {
			table, err := mig.New(lookup(t, test.gpu, test.base))
			if err != nil {
				t.Fatal(err)
			}
			multisets := map[string]bool{}
			layouts := table.Layouts()
			if len(layouts[0]) != 0 {
				t.Error("the first layout is not the empty one")
			}
			for _, l := range layouts[1:] {
				if err := table.Check(l); err != nil {
					t.Fatal(err)
				}
				kinds := make([]int, len(l))
				for i, p := range l {
					kinds[i] = p.Profile
				}
				slices.Sort(kinds)
				multisets[fmt.Sprint(kinds)] = true
			}
			if got := len(layouts) - 1; test.layouts > 0 && got != test.layouts {
				t.Errorf("%d layouts, want %d", got, test.layouts)
			}
			if got := len(multisets); got != test.multisets {
				t.Errorf("%d multisets, want %d", got, test.multisets)
			}
			if got := len(table.Maximal()); got != test.maxima {
				t.Errorf("%d maximal layouts, want %d", got, test.maxima)
			}
		})
	}
}

// slowBest tries every layout and every way to hand out its instances.
func slowBest(table *mig.Table, running mig.Layout, speed [][]float64) float64 {
	best := -1.0
	reachable, err := table.Reachable(running)
	if err != nil {
		return best
	}
	for _, l := range reachable {
		var try func(i, used int, value float64)
		try = func(i, used int, value float64) {
			if i == len(speed) {
				best = max(best, value)
				return
			}
			for n, p := range l {
				if used>>n&1 == 0 && !slices.Contains(running, p) && speed[i][p.Profile] > 0 {
					try(i+1, used|1<<n, value+speed[i][p.Profile])
				}
			}
		}
		try(0, 0, 0)
	}
	return best
}

func TestBestAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	gpu := lookup(t, "A100-40GB", false)
	table, err := mig.New(gpu)
	if err != nil {
		t.Fatal(err)
	}
	layouts := table.Layouts()
	for range 60 {
		var running mig.Layout
		if l := layouts[rng.IntN(len(layouts))]; len(l) < 3 {
			running = l
		}
		speed := make([][]float64, rng.IntN(4))
		for i := range speed {
			speed[i] = make([]float64, len(gpu.MIG))
			smallest := rng.IntN(len(gpu.MIG))
			for p := smallest; p < len(gpu.MIG); p++ {
				speed[i][p] = rng.Float64()
			}
		}
		got, ok, err := table.Best(running, speed)
		if err != nil {
			t.Fatal(err)
		}
		want := slowBest(table, running, speed)
		if ok != (want >= 0) || ok && !(math.Abs(got.Value-want) <= 1e-12) {
			t.Fatalf("running %v, speeds %v: got %v, %v, want %v", running, speed, got, ok, want)
		}
		if !ok {
			continue
		}
		if err := table.Check(got.Layout); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, n := range got.Instance {
			sum += speed[i][got.Layout[n].Profile]
		}
		if !(math.Abs(sum-got.Value) <= 1e-12) || len(got.Layout) != len(running)+len(speed) {
			t.Fatalf("assignment %v is worth %v, not %v", got, sum, got.Value)
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := mig.New(nil); err == nil {
		t.Error("a nil GPU has layouts")
	}
	if _, err := mig.New(lookup(t, "V100", false)); err == nil {
		t.Error("a V100 has layouts")
	}
	if _, err := mig.New(&profile.GPUModel{MIG: []profile.MIGProfile{{Size: 3, Starts: []int{-1}}}}); err == nil {
		t.Error("a negative start is accepted")
	}
	if _, err := mig.New(&profile.GPUModel{MIG: []profile.MIGProfile{{Size: 1 << 30, Starts: []int{0}}}}); err == nil {
		t.Error("a huge instance is accepted")
	}
	table, err := mig.New(lookup(t, "A100-40GB", false))
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]mig.Layout{
		"unknown profile": {{Profile: 9}},
		"one too far":     {{Profile: len(lookup(t, "A100-40GB", false).MIG)}},
		"negative":        {{Profile: -1}},
		"start":           {{Profile: 4, Start: 1}},
		"overlap":         {{Profile: 4, Start: 0}, {Profile: 0, Start: 2}},
		"order":           {{Profile: 0, Start: 2}, {Profile: 0, Start: 1}},
	} {
		if table.Check(l) == nil {
			t.Errorf("%s: %v is accepted", name, l)
		}
		if _, err := table.Reachable(l); err == nil {
			t.Errorf("%s: %v is running", name, l)
		}
		if _, _, err := table.Best(l, nil); err == nil {
			t.Errorf("%s: %v is running", name, l)
		}
	}
	for name, speed := range map[string][][]float64{
		"too many": make([][]float64, 9),
		"short":    {{1}},
		"NaN":      {{1, 1, 1, 1, 1, math.NaN()}},
		"negative": {{1, 1, 1, 1, 1, -1}},
		"infinite": {{1, 1, 1, 1, 1, math.Inf(1)}},
	} {
		if _, _, err := table.Best(nil, speed); err == nil {
			t.Errorf("%s: speeds are accepted", name)
		}
	}
}

// TestEdges: what is just allowed is.
func TestEdges(t *testing.T) {
	gpu := &profile.GPUModel{MIG: []profile.MIGProfile{
		{Name: "rare", Size: 1, Starts: []int{0, 1, 2}, Max: 1},
		{Name: "half", Size: 2, Starts: []int{0, 2}},
	}}
	table, err := mig.New(gpu)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table.Layouts() {
		if n := len(slices.DeleteFunc(slices.Clone(l), func(p mig.Placement) bool { return p.Profile != 0 })); n > 1 {
			t.Errorf("layout %v has %d instances of a profile that may be there once", l, n)
		}
	}
	if table.Check(mig.Layout{{Start: 0}, {Start: 1}}) == nil {
		t.Error("two instances of a profile that may be there once are a layout")
	}
	full := mig.Layout{{Profile: 1, Start: 0}, {Profile: 1, Start: 2}}
	if best, ok, err := table.Best(full, nil); err != nil || !ok || best.Value != 0 || !slices.Equal(best.Layout, full) {
		t.Errorf("nobody new on a full GPU: %+v, %v, %v; want what runs", best, ok, err)
	}
	eight := slices.Repeat([][]float64{{1, 1}}, 8)
	if _, ok, err := table.Best(nil, eight); err != nil || ok {
		t.Errorf("eight tasks for a GPU with room for two: %v, %v; want that it cannot be, and no error", ok, err)
	}
}

func ExampleTable_Best() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	table, err := mig.New(&gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Speeds on 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb and 7g.40gb: the
	// first task needs 20 GB, the others are content with little.
	best, ok, err := table.Best(nil, [][]float64{
		{0, 0, 0, 0.7, 0.8, 1},
		{0.4, 0.4, 0.7, 0.9, 0.95, 1},
		{0.9, 0.9, 0.95, 1, 1, 1},
	})
	if err != nil || !ok {
		fmt.Println(ok, err)
		return
	}
	for i, n := range best.Instance {
		p := best.Layout[n]
		fmt.Printf("task %d: %s at slice %d\n", i, gpu.MIG[p.Profile].Name, p.Start)
	}
	fmt.Printf("%.2f\n", best.Value)
	// Output:
	// task 0: 4g.20gb at slice 0
	// task 1: 2g.10gb at slice 4
	// task 2: 1g.5gb at slice 6
	// 2.40
}

func ExampleTable_Reachable() {
	gpu, _ := profile.LookupGPU("A30")
	table, err := mig.New(&gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	// One small instance runs at slice 2: the large one is out of reach.
	layouts, err := table.Reachable(mig.Layout{{Profile: 0, Start: 2}})
	fmt.Println(len(table.Layouts()), len(layouts), err)
	// Output:
	// 26 10 <nil>
}
