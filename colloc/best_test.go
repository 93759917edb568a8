package colloc_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// events is how many TestTenantsNeverShare plays; 100000 take a minute.
var events = flag.Int("tenant-events", max(400, race.Fewer(2000)), "events of TestTenantsNeverShare")

// fleetOf makes n cards: of so many classes of product and residents, or, with 0,
// each like no other.
func fleetOf(tb testing.TB, n, classes int) []colloc.GPU {
	tb.Helper()
	products := []string{"RTX 3090", "V100", "A100"}
	pool := crowd(tb, n)
	gpus := make([]colloc.GPU, n)
	for i := range gpus {
		k := i
		if classes > 0 {
			k = i * 7 % classes
		}
		gpus[i] = colloc.GPU{ID: fmt.Sprintf("GPU-%08d-aaaa-bbbb-cccc-%012d", i, i), Model: gpuModel(tb, products[k%len(products)])}
		if k%4 < 3 {
			r := pool[k]
			r.ID, r.Reserved = fmt.Sprint("resident-", i), 2*profile.GiB
			gpus[i].Residents = []colloc.Task{r}
		} else if classes == 0 { // empty cards of one product would be equal
			gpus[i].Memory = gpus[i].Model.Memory - profile.Bytes(i)*profile.MiB/2
		}
	}
	return gpus
}

func BenchmarkBest(b *testing.B) {
	for _, bb := range []struct {
		name    string
		classes int
		task    colloc.Task
	}{
		{"classes=10", 10, seen(b, "task", 0.4, 0.2, 3*profile.GiB)},
		{"all-differ", 0, seen(b, "task", 0.4, 0.2, 3*profile.GiB)},
		{"all-differ/unobserved", 0, colloc.Task{ID: "task", Profile: describe(b)}},
	} {
		b.Run("cards=800/"+bb.name, func(b *testing.B) {
			p, gpus := shared(b), fleetOf(b, 800, bb.classes)
			b.ReportAllocs()
			for b.Loop() {
				if at, v, err := p.Best(bb.task, gpus); err != nil || at < 0 {
					b.Fatal(v, err)
				}
			}
		})
	}
}

// slowBest asks Fit and Score about every card.
func slowBest(t *testing.T, p *colloc.Planner, task colloc.Task, gpus []colloc.GPU) (int, colloc.Verdict) {
	t.Helper()
	type one struct {
		at    int
		v     colloc.Verdict
		score float64
	}
	var all []one
	for i, g := range gpus {
		v, err := p.Fit(task, g)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Score(task, g)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one{i, v, s})
	}
	slices.SortFunc(all, func(a, b one) int {
		if a.v.Fits != b.v.Fits {
			if a.v.Fits {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(gpus[a.at].Total(), gpus[b.at].Total()), cmp.Compare(gpus[a.at].ID, gpus[b.at].ID))
	})
	if !all[0].v.Fits {
		return -1, all[0].v
	}
	return all[0].at, all[0].v
}

// TestBestJudgesClassesOnce: whatever cards have in common, the answer is that of
// asking about each.
func TestBestJudgesClassesOnce(t *testing.T) {
	p := shared(t)
	rng := rand.New(rand.NewPCG(41, 42))
	pool := crowd(t, 5)
	refused := 0
	rounds := race.Fewer(60)
	for range rounds {
		task := pool[rng.IntN(len(pool))]
		task.ID = "task"
		if rng.IntN(2) == 0 {
			task.On = []string{"a"}
		}
		if rng.IntN(2) == 0 {
			task.Home, task.MoveCost = "g03", 1
		}
		if rng.IntN(2) == 0 {
			task = tenant(task, "red")
		}
		gpus, few := make([]colloc.GPU, 1+rng.IntN(40)), rng.IntN(2)
		for i := range gpus {
			gpus[i] = card(t, fmt.Sprintf("g%02d", i))
			if rng.IntN(3) == 0 {
				gpus[i].Model = gpuModel(t, "V100")
			}
			if rng.IntN(2) == 0 {
				gpus[i].Labels = []string{"a"}
			}
			for k := range min(2, rng.IntN(3)+few) {
				r := pool[rng.IntN(2)]
				r.ID, r.Weight = fmt.Sprint("r", i, "-", k), float64(rng.IntN(2))
				switch rng.IntN(6) {
				case 0:
					r = tenant(r, "red")
				case 1:
					r.Alone = true
				case 2:
					r.Reserved = profile.Bytes(1+rng.IntN(2)) * 9 * profile.GiB
				case 3:
					r.MaxSlowdown = 1.1
				default:
				}
				gpus[i].Residents = append(gpus[i].Residents, r)
			}
		}
		rng.Shuffle(len(gpus), func(i, j int) { gpus[i], gpus[j] = gpus[j], gpus[i] })
		at, v, err := p.Best(task, gpus)
		if want, verdict := slowBest(t, p, task, gpus); err != nil || at != want || v != verdict {
			t.Fatalf("got %d, %+v, %v; want %d, %+v", at, v, err, want, verdict)
		}
		if at < 0 {
			refused++
		}
	}
	if (refused == 0 || refused == rounds) && !race.Enabled {
		t.Errorf("%d of %d refused", refused, rounds)
	}
}

