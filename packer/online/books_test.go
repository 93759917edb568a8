package online_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// mixed are cards of two classes in machines.
func mixed(t *testing.T, memory []profile.Bytes, machines []int) *online.Scheduler {
	t.Helper()
	gpus := cards(len(memory))
	for i := range gpus {
		gpus[i].Memory = memory[i] * profile.GiB
	}
	s, err := online.NewScheduler(gpus, pressing{}, packer.Limits{MaxSet: 4}, &online.SchedulerOptions{Machines: machines})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchedulerGathers: a gang finds the cards of a class and a machine wherever they
// stand in the list, and those of several machines if none has as many of one class.
func TestSchedulerGathers(t *testing.T) {
	for _, tt := range []struct {
		memory   []profile.Bytes
		machines []int
		width    int
		want     string
	}{
		{[]profile.Bytes{40, 80, 40, 80}, []int{0, 0, 0, 0}, 2, "gang[0 2]"},
		{[]profile.Bytes{40, 40, 40, 40}, []int{0, 1, 0, 1}, 2, "gang[0 2]"},
		{[]profile.Bytes{40, 40, 40, 40}, []int{0, 1, 0, 1}, 3, "gang[0 2 1]"},
		{[]profile.Bytes{40, 80, 80, 40, 80, 40}, []int{0, 0, 0, 1, 1, 1}, 3, "gang[1 2 4]"},
		{[]profile.Bytes{40, 80, 80, 40}, []int{0, 0, 0, 1}, 3, ""},
	} {
		s := mixed(t, tt.memory, tt.machines)
		gang := job("gang", 0, 39, time.Hour)
		if len(tt.memory) == 6 { // fits on the larger ones alone
			gang.Memory = 60 * profile.GiB
		} else {
			gang.Memory = 30 * profile.GiB
		}
		gang.GPUs = tt.width
		submit(t, s, gang)
		if got := decided(t, s, 0); got != tt.want {
			t.Errorf("%d of %v in %v: started %q, want %q", tt.width, tt.memory, tt.machines, got, tt.want)
		}
	}
}

// TestSchedulerCountsWork: what ran beside a task that ends before the next Decide did
// its work at the speed that it had, and so did the task itself; what is reported holds
// at the next Decide.
func TestSchedulerCountsWork(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 0.2, 1, 10*time.Hour), job("b", 0.2, 1, 10*time.Hour)) // at 1/1.4 each
	if got := decided(t, s, 0); got != "a[0] b[0]" {
		t.Fatalf("started %s", got)
	}
	if err := s.Finish("b"); err != nil {
		t.Fatal(err)
	}
	decided(t, s, 7*time.Hour)
	if _, last := s.Forecast(); (last - 5*time.Hour).Abs() > time.Second {
		t.Errorf("after 7 h at 1/1.4 %v of ten hours are left", last)
	}
	if err := s.Report("a", 3*time.Hour); err != nil {
		t.Fatal(err)
	}
	decided(t, s, 8*time.Hour)
	if _, last := s.Forecast(); last != 3*time.Hour {
		t.Errorf("%v are left, want the 3 h that were reported", last)
	}
	if err := s.Finish("a"); err != nil {
		t.Fatal(err)
	}
	decided(t, s, 10*time.Hour) // a did 5 h and 3 h, b 5 h
	other := scheduler(t, 1, nil)
	at := oneByOne(t, other, 5*time.Hour, 8*time.Hour)
	submit(t, s, unknown("c", profile.Opt[time.Duration]{}))
	submit(t, other, unknown("c", profile.Opt[time.Duration]{}))
	decided(t, s, 10*time.Hour)
	decided(t, other, at)
	_, last := s.Forecast()
	if _, want := other.Forecast(); (last - want).Abs() > time.Second {
		t.Errorf("a task of unknown length takes %v, want %v, as where others took 5 h and 8 h", last, want)
	}
}

