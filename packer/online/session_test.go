package online

import (
	"context"
	"errors"
	"fmt"
	"math"
	rand "math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

func newTestSession(t *testing.T, gpus int, m packer.Model, l packer.Limits) *Session {
	t.Helper()
	cards := make([]packer.GPU, gpus)
	for i := range cards {
		cards[i] = packer.GPU{ID: fmt.Sprintf("g%d", i), Memory: 10 * profile.GiB}
	}
	s, err := NewSession(cards, m, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSessionRefusesWhatIsNone(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name string
		task packer.Task
		want string
	}{
		{"no ID", packer.Task{}, "ID is empty"},
		{"twice", packer.Task{ID: "a"}, `duplicate task: "a" runs or waits already`},
		{"memory", packer.Task{ID: "b", Memory: -1}, "Memory is -1"},
		{"weight", packer.Task{ID: "b", Weight: nan}, "Weight is NaN"},
		{"huge weight", packer.Task{ID: "b", Weight: 1e300}, "Weight is 1e+300"},
		{"speed", packer.Task{ID: "b", MinSpeed: nan}, "MinSpeed is NaN"},
		{"cost", packer.Task{ID: "b", MoveCost: math.Inf(1)}, "MoveCost is +Inf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestSession(t, 1, packtest.Even{1, 0.9}, packer.Limits{MaxSet: 2})
			if _, err := s.Arrive(packer.Task{ID: "a"}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Arrive(test.task); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Arrive: %v, want %q", err, test.want)
			}
			if _, err := s.ArriveAll(context.Background(), []packer.Task{{ID: "c"}, test.task}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ArriveAll: %v, want %q", err, test.want)
			}
			if running, waiting := s.Tasks(); running != 1 || waiting != 0 {
				t.Errorf("%d run and %d wait after errors", running, waiting)
			}
		})
	}
	s := newTestSession(t, 1, packtest.Even{1, 0.9}, packer.Limits{MaxSet: 2})
	for name, call := range map[string]func() error{
		"unknown task":  func() error { _, err := s.Finish("x"); return err },
		"unknown GPU":   func() error { _, err := s.Fail(1); return err },
		"negative GPU":  func() error { _, err := s.Restore(-1); return err },
		"same GPU":      func() error { _, err := s.AddGPU(packer.GPU{ID: "g0", Memory: 1}); return err },
		"no GPU memory": func() error { _, err := s.AddGPU(packer.GPU{ID: "x"}); return err },
		"MIG": func() error {
			_, err := s.AddGPU(packer.GPU{ID: "x", Memory: 1, Mechanisms: []profile.Mechanism{profile.MIG}})
			return err
		},
		"moves":  func() error { _, err := s.Rebalance(context.Background(), -1); return err },
		"weight": func() error { _, err := s.Reweigh(func(*packer.Task) float64 { return nan }); return err },
		"burst": func() error {
			_, err := s.ArriveAll(context.Background(), []packer.Task{{ID: "a"}, {ID: "a"}})
			return err
		},
	} {
		if _, err := s.Arrive(packer.Task{ID: "t"}); err != nil {
			t.Fatal(err)
		}
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := s.Finish("t"); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []float64{-1, 2, nan} {
		if _, err := NewSession(nil, packtest.Even{1}, packer.Limits{MaxSet: 2}, &SessionOptions{Threshold: profile.Some(o)}); err == nil {
			t.Errorf("threshold %v: no error", o)
		}
	}
}

// TestSessionModelFails lets the model fail at every single question in turn: no
// task may be lost.
func TestSessionModelFails(t *testing.T) {
	for at := range 40 {
		m := &failing{Model: packtest.Even{1, 0.9, 0.5}, left: at}
		sessionModelFails(t, m, m)
	}
	for at := range 40 {
		m := &failing{Model: packtest.Even{1, 0.9, 0.5}, left: at}
		sessionModelFails(t, m, failingBatch{m})
	}
}

// sessionModelFails: the caller is told of the question that failed, and nothing is lost.
func sessionModelFails(t *testing.T, m *failing, model packer.Model) {
	t.Helper()
	at, told := m.left, 0
	s := newTestSession(t, 2, model, packer.Limits{MaxSet: 3})
	there := map[string]bool{}
	for i := range 7 {
		id := fmt.Sprint("t", i)
		if _, err := s.Arrive(packer.Task{ID: id, Memory: 2 * profile.GiB}); err == nil {
			there[id] = true
		} else if told++; !errors.Is(err, packtest.ErrBroken) || !strings.Contains(err.Error(), id) {
			t.Fatalf("%T, question %d: %v does not name %s", model, at, err, id)
		}
	}
	for i := range 3 {
		id := fmt.Sprint("t", i)
		_, err := s.Finish(id)
		if errors.Is(err, packtest.ErrBroken) {
			told++
		} else if there[id] && err != nil {
			t.Fatal(err)
		}
		delete(there, id)
	}
	if _, err := s.Fail(0); errors.Is(err, packtest.ErrBroken) {
		told++
	} else if err != nil {
		t.Fatal(err)
	}
	if failed := m.left < 0; failed != (told > 0) {
		t.Fatalf("%T, question %d: it failed %v, and callers were told %d times", model, at, failed, told)
	}
	if running, waiting := s.Tasks(); running+waiting != len(there) {
		t.Fatalf("%T, question %d: %d run and %d wait of %d", model, at, running, waiting, len(there))
	}
	m.left = -1 // and never again
	if p, sol, err := s.Snapshot(); err != nil {
		t.Fatal(err)
	} else if err := p.Check(sol); err != nil {
		t.Fatalf("%T, question %d: %v", model, at, err)
	}
}

// failingBatch is failing as a BatchModel.
type failingBatch struct{ *failing }

// PairSpeeds implements packer.BatchModel.
func (f failingBatch) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	var dst [2]float64
	for i, o := range partners {
		if err := f.Speeds([]*packer.Task{task, o}, gpu, mech, dst[:]); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}

// failing is a model that fails once.
type failing struct {
	packer.Model
	left int
}

func (f *failing) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if f.left--; f.left == -1 {
		return packtest.ErrBroken
	}
	return f.Model.Speeds(set, gpu, mech, dst)
}

func TestSessionNeverAllocates(t *testing.T) {
	for _, named := range []bool{true, false} {
		_, turn := steadySession(t, "random", 100, 3, 16, named)
		for range 2000 {
			if err := turn(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(500, func() { _ = turn() }); n > 0 {
			t.Errorf("named %v: %v allocations for an arrival and a departure", named, n)
		}
	}
}

// TestSessionForgets runs very many tasks, most of a kind of their own, through a
// small session: what it keeps must not grow.
func TestSessionForgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newTestSession(t, 4, packtest.Even{1, 0.8}, packer.Limits{MaxSet: 2})
	var live []string
	for i := range 60_000 {
		id := fmt.Sprint("t", i)
		if _, err := s.Arrive(packer.Task{ID: id, Kind: id[:len(id)-i%3], Memory: profile.GiB}); err != nil {
			t.Fatal(err)
		}
		if live = append(live, id); len(live) == 20 {
			at := rng.IntN(20)
			if _, err := s.Finish(live[at]); err != nil {
				t.Fatal(err)
			}
			live[at] = live[19]
			live = live[:19]
		}
	}
	if len(s.jobs) != 19 || len(s.spareJobs) > 20 || len(s.kinds) > 2*maxIdleKinds || len(s.spareKinds) > 20 || len(s.waiting) > 19 {
		t.Errorf("%d jobs and %d spare ones, %d kinds and %d spare ones, %d waiting for 19 tasks",
			len(s.jobs), len(s.spareJobs), len(s.kinds), len(s.spareKinds), len(s.waiting))
	}
}

// TestSessionBurstMeetsPartners: taken together, a burst is paired well; one at a
// time the first two would meet.
func TestSessionBurstMeetsPartners(t *testing.T) {
	m := packtest.Duo{"ab": 0.7, "cd": 0.7, "ac": 0.95, "bd": 0.95, "ad": 0.7, "bc": 0.7}
	s := newTestSession(t, 2, m, packer.Limits{MaxSet: 2})
	ds, err := s.ArriveAll(context.Background(), []packer.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}})
	if err != nil || ds[0].GPU != ds[2].GPU || ds[1].GPU != ds[3].GPU || s.Throughput() != 3.8 {
		t.Errorf("%+v, %v: throughput %v", ds, err, s.Throughput())
	}
}

