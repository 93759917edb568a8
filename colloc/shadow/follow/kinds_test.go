package follow_test

import (
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/shadow/follow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/profile"
)

// TestSummaryText: a summary says what was counted, and leaves out what nobody saw.
func TestSummaryText(t *testing.T) {
	s := &follow.Summary{Rounds: 3, Strangers: 1, Gain: &gain.Report{}}
	if text := s.String(); !strings.HasPrefix(text, s.Decisions.String()+"3 rounds were seen; of 1 starts nothing") || strings.Contains(text, "use of GPUs") || strings.Contains(text, "of the journal") || !strings.HasSuffix(text, s.Gain.String()) {
		t.Errorf("of nothing:\n%s", text)
	}
	s.Use, s.Damage = follow.Use{Seen: 1, MAE: 0.25, Bias: -0.5}, journal.Damage{Lines: 4, Rounds: 5}
	for _, want := range []string{"use of GPUs: 1 jobs, ", "off by 0.25, -0.50 on average\n", "of the journal 4 lines cannot be read, and 5 rounds after them\n"} {
		if text := s.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestKinds: a job is foretold from the last of its kind, its memory from the largest, on a
// product by the site's own word for it.
func TestKinds(t *testing.T) {
	f, err := follow.New(follow.Config{Models: map[string]string{"big one": "V100"}})
	if err != nil {
		t.Fatal(err)
	}
	gpus := []journal.GPU{{ID: "a", Node: "n", Product: "big one"}}
	minute := 0
	take := func(jobs ...journal.Job) bool {
		t.Helper()
		plan, err := f.Take(t.Context(), &journal.Snapshot{At: at(minute), GPUs: gpus, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		minute++
		return plan != nil && len(plan.Placements) > 0
	}
	for i, use := range []struct {
		busy float64
		peak profile.Bytes
	}{{0.3, 4 * profile.GiB}, {0.6, 2 * profile.GiB}, {0.5, 4 * profile.GiB}} {
		start := at(minute)
		for range 5 {
			take(journal.Job{ID: string(rune('1' + i)), Name: "x", Submitted: start, Started: start, GPUs: 1, On: []string{"a"}, Busy: profile.Some(use.busy), Memory: profile.Some(use.peak)})
		}
		s, err := f.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Gain.Total.Jobs != i+1 || !s.Gain.From.Equal(dawn) || !s.Gain.Until.Equal(at(minute-1)) {
			t.Errorf("while %d runs: %d jobs from %v to %v", i+1, s.Gain.Total.Jobs, s.Gain.From, s.Gain.Until)
		}
	}
	waits := journal.Job{ID: "4", Name: "x", Submitted: at(minute), GPUs: 1}
	if !take(waits) {
		t.Error("a job whose kind is known is not planned on an empty GPU")
	}
	if take() {
		t.Error("there is a plan, and nobody waits")
	}
	s, err := f.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u := s.Use; u.Seen != 2 || math.Abs(u.MAE-0.2) > 1e-9 || math.Abs(u.Bias-0.1) > 1e-9 {
		t.Errorf("use %+v, want 2: 0.3 above and 0.1 below", u)
	}
	if d := s.Decisions; d.Memory.Seen != 2 || d.Memory.Under != 0 || d.Ended != 3 {
		t.Errorf("memory %+v, %d ended", d.Memory, d.Ended)
	}
}
