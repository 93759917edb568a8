package station

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/profile"
)

// list says when jobs are expected to start and to end, and nothing where nobody knows.
func TestExpected(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 0, 0, time.UTC)
	jobs := []api.Job{
		{ID: "1", State: queue.Running, Started: now.Add(-time.Minute), Ends: profile.Some(now.Add(90 * time.Minute))},
		{ID: "2", Submitted: now, Starts: profile.Some(now.Add(30 * time.Second))},
		{ID: "3", Submitted: now},
		{ID: "4", State: queue.Running, Started: now, Ends: profile.Some(now.Add(-time.Second))},
	}
	var b bytes.Buffer
	if err := printJobs(&b, jobs, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	at := strings.Index(lines[0], "EXPECTED")
	for i, want := range []string{"ends in 1h30m0s", "starts in 30s", "-", "ends in 0s"} {
		if got := strings.TrimSpace(lines[i+1][max(at, 0):]); at < 0 || got != want {
			t.Errorf("job %d: %q, want %q in\n%s", i+1, got, want, &b)
		}
	}
}

// show names the jobs beside one, with their users, and what sharing costs each.
func TestBeside(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 0, 0, time.UTC)
	j := api.Job{
		ID: "1", User: "ann", State: queue.Running, Started: now, GPUs: []int{0}, Beside: []string{"2", "3"},
		Speed: profile.Some(0.75), Predicted: profile.Some(0.8),
	}
	beside := []api.Job{
		{ID: "2", User: "bob", Name: "bert", Beside: []string{"1", "3"}, Predicted: profile.Some(0.9)},
		{ID: "3", User: "eve\x1b[2J", Beside: []string{"1", "2"}},
	}
	var b bytes.Buffer
	if err := printJob(&b, &j, beside, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"beside   job 2 (bert) of bob: 90 % of its speed alone, as predicted at its start\n",
		"speed    75 % of its speed alone, as measured; 80 %, as predicted at its start\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), "job 3 of eve") {
		t.Errorf("a hostile name in\n%q", &b)
	}
	if got := costOf(&api.Job{Speed: profile.Some(0.5)}); got != "" {
		t.Errorf("a job that shares no more costs %q", got)
	}
}
