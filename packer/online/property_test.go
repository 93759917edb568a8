package online

import (
	"context"
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// kindHash is hashModel for tasks of which many are of one kind.
type kindHash struct{ packtest.HashModel }

func (h kindHash) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	for i, t := range set {
		dst[i] = 1
		for j, o := range set {
			if i != j {
				f := h.Hash(t.Kind, "|", o.Kind, strconv.Itoa(int(gpu.Total())), mech.String())
				dst[i] *= h.Low + (1-h.Low)*f
			}
		}
		if len(set) == 1 {
			dst[0] = 0.25 + 0.75*h.Hash(t.Kind, strconv.Itoa(int(gpu.Total())))
		}
		dst[i] = math.Round(dst[i]*h.Steps) / h.Steps
	}
	return nil
}

// batchKindHash is kindHash as a BatchModel.
type batchKindHash struct{ kindHash }

func (h batchKindHash) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	var dst [2]float64
	for i, o := range partners {
		if err := h.Speeds([]*packer.Task{task, o}, gpu, mech, dst[:]); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}

// twins drives a Session and its slow twin with the same events.
type twins struct {
	fast  *Session
	slow  *slowSession
	kinds []packer.Task
	gpus  []packer.GPU
	live  []string
	count int

	renewed bool // what runs may be slower than it was promised
}

func newTwins(t *rapid.T) *twins {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	h := kindHash{packtest.HashModel{Seed: rng.Uint64(), Steps: []float64{4, 10, 1e6}[rng.IntN(3)], Low: []float64{0, 0.3, 0.6}[rng.IntN(3)]}}
	limits := packer.Limits{MaxSet: 1 + rng.IntN(4)}
	if rng.IntN(4) == 0 {
		limits.MinGain = rng.Float64() / 2
	}
	w := &twins{}
	gangs := rng.IntN(2) == 0
	for i := range 1 + rng.IntN(6) {
		k := packer.Task{Kind: fmt.Sprintf("k%d", i), Memory: profile.Bytes(rng.IntN(9)) * profile.GiB, Alone: rng.IntN(8) == 0}
		if rng.IntN(3) == 0 {
			k.Weight = float64(1 + rng.IntN(4))
		}
		if rng.IntN(4) == 0 {
			k.MinSpeed = rng.Float64()
		}
		if gangs {
			k.GPUs = rng.IntN(4)
		}
		if rng.IntN(2) == 0 {
			k.MoveCost = rng.Float64() / 4
		}
		w.kinds = append(w.kinds, k)
	}
	for g := range rng.IntN(6) {
		w.gpus = append(w.gpus, w.gpu(t, rng, g))
	}
	var model packer.Model = h
	if rng.IntN(2) == 0 {
		model = batchKindHash{h}
	}
	switch paces := (packtest.HashPaces{Seed: rng.Uint64(), Steps: 4}); m := model.(type) {
	case kindHash:
		if rng.IntN(2) == 0 {
			model = struct {
				kindHash
				packtest.HashPaces
			}{m, paces}
		}
	case batchKindHash:
		if rng.IntN(2) == 0 {
			model = struct {
				batchKindHash
				packtest.HashPaces
			}{m, paces}
		}
	default:
	}
	threshold := []float64{0, 0.3, 1}[rng.IntN(3)]
	s, err := NewSession(w.gpus, model, limits, &SessionOptions{Threshold: profile.Some(threshold)})
	if err != nil {
		t.Fatal(err)
	}
	w.fast, w.slow = s, newSlowSession(w.gpus, model, limits, threshold)
	return w
}

// gpu makes a GPU, now and then with a resident.
func (w *twins) gpu(t *rapid.T, rng *rand.Rand, g int) packer.GPU {
	kind := rng.IntN(3)
	gpu := packer.GPU{ID: fmt.Sprintf("g%02d", g), Memory: profile.Bytes(8+6*kind) * profile.GiB}
	if kind == 1 {
		gpu.Mechanisms = []profile.Mechanism{profile.MPS, profile.TimeSlice}
	}
	for range rng.IntN(3) {
		if r := w.task(t); len(gpu.Residents) == 0 || r.Width() == gpu.Residents[0].Width() {
			gpu.Residents = append(gpu.Residents, r)
		} else {
			w.live = w.live[:len(w.live)-1]
		}
	}
	return gpu
}

// task makes the next task: of a kind, and it may or may not say so.
func (w *twins) task(t *rapid.T) packer.Task {
	task := rapid.SampledFrom(w.kinds).Draw(t, "kind")
	task.ID = fmt.Sprintf("t%03d", w.count)
	w.count++
	w.live = append(w.live, task.ID)
	return task
}

func (w *twins) same(t *rapid.T, what string, got []Decision, err error, want []Decision) {
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, approx); len(got)+len(want) > 0 && diff != "" {
		t.Fatalf("%s (-slow +fast):\n%s", what, diff)
	}
}

// approx lets sums in another order differ in the last bits.
var approx = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) })

