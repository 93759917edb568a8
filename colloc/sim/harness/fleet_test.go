package harness_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

func task(tb testing.TB, id string, busy float64, reserved profile.Bytes) colloc.Task {
	tb.Helper()
	p, err := profile.Solo{Name: id, GPU: "A100-40GB", SMActive: profile.Some(busy)}.Profile()
	if err != nil {
		tb.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p, Reserved: reserved}
}

func fleet(tb testing.TB, cluster string) *harness.Fleet {
	tb.Helper()
	cards, err := harness.Cards(cluster)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func start(tb testing.TB, f *harness.Fleet, t colloc.Task, truth sim.Task, gpus ...string) {
	tb.Helper()
	if err := f.Start(t, truth, gpus...); err != nil {
		tb.Fatal(err)
	}
}

// TestTimeAndSpeeds: two tasks that keep the SMs busy slow each other down by 1.55, as
// Overlap says, from when the second comes until the first ends; a gang goes at the
// speed of its slowest card.
func TestTimeAndSpeeds(t *testing.T) {
	f := fleet(t, "3xA100-40GB")
	hour := sim.Task{Work: time.Hour, Memory: profile.GiB}
	begin := f.Now()
	start(t, f, task(t, "a", 1, profile.GiB), hour, "node0/gpu0")
	if e, ok := f.Step(begin.Add(30 * time.Minute)); ok || !f.Now().Equal(begin.Add(30*time.Minute)) {
		t.Fatalf("after half an hour: %+v at %v", e, f.Now())
	}
	start(t, f, task(t, "b", 1, profile.GiB), hour, "node0/gpu0")
	gang := task(t, "gang", 1, profile.GiB)
	gang.GPUs = 2
	start(t, f, gang, sim.Task{Work: time.Hour}, "node0/gpu0", "node0/gpu2")
	if _, err := f.Stop("gang"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		task  string
		after float64 // minutes
		speed float64 // of the task in its set; 0 is not measured
	}{{"a", 30 + 30*1.55, 1 / 1.55}, {"b", 30 + 30*1.55 + 30, 0}} {
		e, ok := f.Step(time.Time{})
		after := e.At.Sub(begin).Minutes()
		if !ok || e.Task != want.task || e.Died || math.Abs(after-want.after) > 1e-6 || !slices.Equal(e.GPUs, []string{"node0/gpu0"}) {
			t.Errorf("event %d: %+v after %v minutes, want %+v", i, e, after, want)
		}
		at := slices.IndexFunc(e.Seen.Members, func(m colloc.Measurement) bool { return !m.Peak.IsZero() })
		if m := e.Seen.Members[at]; m.Peak.Or(0) != profile.GiB || math.Abs(m.Speed.Or(0)-want.speed) > 1e-9 || m.OutOfMemory {
			t.Errorf("event %d: seen %+v, want a speed of %v", i, m, want.speed)
		}
	}
	if _, ok := f.Step(time.Time{}); ok {
		t.Error("an event of an empty fleet")
	}
}

// TestMemory: what does not fit dies after a while, unless a neighbour ends before, and
// what monitoring shows never exceeds the card.
func TestMemory(t *testing.T) {
	f := fleet(t, "1xA100-40GB")
	start(t, f, task(t, "a", 0.1, profile.GiB), sim.Task{Work: time.Hour, Memory: 30 * profile.GiB}, "node0/gpu0")
	start(t, f, task(t, "b", 0.1, profile.GiB), sim.Task{Work: time.Hour, Memory: 30 * profile.GiB}, "node0/gpu0")
	var used profile.Bytes
	for _, p := range f.Usage()[0].Processes {
		used += p.Memory.Or(0)
	}
	if used != f.GPUs()[0].Total() {
		t.Errorf("%v in use, want all", used)
	}
	began := f.Now()
	e, ok := f.Step(time.Time{})
	if !ok || e.Task != "b" || !e.Died || e.At.Sub(began) != 30*time.Second {
		t.Fatalf("%+v", e)
	}
	if m := e.Seen.Members[1]; !m.OutOfMemory || m.Peak.Or(0) != f.GPUs()[0].Total()-30*profile.GiB {
		t.Errorf("seen of the death: %+v", m)
	}
	start(t, f, task(t, "b", 0.1, profile.GiB), sim.Task{Work: time.Hour, Memory: 30 * profile.GiB}, "node0/gpu0")
	if _, err := f.Stop("a"); err != nil { // just in time
		t.Fatal(err)
	}
	if e, ok := f.Step(time.Time{}); !ok || e.Task != "b" || e.Died {
		t.Errorf("a task whose neighbour left: %+v", e)
	}
}

// TestFailAndFaults: cards go with their tasks, gangs as a whole, and come back empty;
// what cannot be is refused and changes nothing.
func TestFailAndFaults(t *testing.T) {
	f := fleet(t, "2x2xA100-40GB")
	truth := sim.Task{Work: time.Hour}
	gang := task(t, "gang", 0.1, profile.GiB)
	gang.GPUs = 2
	start(t, f, gang, truth, "node0/gpu1", "node1/gpu0")
	start(t, f, task(t, "a", 0.1, profile.GiB), truth, "node1/gpu0")
	lost, err := f.Fail("node0/gpu0", "node0/gpu1")
	if err != nil || !slices.Equal(lost, []string{"gang"}) || !slices.Equal(f.Running(), []string{"a"}) || len(f.GPUs()) != 2 {
		t.Errorf("lost %v, %v; %v run on %d GPUs", lost, err, f.Running(), len(f.GPUs()))
	}
	for name, c := range map[string]struct {
		task  colloc.Task
		truth sim.Task
		gpus  []string
		want  error
	}{
		"down":       {task(t, "b", 0.1, 1), truth, []string{"node0/gpu0"}, harness.ErrDown},
		"no card":    {task(t, "b", 0.1, 1), truth, []string{"gpu7"}, harness.ErrUnknown},
		"runs":       {task(t, "a", 0.1, 1), truth, []string{"node1/gpu1"}, harness.ErrRuns},
		"too few":    {gang, truth, []string{"node1/gpu1"}, nil},
		"twice":      {gang, truth, []string{"node1/gpu1", "node1/gpu1"}, nil},
		"no work":    {task(t, "b", 0.1, 1), sim.Task{}, []string{"node1/gpu1"}, nil},
		"no profile": {colloc.Task{ID: "b"}, truth, []string{"node1/gpu1"}, nil},
	} {
		if err := f.Start(c.task, c.truth, c.gpus...); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := f.Repair("node0/gpu0"); err != nil || len(f.GPUs()) != 3 || len(f.GPUs()[0].Residents) != 0 || len(f.Running()) != 1 {
		t.Errorf("repaired: %v, %d GPUs", err, len(f.GPUs()))
	}
	if _, err := f.Stop("b"); !errors.Is(err, harness.ErrUnknown) {
		t.Errorf("stopped what does not run: %v", err)
	}
	if _, err := f.Fail("gpu7"); !errors.Is(err, harness.ErrUnknown) {
		t.Errorf("a card that is none failed: %v", err)
	}
	cards, _ := harness.Cards("1xT4")
	for name, c := range map[string]harness.Config{
		"none": {}, "two of one name": {GPUs: append(cards, cards...)}, "residents": {GPUs: []colloc.GPU{{ID: "g", Memory: 1, Residents: make([]colloc.Task, 1)}}},
	} {
		if _, err := harness.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := harness.Cards("4 potatoes"); err == nil {
		t.Error("a cluster of potatoes")
	}
}

// asked is a truth that notes how tasks share, and answers with one speed.
type asked struct {
	mechanisms []profile.Mechanism
	speed      float64
}

func (a *asked) Speeds(_ *sim.GPU, mech profile.Mechanism, _ []*sim.Task, dst []float64) error {
	a.mechanisms = append(a.mechanisms, mech)
	for i := range dst {
		dst[i] = a.speed
	}
	return nil
}

// TestMechanisms: who is alone is asked for alone; sets share by time-slicing, or by MPS on a
// card that has nothing else. A truth without speeds stops the fleet.
func TestMechanisms(t *testing.T) {
	for name, tt := range map[string]struct {
		has  []profile.Mechanism
		want profile.Mechanism
	}{
		"any":        {nil, profile.TimeSlice},
		"MPS":        {[]profile.Mechanism{profile.MPS}, profile.MPS},
		"both":       {[]profile.Mechanism{profile.MPS, profile.TimeSlice}, profile.TimeSlice},
		"time alone": {[]profile.Mechanism{profile.TimeSlice}, profile.TimeSlice},
	} {
		cards, err := harness.Cards("1xA100-40GB")
		if err != nil {
			t.Fatal(err)
		}
		if tt.has != nil {
			cards[0].Mechanisms = tt.has
		}
		truth := &asked{speed: sim.MaxSpeed}
		f, err := harness.New(harness.Config{GPUs: cards, Truth: truth})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			start(t, f, task(t, id, 0.5, profile.GiB), sim.Task{Work: time.Hour}, "node0/gpu0")
		}
		if truth.mechanisms[0] != profile.Exclusive || !slices.Contains(truth.mechanisms, tt.want) || f.Err() != nil {
			t.Errorf("%s: asked for %v, want %v for two; %v", name, truth.mechanisms, tt.want, f.Err())
		}
		truth.speed = 1.1 * sim.MaxSpeed
		if err := f.Start(task(t, "c", 0.5, profile.GiB), sim.Task{Work: time.Hour}, "node0/gpu0"); !errors.Is(err, sim.ErrSpeed) {
			t.Errorf("%s: a speed beyond all: error %v", name, err)
		}
	}
}

// TestTimeStands: time does not run back, and begins at the new year where nobody says when.
func TestTimeStands(t *testing.T) {
	f := fleet(t, "1xA100-40GB")
	if want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); !f.Now().Equal(want) {
		t.Errorf("it is %v, want %v", f.Now(), want)
	}
	start(t, f, task(t, "a", 0.5, profile.GiB), sim.Task{Work: time.Hour}, "node0/gpu0")
	for _, until := range []time.Duration{30 * time.Minute, 10 * time.Minute} {
		if _, ok := f.Step(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(until)); ok || f.Now().Minute() != 30 {
			t.Errorf("after a step to %v it is %v", until, f.Now())
		}
	}
}

// TestOverlapUnknown: of a task without a profile, or with one that does not say, it is taken
// that it keeps the card busy all the time.
func TestOverlapUnknown(t *testing.T) {
	for _, p := range []*profile.Profile{nil, {}} {
		set := []*sim.Task{{Profile: p}, {Profile: p}}
		dst := make([]float64, 2)
		if err := (harness.Overlap{}).Speeds(&sim.GPU{}, profile.TimeSlice, set, dst); err != nil || math.Abs(dst[0]-1/1.55) > 1e-9 {
			t.Errorf("%v, %v, want 1/1.55", dst, err)
		}
	}
}

// TestFleetKeepsCount: whatever starts, stops and fails, the work that was done is the
// work of what ended, cards and books agree about who runs where.
func TestFleetKeepsCount(t *testing.T) {
	const seed = 4
	rng := rand.New(rand.NewPCG(seed, 1))
	f := fleet(t, "3x4xA100-40GB")
	books, err := ledger.New(ledger.Config{GPUs: f.GPUs(), Now: f.Now})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended, began := 0, 0
	for range max(300, race.Fewer(1500)) {
		if rng.IntN(2) == 0 {
			next := task(t, fmt.Sprint("t", began), 0.2+0.5*rng.Float64(), profile.GiB*profile.Bytes(1+rng.IntN(12)))
			next.GPUs = 1 + rng.IntN(12)/11
			now := books.Snapshot()
			plan, err := planner.Plan(t.Context(), []colloc.Task{next}, now.GPUs)
			if err != nil {
				t.Fatal(err)
			}
			claims, err := ledger.Claims(plan, []colloc.Task{next})
			if err != nil {
				t.Fatal(err)
			}
			if len(claims) == 0 {
				continue // it fits nowhere
			}
			lease, err := books.Reserve(now.Version, claims...)
			if err != nil {
				t.Fatal(err)
			}
			var on []string
			for i := range claims {
				on = append(on, claims[i].GPU)
			}
			start(t, f, next, sim.Task{Work: time.Hour, Memory: claims[0].Task.Reserved}, on...)
			if err := books.Commit(lease); err != nil {
				t.Fatal(err)
			}
			began++
			continue
		}
		e, ok := f.Step(f.Now().Add(time.Hour))
		if !ok {
			continue
		}
		if ended++; e.Died {
			t.Fatalf("%s died, the books let nobody die", e.Task)
		}
		if err := books.Release(e.Task); err != nil {
			t.Fatal(err)
		}
		if found := books.Reconcile(f.Usage()); len(found) > 0 {
			t.Fatalf("books and fleet differ: %v", found)
		}
	}
	if f.Err() != nil || ended < 60 || began-ended != len(f.Running()) {
		t.Errorf("%d began, %d ended, %d run: %v", began, ended, len(f.Running()), f.Err())
	}
}
