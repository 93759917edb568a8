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

// listed is a catalogue of the sets in l, with as many questions about others.
func listed(t *testing.T, in *instance.Instance, l Listing, questions int) (*Catalogue, *Questions) {
	t.Helper()
	q := &Questions{Most: questions}
	cat, err := New(t.Context(), instance.NewEvaluator(in), instance.NewTypes(in, false), l, q)
	if err != nil {
		t.Fatal(err)
	}
	return cat, q
}

// prices draws a price of each type, of at most most.
func prices(rng *rand.Rand, cat *Catalogue, most int64) []int64 {
	u := make([]int64, len(cat.Members))
	for i := range u {
		u[i] = rng.Int64N(instance.Quarters * most)
	}
	return u
}

// TestTopOfAPass: the largest profit, whatever the floor and however many questions
// there are; no less than it where these are too few.
func TestTopOfAPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	asked, free, short, total := 0, 0, 0, 0
	for n := range 40 {
		p := packtest.CostlyProblem(t, rng, 6+rng.IntN(4), 4+rng.IntN(2))
		if n%2 == 0 {
			p.Model = packtest.Falling{Model: p.Model}
		}
		in := packtest.NewInstance(t, p)
		depth := 1 + rng.IntN(3)
		all, _ := listed(t, in, Listing{Free: in.MaxSet, Taken: in.MaxSet}, 0)
		some, q := listed(t, in, Listing{Free: max(2, depth), Taken: depth}, math.MaxInt)
		few, fewer := listed(t, in, Listing{Free: max(2, depth), Taken: depth}, rng.IntN(10))
		u := prices(rng, all, instance.Resolution/2)
		every := profits(all, 0, u, math.MinInt64)
		best := max(0, slices.Max(slices.Collect(maps.Values(every))))
		for _, floor := range []int64{best, best - 1, best + 1, 0} {
			top := func(cat *Catalogue) int64 {
				pass := &Pass{Cat: cat, U: u, Floor: floor, Every: true, Visit: func(types []int32, profit int64) bool {
					if profit <= floor || every[name(types)] != profit {
						t.Fatalf("problem %d, floor %d: %v earns %d, and is visited with %d", n, floor, types, every[name(types)], profit)
					}
					return true
				}}
				pass.Run(t.Context())
				return pass.Top
			}
			if got := top(all); got != best {
				t.Fatalf("problem %d, floor %d: top %d of a list, want %d", n, floor, got, best)
			}
			if got := top(some); got != max(best, floor) {
				t.Fatalf("problem %d, floor %d: top %d, want %d", n, floor, got, max(best, floor))
			}
			if floor == best {
				asked += q.Asked // nothing earns more
			}
			if got := top(few); got < best || got < floor {
				t.Fatalf("problem %d, floor %d: top %d with %d questions, want %d at least", n, floor, got, fewer.Most, max(best, floor))
			} else if got > max(best, floor) {
				short++
			}
		}
		if fewer.Asked > fewer.Most {
			t.Errorf("problem %d: %d questions, want %d at most", n, fewer.Asked, fewer.Most)
		}
		free += len(every)
		total += q.Asked
	}
	if asked > free/60 || total > free*44/100 {
		t.Errorf("%d questions where nothing earns more, %d at all floors; there are %d sets that are allowed", asked, total, free)
	}
	if short == 0 {
		t.Error("never too few questions")
	}
}

// TestQuickPass: a beam search finds the best set mostly, and never one that is none.
func TestQuickPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	found, there, rounds := 0, 0, max(8, race.Fewer(80))
	for n := range rounds {
		var p *packer.Problem
		if n%2 == 0 {
			p = packtest.CostlyProblem(t, rng, 40, 3)
		} else {
			p = packtest.Draw(rng, packtest.DrawOptions{Tasks: 40, GPUs: 3, Kinds: 2, Residents: 4, MaxSet: 4})
			for i := range p.Tasks {
				p.Tasks[i].MinSpeed = 0
			}
			p.Model = packtest.Falling{Model: p.Model}
		}
		in := packtest.NewInstance(t, p)
		all, _ := listed(t, in, Listing{Free: in.MaxSet, Taken: in.MaxSet}, 0)
		some, _ := listed(t, in, Listing{Free: 2, Taken: 1}, math.MaxInt)
		u := prices(rng, all, instance.Resolution/3)
		for k := range in.Classes {
			want := profits(all, k, u, 0)
			best, got := int64(0), int64(0)
			for _, v := range want {
				best = max(best, v)
			}
			pass := &Pass{Cat: some, Class: k, U: u, Quick: true, Visit: func(types []int32, profit int64) bool {
				if v, ok := want[name(types)]; !ok || v != profit {
					t.Fatalf("problem %d: %v earns %d, want %d", n, types, profit, v)
				}
				got = max(got, profit)
				return true
			}}
			pass.Run(t.Context())
			if best > 0 {
				there++
			}
			if best > 0 && got == best {
				found++
			}
		}
	}
	if found < there*98/100 || there < rounds/2 {
		t.Errorf("the best set found %d times of %d", found, there)
	}
}

// TestQuickPassOfManyTypes: among sets of four of sixty types, too many to list, the beam
// finds what a pass that leaves nothing out finds.
func TestQuickPassOfManyTypes(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for n := range max(2, race.Fewer(20)) {
		in := packtest.NewInstance(t, packtest.CostlyProblem(t, rng, 60, 4))
		cat, _ := listed(t, in, Listing{Free: 2, Taken: 1}, math.MaxInt)
		u, found := prices(rng, cat, instance.Resolution/2), int64(0)
		quick := &Pass{Cat: cat, U: u, Quick: true, Visit: func(_ []int32, profit int64) bool {
			found = max(found, profit)
			return true
		}}
		quick.Run(t.Context())
		better := profits(cat, 0, u, found)
		if len(better) > 0 {
			t.Errorf("problem %d: the beam finds a set that earns %d, and there are %d that earn more", n, found, len(better))
		}
	}
}