func (w *twins) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"arrive": func(t *rapid.T) {
			task := w.task(t)
			d, err := w.fast.Arrive(task)
			w.same(t, "arrive", []Decision{d}, err, []Decision{w.slow.arrive(task)})
		},
		"burst": func(t *rapid.T) {
			tasks := make([]packer.Task, rapid.IntRange(0, 6).Draw(t, "tasks"))
			for i := range tasks {
				tasks[i] = w.task(t)
			}
			ds, err := w.fast.ArriveAll(context.Background(), tasks)
			if err != nil || len(ds) != len(tasks) {
				t.Fatalf("%d decisions for %d tasks, %v", len(ds), len(tasks), err)
			}
			for i, d := range ds {
				g, speed, ok := w.fast.Where(tasks[i].ID)
				if d.Task != tasks[i].ID || d.Placed != ok || ok && (d.GPU != g || d.Speed != speed || d.Mechanism != w.fast.Mechanism(g)) {
					t.Fatalf("the decision is %+v; the task is at %d, %v, %v", d, g, speed, ok)
				}
			}
			w.slow.adopt(w.fast)
		},
		"finish": func(t *rapid.T) {
			if len(w.live) == 0 {
				return
			}
			at := rapid.IntRange(0, len(w.live)-1).Draw(t, "which")
			id := w.live[at]
			w.live = slices.Delete(w.live, at, at+1)
			g, _, running := w.fast.Where(id)
			d, err := w.fast.Finish(id)
			w.same(t, "finish", d, err, w.slow.finish(id))
			for _, task := range w.slow.queue {
				if !running {
					break
				}
				if n, _ := w.slow.gain(g, task.Task); n > 0 {
					t.Fatalf("%s waits and could start on %d", task.ID, g)
				}
			}
		},
		"fail": func(t *rapid.T) {
			if len(w.slow.cards) == 0 {
				return
			}
			gpus := rapid.SliceOfN(rapid.IntRange(0, len(w.slow.cards)-1), 1, 3).Draw(t, "gpus")
			d, err := w.fast.Fail(gpus...)
			w.same(t, "fail", d, err, w.slow.fail(gpus))
		},
		"restore": func(t *rapid.T) {
			for g := range w.slow.cards {
				if w.slow.cards[g].down {
					d, err := w.fast.Restore(g)
					w.same(t, "restore", d, err, w.slow.restore(g))
					return
				}
			}
		},
		"add": func(t *rapid.T) {
			if len(w.slow.cards) > 8 {
				return
			}
			g := w.gpu(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "gpu"), 4)), len(w.slow.cards))
			d, err := w.fast.AddGPU(g)
			w.same(t, "add", d, err, w.slow.add(g))
		},
		"reweigh": func(t *rapid.T) {
			shift := rapid.IntRange(0, 3).Draw(t, "shift")
			weight := func(t *packer.Task) float64 { return float64(1 + (int(t.ID[3])+shift)%3) }
			d, err := w.fast.Reweigh(weight)
			w.same(t, "reweigh", d, err, w.slow.reweigh(weight))
		},
		"change": func(t *rapid.T) {
			if len(w.slow.cards) == 0 {
				return
			}
			g := rapid.IntRange(0, len(w.slow.cards)-1).Draw(t, "gpu")
			gpu := w.gpu(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "change"), 5)), g)
			w.live = w.live[:len(w.live)-len(gpu.Residents)]
			gpu.Residents = nil
			c, old := w.slow.cards[g], w.slow.p.GPUs[g]
			if c.lead != none || len(w.slow.gang(g)) > 0 {
				if _, err := w.fast.ChangeGPU(g, gpu); err == nil {
					t.Fatal("a GPU changed under a gang")
				}
				return
			}
			if len(c.tasks) > 1 || len(c.tasks) == 1 && gpu.Total() < old.Total() {
				return // it could be beyond the limits from then on
			}
			d, err := w.fast.ChangeGPU(g, gpu)
			w.same(t, "change", d, err, w.slow.change(g, gpu))
		},
		"renew": func(t *rapid.T) {
			model := kindHash{packtest.HashModel{Seed: rapid.Uint64().Draw(t, "model"), Steps: 10, Low: 0.3}}
			w.renewed = true
			d, err := w.fast.Renew(model)
			w.same(t, "renew", d, err, w.slow.renew(model))
		},
		"rebalance": func(t *rapid.T) { w.rebalance(t) },
		"":          w.check,
	}
}