// TestSchedulerSeenRunning: what is seen of a task holds for those of its Kind that
// run, but not for one whose memory somebody set.
func TestSchedulerSeenRunning(t *testing.T) {
	s := scheduler(t, 1, nil)
	of := func(id string) online.Job {
		j := job(id, 0, 12, time.Hour)
		j.Kind = "k"
		return j
	}
	submit(t, s, of("a"), of("b"), of("c"))
	if got := decided(t, s, 0); got != "a[0] b[0] c[0]" {
		t.Fatalf("started %s", got)
	}
	if err := s.Reserve("c", 11*profile.GiB); err != nil {
		t.Fatal(err)
	}
	if err := s.Seen("a", 4*profile.GiB); err != nil {
		t.Fatal(err)
	}
	submit(t, s, job("more", 0, 17, time.Hour)) // 36 - 11 - 2 · 4.2 = 16.6
	if got := decided(t, s, time.Minute); got != "" {
		t.Errorf("started %s beside 19.4 of 36 GiB", got)
	}
	submit(t, s, job("fits", 0, 16, time.Hour))
	if got := decided(t, s, time.Minute); got != "fits[0]" {
		t.Errorf("started %q, want the one that fits beside 19.4 of 36 GiB", got)
	}
}

// TestSchedulerSmallBudget: where the budget is for one rule, a task that can never start keeps nobody waiting.
func TestSchedulerSmallBudget(t *testing.T) {
	s := scheduler(t, 12, &online.SchedulerOptions{Budget: profile.Some(20), Objective: profile.Some(0.0)})
	for g := 2; g < 12; g++ {
		if err := s.Fail(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Adopt(job("busy", 2, 1, 10*time.Minute), 0); err != nil {
		t.Fatal(err)
	}
	gang := job("gang", 2, 1, time.Hour)
	gang.GPUs = 2
	submit(t, s, gang, job("long", 2, 1, 10*time.Hour))
	decided(t, s, 0)
	for _, id := range []string{"busy", "gang", "long"} {
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
	}
	for g := 2; g < 12; g++ { // what runs to its end is more than the budget
		if err := s.Restore(g); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := s.Adopt(job(fmt.Sprint("run", g, "-", i), 2, 1, time.Hour), g); err != nil {
				t.Fatal(err)
			}
		}
	}
	gang.GPUs = 13 // there are twelve
	submit(t, s, job("never", 0, 39, time.Hour), gang)
	for i := range 12 {
		submit(t, s, job(fmt.Sprint("t", i), 2, 1, time.Hour))
	}
	if got := decided(t, s, time.Hour); len(strings.Fields(got)) != 2 {
		t.Errorf("started %q on two empty GPUs", got)
	}
}

// TestSchedulerLongLives: what tasks took counts for more than 292 years of them.
func TestSchedulerLongLives(t *testing.T) {
	s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(0)})
	at := time.Duration(0)
	const year = 365 * 24 * time.Hour
	for i := range 40 {
		ids := []string{}
		for k := range 4 {
			id := fmt.Sprint("t", i, "-", k)
			ids = append(ids, id)
			submit(t, s, job(id, 0, 1, 4*year))
		}
		decided(t, s, at)
		for _, id := range ids {
			if err := s.Finish(id); err != nil {
				t.Fatal(err)
			}
		}
		at += 3 * year
		decided(t, s, at)
	}
	submit(t, s, unknown("c", profile.Opt[time.Duration]{}))
	decided(t, s, at)
	if _, last := s.Forecast(); (last - 3*year).Abs() > year/3 {
		t.Errorf("a task of unknown length takes %v, want about the 3 years of 160 others", last)
	}
}

