package online_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// pressing is a model in which each task says by its label how much it slows others.
type pressing struct{ fails string }

func press(t *packer.Task) float64 {
	var x float64
	if len(t.Labels) > 0 {
		_, _ = fmt.Sscan(t.Labels[0], &x) // 0 if it is no number
	}
	return x
}

func (m pressing) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i, t := range set {
		if t.ID == m.fails {
			return errors.New("no idea")
		}
		slow := 1.0
		for j, o := range set {
			if j != i {
				slow += press(t) + press(o)
			}
		}
		dst[i] = 1 / slow
	}
	return nil
}

func job(id string, press float64, memory profile.Bytes, left time.Duration) online.Job {
	return online.Job{Task: packer.Task{ID: id, Labels: []string{fmt.Sprint(press)}, Memory: memory * profile.GiB}, Left: profile.Some(left)}
}

func cards(n int) []packer.GPU {
	gpus := make([]packer.GPU, n)
	for i := range gpus {
		gpus[i] = packer.GPU{ID: fmt.Sprint("g", i), Memory: 40 * profile.GiB}
	}
	return gpus
}

func scheduler(t *testing.T, n int, o *online.SchedulerOptions) *online.Scheduler {
	t.Helper()
	s, err := online.NewScheduler(cards(n), pressing{}, packer.Limits{MaxSet: 4}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func submit(t *testing.T, s *online.Scheduler, jobs ...online.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := s.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
}

// decided is where tasks start, as text.
func decided(t *testing.T, s *online.Scheduler, at time.Duration) string {
	t.Helper()
	ds, err := s.Decide(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprint(d.Task, append([]int{d.GPU}, d.Gang...)))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestSchedulerWaits: on one GPU a task that would cost more than it gains waits for
// the end of the other; one that costs nothing does not.
func TestSchedulerWaits(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 0.5, 1, time.Hour), job("b", 0.5, 1, time.Hour), job("c", 0, 1, time.Hour))
	if got := decided(t, s, 0); got != "a[0] c[0]" && got != "b[0] c[0]" {
		t.Fatalf("started %s; a and b slow each other down too much", got)
	}
	if running, waiting := s.Tasks(); running != 2 || waiting != 1 {
		t.Errorf("%d run and %d wait", running, waiting)
	}
}

// TestSchedulerPutsLongTasksFirst: where the makespan counts, the longest of three
// tasks is among the first two on two GPUs that nobody shares; where the mean counts
// it is not.
func TestSchedulerPutsLongTasksFirst(t *testing.T) {
	for _, tt := range []struct {
		objective float64
		want      string
	}{{1, "long[0] short[1]"}, {0, "middle[0] short[1]"}} {
		s := scheduler(t, 2, &online.SchedulerOptions{Objective: profile.Some(tt.objective)})
		submit(t, s, job("short", 2, 1, time.Hour), job("middle", 2, 1, 2*time.Hour), job("long", 2, 1, 9*time.Hour))
		got := decided(t, s, 0)
		if strings.Contains(got, "long") != strings.Contains(tt.want, "long") {
			t.Errorf("objective %v: started %s, want %s in any order", tt.objective, got, tt.want)
		}
	}
}

// TestSchedulerGangs: a gang takes GPUs of one machine, may share them, and returns
// them.
func TestSchedulerGangs(t *testing.T) {
	s := scheduler(t, 4, &online.SchedulerOptions{Machines: []int{0, 1, 1, 1}})
	gang := job("gang", 0, 10, time.Hour)
	gang.GPUs = 3
	submit(t, s, gang)
	if got := decided(t, s, 0); got != "gang[1 2 3]" {
		t.Fatalf("started %s", got)
	}
	single, other := job("single", 0, 35, time.Hour), gang
	other.ID = "other"
	submit(t, s, single, other)
	if got := decided(t, s, 0); got != "other[1 2 3] single[0]" {
		t.Fatalf("started %s", got)
	}
	for _, id := range []string{"gang", "other", "single"} {
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
	}
	wide := gang
	wide.ID, wide.GPUs = "wide", 4 // more than any machine has
	submit(t, s, wide)
	if got := decided(t, s, 0); got != "wide[0 1 2 3]" {
		t.Fatalf("started %s", got)
	}
}

// TestSchedulerFail: the tasks of a GPU that fails go elsewhere, and back when it
// returns; memory that is seen makes room.
func TestSchedulerFail(t *testing.T) {
	s := scheduler(t, 2, nil)
	submit(t, s, job("a", 0, 30, time.Hour), job("b", 0, 30, time.Hour))
	if got := decided(t, s, 0); got != "a[0] b[1]" {
		t.Fatalf("started %s", got)
	}
	if err := s.Fail(0); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, 0); got != "" {
		t.Fatalf("started %s beside one of 30 GiB of 40", got)
	}
	if err := s.Reserve("b", 5*profile.GiB); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, 0); got != "a[1]" {
		t.Fatalf("started %s, want a beside b", got)
	}
	submit(t, s, job("c", 0, 30, time.Hour))
	if got := decided(t, s, time.Minute); got != "" {
		t.Fatalf("started %s on a GPU that is down", got)
	}
	if err := s.Restore(0); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, time.Hour); got != "c[0]" {
		t.Fatalf("started %s", got)
	}
}