// TestBestFaults: a fault on any card is told, on one like another that is valid, too.
func TestBestFaults(t *testing.T) {
	p := shared(t)
	task := seen(t, "task", 0.4, 0.2, 3*profile.GiB)
	for what, spoil := range map[string]func(*colloc.GPU){
		"no ID":               func(g *colloc.GPU) { g.ID = "" },
		"resident without ID": func(g *colloc.GPU) { g.Residents[0].ID = "" },
		"the task runs there": func(g *colloc.GPU) { g.Residents[0].ID = "task" },
		"resident's weight":   func(g *colloc.GPU) { g.Residents[0].Weight = -1 },
	} {
		gpus := fleetOf(t, 40, 4)
		spoil(&gpus[22])
		var fault *colloc.FaultError
		if at, _, err := p.Best(task, gpus); !errors.As(err, &fault) || at != -1 || fault.GPU != gpus[22].ID {
			t.Errorf("%s: %d, %v", what, at, err)
		}
	}
	if _, _, err := p.Best(colloc.Task{ID: "x"}, nil); len(colloc.Faults(err)) != 1 {
		t.Errorf("a faulty task and no cards: %v", err)
	}
}

// TestOneFaultOf500: it is named by type with its place and field, and the round goes on
// without it.
func TestOneFaultOf500(t *testing.T) {
	n := race.Fewer(500)
	at := n * 3 / 5
	tasks := crowd(t, n)
	tasks[at].MaxSlowdown = 0.5
	gpus := fleetOf(t, race.Fewer(20), 4)
	_, err := shared(t).Plan(t.Context(), tasks, gpus)
	faults := colloc.Faults(err)
	if len(faults) != 1 || faults[0].Task != tasks[at].ID || faults[0].TaskIndex != at || faults[0].GPUIndex != -1 || faults[0].Field != "MaxSlowdown" {
		t.Fatalf("faults %v", err)
	}
	bad := map[string]bool{}
	for _, f := range faults {
		bad[f.Task] = true
	}
	rest := slices.DeleteFunc(slices.Clone(tasks), func(t colloc.Task) bool { return bad[t.ID] })
	plan, err := shared(t).Plan(t.Context(), rest, gpus)
	if err != nil || len(plan.Tasks) != n-1 || len(plan.Placements) != len(gpus) {
		t.Errorf("without it: %v", err)
	}
}

// TestTenantsNeverShare plays random events on a scheduler, with Best and with plans of
// what waits, and looks after each whether two tenants meet.
func TestTenantsNeverShare(t *testing.T) {
	p := shared(t)
	rng := rand.New(rand.NewPCG(51, 52))
	pool := crowd(t, 6)
	var gpus []colloc.GPU
	for i := range 8 {
		gpus = append(gpus, card(t, fmt.Sprint("g", i)))
	}
	sched := plain(t, p, gpus)
	labels, on := map[string][]string{}, map[string]int{}
	shared, refused := 0, 0
	for n := range *events {
		task := tenant(pool[rng.IntN(len(pool))], fmt.Sprint("tenant-", rng.IntN(3)))
		task.ID, task.Reserved = fmt.Sprint("t", n), 3*profile.GiB
		if rng.IntN(8) == 0 { // of nobody, and may not meet a tenant either
			task.Labels, task.Only = nil, nil
		}
		card := &gpus[rng.IntN(len(gpus))]
		switch rng.IntN(4) {
		case 0: // by Best
			at, v, err := p.Best(task, gpus)
			if err != nil {
				t.Fatal(err)
			}
			if at >= 0 {
				gpus[at].Residents = append(slices.Clone(gpus[at].Residents), task)
			} else if v.Code == packer.Incompatible {
				refused++
			}
		case 1: // by a plan of two, now and then, for it costs more
			if n%10 == 0 {
				planTwo(t, p, task, gpus)
			}
		case 2:
			card.Residents = nil
		default: // by a scheduler of its own
			if err := sched.Submit(online.Job{Task: packed(t, p, task), Left: profile.Some(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			if labels[task.ID] = task.Labels; len(labels) > 12 {
				ids := slices.Sorted(maps.Keys(labels))
				id := ids[rng.IntN(len(ids))]
				if err := sched.Withdraw(id); err != nil {
					t.Fatal(err)
				}
				delete(labels, id)
				delete(on, id)
			}
			ds, err := sched.Decide(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range ds {
				on[d.Task] = d.GPU
			}
		}
		for g := range gpus {
			var here [][]string
			for id, at := range on {
				if at == g {
					here = append(here, labels[id])
				}
			}
			shared += meet(t, here)
			here = nil
			for i := range gpus[g].Residents {
				here = append(here, gpus[g].Residents[i].Labels)
			}
			shared += meet(t, here)
		}
	}
	t.Logf("%d events, %d times two tasks shared, %d times only tenants were in the way", *events, shared, refused)
	if shared == 0 || refused == 0 {
		t.Error("nobody shared, or nobody was refused")
	}
}

// planTwo plans a task and its twin of another tenant.
func planTwo(t *testing.T, p *colloc.Planner, task colloc.Task, gpus []colloc.GPU) {
	t.Helper()
	other := tenant(task, "tenant-0")
	other.ID += "-other"
	plan, err := p.Plan(t.Context(), []colloc.Task{task, other}, gpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, placed := range plan.Placements {
		for _, m := range placed.Members {
			for g := range gpus {
				if gpus[g].ID != placed.GPU || m.Resident {
					continue
				}
				joins := task
				if m.Task == other.ID {
					joins = other
				}
				gpus[g].Residents = append(slices.Clone(gpus[g].Residents), joins)
			}
		}
	}
}

// meet fails where different tenants share a card, and returns 1 if anybody shares.
func meet(t *testing.T, labels [][]string) int {
	t.Helper()
	for _, l := range labels {
		if !slices.Equal(l, labels[0]) {
			t.Fatalf("tenants meet: %v", labels)
		}
	}
	return min(1, len(labels)/2)
}
