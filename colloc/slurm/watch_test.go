package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm/site"
)

// queue prints jobs as squeue does: "1 RUNNING g1".
func queue(jobs ...string) Output {
	var list []string
	for _, j := range jobs {
		w := strings.Fields(j)
		list = append(list, fmt.Sprintf(`{"job_id": %s, "job_state": %q, "nodes": %q, "submit_time": 1795264990}`, w[0], w[1], strings.Join(w[2:], ",")))
	}
	return prints(`{"jobs": [` + strings.Join(list, ", ") + `]}`)
}

var down = Output{Stderr: []byte("squeue: error: Unable to contact slurm controller (connect failure)\n"), Code: 1}

func TestWatch(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"squeue": {
			queue("1 PENDING", "2 PENDING", "3 RUNNING g9"),
			queue("1 PENDING", "2 PENDING", "3 RUNNING g9"),
			queue("1 RUNNING g1", "2 PENDING"),
			down,
			down,
			queue("1 PENDING", "2 RUNNING g2"),
			queue("2 COMPLETED g2"),
			queue("2 COMPLETED g2"),
		},
		"sacct": {prints(`{"jobs": []}`), prints(`{"jobs": [{"job_id": 1, "state": {"current": "FAILED"}, "exit_code": {"return_code": 4}}]}`)},
	}}
	var waits []time.Duration
	o := &WatchOptions{Jobs: []site.JobID{1, 2, 5}, Slowest: 3 * time.Second, Wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}}
	var got []string
	for e, err := range NewClient(Config{Runner: f}).Watch(t.Context(), o) {
		if err != nil {
			got = append(got, fmt.Sprint("down: ", errors.Is(err, site.ErrNoCluster)))
			continue
		}
		got = append(got, fmt.Sprintf("%d %s>%s %v", e.Job.ID, e.Was, e.Job.State, e.Job.Nodes))
	}
	want := []string{
		"1 >PENDING []", "2 >PENDING []", "5 >FORGOTTEN []", // the accounts know nothing of 5
		"1 PENDING>RUNNING [g1]",
		"down: true", "down: true",
		"1 RUNNING>PENDING []", "2 PENDING>RUNNING [g2]", // requeued
		"2 RUNNING>COMPLETED [g2]", "1 PENDING>FAILED []", // the accounts say so
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s := time.Second
	if want := []time.Duration{s, 1500 * time.Millisecond, s, 1500 * time.Millisecond, 2250 * time.Millisecond, s}; !slices.Equal(want, waits) {
		t.Errorf("waits %v, want %v", waits, want)
	}
}

func TestWatchAccounts(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"squeue": {queue("1 RUNNING g1"), queue()},
		"sacct":  {prints(`{"jobs": [{"job_id": 1, "state": {"current": "FAILED"}, "exit_code": {"return_code": 4}}]}`)},
	}}
	o := &WatchOptions{Wait: func(context.Context, time.Duration) error { return nil }}
	jobs, err := NewClient(Config{Runner: f}).Wait(t.Context(), o, 1)
	if err != nil || len(jobs) != 1 || jobs[0].State != site.Failed || jobs[0].Exit != 4 {
		t.Errorf("got %+v, %v; want job 1 that failed with 4, as the accounts say", jobs, err)
	}
}

// TestEnded asks for jobs that the controller does not list any more.
func TestEnded(t *testing.T) {
	f := &fake{answers: map[string][]Output{
		"sacct --json --jobs=12,13": {prints(`{"jobs": [{"job_id": 12, "state": {"current": "FAILED"}, "exit_code": {"return_code": 4}}]}`)},
	}}
	c := NewClient(Config{Runner: f})
	if jobs := c.Ended(t.Context(), 12, 13); jobs[0].State != site.Failed || jobs[0].Exit != 4 || jobs[1].ID != 13 || jobs[1].State != site.Forgotten {
		t.Errorf("got %+v, want job 12 that failed with 4 and job 13 of which the accounts know nothing", jobs)
	}
}

// TestWatchSlowly polls once a minute where that is asked, though the slowest is half of it.
func TestWatchSlowly(t *testing.T) {
	f := &fake{answers: map[string][]Output{"squeue": {queue("1 RUNNING g1"), down, down, queue("1 COMPLETED g1")}}}
	var waits []time.Duration
	o := &WatchOptions{Every: time.Minute, Jobs: []site.JobID{1}, Wait: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}}
	if jobs, err := NewClient(Config{Runner: f}).Wait(t.Context(), o, 1); err != nil || len(jobs) != 1 {
		t.Errorf("got %v, %v; want the job", jobs, err)
	}
	if want := []time.Duration{time.Minute, time.Minute, time.Minute}; !slices.Equal(want, waits) {
		t.Errorf("waits %v, want %v", waits, want)
	}
}

// TestWaitArray checks that Wait answers for every element of a job array, of
// which only the last has the array's own number.
func TestWaitArray(t *testing.T) {
	element := func(id, index int, state string) string {
		return fmt.Sprintf(`{"job_id": %d, "array_job_id": 9, "array_task_id": %d, "job_state": %q}`, id, index, state)
	}
	f := &fake{answers: map[string][]Output{"squeue": {
		prints(`{"jobs": [{"job_id": 9, "array_job_id": 9, "array_task_string": "1-2", "job_state": "PENDING"}, ` + element(10, 0, "RUNNING") + `, {"job_id": 3, "job_state": "COMPLETED"}]}`),
		prints(`{"jobs": [` + element(9, 2, "COMPLETED") + ", " + element(11, 1, "FAILED") + ", " + element(10, 0, "COMPLETED") + `, {"job_id": 3, "job_state": "COMPLETED"}]}`),
	}}}
	o := &WatchOptions{Wait: func(context.Context, time.Duration) error { return nil }}
	jobs, err := NewClient(Config{Runner: f}).Wait(t.Context(), o, 9, 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprint(j.ID, j.State))
	}
	if diff := cmp.Diff([]string{"10COMPLETED", "11FAILED", "9COMPLETED", "3COMPLETED"}, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

func TestWatchEnds(t *testing.T) {
	f := &fake{answers: map[string][]Output{"squeue": {queue("1 RUNNING g1")}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	events := 0
	for _, err := range NewClient(Config{Runner: f}).Watch(ctx, &WatchOptions{Every: time.Hour}) {
		events++
		last = err
		cancel() // while it waits for the next poll
	}
	if events != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d events, the last with %v; want the job and context.Canceled", events, last)
	}
	for _, err := range NewClient(Config{Runner: f}).Watch(t.Context(), nil) {
		if err != nil {
			t.Error(err)
		}
		break // the first event is enough
	}
	if jobs, err := NewClient(Config{Runner: f}).Wait(ctx, nil, 1); !errors.Is(err, context.Canceled) || len(jobs) != 0 {
		t.Errorf("got %v, %v; want nothing and context.Canceled", jobs, err)
	}
	f.answers["squeue"] = []Output{prints("what?")}
	if _, err := NewClient(Config{Runner: f}).Wait(t.Context(), nil, 1); !errors.Is(err, site.ErrOutput) {
		t.Errorf("got %v, want ErrOutput", err)
	}
}