// TestSchedulerSeen: what monitoring shows of a task, and a margin for growth, is
// reserved for it and for others of its Kind, but for one whose Memory is fixed.
func TestSchedulerSeen(t *testing.T) {
	s, err := online.NewScheduler(cards(1), pressing{}, packer.Limits{MaxSet: 4, Headroom: profile.Some(0.0)}, &online.SchedulerOptions{Growth: profile.Some(0.25)})
	if err != nil {
		t.Fatal(err)
	}
	of := func(id string, fixed bool) online.Job {
		j := job(id, 0, 39, time.Hour)
		j.Kind, j.Fixed = "k", fixed
		return j
	}
	submit(t, s, of("a", false), of("b", false))
	if got := decided(t, s, 0); got != "a[0]" {
		t.Fatalf("started %s", got)
	}
	if err := s.Seen("a", 16*profile.GiB); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, time.Minute); got != "b[0]" {
		t.Fatalf("started %s: 20 of 40 GiB are reserved", got)
	}
	for _, id := range []string{"a", "b"} {
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
	}
	submit(t, s, of("c", false), of("d", true), of("e", false))
	if got := decided(t, s, time.Hour); got != "c[0] e[0]" {
		t.Fatalf("started %s; d reserves 39 GiB", got)
	}
	if err := s.Seen("z", 1); err == nil {
		t.Error("a task that is not there: no error")
	}
}

// TestSchedulerSeenLess: a smaller peak of another task of the Kind takes nothing from
// what is reserved for any of them.
func TestSchedulerSeenLess(t *testing.T) {
	s, err := online.NewScheduler(cards(1), pressing{}, packer.Limits{MaxSet: 4, Headroom: profile.Some(0.0)}, &online.SchedulerOptions{Growth: profile.Some(0.25)})
	if err != nil {
		t.Fatal(err)
	}
	a, b := job("a", 0, 1, time.Hour), job("b", 0, 1, time.Hour)
	a.Kind, b.Kind = "k", "k"
	submit(t, s, a, b)
	if got := decided(t, s, 0); got != "a[0] b[0]" {
		t.Fatalf("started %s", got)
	}
	for id, peak := range map[string]profile.Bytes{"a": 16, "b": 2} {
		if err := s.Seen(id, peak*profile.GiB); err != nil {
			t.Fatal(err)
		}
	}
	submit(t, s, job("c", 0, 5, time.Hour))
	if got := decided(t, s, 0); got != "" {
		t.Errorf("started %s beside two tasks that reserve 20 of 40 GiB each", got)
	}
}

