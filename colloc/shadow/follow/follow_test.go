package follow_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/shadow/follow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/profile"
)

var dawn = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return dawn.Add(time.Duration(minute) * time.Minute) }

// Two jobs of one kind come while one runs that keeps the GPU busy for a fifth of the time.
func Example() {
	f, err := follow.New(follow.Config{})
	if err != nil {
		log.Fatal(err)
	}
	gpus := []journal.GPU{{ID: "g1/0", Node: "g1", Product: "V100"}}
	runs := journal.Job{
		ID: "1", User: "ann", Name: "train1", Submitted: dawn, Started: dawn, GPUs: 1, On: []string{"g1/0"},
		Busy: profile.Some(0.2), Memory: profile.Some(2 * profile.GiB),
	}
	waits := journal.Job{ID: "2", User: "ann", Name: "train2", Submitted: dawn, GPUs: 1}
	for minute := range 4 {
		plan, err := f.Take(context.Background(), &journal.Snapshot{At: at(minute), GPUs: gpus, Jobs: []journal.Job{runs, waits}})
		if err != nil {
			log.Fatal(err)
		}
		if plan != nil && len(plan.Placements) > 0 {
			fmt.Printf("minute %d: job 2 beside job %s\n", minute, plan.Placements[0].Members[0].Task)
		}
	}
	// Output:
	// minute 3: job 2 beside job 1
}

