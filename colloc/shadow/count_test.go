package shadow_test

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/shadow"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func start(tb testing.TB, c shadow.Config) *shadow.Shadow {
	tb.Helper()
	if c.Planner == nil {
		c.Planner = planner(tb)
	}
	s, err := shadow.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func card(tb testing.TB, id string, residents ...colloc.Task) colloc.GPU {
	tb.Helper()
	m, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		tb.Fatal("no A100-40GB")
	}
	return colloc.GPU{ID: id, Model: m, Residents: residents}
}

// TestChoices: each start is held against the last decision about the task, and what runs
// already is no decision.
func TestChoices(t *testing.T) {
	one, gang, there := task(t, "a", 0.2, profile.GiB), task(t, "g", 0.2, profile.GiB), task(t, "r", 0.2, profile.GiB)
	gang.GPUs = 2
	whole := task(t, "w", 0.2, 30*profile.GiB)
	free, other, busy := card(t, "free"), card(t, "other"), card(t, "busy", there)
	for name, tt := range map[string]struct {
		task    colloc.Task
		offered []colloc.GPU // none is not asked
		taken   []colloc.GPU
		want    shadow.Choices
	}{
		"not asked":                  {one, nil, []colloc.GPU{free}, shadow.Choices{CollocWaits: 1}},
		"no room":                    {whole, []colloc.GPU{card(t, "busy", task(t, "r", 0.2, 30*profile.GiB))}, []colloc.GPU{free}, shadow.Choices{CollocWaits: 1}},
		"alone on the same GPU":      {one, []colloc.GPU{free}, []colloc.GPU{free}, shadow.Choices{BothAlone: 1, SameGPUs: 1}},
		"alone on another GPU":       {one, []colloc.GPU{free}, []colloc.GPU{other}, shadow.Choices{BothAlone: 1}},
		"beside the same task":       {one, []colloc.GPU{busy}, []colloc.GPU{busy}, shadow.Choices{BothShare: 1, SameGPUs: 1}},
		"alone instead of beside":    {one, []colloc.GPU{busy}, []colloc.GPU{free}, shadow.Choices{OnlyColloc: 1}},
		"beside instead of alone":    {one, []colloc.GPU{free}, []colloc.GPU{busy}, shadow.Choices{OnlySite: 1}},
		"a gang on the same GPUs":    {gang, []colloc.GPU{free, other}, []colloc.GPU{other, free}, shadow.Choices{BothAlone: 1, SameGPUs: 1}},
		"a gang, partly beside":      {gang, []colloc.GPU{free, other}, []colloc.GPU{busy, free}, shadow.Choices{OnlySite: 1}},
		"a gang, beside at the last": {gang, []colloc.GPU{free, other}, []colloc.GPU{free, busy}, shadow.Choices{OnlySite: 1}},
	} {
		s := start(t, shadow.Config{})
		if tt.offered != nil {
			for range 2 { // the last counts, once
				if _, err := s.Waiting(t.Context(), noon, []colloc.Task{tt.task}, tt.offered); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Started(noon, tt.task, tt.taken...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := s.Report(); r.Choices != tt.want || r.Tasks != 1 || r.Earlier.Tasks != 0 {
			t.Errorf("%s: %+v of %d tasks, %d earlier, want %+v of 1", name, r.Choices, r.Tasks, r.Earlier.Tasks, tt.want)
		}
	}
}

// TestLastDecision: who has to wait in the last round would wait, wherever it would have
// started before.
func TestLastDecision(t *testing.T) {
	s, one := start(t, shadow.Config{}), task(t, "a", 0.2, 30*profile.GiB)
	for _, g := range []colloc.GPU{card(t, "g"), card(t, "g", task(t, "r", 0.2, 30*profile.GiB))} {
		if _, err := s.Waiting(t.Context(), noon, []colloc.Task{one}, []colloc.GPU{g}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Started(noon, one, card(t, "g")); err != nil {
		t.Fatal(err)
	}
	if c := s.Report().Choices; c != (shadow.Choices{CollocWaits: 1}) {
		t.Errorf("%+v", c)
	}
}

// TestEarlier: a task would have started at the first round that places it; one that is
// started again counts from its next round. The report spans all that was told.
func TestEarlier(t *testing.T) {
	s, one, g := start(t, shadow.Config{}), task(t, "a", 0.2, profile.GiB), card(t, "g")
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	for _, step := range []struct {
		asked, started int
		want           shadow.Earlier
	}{{1, 1, shadow.Earlier{}}, {3, 5, shadow.Earlier{Tasks: 1, Seconds: 120}}, {9, 10, shadow.Earlier{Tasks: 2, Seconds: 180}}} {
		if _, err := s.Waiting(t.Context(), minute(step.asked), []colloc.Task{one}, []colloc.GPU{g}); err != nil {
			t.Fatal(err)
		}
		if err := s.Started(minute(step.started), one, g); err != nil {
			t.Fatal(err)
		}
		if got := s.Report().Earlier; got != step.want {
			t.Errorf("asked in minute %d, started in %d: %+v, want %+v", step.asked, step.started, got, step.want)
		}
	}
	s.Ended(minute(0), "a", false) // its clock is behind
	if r := s.Report(); !r.From.Equal(minute(0)) || !r.To.Equal(minute(10)) {
		t.Errorf("from %v to %v", r.From, r.To)
	}
	s.Ended(minute(11), "a", false) // again
	if r := s.Report(); r.Ended != 1 || !r.To.Equal(minute(10)) {
		t.Errorf("%d ended to %v", r.Ended, r.To)
	}
}

// TestForgotten: the task heard of least recently goes first, and none below the bound.
func TestForgotten(t *testing.T) {
	s, g := start(t, shadow.Config{Keep: 2}), card(t, "g")
	for _, id := range []string{"a", "b", "a", "c"} {
		if err := s.Started(noon, task(t, id, 0.2, profile.GiB), g); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"b", "a", "c"} {
		s.Ended(noon, id, false)
		if r := s.Report(); r.Ended != i || r.Forgotten != 1 {
			t.Errorf("after the end of %s: %d ended, %d forgotten; want %d and 1", id, r.Ended, r.Forgotten, i)
		}
	}
	one := task(t, "a", 0.2, profile.GiB)
	s = start(t, shadow.Config{})
	for i := range 10_001 {
		if r := s.Report(); r.Forgotten != 0 {
			t.Fatalf("%d forgotten of %d", r.Forgotten, i)
		}
		one.ID = strconv.Itoa(i)
		if err := s.Started(noon, one, g); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Report(); r.Forgotten == 0 || r.Forgotten > 1000 {
		t.Errorf("%d forgotten of 10,001", r.Forgotten)
	}
	if _, err := shadow.New(shadow.Config{Planner: planner(t), Keep: -1}); err == nil {
		t.Error("Keep of -1 is taken")
	}
}

// TestRefused: the limit that is broken most often comes first, and its deaths are its own.
func TestRefused(t *testing.T) {
	s := start(t, shadow.Config{})
	large, low := task(t, "l", 0.2, 30*profile.GiB), task(t, "p", 0.2, profile.GiB)
	low.On = []string{"elsewhere"}
	for i, one := range []colloc.Task{low, large, large} {
		one.ID = strconv.Itoa(i)
		if err := s.Started(noon, one, card(t, "g", large)); err != nil {
			t.Fatal(err)
		}
	}
	s.Ended(noon, "1", true)
	s.Ended(noon, "2", false)
	r := s.Report()
	if len(r.Refused) != 2 || r.Refused[0].Tasks != 2 || r.Refused[0].Died != 1 || r.Refused[1].Tasks != 1 || r.Refused[1].Died != 0 || r.Died != 1 {
		t.Errorf("%+v", r)
	}
	r.Refused[0].Tasks = 7
	if again := s.Report(); again.Refused[0].Tasks != 2 {
		t.Error("a report shares its memory with the next")
	}
}

// pair is what was seen of two tasks that shared a GPU, the first at a speed.
func pair(tb testing.TB, speed float64) colloc.Observation {
	tb.Helper()
	a, b := task(tb, "a", 0.95, profile.GiB), task(tb, "b", 0.95, profile.GiB)
	return colloc.Observation{GPU: card(tb, "g").Model, Members: []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(speed)}, {Profile: b.Profile}}}
}

func see(tb testing.TB, s *shadow.Shadow, list ...colloc.Observation) shadow.Report {
	tb.Helper()
	for i := range list {
		if err := s.Seen(list[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return s.Report()
}

// TestCovered: the ends of an interval belong to it, and no task is promised more than 1.
func TestCovered(t *testing.T) {
	e := see(t, start(t, shadow.Config{}), pair(t, 0.5)).Worst[0].Predicted
	if e.Lo <= 0 || e.Hi >= 1 {
		t.Fatalf("predicted %+v", e)
	}
	for seen, want := range map[float64]float64{e.Lo: 1, e.Hi: 1, e.Value: 1, e.Lo - 1e-9: 0, e.Hi + 1e-9: 0, 1.5: 0} {
		r := see(t, start(t, shadow.Config{}), pair(t, seen))
		if off := seen - e.Value; r.Speeds.Seen != 1 || r.Speeds.Covered != want || r.Speeds.MAE != math.Abs(off) || r.Speeds.Bias != off || r.Speeds.Confidence != e.Confidence {
			t.Errorf("seen %v, predicted %+v: %+v", seen, e, r.Speeds)
		}
	}
	idle := pair(t, 1.1)
	for i := range idle.Members {
		idle.Members[i].Profile = task(t, "i", 0, profile.GiB).Profile
	}
	if r := see(t, start(t, shadow.Config{}), idle); r.Worst[0].Predicted.Hi != 1 || r.Speeds.Covered != 1 {
		t.Errorf("a task that lost nothing: %+v, %+v", r.Worst[0].Predicted, r.Speeds)
	}
}

// TestWorst: the ten worst speeds are named, worst first, each with its company.
func TestWorst(t *testing.T) {
	s := start(t, shadow.Config{})
	var r shadow.Report
	o := pair(t, 1)
	task, beside := o.Members[0].Profile.Spec.Type(), []string{o.Members[1].Profile.Spec.Type()}
	for _, speed := range []float64{1.5, 1.4, 1.98, 1.3, 1.2, 1.1, 1.95, 1.9, 1.8, 1.7, 1.65, 1.6, 1.05} {
		r = see(t, s, pair(t, speed))
	}
	var seen []float64
	for _, m := range r.Worst {
		seen = append(seen, m.Seen)
		if m.Task != task || !slices.Equal(m.Beside, beside) || m.GPU != o.GPU.Canonical() {
			t.Errorf("%+v", m)
		}
	}
	if want := []float64{1.98, 1.95, 1.9, 1.8, 1.7, 1.65, 1.6, 1.5, 1.4, 1.3}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	r.Worst[0].Seen = 7
	if s.Report().Worst[0].Seen != 1.98 {
		t.Error("a report shares its memory with the next")
	}
}

// TestLearn: a prediction is compared before it is corrected, and corrected if asked for.
func TestLearn(t *testing.T) {
	for _, learn := range []bool{false, true} {
		s := start(t, shadow.Config{Learn: learn})
		r := see(t, s, pair(t, 0.1), pair(t, 0.1), pair(t, 0.1))
		first, last := r.Worst[0].Predicted.Value, r.Worst[2].Predicted.Value
		if one := see(t, start(t, shadow.Config{}), pair(t, 0.1)); one.Worst[0].Predicted.Value != first {
			t.Errorf("learn %v: the first is predicted %v, want %v", learn, first, one.Worst[0].Predicted.Value)
		}
		if (last < first) != learn {
			t.Errorf("learn %v: predicted %v, then %v", learn, first, last)
		}
	}
}

// TestSeenBounds: what cannot have been measured is refused and not counted.
func TestSeenBounds(t *testing.T) {
	with := func(speed float64, peak profile.Bytes) colloc.Observation {
		o := pair(t, speed)
		o.Members[1].Peak = profile.Some(peak)
		return o
	}
	for _, tt := range []struct {
		o    colloc.Observation
		good bool
	}{
		{with(predict.MostSpeed, 1), true},
		{with(1e-9, profile.MaxCount), true},
		{with(predict.MostSpeed+1e-9, 1), false},
		{with(0, 1), false},
		{with(0.5, 0), false},
		{with(0.5, -1), false},
		{with(0.5, profile.MaxCount+1), false},
	} {
		s := start(t, shadow.Config{})
		err := s.Seen(tt.o)
		if r := s.Report(); (err == nil) != tt.good || r.Speeds.Seen+r.Memory.Seen != map[bool]int{true: 2}[tt.good] {
			t.Errorf("%v, %v: %v, %d speeds, %d peaks", tt.o.Members[0].Speed, tt.o.Members[1].Peak, err, r.Speeds.Seen, r.Memory.Seen)
		}
	}
	alone := pair(t, 0.5)
	alone.Members = alone.Members[:1]
	if err := start(t, shadow.Config{}).Seen(alone); !errors.Is(err, shadow.ErrNothingSeen) {
		t.Errorf("the speed of a task that was alone: %v", err)
	}
}

// TestPeaks: a reservation is too small below the peak, and at it for one that died.
func TestPeaks(t *testing.T) {
	p, one := planner(t), task(t, "a", 0.5, profile.GiB)
	_, reserved, err := p.Memory(one)
	if err != nil {
		t.Fatal(err)
	}
	half := 1 - float64(reserved/2)/float64(reserved)
	unknown := profile.Profile{Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}}
	for name, tt := range map[string]struct {
		profile *profile.Profile
		died    bool
		peaks   []profile.Bytes
		want    shadow.Memory
	}{
		"half of it":               {one.Profile, false, []profile.Bytes{reserved / 2}, shadow.Memory{Seen: 1, Waste: half}},
		"all of it":                {one.Profile, false, []profile.Bytes{reserved}, shadow.Memory{Seen: 1}},
		"more":                     {one.Profile, false, []profile.Bytes{reserved + 1}, shadow.Memory{Seen: 1, Under: 1}},
		"half of it, then more":    {one.Profile, false, []profile.Bytes{reserved / 2, reserved + 1}, shadow.Memory{Seen: 2, Under: 1, Waste: half}},
		"died at it":               {one.Profile, true, []profile.Bytes{reserved}, shadow.Memory{Seen: 1, Under: 1}},
		"died below, need unknown": {one.Profile, true, []profile.Bytes{reserved - 1}, shadow.Memory{}},
		"nothing known of it":      {&unknown, false, []profile.Bytes{profile.GiB}, shadow.Memory{}},
	} {
		s := start(t, shadow.Config{Planner: p})
		var r shadow.Report
		for _, peak := range tt.peaks {
			r = see(t, s, colloc.Observation{Members: []colloc.Measurement{{Profile: tt.profile, Peak: profile.Some(peak), OutOfMemory: tt.died}}})
		}
		if r.Memory != tt.want || r.Speeds != (shadow.Speeds{}) {
			t.Errorf("%s: %+v and %+v, want %+v and no speeds", name, r.Memory, r.Speeds, tt.want)
		}
	}
}

// TestSeenOfGangs: what is seen of tasks that want several GPUs is compared on the one.
func TestSeenOfGangs(t *testing.T) {
	o := pair(t, 0.5)
	for i := range o.Members {
		p := *o.Members[i].Profile
		p.Spec.Training.GPUs = 2
		o.Members[i].Profile = &p
	}
	if r := see(t, start(t, shadow.Config{}), o); r.Speeds.Seen != 1 || r.Worst[0].Predicted.Value <= 0 {
		t.Errorf("%+v", r.Speeds)
	}
}
