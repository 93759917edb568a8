package fleet

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// drawDemand draws a demand of which the numbers are sums of powers of two: no sum rounds.
func drawDemand(rng *rand.Rand) Demand {
	d := Demand{CPU: 500 * rng.IntN(9), Memory: profile.Bytes(rng.IntN(4)) * profile.GiB, GPUs: rng.IntN(4)}
	if d.GPUs == 1 {
		d.Share = 125 * rng.IntN(9)
	}
	if rng.IntN(3) == 0 {
		d.Types = []string{[]string{"A", "B"}[rng.IntN(2)]}
	}
	return d
}

// TestPlaceTwin: every place is the one that the rule and the tie name, by the twin's
// look at each node and GPU.
func TestPlaceTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	placed, refused := 0, 0
	for n := range 200 {
		nodes := []Node{{CPU: 8000, Memory: 8 * profile.GiB, GPUs: 4, Type: "A"}}
		for range rng.IntN(6) {
			nodes = append(nodes, Node{CPU: 4000 * rng.IntN(3), Memory: 8 * profile.GiB, GPUs: rng.IntN(5), Type: []string{"A", "B"}[rng.IntN(2)]})
		}
		var mix []MixPart
		for range 8 {
			mix = append(mix, MixPart{Demand: drawDemand(rng), Fraction: float64(1+rng.IntN(12)) / 64})
		}
		o := Options{Rule: Rule(n % 3), Tie: Tie(rng.IntN(2)), Steps: rng.IntN(9)/3 - 1}
		f, err := New(nodes, mix, &o)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			d := drawDemand(rng)
			want, fits := slowPlace(f, mix, &d)
			got, ok, err := f.Place(d)
			if err != nil || ok != fits {
				t.Fatalf("%+v: placed %v, %v; want %v", d, ok, err, fits)
			}
			if !ok {
				refused++
				continue
			}
			placed++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v by %v, tie %d, steps %d (-twin +placed):\n%s", d, o.Rule, o.Tie, o.Steps, diff)
			}
			if rng.IntN(4) == 0 {
				if err := f.Release(got, d); err != nil {
					t.Fatal(err)
				}
			}
		}
		unusable := 0.0
		for i := range f.nodes {
			unusable += slowUnusable(mix, &f.nodes[i], f.nodes[i].cpu, f.nodes[i].free)
		}
		if got := f.Unusable(); math.Abs(got-unusable/Whole) > 1e-9 {
			t.Fatalf("%v GPUs are unusable, want %v", got, unusable/Whole)
		}
	}
	if placed < 1000 || refused < 1000 {
		t.Errorf("%d placed, %d refused", placed, refused)
	}
}

// slowPlace returns where d goes.
func slowPlace(f *Fleet, mix []MixPart, d *Demand) (Slot, bool) {
	best, score, full, found := Slot{}, 0.0, 0, false
	for i := range f.nodes {
		n := &f.nodes[i]
		for _, gpus := range slowGPUs(f, n, d) {
			s := slowScore(f, mix, n, d, gpus)
			free := 0
			for _, g := range n.free {
				free += int(g)
			}
			if !found || s > score || s == score && i != best.Node && f.options.Tie == FullestNode && free < full {
				best, score, full, found = Slot{i, gpus}, s, free, true
			}
		}
	}
	return best, found
}

// slowGPUs returns the choices of GPUs for d on n: every GPU for a part of one where
// fragmentation counts, or else the fullest.
func slowGPUs(f *Fleet, n *fleetNode, d *Demand) [][]int {
	if n.cpu < d.CPU || n.memory < d.Memory || d.GPUs > 0 && len(d.Types) > 0 && !slices.Contains(d.Types, n.Type) {
		return nil
	}
	var fit []int
	for g, free := range n.free {
		if int(free) >= d.share() {
			fit = append(fit, g)
		}
	}
	if len(fit) < d.GPUs {
		return nil
	}
	slices.SortStableFunc(fit, func(a, b int) int { return int(n.free[a] - n.free[b]) })
	if f.options.Rule == LeastFragmentation && d.GPUs == 1 && d.share() < Whole {
		var out [][]int
		slices.Sort(fit)
		for _, g := range fit {
			out = append(out, []int{g})
		}
		return out
	}
	return [][]int{append([]int(nil), fit[:d.GPUs]...)}
}