// TestPassOfOneEach: without Every a pass visits the best of the listed sets that differ
// in their first type only, and is stopped where it leaves unlisted ones out.
func TestPassOfOneEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	left, rounds := 0, max(12, race.Fewer(60))
	for n := range rounds {
		p := packtest.CostlyProblem(t, rng, 6+rng.IntN(12), 3)
		in := packtest.NewInstance(t, p)
		all, _ := listed(t, in, Listing{Free: 3, Taken: 3}, 0)
		u := prices(rng, all, instance.Resolution/2)
		want := map[string]int64{}
		for set, v := range profits(all, 0, u, 0) {
			want[set[1:]] = max(want[set[1:]], v)
		}
		got := map[string]int64{}
		pass := &Pass{Cat: all, U: u, Visit: func(types []int32, profit int64) bool {
			got[name(types)[1:]] = profit
			return true
		}}
		pass.Run(t.Context())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("problem %d (-best +visited):\n%s", n, diff)
		}
		some, _ := listed(t, in, Listing{Free: 2, Taken: 1}, math.MaxInt)
		every, visited := profits(some, 0, u, 0), 0
		same := make([]int, len(some.Members)) // as their last type
		pass = &Pass{Cat: some, U: u, Visit: func(types []int32, _ int64) bool {
			if len(types) > 2 {
				visited++
				same[types[2]]++
			}
			return true
		}}
		pass.Run(t.Context())
		for set := range every {
			if len(set) > 2 {
				visited--
			}
		}
		if visited < 0 && !pass.Stop {
			t.Fatalf("problem %d: %d unlisted sets are left out, and the pass does not say so", n, -visited)
		}
		if pass.Stop && slices.Max(same) < maxFound {
			t.Fatalf("problem %d: %v sets end in each type, and the pass says that some are left out", n, same)
		}
		if visited < 0 {
			left++
		}
	}
	if left == 0 || left == rounds {
		t.Errorf("%d of %d passes leave sets out", left, rounds)
	}
}

// TestPassStops: no set is visited after Visit said so, or the context.
func TestPassStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 88))
	for _, l := range []Listing{{Free: 4, Taken: 4}, {Free: 2, Taken: 1}} {
		for _, quick := range []bool{false, true} {
			for after := 1; after <= 40; after += 3 {
				cat, _ := listed(t, packtest.NewInstance(t, packtest.CostlyProblem(t, rng, 10, 4)), l, math.MaxInt)
				visits := 0
				pass := &Pass{Cat: cat, U: make([]int64, len(cat.Members)), Every: true, Quick: quick, Visit: func([]int32, int64) bool {
					visits++
					return visits < after
				}}
				pass.Run(t.Context())
				if visits != after || !pass.Stop {
					t.Errorf("%+v, quick %v: %d visits, stopped %v; want %d", l, quick, visits, pass.Stop, after)
				}
				ctx, cancel := context.WithCancel(t.Context())
				visits = 0
				pass.Stop, pass.Visit = false, func(types []int32, _ int64) bool {
					if len(types) == l.Free {
						cancel()
					}
					if ctx.Err() != nil {
						visits++
					}
					return true
				}
				pass.Run(ctx)
				cancel()
				if pairs := 10 * 11 / 2; visits > pairs || visits > 0 && !pass.Stop {
					t.Errorf("%+v, quick %v: %d visits after the context has ended, stopped %v", l, quick, visits, pass.Stop)
				}
			}
		}
	}
}

// TestWidePass: sets that take several GPUs pay for each but one, and the top is what one
// GPU earns, rounded up.
func TestWidePass(t *testing.T) {
	rng := rand.New(rand.NewPCG(89, 90))
	wide := 0
	for n := range 60 {
		in := packtest.NewInstance(t, packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 7, Kinds: 2, Residents: 1, MaxSet: 3, Gangs: true}))
		cat, _ := listed(t, in, Listing{Free: in.MaxSet, Taken: in.MaxSet}, 0)
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

// TestDeepest: a catalogue lists as large sets as the limit allows, on GPUs without
// residents first.
func TestDeepest(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, Limits: packer.Limits{MaxSet: 4}, GPUs: []packer.GPU{
		{ID: "a", Memory: profile.GiB}, {ID: "b", Memory: profile.GiB, Residents: []packer.Task{{ID: "r"}}},
	}}
	for i := range 5 {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i)})
	}
	in := packtest.NewInstance(t, p)
	// Of 5 types there are 5, 15, 35 and 70 multisets of one to four; beside the resident
	// go three tasks.
	for _, test := range []struct {
		limit int
		want  Listing
		ok    bool
	}{
		{24, Listing{}, false},
		{25, Listing{Free: 2, Taken: 1}, true},
		{39, Listing{Free: 2, Taken: 1}, true},
		{40, Listing{Free: 2, Taken: 2}, true},
		{109, Listing{Free: 2, Taken: 2}, true},
		{110, Listing{Free: 3, Taken: 3}, true},
		{179, Listing{Free: 3, Taken: 3}, true},
		{180, Listing{Free: 4, Taken: 4, Whole: true}, true},
	} {
		if got, ok := Deepest(in, 5, test.limit); got != test.want || ok != test.ok {
			t.Errorf("of %d sets: %+v, %v; want %+v, %v", test.limit, got, ok, test.want, test.ok)
		}
	}
}