// TestSchedulerFirstComeFirstServed: of tasks that nothing else tells apart the one that
// came first goes first.
func TestSchedulerFirstComeFirstServed(t *testing.T) {
	s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(0)})
	for i := range 60 {
		submit(t, s, job(fmt.Sprintf("%d-%02d", i%3, i), 2, 1, time.Duration(1+i%3)*time.Hour))
	}
	last := map[string]string{}
	for range 60 {
		started, err := s.Decide(t.Context(), 0)
		if err != nil || len(started) != 1 {
			t.Fatalf("%+v, %v", started, err)
		}
		id := started[0].Task
		if id < last[id[:1]] {
			t.Errorf("%s starts after %s, which came later and is as long", id, last[id[:1]])
		}
		last[id[:1]] = id
		if err := s.Finish(id); err != nil {
			t.Fatal(err)
		}
	}
}

// byMechanism is a model in which pairs do best under MPS and larger sets time-sliced.
type byMechanism struct{}

func (byMechanism) Speeds(set []*packer.Task, _ *packer.GPU, mech profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = map[bool][]float64{true: {1, 0.9, 0.7, 0}, false: {1, 0.8, 0.75, 0}}[mech == profile.MPS][len(set)-1]
	}
	return nil
}

// TestSchedulerJoinsAsTheyShare: a task that joins two shares as these do, though three
// would do better in another way; so does who joins the last one that is left.
func TestSchedulerJoinsAsTheyShare(t *testing.T) {
	gpu := packer.GPU{ID: "g", Memory: 40 * profile.GiB, Mechanisms: []profile.Mechanism{profile.TimeSlice, profile.MPS}}
	s, err := online.NewScheduler([]packer.GPU{gpu}, byMechanism{}, packer.Limits{MaxSet: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 0.9, 0.7} {
		submit(t, s, job(strconv.Itoa(i), 0, 1, time.Hour))
		ds, err := s.Decide(t.Context(), time.Duration(i)*time.Second)
		if err != nil || len(ds) != 1 || !(ds[0].Speed > want-1e-3 && ds[0].Speed < want+1e-3) || (ds[0].Mechanism == profile.MPS) != (i > 0) {
			t.Errorf("task %d: %+v, %v; want speed %v under MPS", i, ds, err, want)
		}
	}
}

// TestSchedulerRefuses: what cannot be is an error, and changes nothing.
// TestSchedulerBegins: the first Decide sets the clock, whatever its zero; what was
// adopted has not run since then. Without GPUs nothing starts.
func TestSchedulerBegins(t *testing.T) {
	s := scheduler(t, 1, nil)
	if err := s.Adopt(job("a", 0, 1, 10*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{1e18, 1e18 + time.Hour} {
		if _, err := s.Decide(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if _, last := s.Forecast(); last != 9*time.Hour {
		t.Errorf("after an hour of ten %v are left", last)
	}
	for _, peak := range []profile.Bytes{0, -5, 1 << 60} {
		if err := s.Seen("a", peak); err == nil {
			t.Errorf("a peak of %d is no error", peak)
		}
	}
	none, err := online.NewScheduler(nil, pressing{}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Submit(job("a", 0, 1, time.Hour)); err != nil {
		t.Fatal(err)
	}
	if started, err := none.Decide(t.Context(), 0); err != nil || len(started) > 0 {
		t.Errorf("started %v without a GPU, %v", started, err)
	}
}

// TestSchedulerTogether: what tasks that share need beyond their sum stays free.
func TestSchedulerTogether(t *testing.T) {
	for together, want := range map[profile.Bytes]int{0: 2, 2 * profile.GiB: 1} {
		gpu := packer.GPU{ID: "g", Memory: 8 * profile.GiB}
		s, err := online.NewScheduler([]packer.GPU{gpu}, pressing{}, packer.Limits{MaxSet: 4, Headroom: profile.Some(0.0), Together: together}, nil)
		if err != nil {
			t.Fatal(err)
		}
		submit(t, s, job("a", 0, 4, time.Hour), job("b", 0, 4, time.Hour))
		if started, err := s.Decide(t.Context(), 0); err != nil || len(started) != want {
			t.Errorf("with %v more for two, %d start (%v), want %d", together, len(started), err, want)
		}
	}
}

// TestSchedulerTogetherOfOne: what several tasks must leave together one need not.
func TestSchedulerTogetherOfOne(t *testing.T) {
	gpu := packer.GPU{ID: "g", Memory: 8 * profile.GiB}
	s, err := online.NewScheduler([]packer.GPU{gpu}, pressing{}, packer.Limits{MaxSet: 4, Headroom: profile.Some(0.0), Together: 2 * profile.GiB}, nil)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, job("a", 0, 8, time.Hour))
	if got := decided(t, s, 0); got != "a[0]" {
		t.Errorf("started %q, want a task that has all the memory", got)
	}
}

// TestSchedulerCountsFromTheReport: what was reported holds at the next decision, and from
// there the task goes on as predicted.
func TestSchedulerCountsFromTheReport(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 0, 1, 9*time.Hour))
	decided(t, s, 0)
	if err := s.Report("a", 4*time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ at, want time.Duration }{{time.Hour, 4 * time.Hour}, {2 * time.Hour, 3 * time.Hour}, {4 * time.Hour, time.Hour}} {
		decided(t, s, step.at)
		if _, last := s.Forecast(); last != step.want {
			t.Errorf("after %v: %v are left, want %v", step.at, last, step.want)
		}
	}
}

func TestSchedulerRefuses(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 0, 1, time.Hour))
	wide := job("b", 0, 1, time.Hour)
	wide.GPUs = 2
	for name, err := range map[string]error{
		"a twice":        s.Submit(job("a", 0, 1, time.Hour)),
		"no ID":          s.Submit(online.Job{}),
		"no such task":   s.Finish("z"),
		"report on none": s.Report("z", time.Hour),
		"reserve none":   s.Reserve("z", 1),
		"less than none": s.Reserve("a", -1),
		"no such GPU":    s.Fail(1),
		"nor that":       s.Restore(-1),
		"no model":       s.SetModel(nil),
		"one GPU of two": s.Adopt(wide, 0),
		"GPU 7":          s.Adopt(job("c", 0, 1, time.Hour), 7),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, o := range []online.SchedulerOptions{
		{Objective: profile.Some(1.5)},
		{Budget: profile.Some(-1)},
		{Machines: []int{0, 0}},
		{Machines: []int{-1}},
		{Growth: profile.Some(-0.1)},
	} {
		if _, err := online.NewScheduler(cards(1), pressing{}, packer.Limits{}, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if got := decided(t, s, 0); got != "a[0]" {
		t.Errorf("started %s", got)
	}
}

// TestSchedulerModelFails: the task for which the model fails waits, the others start,
// and it is asked again.
func TestSchedulerModelFails(t *testing.T) {
	s := scheduler(t, 2, nil)
	if err := s.SetModel(pressing{fails: "b"}); err != nil {
		t.Fatal(err)
	}
	submit(t, s, job("a", 0, 1, time.Hour), job("b", 0, 1, time.Hour))
	ds, err := s.Decide(t.Context(), 0)
	if err == nil || len(ds) != 1 || ds[0].Task != "a" {
		t.Fatalf("%v, %v; want a alone and an error", ds, err)
	}
	if err := s.SetModel(pressing{}); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, s, 0); got != "b[1]" {
		t.Errorf("started %s", got)
	}
	m := &pressing{fails: "c"} // and by itself, where the same model knows it later
	if err := s.SetModel(m); err != nil {
		t.Fatal(err)
	}
	submit(t, s, job("c", 0, 1, time.Hour))
	if ds, err := s.Decide(t.Context(), 0); err == nil || len(ds) > 0 {
		t.Fatalf("%v, %v; want an error", ds, err)
	}
	m.fails = ""
	if got := decided(t, s, 0); !strings.HasPrefix(got, "c[") {
		t.Errorf("started %q, want c", got)
	}
}

// TestSchedulerCancelled: what one rule says is done all the same.
func TestSchedulerCancelled(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 0, 1, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ds, err := s.Decide(ctx, 0); len(ds) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", ds, err)
	}
}

// TestSchedulerKeepsBooks: on random days no GPU is over its memory or the largest
// set, tasks that may not meet do not, every task runs once, and the same calls have
// the same answers.
func TestSchedulerKeepsBooks(t *testing.T) {
	stopped := 0
	for seed := range uint64(race.Fewer(40)) {
		first, stops := play(t, seed)
		if again, _ := play(t, seed); first != again {
			t.Fatalf("seed %d: %s\nand then %s", seed, first, again)
		}
		stopped += stops
	}
	if stopped < 10 && !race.Enabled {
		t.Errorf("only %d tasks stopped for others", stopped)
	}
}

func play(t *testing.T, seed uint64) (text string, stops int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	most := 1 + r.IntN(4)
	s, err := online.NewScheduler(cards(4), pressing{}, packer.Limits{MaxSet: most}, &online.SchedulerOptions{Machines: []int{0, 0, 1, 1}, Budget: profile.Some(r.IntN(2) * 500)})
	if err != nil {
		t.Fatal(err)
	}
	type placed struct {
		job online.Job
		on  []int
	}
	running := map[string]placed{}
	jobs := map[string]online.Job{}
	var log strings.Builder
	for step := range 60 {
		if r.IntN(3) > 0 {
			j := job(fmt.Sprint("t", step), float64(r.IntN(5))/5, profile.Bytes(1+r.IntN(20)), time.Duration(1+r.IntN(100))*time.Minute)
			j.GPUs, j.Alone = 1+r.IntN(5)/4, r.IntN(8) == 0
			if r.IntN(2) == 0 {
				j.Restart = profile.Some(time.Minute)
			}
			submit(t, s, j)
			jobs[j.ID] = j
		} else if len(running) > 0 {
			ids := make([]string, 0, len(running))
			for id := range running {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			id := ids[r.IntN(len(ids))]
			if err := s.Finish(id); err != nil {
				t.Fatal(err)
			}
			delete(running, id)
		}
		ds, err := s.Decide(t.Context(), time.Duration(step)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			p, twice := running[d.Task]
			if !d.Placed && (!twice || p.job.Restart.IsZero()) {
				t.Fatalf("seed %d: %s stops, which does not run or must not", seed, d.Task)
			}
			if !d.Placed {
				delete(running, d.Task)
				stops++
				continue
			}
			if twice {
				t.Fatalf("seed %d: %s starts twice", seed, d.Task)
			}
			running[d.Task] = placed{jobs[d.Task], append([]int{d.GPU}, d.Gang...)}
			fmt.Fprintln(&log, d)
		}
		for g := range 4 {
			n, memory, alone := 0, profile.Bytes(0), false
			for _, p := range running {
				if slices.Contains(p.on, g) {
					n, memory, alone = n+1, memory+p.job.Memory, alone || p.job.Alone
				}
			}
			if memory > 36*profile.GiB || n > most || alone && n > 1 {
				t.Fatalf("seed %d: GPU %d runs %d tasks, %d at most, in %v of 36 GiB; one must be alone: %v", seed, g, n, most, memory, alone)
			}
		}
	}
	return log.String(), stops
}

// TestSchedulerUnknownTimes: a task whose time nobody knows is taken to run for an hour,
// and as long again as it has.
func TestSchedulerUnknownTimes(t *testing.T) {
	s := scheduler(t, 1, nil)
	if mean, last := s.Forecast(); mean != 0 || last != 0 {
		t.Errorf("without tasks: %v, %v", mean, last)
	}
	submit(t, s, unknown("a", profile.Opt[time.Duration]{}))
	for _, tt := range []struct{ at, want time.Duration }{{0, time.Hour}, {15 * time.Minute, 75 * time.Minute}, {3 * time.Hour, 4 * time.Hour}} {
		decided(t, s, tt.at)
		if _, last := s.Forecast(); (last - tt.want).Abs() > tt.want/10 {
			t.Errorf("at %v it ends in %v, want about %v", tt.at, last, tt.want)
		}
	}
	if err := s.Report("a", 7*time.Minute); err != nil {
		t.Fatal(err)
	}
	if mean, _ := s.Forecast(); mean != 7*time.Minute {
		t.Errorf("it ends in %v, want the 7 m that it says", mean)
	}
}
