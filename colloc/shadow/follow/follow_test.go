package follow_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

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
	} else if r, err := s.Summary(t.Context()); err != nil || r.Rounds != 0 {
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

// TestCompany: what was seen of a job beside another is not its own, and teaches nothing.
func TestCompany(t *testing.T) {
	for _, together := range []bool{true, false} {
		f, err := follow.New(follow.Config{})
		if err != nil {
			t.Fatal(err)
		}
		gpus := []journal.GPU{{ID: "a", Product: "V100"}, {ID: "b", Product: "V100"}}
		job := func(id, name, on string) journal.Job {
			return journal.Job{ID: id, Name: name, Submitted: dawn, Started: dawn, GPUs: 1, On: []string{on}, Busy: profile.Some(0.9), Memory: profile.Some(profile.GiB)}
		}
		other := "b"
		if together {
			other = "a"
		}
		planned := false
		for minute := range 6 {
			jobs := []journal.Job{job("1", "x", "a"), job("2", "y", other), {ID: "3", Name: "x", Submitted: dawn, GPUs: 1}}
			plan, err := f.Take(t.Context(), &journal.Snapshot{At: at(minute), GPUs: gpus, Jobs: jobs})
			if err != nil {
				t.Fatal(err)
			}
			planned = planned || plan != nil
		}
		if planned == together {
			t.Errorf("together %v: a job of the kind is planned: %v", together, planned)
		}
	}
}