func slowScore(f *Fleet, mix []MixPart, n *fleetNode, d *Demand, gpus []int) float64 {
	free, left := slices.Clone(n.free), 0
	for _, g := range gpus {
		free[g] -= int32(d.share())
	}
	for _, g := range free {
		left += int(g)
	}
	most := float64(n.cpu-d.CPU)/8000 + float64(left)/(4*Whole)
	switch f.options.Rule {
	case BestFit:
		return -most
	case WorstFit:
		return most
	default:
	}
	gain := slowUnusable(mix, n, n.cpu, n.free) - slowUnusable(mix, n, n.cpu-d.CPU, free)
	if f.options.Steps < 0 {
		return gain
	}
	steps := 100.0
	if f.options.Steps > 0 {
		steps = float64(f.options.Steps)
	}
	return math.Floor(steps / (1 + math.Exp(-gain/Whole)))
}

// TestNearlyEqualNodesAreTied: a thousandth of what placing a task makes unusable decides
// where the score is exact; else the first node is as good.
func TestNearlyEqualNodesAreTied(t *testing.T) {
	mix := []MixPart{
		{Demand: Demand{GPUs: 1, Share: 900, Types: []string{"A"}}, Fraction: 1.0 / 1024},
		{Demand: Demand{GPUs: 1}, Fraction: 1023.0 / 1024},
	}
	for steps, want := range map[int]int{0: 0, 100: 0, -1: 1} {
		f, err := New([]Node{{GPUs: 1, Type: "A"}, {GPUs: 1, Type: "B"}}, mix, &Options{Steps: steps})
		if err != nil {
			t.Fatal(err)
		}
		slot, ok, err := f.Place(Demand{GPUs: 1, Share: 500})
		if err != nil || !ok || slot.Node != want {
			t.Errorf("%d steps: %+v, %v, %v; want node %d", steps, slot, ok, err, want)
		}
	}
}

// TestMix: the most frequent kinds, host memory aside, come first, no more than cover asks for, and their
// fractions add up to one.
func TestMix(t *testing.T) {
	var demands []Demand
	add := func(n int, d Demand) {
		for i := range n {
			d.Memory = profile.Bytes(1+i) * profile.GiB
			demands = append(demands, d)
		}
	}
	add(1, Demand{CPU: 1})
	add(2, Demand{CPU: 1, GPUs: 1, Share: 500})
	add(3, Demand{CPU: 1, GPUs: 1, Types: []string{"A"}})
	add(2, Demand{CPU: 1, GPUs: 1})
	add(2, Demand{CPU: 1, GPUs: 1, Share: Whole}) // the same
	for _, test := range []struct {
		cover float64
		want  string
	}{
		{0.01, "[1×[] 1]"},
		{0.4, "[1×[] 1]"},
		{0.41, "[1×[] 0.57 1×[A] 0.43]"},
		{0.7, "[1×[] 0.57 1×[A] 0.43]"},
		{0.9, "[1×[] 0.44 1×[A] 0.33 1×[]/500 0.22]"},
		{1, "[1×[] 0.4 1×[A] 0.3 1×[]/500 0.2 0×[] 0.1]"},
	} {
		mix, err := Mix(demands, test.cover)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range mix {
			kind := fmt.Sprintf("%d×%v", m.Demand.GPUs, m.Demand.Types)
			if m.Demand.Memory != 0 {
				kind += " in " + m.Demand.Memory.String()
			}
			if s := m.Demand.Share; s%Whole > 0 {
				kind += fmt.Sprint("/", s)
			}
			got = append(got, fmt.Sprintf("%s %.2g", kind, m.Fraction))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("cover %v: %v, want %s", test.cover, got, test.want)
		}
	}
}

