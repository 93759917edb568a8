package shadow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/shadow"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

func task(tb testing.TB, id string, busy float64, peak profile.Bytes) colloc.Task {
	tb.Helper()
	p, err := profile.Solo{Name: id[:1], GPU: "A100-40GB", SMActive: profile.Some(busy), Memory: profile.Some(peak)}.Profile()
	if err != nil {
		tb.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p}
}

func planner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// An adapter tells a Shadow what its scheduler sees and does.
func Example() {
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		log.Fatal(err)
	}
	s, err := shadow.New(shadow.Config{Planner: p})
	if err != nil {
		log.Fatal(err)
	}
	solo := func(name string, sm float64) colloc.Task {
		p, err := profile.Solo{Name: name, GPU: "A100-40GB", SMActive: profile.Some(sm), Memory: profile.Some(4 * profile.GiB)}.Profile()
		if err != nil {
			log.Fatal(err)
		}
		return colloc.Task{ID: name, Profile: &p}
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	cards, err := harness.Cards("1xA100-40GB")
	if err != nil {
		log.Fatal(err)
	}
	runs, waits := solo("bert", 0.2), solo("dcgan", 0.1)
	if err := s.Started(noon, runs, cards[0]); err != nil {
		log.Fatal(err)
	}
	busy := cards[0]
	busy.Residents = []colloc.Task{runs}
	if _, err := s.Waiting(context.Background(), noon, []colloc.Task{waits}, []colloc.GPU{busy}); err != nil {
		log.Fatal(err)
	}
	hour := noon.Add(time.Hour) // the site let it wait until the GPU was free
	s.Ended(hour, runs.ID, false)
	if err := s.Started(hour, waits, cards[0]); err != nil {
		log.Fatal(err)
	}
	fmt.Print(s.Report())
	// Output:
	// colloc beside the scheduler, 2026-01-01 12:00:00 to 2026-01-01 13:00:00, deciding nothing
	// 1 rounds, 2 tasks: 2 starts, 1 ended, of them 0 out of memory
	// starts: 0 share and 0 are alone as with colloc; 1 would share, 0 would not; 1 would wait; 1 on the same GPUs
	// 1 would have started earlier, by 1h0m0s on average, each taken by itself
}

