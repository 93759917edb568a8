package fleet

import (
	"encoding/csv"
	"math"
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// openb reads the nodes and pods of Alibaba's openb trace.
func openb(tb testing.TB) ([]Node, []Demand) {
	tb.Helper()
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		tb.Skip("set COLLOC_DATA to the directory with traces/openb_node_list_gpu_node.csv and traces/openb_pod_list_default.csv to replay the trace")
	}
	var nodes []Node
	for _, row := range readTrace(tb, filepath.Join(dir, "traces", "openb_node_list_gpu_node.csv")) {
		nodes = append(nodes, Node{
			ID: row["sn"], CPU: number(tb, row["cpu_milli"]), Memory: profile.Bytes(number(tb, row["memory_mib"])) * profile.MiB,
			GPUs: number(tb, row["gpu"]), Type: row["model"],
		})
	}
	var pods []Demand
	for _, row := range readTrace(tb, filepath.Join(dir, "traces", "openb_pod_list_default.csv")) {
		d := Demand{
			CPU: number(tb, row["cpu_milli"]), Memory: profile.Bytes(number(tb, row["memory_mib"])) * profile.MiB,
			GPUs: number(tb, row["num_gpu"]), Share: number(tb, row["gpu_milli"]),
		}
		if row["gpu_spec"] != "" {
			d.Types = strings.Split(row["gpu_spec"], "|")
		}
		pods = append(pods, d)
	}
	return nodes, pods
}

func readTrace(tb testing.TB, file string) []map[string]string {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		out = append(out, m)
	}
	return out
}