// TestSchedulerWeighs: the heavier of two tasks goes first, and Gain says what it adds
// with its weight; MinGain binds.
func TestSchedulerWeighs(t *testing.T) {
	for _, budget := range []int{0, 1000} {
		s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(budget), Objective: profile.Some(0.0)})
		heavy := job("heavy", 2, 1, time.Hour)
		heavy.Weight = 3
		submit(t, s, job("light", 2, 1, 50*time.Minute), heavy)
		ds, err := s.Decide(t.Context(), 0)
		if err != nil || len(ds) != 1 || ds[0].Task != "heavy" || math.Abs(ds[0].Gain-3) > 1e-5 {
			t.Errorf("budget %d: %+v, %v; want the heavy one alone, which adds 3", budget, ds, err)
		}
	}
	for minGain, want := range map[float64]string{0.3: "a[0] b[0]", 0.5: "a[0]"} { // together 2/1.4
		s, err := online.NewScheduler(cards(1), pressing{}, packer.Limits{MinGain: minGain}, nil)
		if err != nil {
			t.Fatal(err)
		}
		submit(t, s, job("a", 0.2, 1, time.Hour), job("b", 0.2, 1, time.Hour))
		if got := decided(t, s, 0); got != want {
			t.Errorf("MinGain %v: started %s, want %s", minGain, got, want)
		}
	}
}