// TestFleetAtTheLimits: numbers at the ends of their ranges are taken, and those beyond
// refused.
func TestFleetAtTheLimits(t *testing.T) {
	for _, test := range []struct {
		name string
		node Node
		mix  MixPart
		o    Options
		ok   bool
	}{
		{"nothing at all", Node{}, MixPart{}, Options{}, true},
		{"most GPUs", Node{GPUs: 1024}, MixPart{Fraction: 1, Demand: Demand{Share: Whole}}, Options{Rule: RandomFit, Tie: FullestNode}, true},
		{"a GPU too many", Node{GPUs: 1025}, MixPart{}, Options{}, false},
		{"GPUs below none", Node{GPUs: -1}, MixPart{}, Options{}, false},
		{"memory below none", Node{Memory: -1}, MixPart{}, Options{}, false},
		{"more than all", Node{}, MixPart{Fraction: 1.001}, Options{}, false},
		{"less than none", Node{}, MixPart{Fraction: -0.001}, Options{}, false},
		{"a rule too far", Node{}, MixPart{}, Options{Rule: RandomFit + 1}, false},
		{"a rule below all", Node{}, MixPart{}, Options{Rule: -1}, false},
		{"a tie too far", Node{}, MixPart{}, Options{Tie: FullestNode + 1}, false},
		{"CPU below none", Node{}, MixPart{Demand: Demand{CPU: -1}}, Options{}, false},
		{"memory of a demand below none", Node{}, MixPart{Demand: Demand{Memory: -1}}, Options{}, false},
		{"a share below none", Node{}, MixPart{Demand: Demand{Share: -1}}, Options{}, false},
		{"a share above all", Node{}, MixPart{Demand: Demand{Share: Whole + 1}}, Options{}, false},
		{"several whole GPUs", Node{}, MixPart{Demand: Demand{GPUs: 2, Share: Whole}}, Options{}, true},
		{"parts of several GPUs", Node{}, MixPart{Demand: Demand{GPUs: 2, Share: Whole - 1}}, Options{}, false},
	} {
		if _, err := New([]Node{test.node}, []MixPart{test.mix}, &test.o); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for cover, ok := range map[float64]bool{0: false, 1e-9: true, 1: true, 1.0001: false} {
		if _, err := Mix(nil, cover); (err == nil) != ok {
			t.Errorf("cover %v: %v", cover, err)
		}
	}
	for r, want := range map[Rule]string{LeastFragmentation: "fgd", RandomFit: "random", -1: "rule(-1)", RandomFit + 1: "rule(4)"} {
		if got := r.String(); got != want {
			t.Errorf("%d: %q, want %q", int(r), got, want)
		}
	}
}

// TestReleaseKnowsWhatIsHeld: what gives back more than is reserved is refused, and
// changes nothing.
func TestReleaseKnowsWhatIsHeld(t *testing.T) {
	f, err := New([]Node{{CPU: 4000, Memory: 4 * profile.GiB, GPUs: 2}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	held := Demand{CPU: 1000, Memory: profile.GiB, GPUs: 1, Share: 500}
	slot, ok, err := f.Place(held)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for name, d := range map[string]Demand{
		"CPU":    {CPU: 1001, Memory: profile.GiB, GPUs: 1, Share: 500},
		"memory": {CPU: 1000, Memory: profile.GiB + 1, GPUs: 1, Share: 500},
		"share":  {CPU: 1000, Memory: profile.GiB, GPUs: 1, Share: 501},
		"GPUs":   {CPU: 1000, Memory: profile.GiB, GPUs: 2},
	} {
		if err := f.Release(slot, d); err == nil {
			t.Errorf("%s: more is given back than is held", name)
		}
	}
	for _, wrong := range []Slot{{Node: 0, GPUs: []int{-1}}, {Node: 0, GPUs: []int{2}}, {Node: 1, GPUs: slot.GPUs}} {
		if err := f.Release(wrong, held); err == nil {
			t.Errorf("%+v is given back", wrong)
		}
	}
	if used, total := f.Allocated(); used != 0.5 || total != 2 {
		t.Errorf("%v of %v GPUs are reserved, want 0.5 of 2", used, total)
	}
	if err := f.Release(slot, held); err != nil {
		t.Error(err)
	}
	if used, _ := f.Allocated(); used != 0 {
		t.Errorf("%v GPUs are reserved when all is given back", used)
	}
}

// TestRandomFitTakesAnyNode: each node on which a demand fits comes up, none other, and
// the same seed draws the same.
func TestRandomFitTakesAnyNode(t *testing.T) {
	draw := func(seed uint64) []int {
		f, err := New([]Node{{CPU: 10, GPUs: 1}, {CPU: 1, GPUs: 1}, {CPU: 10, GPUs: 2}, {CPU: 10, GPUs: 1}}, nil, &Options{Rule: RandomFit, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		var out []int
		for range 40 {
			d := Demand{CPU: 2, GPUs: 1}
			slot, ok, err := f.Place(d)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			out = append(out, slot.Node)
			if err := f.Release(slot, d); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	got := draw(5)
	if !slices.Equal(got, draw(5)) {
		t.Error("the same seed draws other nodes")
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []int{0, 2, 3}) {
		t.Errorf("nodes %v, want 0, 2 and 3", got)
	}
}

// TestFleetForgets: the scores that a Fleet remembers do not grow without end.
func TestFleetForgets(t *testing.T) {
	f, err := New(make([]Node, 1024), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxScores / len(f.nodes) { // as if that many had been asked for
		f.kinds[strconv.Itoa(n)] = &fleetKind{}
	}
	if _, _, err := f.Place(Demand{CPU: 1}); err != nil {
		t.Fatal(err)
	}
	if got := len(f.kinds) * len(f.nodes); got > maxScores {
		t.Errorf("%d scores are remembered, want %d at most", got, maxScores)
	}
}