func TestSessionReasonNamesTheThreshold(t *testing.T) {
	s := newTestSession(t, 1, packtest.Even{1, 0.53}, packer.Limits{MaxSet: 2})
	for _, id := range []string{"a", "b"} {
		if _, err := s.Arrive(packer.Task{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	_, sol, err := s.Snapshot()
	if err != nil || len(sol.Reasons) != 1 {
		t.Fatal(sol, err)
	}
	if r := sol.Reasons[0]; r.ID != "b" || r.Sharing != packer.NoGain || r.Shared != 1.06 || math.Abs(r.Apart-1.1) > 1e-6 {
		t.Errorf("got %+v", r)
	}
}

func TestSessionRebalanceSwapsInOrder(t *testing.T) {
	m := packtest.Duo{"ab": 0.7, "cd": 0.7, "ac": 0.95, "bd": 0.95}
	s := newTestSession(t, 2, m, packer.Limits{MaxSet: 2})
	for _, id := range []string{"a", "c", "b", "d"} { // a and c get GPUs of their own
		if _, err := s.Arrive(packer.Task{ID: id, Memory: 4 * profile.GiB}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		moves, steps int
		want         float64
	}{{1, 0, 2.8}, {2, 3, 3.8}} {
		steps, err := s.Rebalance(context.Background(), test.moves)
		if err != nil || len(steps) != test.steps || s.Throughput() != test.want {
			t.Errorf("%d moves: %+v, %v: throughput %v, want %v", test.moves, steps, err, s.Throughput(), test.want)
		}
	}
}

// TestSessionRebalanceOfLightTasks: what tasks count for changes no moves.
func TestSessionRebalanceOfLightTasks(t *testing.T) {
	m := packtest.Duo{"ab": 0.7, "cd": 0.7, "ac": 0.95, "bd": 0.95}
	for _, weight := range []float64{1e-9, 1, 1e9} {
		s := newTestSession(t, 2, m, packer.Limits{MaxSet: 2})
		for _, id := range []string{"a", "c", "b", "d"} {
			if _, err := s.Arrive(packer.Task{ID: id, Weight: weight}); err != nil {
				t.Fatal(err)
			}
		}
		if steps, err := s.Rebalance(t.Context(), 2); err != nil || len(steps) != 3 {
			t.Errorf("weight %v: %+v, %v; want a swap in three steps", weight, steps, err)
		}
	}
}

// TestSessionRebalancePrices: where the best arrangement takes two moves and one is
// allowed, moves are priced until one of them pays for itself.
func TestSessionRebalancePrices(t *testing.T) {
	m := packtest.Duo{"ab": 0.6, "cd": 0.6, "ac": 0.9, "bd": 0.6}
	s := newTestSession(t, 3, m, packer.Limits{MaxSet: 2})
	for _, id := range []string{"a", "c", "x", "b", "d"} { // x keeps the third GPU until the others stand in pairs
		if _, err := s.Arrive(packer.Task{ID: id, Alone: id == "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Finish("x"); err != nil {
		t.Fatal(err)
	}
	if steps, err := s.Rebalance(t.Context(), 1); err != nil || len(steps) != 1 || !(math.Abs(s.Throughput()-3.2) <= 1e-9) {
		t.Errorf("%+v, %v: throughput %v; want one move, to 3.2", steps, err, s.Throughput())
	}
}

// TestSessionRebalanceCountsTheCost: of two swaps of which one is allowed that is made
// which gains more after its cost.
func TestSessionRebalanceCountsTheCost(t *testing.T) {
	m := packtest.Duo{"ab": 0.6, "cd": 0.6, "ac": 0.95, "bd": 0.95, "ef": 0.7, "gh": 0.7, "eg": 0.95, "fh": 0.95}
	s := newTestSession(t, 4, m, packer.Limits{MaxSet: 2})
	for _, id := range []string{"a", "c", "e", "g", "b", "d", "f", "h"} {
		task := packer.Task{ID: id}
		if id < "e" {
			task.MoveCost = 0.4
		}
		if _, err := s.Arrive(task); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Throughput()
	if steps, err := s.Rebalance(t.Context(), 2); err != nil || len(steps) != 3 || !(math.Abs(s.Throughput()-before-1) <= 1e-9) {
		t.Errorf("%+v, %v: throughput %v, %v before; want the swap that gains 1 for nothing, not that of 1.4 for 0.8", steps, err, s.Throughput(), before)
	}
}

// TestSessionOfManyGPUs: each of as many tasks as there are GPUs gets its own, also what
// comes after others ended.
func TestSessionOfManyGPUs(t *testing.T) {
	const n = 200
	s := newTestSession(t, n, packtest.Even{1}, packer.Limits{MaxSet: 1})
	on := make(map[int]string)
	arrive := func(id string) {
		t.Helper()
		d, err := s.Arrive(packer.Task{ID: id})
		if err != nil || !d.Placed || on[d.GPU] != "" {
			t.Fatalf("%s: %+v, %v; there runs %q", id, d, err, on[d.GPU])
		}
		on[d.GPU] = id
	}
	for i := range n {
		arrive(fmt.Sprint("t", i))
	}
	for _, g := range []int{0, 63, 64, 65, 127, 128, 129, n - 1} {
		if _, err := s.Finish(on[g]); err != nil {
			t.Fatal(err)
		}
		delete(on, g)
	}
	for i := range 8 {
		arrive(fmt.Sprint("late", i))
	}
	for _, g := range []int{-1, n} {
		if _, err := s.Restore(g); err == nil {
			t.Errorf("Restore of GPU %d of %d: no error", g, n)
		}
		if _, err := s.ChangeGPU(g, packer.GPU{ID: "other", Memory: profile.GiB}); err == nil {
			t.Errorf("ChangeGPU of GPU %d of %d: no error", g, n)
		}
	}
}

func TestSessionRebalanceLeavesWhatStays(t *testing.T) {
	m := packtest.Duo{"ab": 0.7, "cd": 0.7, "ac": 0.95, "bd": 0.95}
	gpus := []packer.GPU{
		{ID: "g", Memory: profile.GiB, Residents: []packer.Task{{ID: "a"}, {ID: "b"}}},
		{ID: "h", Memory: profile.GiB, Residents: []packer.Task{{ID: "c"}, {ID: "d"}}},
	}
	s, err := NewSession(gpus, m, packer.Limits{MaxSet: 2}, &SessionOptions{Stays: func(t *packer.Task) bool { return t.ID < "d" }})
	if err != nil {
		t.Fatal(err)
	}
	if steps, err := s.Rebalance(context.Background(), 9); err != nil || len(steps) > 0 {
		t.Errorf("moves %v, %v", steps, err)
	}
}

// TestSessionRebalanceLeavesGangs: two gangs would do well together, and give two
// GPUs to the task that waits; they stay, while single tasks move.
func TestSessionRebalanceLeavesGangs(t *testing.T) {
	m := packtest.Duo{"xy": 0.95, "ab": 0.7, "cd": 0.7, "ac": 0.95, "bd": 0.95}
	s := newTestSession(t, 6, m, packer.Limits{MaxSet: 2})
	for _, task := range []packer.Task{{ID: "x", GPUs: 2}, {ID: "y", GPUs: 2}, {ID: "a"}, {ID: "c"}, {ID: "b"}, {ID: "d"}, {ID: "waits"}} {
		if _, err := s.Arrive(task); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := s.Rebalance(context.Background(), 9)
	if err != nil || len(steps) == 0 {
		t.Errorf("steps %v, %v", steps, err)
	}
	for _, want := range []struct {
		gang string
		gpu  int
	}{{"x", 0}, {"y", 2}} {
		if g, _, ok := s.Where(want.gang); !ok || g != want.gpu {
			t.Errorf("gang %s is on %d, %v; want %d", want.gang, g, ok, want.gpu)
		}
	}
	if _, waiting := s.Tasks(); waiting != 1 || s.Throughput() != 5.8 {
		t.Errorf("%d wait, throughput %v", waiting, s.Throughput())
	}
}

// TestSessionDrainsNoGPU: a task that must be alone lets others go first on GPUs
// that are not empty, and starts on the first that is.
func TestSessionDrainsNoGPU(t *testing.T) {
	s := newTestSession(t, 1, packtest.Even{1, 0.9}, packer.Limits{MaxSet: 2})
	for _, task := range []packer.Task{{ID: "a"}, {ID: "b"}, {ID: "alone", Alone: true}, {ID: "c"}} {
		if _, err := s.Arrive(task); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ ends, starts string }{{"a", "c"}, {"b", ""}, {"c", "alone"}} {
		got, err := s.Finish(test.ends)
		if err != nil || len(got) > 1 || len(got) == 1 && got[0].Task != test.starts || len(got) == 0 && test.starts != "" {
			t.Errorf("%s ends: %+v, %v; want %q to start", test.ends, got, err, test.starts)
		}
	}
}

// TestSessionThresholdIsRelative: on a GPU on which a task does a quarter, it
// shares for a quarter of what it must add elsewhere.
func TestSessionThresholdIsRelative(t *testing.T) {
	for _, test := range []struct {
		name      string
		threshold float64
		shares    bool
	}{{"below", 0.19, true}, {"equal", 0.2, true}, {"above", 0.21, false}} {
		for _, slow := range []float64{1, 0.25} {
			s, err := NewSession([]packer.GPU{{ID: "g", Memory: 1}}, packtest.Even{slow, 0.6 * slow}, packer.Limits{MaxSet: 2}, &SessionOptions{Threshold: profile.Some(test.threshold)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Arrive(packer.Task{ID: "a"}); err != nil {
				t.Fatal(err)
			}
			if d, err := s.Arrive(packer.Task{ID: "b"}); err != nil || d.Placed != test.shares {
				t.Errorf("%s, alone %v: %+v, %v", test.name, slow, d, err)
			}
		}
	}
}