func number(tb testing.TB, s string) int {
	tb.Helper()
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// replay fills the nodes with the pods in random order, and with more like them
// until 1.3 times the GPUs were asked for, and returns the fraction allocated.
func replay(tb testing.TB, nodes []Node, pods []Demand, o *Options, seed uint64) float64 {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	order := append([]Demand(nil), pods...)
	asked, capacity := 0, 0
	for i := range order {
		asked += order[i].GPUs * order[i].share()
	}
	for i := range nodes {
		capacity += nodes[i].GPUs * Whole
	}
	for 10*asked < 13*capacity {
		d := pods[rng.IntN(len(pods))]
		order = append(order, d)
		asked += d.GPUs * d.share()
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	mix, err := Mix(pods, 0.95)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := New(nodes, mix, o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range order {
		if _, _, err := f.Place(d); err != nil {
			tb.Fatal(err)
		}
	}
	used, total := f.Allocated()
	return used / total
}

// TestFragmentationOnOpenb reproduces what the authors' artefact allocates, and a
// re-run of it in another program.
func TestFragmentationOnOpenb(t *testing.T) {
	if packtest.RaceEnabled {
		t.Skip("a replay of a whole cluster in one goroutine: run it without -race")
	}
	nodes, pods := openb(t)
	allocated := map[string]float64{}
	for _, test := range []struct {
		name string
		o    Options
		want float64 // per cent; 0: not published
	}{
		{"random", Options{Rule: RandomFit}, 87.5},
		{"worst-fit", Options{Rule: WorstFit}, 0},
		{"best-fit", Options{Rule: BestFit}, 93.2},
		{"fgd", Options{}, 95.3},
		{"fgd, fullest node", Options{Tie: FullestNode}, 95.4},
		{"fgd, exact", Options{Steps: -1}, 0},
		{"fgd, exact, fullest node", Options{Steps: -1, Tie: FullestNode}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			const seeds = 5
			least, most, mean := 100.0, 0.0, 0.0
			for seed := range uint64(seeds) {
				got := replay(t, nodes, pods, &test.o, 42+seed)
				least, most, mean = min(least, 100*got), max(most, 100*got), mean+100*got/seeds
			}
			allocated[test.name] = mean
			t.Logf("allocated %.2f %%, from %.2f to %.2f", mean, least, most)
			if test.want > 0 && math.Abs(mean-test.want) > 0.5 {
				t.Errorf("allocated %.2f %%, want %.1f", mean, test.want)
			}
		})
	}
	for _, pair := range [][2]string{{"worst-fit", "best-fit"}, {"random", "best-fit"}, {"best-fit", "fgd"}, {"fgd, exact", "fgd"}} {
		if allocated[pair[0]] >= allocated[pair[1]] {
			t.Errorf("%s allocates %.2f %%, %s %.2f %%", pair[0], allocated[pair[0]], pair[1], allocated[pair[1]])
		}
	}
}

// BenchmarkFragmentation replays the whole trace.
func BenchmarkFragmentation(b *testing.B) {
	nodes, pods := openb(b)
	for _, rule := range []Rule{RandomFit, BestFit, LeastFragmentation} {
		b.Run("trace=openb/rule="+rule.String(), func(b *testing.B) {
			var got float64
			for b.Loop() {
				got = replay(b, nodes, pods, &Options{Rule: rule}, 42)
			}
			b.ReportMetric(100*got, "allocated_pct")
		})
	}
}

// slowUnusable is the twin of mixTable: it goes through the mix and the GPUs.
func slowUnusable(mix []MixPart, n *fleetNode, cpu int, free []int32) float64 {
	sum := 0.0
	for _, m := range mix {
		d := m.Demand
		total, small, fits := 0, 0, 0
		for _, f := range free {
			total += int(f)
			if int(f) >= d.share() {
				fits++
			} else {
				small += int(f)
			}
		}
		if d.GPUs > 0 && fits >= d.GPUs && cpu >= d.CPU && d.runsOn(n.Type) {
			total = small
		}
		sum += m.Fraction * float64(total)
	}
	return sum
}

// TestPropertyFleet: whatever is placed and released, no node holds more than it
// has, what was remembered is what the twin computes, and nothing is lost.
func TestPropertyFleet(t *testing.T) {
	types := []string{"A", "B"}
	demand := rapid.Custom(func(t *rapid.T) Demand {
		d := Demand{
			CPU: 500 * rapid.IntRange(0, 12).Draw(t, "cpu"), Memory: profile.Bytes(rapid.IntRange(0, 4).Draw(t, "memory")) * profile.GiB,
			GPUs: rapid.IntRange(0, 3).Draw(t, "gpus"), Types: types[:rapid.IntRange(0, 1).Draw(t, "types")],
		}
		if d.GPUs == 1 {
			d.Share = 125 * rapid.IntRange(0, 8).Draw(t, "share")
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for range rapid.IntRange(0, 5).Draw(t, "nodes") {
			nodes = append(nodes, Node{
				CPU: 8000, Memory: 16 * profile.GiB, GPUs: rapid.IntRange(0, 4).Draw(t, "GPUs"), Type: rapid.SampledFrom(types).Draw(t, "type"),
			})
		}
		mix, err := Mix(rapid.SliceOf(demand).Draw(t, "mix"), 0.9)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Rule: Rule(rapid.IntRange(0, 3).Draw(t, "rule")), Tie: Tie(rapid.IntRange(0, 1).Draw(t, "tie")), Steps: rapid.IntRange(-1, 1).Draw(t, "steps"),
		}
		f, err := New(nodes, mix, &o)
		if err != nil {
			t.Fatal(err)
		}
		type held struct {
			slot Slot
			d    Demand
		}
		var live []held
		for range rapid.IntRange(0, 40).Draw(t, "steps taken") {
			if len(live) > 0 && rapid.Bool().Draw(t, "release") {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				if err := f.Release(live[at].slot, live[at].d); err != nil {
					t.Fatal(err)
				}
				live = append(live[:at], live[at+1:]...)
			} else {
				d := demand.Draw(t, "demand")
				fits := false
				for i := range f.nodes {
					fits = fits || f.nodes[i].holds(&d)
				}
				slot, ok, err := f.Place(d)
				if err != nil || ok != fits {
					t.Fatalf("%+v: placed %v, %v; fits %v", d, ok, err, fits)
				}
				if ok {
					live = append(live, held{slot, d})
				}
			}
			used := 0.0
			for _, h := range live {
				used += float64(h.d.GPUs*h.d.share()) / Whole
			}
			if got, _ := f.Allocated(); math.Abs(got-used) > 1e-9 {
				t.Fatalf("allocated %v, want %v", got, used)
			}
			for i := range f.nodes {
				n := &f.nodes[i]
				if n.cpu < 0 || n.memory < 0 || n.cpu > n.CPU || n.memory > n.Memory || len(n.free) > 0 && slices.Min(n.free) < 0 {
					t.Fatalf("node %+v", n)
				}
				if want := slowUnusable(mix, n, n.cpu, n.free); math.Abs(want-n.unusable) > 1e-6 {
					t.Fatalf("unusable %v, want %v", n.unusable, want)
				}
			}
		}
	})
}

func TestFleetRefusesWhatIsNone(t *testing.T) {
	good := []Node{{CPU: 1000, GPUs: 1}}
	for name, call := range map[string]func() error{
		"rule":     func() error { _, err := New(good, nil, &Options{Rule: 9}); return err },
		"tie":      func() error { _, err := New(good, nil, &Options{Tie: -1}); return err },
		"node":     func() error { _, err := New([]Node{{CPU: -1}}, nil, nil); return err },
		"fraction": func() error { _, err := New(good, []MixPart{{Fraction: math.NaN()}}, nil); return err },
		"mix":      func() error { _, err := New(good, []MixPart{{Demand: Demand{GPUs: -1}}}, nil); return err },
		"cover":    func() error { _, err := Mix(nil, math.NaN()); return err },
		"share":    func() error { _, err := Mix([]Demand{{GPUs: 2, Share: 500}}, 1); return err },
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	f, err := New(good, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Place(Demand{Share: 1001}); err == nil {
		t.Error("Place takes a share above a GPU")
	}
	for _, slot := range []Slot{{Node: 1}, {Node: -1}, {GPUs: []int{0}}, {GPUs: []int{5}}} {
		if err := f.Release(slot, Demand{GPUs: len(slot.GPUs), CPU: 1}); err == nil {
			t.Errorf("Release takes %+v", slot)
		}
	}
}
