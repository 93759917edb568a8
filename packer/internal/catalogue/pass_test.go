package catalogue

import (
	"context"
	"maps"
	"math"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// listed is a catalogue of all sets.
func listed(t *testing.T, in *instance.Instance) *Catalogue {
	t.Helper()
	cat, err := New(t.Context(), instance.NewEvaluator(in), instance.NewTypes(in, false))
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// prices draws a price of each type, of at most most.
func prices(rng *rand.Rand, cat *Catalogue, most int64) []int64 {
	u := make([]int64, len(cat.Members))
	for i := range u {
		u[i] = rng.Int64N(instance.Quarters * most)
	}
	return u
}

// drawLarge is a random problem in sets of three and four.
func drawLarge(rng *rand.Rand, tasks int) *packer.Problem {
	p := packtest.Draw(rng, packtest.DrawOptions{Tasks: tasks, GPUs: 3, Kinds: 2, Residents: 2, MaxSet: 3 + rng.IntN(2)})
	if rng.IntN(2) == 0 {
		p = packtest.Repeated(rng, p, 3)
	}
	return p
}

// TestPassAgainstSlow: a pass visits the sets that earn more than the floor, with what the
// slow twin says that they earn, and knows the most that one does.
func TestPassAgainstSlow(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	sets := 0
	for n := range race.Fewer(150) {
		p := drawLarge(rng, 6)
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		cat := listed(t, d.Instance)
		u := prices(rng, cat, instance.Resolution/2)
		for k := range d.Classes {
			want := map[string]int64{}
			gpu := &p.GPUs[d.Classes[k].Members[0]]
			multisets(cat, d.Seats(k), func(types []int32) {
				set, seen, paid := residents(gpu), make([]int, len(cat.Members)), int64(0)
				for _, i := range types {
					set = append(set, &p.Tasks[d.Origin[cat.Members[i][seen[i]]]])
					seen[i]++
					paid += u[i]
				}
				if v, ok := packtest.SlowValue(p, gpu, set); ok && v > 0 {
					want[name(types)] = instance.Quarters*(v-d.Classes[k].Base) - paid
				}
			})
			got := profits(cat, k, u, math.MinInt64)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("problem %d, class %d (-slow +pass):\n%s", n, k, diff)
			}
			sets += len(want)
			best := max(0, slices.Max(append(slices.Collect(maps.Values(want)), 0)))
			for _, floor := range []int64{best, best - 1, 0} {
				above := 0
				pass := &Pass{Cat: cat, Class: k, U: u, Floor: floor, Every: true, Visit: func(types []int32, profit int64) bool {
					if above++; profit <= floor || want[name(types)] != profit {
						t.Fatalf("problem %d, floor %d: %v is visited with %d", n, floor, types, profit)
					}
					return true
				}}
				pass.Run(t.Context())
				for _, v := range want {
					if v > floor {
						above--
					}
				}
				if above != 0 || pass.Top != best {
					t.Fatalf("problem %d, floor %d: %d sets too many, top %d, want %d", n, floor, above, pass.Top, best)
				}
			}
		}
	}
	if sets < 300 && !race.Enabled {
		t.Errorf("%d sets", sets)
	}
}

// residents are those of a GPU.
func residents(gpu *packer.GPU) []*packer.Task {
	var out []*packer.Task
	for i := range gpu.Residents {
		out = append(out, &gpu.Residents[i])
	}
	return out
}

// multisets are those of up to so many types, as often as there are tasks of each.
func multisets(cat *Catalogue, most int, visit func(types []int32)) {
	var add func(types []int32)
	add = func(types []int32) {
		if len(types) > 0 {
			visit(types)
		}
		from := int32(0)
		if len(types) > 0 {
			from = types[len(types)-1]
		}
		for i := from; int(i) < len(cat.Members) && len(types) < most; i++ {
			copies := 0
			for _, o := range types {
				if o == i {
					copies++
				}
			}
			if copies < len(cat.Members[i]) {
				add(append(slices.Clone(types), i))
			}
		}
	}
	add(nil)
}

// profits returns the profits of all sets above floor.
func profits(cat *Catalogue, k int, u []int64, floor int64) map[string]int64 {
	out := map[string]int64{}
	pass := &Pass{Cat: cat, Class: k, U: u, Floor: floor, Every: true}
	pass.Visit = func(types []int32, profit int64) bool {
		out[name(types)] = profit
		return true
	}
	pass.Run(context.Background())
	return out
}

// name is a set of types as the key of a map, a byte for each.
func name(types []int32) string {
	out := make([]byte, len(types))
	for n, t := range types {
		out[n] = byte(t)
	}
	return string(out)
}

// TestPassOfOneEach: without Every a pass visits the best of the sets that differ
// in their first type only.
func TestPassOfOneEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	for n := range max(12, race.Fewer(60)) {
		cat := listed(t, packtest.NewInstance(t, drawLarge(rng, 12)))
		u := prices(rng, cat, instance.Resolution/2)
		for k := range cat.in.Classes {
			want := map[string]int64{}
			for set, v := range profits(cat, k, u, 0) {
				want[set[1:]] = max(want[set[1:]], v)
			}
			got := map[string]int64{}
			pass := &Pass{Cat: cat, Class: k, U: u, Visit: func(types []int32, profit int64) bool {
				got[name(types)[1:]] = profit
				return true
			}}
			pass.Run(t.Context())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("problem %d (-best +visited):\n%s", n, diff)
			}
		}
	}
}