// TestSchedulerStops: a long task stops for a much shorter one, if stopping it has a
// price at all, and that is less than what is won; it then waits with what it has left.
func TestSchedulerStops(t *testing.T) {
	for name, tt := range map[string]struct {
		restart profile.Opt[time.Duration]
		want    string
	}{
		"for a minute":     {profile.Some(time.Minute), "long stops short[0]"},
		"for too much":     {profile.Some(20 * time.Hour), ""},
		"nobody says what": {profile.Opt[time.Duration]{}, ""},
	} {
		s := scheduler(t, 1, &online.SchedulerOptions{Objective: profile.Some(0.0)})
		long := job("long", 2, 1, 10*time.Hour)
		long.Restart, long.Alone = tt.restart, true
		submit(t, s, long)
		decided(t, s, 0)
		submit(t, s, job("short", 2, 1, 10*time.Minute))
		ds, err := s.Decide(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range ds {
			if d.Placed {
				got = append(got, fmt.Sprint(d.Task, []int{d.GPU}))
			} else {
				got = append(got, d.Task, "stops")
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if tt.want == "" {
			continue
		}
		if _, last := s.Forecast(); last != 9*time.Hour+11*time.Minute {
			t.Errorf("%s: all is done in %v, want 9 h, 10 m for the short one and 1 m to start again", name, last)
		}
	}
	s := scheduler(t, 2, &online.SchedulerOptions{Objective: profile.Some(0.0)})
	for _, id := range []string{"a", "b"} {
		j := job(id, 2, 1, 10*time.Hour)
		j.Restart, j.Alone = profile.Some(time.Minute), true
		submit(t, s, j)
	}
	decided(t, s, 0)
	gang := job("gang", 2, 1, 10*time.Minute)
	gang.GPUs = 2
	submit(t, s, gang)
	if ds, err := s.Decide(t.Context(), 5*time.Minute); err != nil || len(ds) != 3 || ds[0].Placed || ds[1].Placed || ds[2].Task != "gang" {
		t.Errorf("%+v, %v; want a and b to stop for the gang", ds, err)
	}
	bad := job("bad", 0, 1, time.Hour)
	bad.Restart = profile.Some(-time.Second)
	if err := s.Submit(bad); err == nil {
		t.Error("a negative Restart: no error")
	}
}

// TestSchedulerMoves: a task on a slow GPU moves to a fast one that becomes free, at the price
// that was told, unless that is more than what is won.
func TestSchedulerMoves(t *testing.T) {
	for name, tt := range map[string]struct {
		restart profile.Opt[time.Duration]
		without online.Part
		want    string
		last    time.Duration
	}{
		"for a minute":     {profile.Some(time.Minute), 0, "[{long false} {long true}]", 9*time.Hour + 46*time.Minute},
		"for too much":     {profile.Some(30 * time.Hour), 0, "[]", 39 * time.Hour},
		"nobody says what": {profile.Opt[time.Duration]{}, 0, "[]", 39 * time.Hour},
		"left out":         {profile.Some(time.Minute), online.Moves, "[]", 39 * time.Hour},
	} {
		gpus := cards(2)
		gpus[0].Labels, gpus[1].Labels = []string{"slow"}, []string{"fast"}
		s, err := online.NewScheduler(gpus, packtest.PaceTable{"slow": 0.25, "fast": 1}, packer.Limits{}, &online.SchedulerOptions{Without: tt.without})
		if err != nil {
			t.Fatal(err)
		}
		long, other := job("long", 0, 1, 10*time.Hour), job("other", 0, 1, time.Hour)
		long.Restart, other.Alone = tt.restart, true
		for g, j := range []online.Job{long, other} {
			if err := s.Adopt(j, g); err != nil {
				t.Fatal(err)
			}
		}
		decided(t, s, 0)
		if err := s.Finish("other"); err != nil {
			t.Fatal(err)
		}
		ds, err := s.Decide(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		type step struct {
			task   string
			placed bool
		}
		got := []step{}
		for _, d := range ds {
			got = append(got, step{d.Task, d.Placed})
		}
		if _, last := s.Forecast(); fmt.Sprint(got) != tt.want || last != tt.last {
			t.Errorf("%s: %v, and all is done in %v; want %s and %v", name, got, last, tt.want, tt.last)
		}
	}
}

// TestSchedulerGangsDoNotStarve: a gang starts though single tasks come all the time.
func TestSchedulerGangsDoNotStarve(t *testing.T) {
	s := scheduler(t, 2, &online.SchedulerOptions{Budget: profile.Some(0)})
	submit(t, s, job("t0", 2, 1, 2*time.Minute))
	decided(t, s, 0)
	gang := job("gang", 2, 1, time.Minute)
	gang.GPUs = 2
	submit(t, s, gang)
	running := []string{"t0"}
	for i := 1; i < 300; i++ { // each comes before the other card is free
		id := fmt.Sprint("t", i)
		submit(t, s, job(id, 2, 1, 2*time.Minute))
		ds, err := s.Decide(t.Context(), time.Duration(i)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			running = append(running, d.Task)
		}
		if slices.Contains(running, "gang") {
			return
		}
		if len(running) > 1 || i > 1 {
			if err := s.Finish(running[0]); err != nil {
				t.Fatal(err)
			}
			running = running[1:]
		}
	}
	t.Error("300 tasks passed a gang")
}

// TestSchedulerForgets: tasks of no Kind leave nothing behind, nor what was said of them to
// those who come later, and the model's error is heard when nobody waits.
func TestSchedulerForgets(t *testing.T) {
	s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(0)})
	kind := job("keep", 0, 1, 1000*time.Hour)
	kind.Kind = "kept"
	submit(t, s, kind)
	if err := s.Seen("keep", 2*profile.GiB); err != nil {
		t.Fatal(err)
	}
	for i := range max(10_000, race.Fewer(20_000)) {
		id := fmt.Sprint("t", i)
		press := float64(i%7) / 100
		submit(t, s, job(id, press, 1, time.Hour))
		ds, err := s.Decide(t.Context(), time.Duration(i))
		if err != nil || i > 0 && (len(ds) != 1 || ds[0].Task != id || ds[0].Speed < 1/(1+press)-1e-3 || ds[0].Speed > 1/(1+press)+1e-3) {
			t.Fatalf("%s of pressure %v: %+v, %v", id, press, ds, err)
		}
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
	}
	if kinds, sets := s.Remembers(); kinds > 1<<13 || sets > 1<<15 {
		t.Errorf("%d kinds and %d sets are remembered of 2 tasks", kinds, sets)
	}
	kind.ID, kind.Memory = "like", 39*profile.GiB
	submit(t, s, kind)
	if got := decided(t, s, time.Minute); got != "like[0]" {
		t.Errorf("started %q, want the task of a Kind that needs 2 of 40 GiB", got)
	}
	if err := s.Finish("like"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetModel(pressing{fails: "keep"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(t.Context(), time.Hour); err == nil || errors.Is(err, t.Context().Err()) {
		t.Errorf("error %v, want what the model says of the task that runs", err)
	}
}