// TestBesideAScheduler runs a Shadow beside one that crams, and counts again what it
// reports.
func TestBesideAScheduler(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	cards, err := harness.Cards("3xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := harness.New(harness.Config{GPUs: cards})
	if err != nil {
		t.Fatal(err)
	}
	p := planner(t)
	var before, after bytes.Buffer
	if err := p.Save(&before); err != nil {
		t.Fatal(err)
	}
	s, err := shadow.New(shadow.Config{Planner: p, Learn: true})
	if err != nil {
		t.Fatal(err)
	}
	starts, deaths, refused, speeds, peaks := 0, 0, 0, 0, 0
	var off float64
	for i := range 120 {
		next := task(t, string(rune('a'+i%5))+strconv.Itoa(i), 0.1+0.2*float64(i%5), profile.GiB*profile.Bytes(4+5*(i%5)))
		gpus := fleet.GPUs()
		queue := []colloc.Task{next}
		if _, err := s.Waiting(t.Context(), fleet.Now(), queue, gpus); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(gpus, fleet.GPUs()) || !reflect.DeepEqual(queue, []colloc.Task{next}) {
			t.Fatal("Waiting changed what it was given")
		}
		g := gpus[rng.IntN(len(gpus))]
		if len(g.Residents) < 3 { // one more than colloc lets share
			v, err := p.Fit(next, g)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Started(fleet.Now(), next, g); err != nil {
				t.Fatal(err)
			}
			peak, _ := next.Profile.Vector.Get(profile.PeakMemory)
			if err := fleet.Start(next, sim.Task{Work: time.Hour, Memory: profile.Bytes(peak)}, g.ID); err != nil {
				t.Fatal(err)
			}
			starts++
			if !v.Fits && v.Code != packer.SpeedLimit { // speeds are learned by the shadow alone
				refused++
			}
		}
		e, ok := fleet.Step(fleet.Now().Add(time.Duration(rng.IntN(60)) * time.Minute))
		if !ok {
			continue
		}
		s.Ended(e.At, e.Task, e.Died)
		if e.Died {
			deaths++
		}
		if err := s.Seen(e.Seen); err != nil {
			t.Fatal(err)
		}
		for _, m := range e.Seen.Members {
			if v, ok := m.Speed.Get(); ok {
				speeds++
				off += v
			}
			if !m.Peak.IsZero() && !m.OutOfMemory {
				peaks++
			}
		}
	}
	r := s.Report()
	c := r.Choices
	if got := c.BothShare + c.BothAlone + c.OnlyColloc + c.OnlySite + c.CollocWaits; r.Started != starts || got != starts || c.SameGPUs > starts {
		t.Errorf("%d starts, choices %+v; want %d", r.Started, c, starts)
	}
	counted, died := 0, 0
	for _, f := range r.Refused {
		if f.Code != packer.SpeedLimit {
			counted += f.Tasks
		}
		died += f.Died
	}
	if counted != refused || died != deaths || r.Died != deaths || deaths == 0 || r.Ended != starts-len(fleet.Running()) || r.Rounds != 120 || r.Tasks != 120 {
		t.Errorf("refused %d, died %d of them: %+v; want %d and %d", counted, died, r, refused, deaths)
	}
	if r.Speeds.Seen != speeds || speeds == 0 || r.Speeds.MAE <= 0 || r.Speeds.MAE > 0.3 || math.Abs(r.Speeds.Bias) > r.Speeds.MAE || r.Speeds.Covered <= 0.5 {
		t.Errorf("speeds %+v, want %d", r.Speeds, speeds)
	}
	if r.Memory.Seen < peaks || r.Memory.Under > deaths || r.Memory.Waste < 0.01 || r.Memory.Waste > 0.05 {
		t.Errorf("memory %+v, want %d peaks and the margin of 2 %% wasted", r.Memory, peaks)
	}
	if len(r.Worst) != 10 || math.Abs(r.Worst[0].Seen-r.Worst[0].Predicted.Value) < math.Abs(r.Worst[9].Seen-r.Worst[9].Predicted.Value) {
		t.Errorf("worst %+v", r.Worst)
	}
	if err := p.Save(&after); err != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Errorf("the planner learned (%v)", err)
	}
	text, err := json.Marshal(r)
	var back shadow.Report
	if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back.Choices, r.Choices) || !strings.Contains(string(text), `"format":"colloc shadow","version":1`) {
		t.Errorf("JSON %s, %v", text, err)
	}
}

// TestFaults: what cannot be is refused and not counted; too many tasks are forgotten.
func TestFaults(t *testing.T) {
	for name, c := range map[string]shadow.Config{"no planner": {}, "zero planner": {Planner: &colloc.Planner{}, Keep: -1}} {
		if _, err := shadow.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s, err := shadow.New(shadow.Config{Planner: planner(t), Keep: 20})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good, gpu := task(t, "a", 0.5, profile.GiB), colloc.GPU{ID: "g", Memory: 40 * profile.GiB}
	for name, err := range map[string]error{
		"a task without ID": func() error { _, err := s.Waiting(t.Context(), now, make([]colloc.Task, 1), nil); return err }(),
		"no GPU":            s.Started(now, good),
		"a bad GPU":         s.Started(now, good, colloc.GPU{ID: "g"}),
		"no number":         s.Seen(colloc.Observation{Members: []colloc.Measurement{{Profile: good.Profile, Speed: profile.Some(math.NaN())}, {Profile: good.Profile}}}),
		"nothing":           s.Seen(colloc.Observation{}),
		"no profile":        s.Seen(colloc.Observation{Members: []colloc.Measurement{{Peak: profile.Some(profile.GiB)}}}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.Seen(colloc.Observation{Members: []colloc.Measurement{{Profile: good.Profile}}}); !errors.Is(err, shadow.ErrNothingSeen) {
		t.Errorf("nothing seen: %v", err)
	}
	s.Ended(now, "nobody", true)
	if r := s.Report(); r.Tasks+r.Started+r.Ended+r.Died+r.Rounds+r.Speeds.Seen+r.Memory.Seen != 0 {
		t.Errorf("counted: %+v", r)
	}
	for i := range 50 {
		one := good
		one.ID = fmt.Sprint("a", i)
		if err := s.Started(now, one, gpu); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		s.Ended(now, fmt.Sprint("a", i), false)
	}
	if r := s.Report(); r.Started != 50 || r.Ended+r.Forgotten != 50 || r.Forgotten < 30 || r.Ended > 20 {
		t.Errorf("%d started, %d ended, %d forgotten", r.Started, r.Ended, r.Forgotten)
	}
}