// TestPassStops: no set is visited after Visit said so, or the context.
func TestPassStops(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 10), 3)
	p.Limits.MaxSet = 4
	cat := listed(t, packtest.NewInstance(t, p))
	for after := 1; after <= 40; after += 3 {
		visits := 0
		pass := &Pass{Cat: cat, U: make([]int64, len(cat.Members)), Every: true, Visit: func([]int32, int64) bool {
			visits++
			return visits < after
		}}
		pass.Run(t.Context())
		if visits != after || !pass.Stop {
			t.Errorf("%d visits, stopped %v; want %d", visits, pass.Stop, after)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	visits := 0
	pass := &Pass{Cat: cat, U: make([]int64, len(cat.Members)), Every: true, Visit: func(types []int32, _ int64) bool {
		if len(types) == 4 {
			cancel()
		}
		if ctx.Err() != nil {
			visits++
		}
		return true
	}}
	pass.Run(ctx)
	cancel()
	if pairs := 10 * 11 / 2; visits > pairs || !pass.Stop {
		t.Errorf("%d visits after the context has ended, stopped %v", visits, pass.Stop)
	}
}

// TestWidePass: sets that take several GPUs pay for each but one, and the top is what one
// GPU earns, rounded up.
func TestWidePass(t *testing.T) {
	rng := rand.New(rand.NewPCG(89, 90))
	wide := 0
	for n := range 60 {
		in := packtest.NewInstance(t, packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 7, Kinds: 2, Residents: 1, MaxSet: 3, Gangs: true}))
		cat := listed(t, in)
		u, other := prices(rng, cat, instance.Resolution/2), rng.Int64N(instance.Resolution)
		for k := range in.Classes {
			plain, floor := profits(cat, k, u, math.MinInt64), []int64{math.MinInt64, 0}[n%2]
			want, top, got := map[string]int64{}, int64(0), map[string]int64{}
			for set, v := range plain {
				width := int64(in.Tasks[cat.Members[set[0]][0]].GPUs)
				top = max(top, (v+width-1)/width)
				if v -= (width - 1) * other; v > floor {
					want[set] = v
					if width > 1 {
						wide++
					}
				}
			}
			pass := &Pass{Cat: cat, Class: k, U: u, Floor: floor, Wide: true, Other: other, Visit: func(types []int32, profit int64) bool {
				got[name(types)] = profit
				return true
			}}
			pass.Run(t.Context())
			if diff := cmp.Diff(want, got); diff != "" || pass.Top != top {
				t.Fatalf("problem %d: top %d, want %d (-all +wide):\n%s", n, pass.Top, top, diff)
			}
		}
	}
	if wide < 20 {
		t.Errorf("%d sets of several GPUs", wide)
	}
}

// TestFew counts the sets of a catalogue.
func TestFew(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, Limits: packer.Limits{MaxSet: 4}, GPUs: []packer.GPU{
		{ID: "a", Memory: profile.GiB}, {ID: "b", Memory: profile.GiB, Residents: []packer.Task{{ID: "r"}}},
	}}
	for i := range 5 {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i)})
	}
	in := packtest.NewInstance(t, p)
	// Of 5 types there are 5, 15, 35 and 70 multisets of one to four; beside the resident
	// go three tasks.
	if Few(in, 5, 179) || !Few(in, 5, 180) || Few(in, 1<<20, math.MaxInt32) {
		t.Error("there are 180 sets of 5 types, and more than a catalogue holds of a million")
	}
}