// rebalance follows the steps of Rebalance: each must be possible, and together
// they must gain more than the moves cost.
func (w *twins) rebalance(t *rapid.T) {
	if w.slow.p.Limits.LargestSet() > 2 && rapid.IntRange(0, 3).Draw(t, "search") > 0 {
		return // a search costs more than a matching
	}
	most := rapid.IntRange(0, 5).Draw(t, "moves")
	before := w.fast.Throughput()
	_, waiting := w.fast.Tasks()
	steps, err := w.fast.Rebalance(context.Background(), most)
	if err != nil {
		t.Fatal(err)
	}
	where, worth := map[string]int{}, map[string]float64{}
	for g := range w.slow.cards {
		for _, task := range w.slow.cards[g].tasks {
			where[task.ID] = g
			worth[task.ID] = task.EffectiveWeight() * w.slow.pace(&task.Task, g)
		}
	}
	moved := map[string]bool{}
	for _, step := range steps {
		from, ok := where[step.Task]
		if !ok {
			from = Nowhere
		}
		if step.From != from || step.From == step.To {
			t.Fatalf("%+v: the task is on %d", step, from)
		}
		if ok {
			delete(where, step.Task)
			moved[step.Task] = true
		}
		if step.To == Nowhere {
			continue
		}
		where[step.Task] = step.To
		used, n := profile.Bytes(0), 0
		for id, g := range where {
			if g == step.To {
				used += w.fast.jobs[id].task.Memory
				n++
			}
		}
		if float64(used) > 0.9*float64(w.slow.p.GPUs[step.To].Total()) || n > max(1, w.slow.p.Limits.LargestSet()) {
			t.Fatalf("%+v: %d tasks, %v", step, n, used)
		}
	}
	cost := 0.0
	for id := range moved {
		cost += worth[id] * w.fast.jobs[id].task.MoveCost
	}
	if len(moved) > most {
		t.Fatalf("%d moves, %d allowed", len(moved), most)
	}
	_, still := w.fast.Tasks()
	if gain := w.fast.Throughput() - before; len(moved) > 0 && still == waiting && gain <= cost-1e-9 {
		t.Fatalf("%d moves gain %v and cost %v", len(moved), gain, cost)
	}
	w.slow.adopt(w.fast)
	for id, g := range where {
		if at, _, ok := w.fast.Where(id); !ok || at != g {
			t.Fatalf("%s: the steps lead to %d, it is on %d", id, g, at)
		}
	}
}

// check looks at the whole state.
func (w *twins) check(t *rapid.T) {
	seen := map[string]int{}
	for g, want := range w.slow.cards {
		var ids []string
		for task, speed := range w.fast.Running(g) {
			ids = append(ids, task.ID)
			seen[task.ID]++
			if at, v, ok := w.fast.Where(task.ID); !ok || at != g || v != speed {
				t.Fatalf("%s runs on %d at %v; Where says %d, %v, %v", task.ID, g, speed, at, v, ok)
			}
		}
		var wants []string
		for _, task := range want.tasks {
			wants = append(wants, task.ID)
		}
		if !slices.Equal(ids, wants) || w.fast.Mechanism(g) != want.mech {
			t.Fatalf("GPU %d runs %v by %v; want %v by %v", g, ids, w.fast.Mechanism(g), wants, want.mech)
		}
		w.limits(t, g)
	}
	var queue []string
	for _, j := range w.fast.queue() {
		queue = append(queue, j.task.ID)
		seen[j.task.ID]++
	}
	for _, id := range w.live {
		if seen[id] != 1 {
			t.Fatalf("%s is there %d times", id, seen[id])
		}
	}
	if running, waiting := w.fast.Tasks(); len(seen) != len(w.live) || running+waiting != len(w.live) || waiting != len(queue) {
		t.Fatalf("%d running, %d waiting; %d are live and %v wait", running, waiting, len(w.live), queue)
	}
	p, s, err := w.fast.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
}

// limits checks memory and speeds of a GPU whose first residents have gone.
func (w *twins) limits(t *rapid.T, g int) {
	c := &w.slow.cards[g]
	var used profile.Bytes
	for task := range w.fast.Running(g) {
		if g < len(w.gpus) && slices.ContainsFunc(w.gpus[g].Residents, func(r packer.Task) bool { return r.ID == task.ID }) || g >= len(w.gpus) {
			return
		}
		used += task.Memory
	}
	if room := float64(w.slow.p.GPUs[g].Total()) * 0.9; float64(used) > room {
		t.Fatalf("GPU %d: %v of %v", g, used, room)
	}
	if len(c.tasks) > max(1, w.slow.p.Limits.LargestSet()) {
		t.Fatalf("GPU %d: %d tasks", g, len(c.tasks))
	}
	for task, speed := range w.fast.Running(g) {
		if len(c.tasks) > 1 && (task.Alone || speed < task.MinSpeed && !w.renewed) {
			t.Fatalf("GPU %d: %s has company at speed %v, limit %v", g, task.ID, speed, task.MinSpeed)
		}
	}
}

func TestSessionAgainstSlowTwin(t *testing.T) {
	events := 0
	defer func() { t.Logf("%d events", events) }()
	rapid.Check(t, func(t *rapid.T) {
		actions := newTwins(t).actions()
		check := actions[""]
		actions[""] = func(t *rapid.T) { events++; check(t) }
		t.Repeat(actions)
	})
}