// site is one that gives every job a GPU of its own: n jobs of 20 minutes that all came at dawn, on
// two GPUs, as it is in a minute.
func site(n, minute int) *journal.Snapshot {
	const length, gpus = 20, 2
	s := &journal.Snapshot{At: at(minute)}
	for g := range gpus {
		s.GPUs = append(s.GPUs, journal.GPU{ID: fmt.Sprint("g1/", g), Node: "g1", Product: "v100"})
	}
	for i := range n {
		start := i / gpus * length
		if minute >= start+length {
			continue
		}
		j := journal.Job{ID: strconv.Itoa(i + 1), User: "ann", Name: fmt.Sprint("train", i), Submitted: dawn, GPUs: 1}
		if minute >= start {
			j.Started, j.On = at(start), []string{fmt.Sprint("g1/", i%gpus)}
			j.Busy, j.Memory = profile.Some(0.2+0.01*float64(minute%3)), profile.Some(2*profile.GiB)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func TestReport(t *testing.T) {
	const jobs, minutes = 12, 121
	path := filepath.Join(t.TempDir(), "j")
	config := follow.Config{Models: map[string]string{"v100": "V100"}}
	live, err := follow.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := journal.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for minute := range minutes {
		s := site(jobs, minute)
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
		if _, err := live.Take(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := follow.Report(t.Context(), path, config)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := live.Summary(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the journal tells %v\nwhat was seen is %v, %v", got, want, err)
	}
	// Of the first two nothing is known; when they have been seen for a while all others
	// are their kind, and could have started beside them 16 to 96 minutes earlier.
	d := &got.Decisions
	if got.Rounds != minutes || got.Strangers != 2 || d.Started != jobs-2 || d.Choices.OnlyColloc == 0 || d.Earlier.Tasks == 0 || d.Earlier.Tasks > jobs-2 || d.Earlier.Seconds < 16*60 {
		t.Errorf("%d rounds, %d strangers, decisions %+v", got.Rounds, got.Strangers, d)
	}
	if got.Use.Seen != jobs-2 || got.Use.MAE > 0.02 || d.Memory.Seen != jobs-2 || d.Memory.Under != 0 {
		t.Errorf("use %+v, memory %+v", got.Use, d.Memory)
	}
	g := &got.Gain.Total
	if g.Jobs != jobs || g.GPUs != 2 || g.Recorded.GPUHours < 3.9 || g.Recorded.GPUHours > 4.1 || g.SavedWaiting.Value <= 0 {
		t.Errorf("gain %+v", g)
	}
	if text := got.String(); !strings.Contains(text, "what sharing would have gained") || !strings.Contains(text, "of 2 starts nothing was known") {
		t.Error(text)
	}
}

// TestOdd: what a site may do that is seldom.
func TestOdd(t *testing.T) {
	f, err := follow.New(follow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	gpus := []journal.GPU{{ID: "a", Product: "V100"}, {ID: "b", Product: "abacus"}, {ID: "c", Product: "V100", Down: true}, {ID: "a", Product: "V100"}}
	job := func(id string, started time.Time, on ...string) journal.Job {
		j := journal.Job{ID: id, User: "u", Submitted: dawn, Started: started, GPUs: max(1, len(on)), On: on}
		if !started.IsZero() {
			j.Busy, j.Memory = profile.Some(0.3), profile.Some(profile.GiB)
		}
		return j
	}
	rounds := [][]journal.Job{
		{},
		{job("1", at(1), "a"), job("2", at(1), "a", "b"), job("3", at(1)), job("4", time.Time{}), job("5", at(1), "nowhere")},
		{job("1", at(1), "a"), job("2", time.Time{}), job("3", at(1))}, // 2 was requeued
		{job("1", at(1), "a"), job("2", at(3), "c"), job("9", at(3), "b")},
		{job("1", at(1), "a"), job("2", at(3), "c"), job("9", at(3), "b")},
		{job("1", at(1), "a"), job("2", at(3), "c"), job("9", at(3), "b"), job("10", time.Time{})},
		{},
	}
	for i, jobs := range rounds {
		if _, err := f.Take(t.Context(), &journal.Snapshot{At: at(i), GPUs: gpus, Jobs: jobs}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	if _, err := f.Take(t.Context(), &journal.Snapshot{At: dawn}); err == nil {
		t.Error("a round of the past")
	}
	s, err := f.Summary(t.Context())
	if err != nil || s.Gain.Total.Jobs == 0 {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := follow.New(follow.Config{}); err != nil {
		t.Error(err)
	} else if r, err := s.Summary(t.Context()); err != nil || r.Rounds != 0 || r.Use != (follow.Use{}) {
		t.Errorf("nothing seen: %+v, %v", r, err)
	}
}

// TestKept: jobs that ended long ago are forgotten, and the gain is that of the time since.
func TestKept(t *testing.T) {
	f, err := follow.New(follow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const day, days = 24 * 60, 200
	for d := range days {
		s := &journal.Snapshot{At: at(d * day), GPUs: []journal.GPU{{ID: "a", Product: "V100"}}}
		s.Jobs = []journal.Job{{ID: strconv.Itoa(d), Submitted: s.At, Started: s.At, GPUs: 1, On: []string{"a"}}}
		if _, err := f.Take(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := int(follow.Kept / (24 * time.Hour))
	if n := s.Gain.Total.Jobs; n < kept || n > kept+1 || s.Gain.Known.Outside > 1 || s.Rounds != days {
		t.Errorf("%d jobs, %d outside, in %d rounds, want %d", n, s.Gain.Known.Outside, s.Rounds, kept)
	}
	if from := at((days - 1) * day).Add(-follow.Kept); !s.Gain.From.Equal(from) {
		t.Errorf("from %v, want %v", s.Gain.From, from)
	}
}

// TestKeptBehind: a job that ended long ago is forgotten alone, not with the next.
func TestKeptBehind(t *testing.T) {
	f, gpus := fresh(t), v100s("one/a")
	const day = 24 * 60
	kept := int(follow.Kept / time.Minute)
	job := func(id string, started int) journal.Job {
		return journal.Job{ID: id, Submitted: at(started), Started: at(started), GPUs: 1, On: []string{"a"}}
	}
	take(t, f, 0, gpus, job("1", 0))
	take(t, f, day, gpus, job("2", day)) // the first has ended
	take(t, f, 10*day, gpus)
	take(t, f, kept+5*day, gpus)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Gain.Total.Jobs; n != 1 {
		t.Errorf("%d jobs, want the second alone", n)
	}
	take(t, f, kept+15*day, gpus)
	if s, err = f.Summary(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := s.Gain; g.Total.Jobs != 0 || g.Known.Outside != 0 {
		t.Errorf("%d jobs and %d outside, want none", g.Total.Jobs, g.Known.Outside)
	}
}

// TestCompany: what was seen of a job beside another is not its own, and teaches nothing, even
// if both were seen in one round alone.
func TestCompany(t *testing.T) {
	job := func(id, name, on string) journal.Job {
		return journal.Job{ID: id, Name: name, Submitted: dawn, Started: dawn, GPUs: 1, On: []string{on}, Busy: profile.Some(0.3), Memory: profile.Some(profile.GiB)}
	}
	waits := journal.Job{ID: "3", Name: "x", Submitted: dawn, GPUs: 1}
	for _, rounds := range []int{1, 6} {
		for _, other := range []string{"a", "b"} {
			f := fresh(t)
			planned := false
			for minute := range 6 {
				jobs := []journal.Job{waits}
				if minute < rounds {
					jobs = append(jobs, job("1", "x", "a"), job("2", "y", other))
				}
				planned = take(t, f, minute, v100s("n/a", "n/b"), jobs...) || planned
			}
			if together := other == "a"; planned == together {
				t.Errorf("together %v for %d rounds: a job of the kind is planned: %v", together, rounds, planned)
			}
		}
	}
}

// runs is a job that began on GPU a in a minute, and is seen there.
func runs(id, name string, started int) journal.Job {
	return journal.Job{ID: id, Name: name, Submitted: dawn, Started: at(started), GPUs: 1, On: []string{"a"}, Busy: profile.Some(0.3), Memory: profile.Some(profile.GiB)}
}

// TestChange: a job waits as soon as another has taken the GPU, is planned as soon as that one
// ends, and no longer once it is gone itself.
func TestChange(t *testing.T) {
	f, gpus := fresh(t), v100s("n/a")
	take(t, f, 0, gpus, runs("1", "known", 0))
	waits := journal.Job{ID: "3", Name: "known", Submitted: dawn, GPUs: 1}
	strange := runs("2", "strange", 1)
	if !take(t, f, 1, gpus, strange, waits) {
		t.Error("the GPU was free until now, and nothing is planned")
	}
	if take(t, f, 2, gpus, strange, waits) {
		t.Error("beside a job of which nothing is known another is planned")
	}
	if !take(t, f, 3, gpus, waits) {
		t.Error("the GPU is free again, and nothing is planned")
	}
	other := journal.Job{ID: "4", Name: "known", Submitted: dawn, GPUs: 1}
	plan, err := f.Take(t.Context(), &journal.Snapshot{At: at(4), GPUs: gpus, Jobs: []journal.Job{other}})
	if err != nil || plan == nil || len(plan.Placements) != 1 || plan.Placements[0].Members[0].Task != "4" {
		t.Errorf("another waits now, and the plan is %+v, %v", plan, err)
	}
}

// TestChangeInPlace: though nobody comes or goes, what is known of a job changes, and what it asks for.
func TestChangeInPlace(t *testing.T) {
	f, gpus := fresh(t), v100s("n/a")
	take(t, f, 0, gpus, runs("1", "known", 0))
	waits := journal.Job{ID: "3", Name: "known", Submitted: dawn, GPUs: 1}
	strange := runs("2", "strange", 1)
	for minute := 1; minute <= 3; minute++ {
		if planned := take(t, f, minute, gpus, strange, waits); planned && minute > 1 {
			t.Errorf("minute %d: beside a job of which nothing is known another is planned", minute)
		}
	}
	if !take(t, f, 4, gpus, strange, waits) {
		t.Error("the job that runs was seen three times, and nothing is planned beside it")
	}
	waits.GPUs = 2
	if take(t, f, 5, gpus, strange, waits) {
		t.Error("a job that was changed to want two GPUs is planned on one")
	}
}

// TestSince: of a job that ran before anybody looked, the time since then counts.
func TestSince(t *testing.T) {
	f := fresh(t)
	runs := journal.Job{ID: "1", Submitted: at(-600), Started: at(-600), GPUs: 1, On: []string{"a"}}
	take(t, f, 0, v100s("n/a", "n/b"), runs)
	take(t, f, 120, v100s("n/a", "n/b"), runs)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g := s.Gain; !g.From.Equal(dawn) || !g.Until.Equal(at(120)) || math.Abs(g.Total.Recorded.GPUHours-2) > 1e-9 || g.Total.GPUs != 2 {
		t.Errorf("%v GPU hours on %d GPUs from %v to %v, want 2 on 2 from %v to %v", g.Total.Recorded.GPUHours, g.Total.GPUs, g.From, g.Until, dawn, at(120))
	}
}

// TestRequeued: a job that was put back into the queue, and runs again later, ran twice.
func TestRequeued(t *testing.T) {
	f, gpus := fresh(t), v100s("n/a")
	waits := journal.Job{ID: "1", Submitted: dawn, GPUs: 1}
	runs := func(started int) journal.Job {
		j := waits
		j.Started, j.On = at(started), []string{"a"}
		return j
	}
	take(t, f, 0, gpus, runs(0))
	take(t, f, 60, gpus, waits)
	take(t, f, 120, gpus, waits)
	take(t, f, 180, gpus, runs(180))
	take(t, f, 240, gpus)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g := s.Gain.Total; g.Jobs != 2 || math.Abs(g.Recorded.GPUHours-2) > 1e-9 || s.Strangers != 2 {
		t.Errorf("%d jobs in %v GPU hours, %d starts of strangers, want 2 of each", g.Jobs, g.Recorded.GPUHours, s.Strangers)
	}
}

// TestOneRound: of one round no time was seen, and no job counts, however long it runs already; two
// rounds of one second are no more.
func TestOneRound(t *testing.T) {
	f := fresh(t)
	job := func(id string) journal.Job {
		return journal.Job{ID: id, Submitted: at(-660), Started: at(-600), GPUs: 1, On: []string{"a"}}
	}
	for round, jobs := range [][]journal.Job{{job("1"), job("2")}, {job("1")}} {
		take(t, f, 0, v100s("n/a", "n/b"), jobs...)
		s, err := f.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if g := s.Gain; g.Total.Jobs != 0 || g.Total.Recorded.GPUHours != 0 || !g.From.Equal(dawn) || !strings.Contains(s.String(), "2 jobs are left out: outside the time") {
			t.Errorf("%d rounds at one time: %d jobs of %v GPU hours from %v, want none:\n%v", round+1, g.Total.Jobs, g.Total.Recorded.GPUHours, g.From, s)
		}
	}
}

// TestMachines: in the replay a job that has its GPUs in one machine waits for such a machine,
// though as many GPUs are free in two others.
func TestMachines(t *testing.T) {
	f, gpus := fresh(t), v100s("one/a", "two/b", "two/c", "three/d")
	gang := func(id string, started int) journal.Job {
		return journal.Job{ID: id, Submitted: dawn, Started: at(started), GPUs: 2, On: []string{"b", "c"}}
	}
	waits := journal.Job{ID: "2", Submitted: dawn, GPUs: 2}
	take(t, f, 0, gpus, gang("1", 0), waits)
	take(t, f, 600, gpus, gang("2", 600))
	take(t, f, 1200, gpus)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if g := s.Gain.Total; g.GPUs != 4 || g.Jobs != 2 || math.Abs(g.Without.Waited-5) > 0.5 {
		t.Errorf("%d jobs wait %v hours on average on %d GPUs, want 2 that wait 5 on 4", g.Jobs, g.Without.Waited, g.GPUs)
	}
}

// TestUnknownProduct: of GPUs of which nobody knows what they are, those count that were in use,
// machine by machine.
func TestUnknownProduct(t *testing.T) {
	f := fresh(t)
	gpus := []journal.GPU{{ID: "a", Node: "one", Product: "abacus"}, {ID: "b", Node: "two", Product: "abacus"}, {ID: "c", Node: "two", Product: "abacus"}}
	job := func(id string, started int, on string) journal.Job {
		return journal.Job{ID: id, Submitted: dawn, Started: at(started), GPUs: 1, On: []string{on}}
	}
	take(t, f, 0, gpus, job("1", 0, "a"))
	take(t, f, 10, gpus, job("2", 10, "b"))
	take(t, f, 20, gpus)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Gain.Total.GPUs; n != 2 {
		t.Errorf("one GPU after the other was in use in two machines, and %d count", n)
	}
}

// TestNoNodes: GPUs of which nobody says in what machine they are do not join the partitions whose
// jobs ran on them.
func TestNoNodes(t *testing.T) {
	f := fresh(t)
	gpus := []journal.GPU{{ID: "a", Product: "abacus"}, {ID: "b", Product: "abacus"}}
	take(t, f, 0, gpus, journal.Job{ID: "1", Partition: "p", Submitted: dawn, Started: dawn, GPUs: 1, On: []string{"a"}},
		journal.Job{ID: "2", Partition: "q", Submitted: dawn, Started: dawn, GPUs: 1, On: []string{"b"}})
	take(t, f, 10, gpus)
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Gain.Pools); n != 2 {
		t.Errorf("%d pools, want one of each partition", n)
	}
}

// TestHalfSeen: a round that does not say both how busy a job is and what memory it takes does
// not count.
func TestHalfSeen(t *testing.T) {
	f := fresh(t)
	job := func(id string, started int, busy profile.Opt[float64], peak profile.Opt[profile.Bytes]) journal.Job {
		return journal.Job{ID: id, Name: "x", Started: at(started), GPUs: 1, On: []string{"a"}, Busy: busy, Memory: peak}
	}
	busy, peak := profile.Some(0.3), profile.Some(4*profile.GiB)
	take(t, f, 0, v100s("n/a"), job("1", 0, busy, peak))
	take(t, f, 1, v100s("n/a"), job("1", 0, profile.Some(0.9), profile.Opt[profile.Bytes]{}))
	take(t, f, 2, v100s("n/a"), job("1", 0, profile.Opt[float64]{}, peak))
	take(t, f, 3, v100s("n/a"), job("2", 3, busy, peak))
	take(t, f, 4, v100s("n/a"))
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Use.Seen != 1 || s.Use.MAE > 1e-9 {
		t.Errorf("use %+v, want one job as busy as the one before it", s.Use)
	}
}

// TestClockSetBack: a round of a journal before its last one counts as damage, and as nothing
// else, until the clock comes there again. A clock that was years ahead is not waited for.
func TestClockSetBack(t *testing.T) {
	const years = 10 * 365 * 24 * 60
	for _, tt := range []struct {
		minutes      []int
		rounds, late int
	}{{[]int{0, 2, 1, 3}, 3, 1}, {[]int{0, 69, 9, 70}, 3, 1}, {[]int{0, years, 1, 2, 3}, 5, 0}} {
		path := filepath.Join(t.TempDir(), "j")
		w, err := journal.Open(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, minute := range tt.minutes {
			if err := w.Write(&journal.Snapshot{At: at(minute), GPUs: v100s("n/a")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := follow.Report(t.Context(), path, follow.Config{})
		if err != nil || s.Rounds != tt.rounds || s.Damage != (journal.Damage{Rounds: tt.late}) {
			t.Errorf("%v: %d rounds, damage %+v, %v; want %d and %d", tt.minutes, s.Rounds, s.Damage, err, tt.rounds, tt.late)
		}
	}
}

// TestSame: the same rounds tell the same, however many jobs are gone at once.
func TestSame(t *testing.T) {
	const jobs = 8
	var first follow.Use
	for run := range 4 {
		f := fresh(t)
		var list []journal.Job
		var gpus []journal.GPU
		for i := range jobs {
			id := strconv.Itoa(i)
			gpus = append(gpus, v100s("n/"+id)...)
			list = append(list, journal.Job{
				ID: id, Name: "x", Started: dawn, GPUs: 1, On: []string{id}, Busy: profile.Some(0.1 * float64(i+1)), Memory: profile.Some(profile.GiB),
			})
		}
		take(t, f, 0, gpus, list...)
		next := list[0]
		next.ID, next.Started = "next", at(1)
		take(t, f, 1, gpus, next)
		take(t, f, 2, gpus)
		s, err := f.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			first = s.Use
		}
		if s.Use != first || s.Use.Seen != 1 || math.Abs(s.Use.MAE-0.7) > 1e-9 {
			t.Errorf("run %d tells %+v, the first %+v; want one job that is 0.7 off", run, s.Use, first)
		}
	}
}

// fresh is a Follower that has seen nothing.
func fresh(t *testing.T) *follow.Follower {
	t.Helper()
	f, err := follow.New(follow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// v100s are cards, each named as node/ID.
func v100s(names ...string) []journal.GPU {
	var gpus []journal.GPU
	for _, name := range names {
		node, id, _ := strings.Cut(name, "/")
		gpus = append(gpus, journal.GPU{ID: id, Node: node, Product: "V100"})
	}
	return gpus
}

// take goes a round on and reports whether a job that waits would start.
func take(t *testing.T, f *follow.Follower, minute int, gpus []journal.GPU, jobs ...journal.Job) bool {
	t.Helper()
	plan, err := f.Take(t.Context(), &journal.Snapshot{At: at(minute), GPUs: gpus, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	if plan == nil {
		return false
	}
	return slices.ContainsFunc(plan.Placements, func(p colloc.Placement) bool {
		return slices.ContainsFunc(p.Members, func(m colloc.Member) bool { return !m.Resident })
	})
}
