package guest

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/wire"
)

// fake is a station that runs nothing.
type fake struct {
	mu       sync.Mutex
	jobs     []api.Job
	requests [][]api.Task // what was submitted, refused or not
	refuse   func(tasks []api.Task) error
	lost     bool // the answer to a submission is
	deaf     int  // so many looks are not answered
	looked   func()
	classes  []string
}

// open makes a client of it.
func (f *fake) open(t *testing.T) *api.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /v1/state":        f.state,
		"GET /v1/jobs":         func(*http.Request) (any, error) { return f.jobs, nil },
		"POST /v1/jobs":        f.submit,
		"POST /v1/jobs/{verb}": f.do,
		"GET /v1/wait":         f.wait,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			value, err := answer(r)
			if err != nil {
				wire.Refuse(w, err)
				return
			}
			wire.Answer(w, value)
		})
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}} //nolint:gosec // a test's
	server.Start()
	client := api.NewClient(filepath.Join(dir, "s"))
	t.Cleanup(func() { client.Close(); server.Close(); _ = os.RemoveAll(dir) })
	return client
}

func (f *fake) state(*http.Request) (any, error) {
	if f.deaf > 0 {
		f.deaf--
		return nil, api.Errorf(api.Unavailable, "", "", "the station is ending")
	}
	return api.State{}, nil
}

func (f *fake) submit(r *http.Request) (any, error) {
	var in api.Submission
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	f.requests = append(f.requests, in.Tasks)
	if f.refuse != nil {
		if err := f.refuse(in.Tasks); err != nil {
			return nil, err
		}
	}
	var ids []string
	for _, task := range in.Tasks {
		id := strconv.Itoa(len(f.jobs) + 1)
		ids = append(ids, id)
		f.jobs = append(f.jobs, api.Job{ID: id, Name: task.Name, Dir: task.Dir, Width: 1})
		f.classes = append(f.classes, task.Class)
	}
	if f.lost {
		return nil, api.Errorf(api.Unavailable, "", "", "the answer is lost")
	}
	return api.IDs{IDs: ids}, nil
}

func (f *fake) do(r *http.Request) (any, error) {
	var in api.IDs
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	verb := r.PathValue("verb")
	for _, id := range in.IDs {
		if over := f.jobs[number(id)-1].State.Over(); verb != "cancel" && over != (verb == "requeue") {
			return nil, api.Errorf(api.Conflict, "job "+id, "", "it is over")
		}
	}
	for _, id := range in.IDs {
		j := &f.jobs[number(id)-1]
		j.Held = verb == "hold"
		if verb == "cancel" {
			j.State = runner.Cancelled
		}
		if verb == "requeue" {
			j.State = runner.Queued
		}
	}
	return struct{}{}, nil
}

func (f *fake) wait(r *http.Request) (any, error) {
	if f.looked != nil {
		f.looked()
	}
	jobs := []api.Job{}
	for _, id := range r.URL.Query()["id"] {
		jobs = append(jobs, f.jobs[number(id)-1])
	}
	return jobs, nil
}

// notes are what hooks were told.
type notes struct {
	mu    sync.Mutex
	kept  []Tasks
	texts []string
}

func (n *notes) hooks() Hooks {
	return Hooks{
		Keep:  func(t Tasks) error { n.kept = append(n.kept, t); return nil },
		Event: func(runner.Event) {},
		Note: func(text string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.texts = append(n.texts, text)
		},
	}
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.texts, "\n")
}

func begin(t *testing.T, client *api.Client, tasks Tasks, n *notes) *Queue {
	t.Helper()
	q, err := Open(t.Context(), client, tasks, n.hooks())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func tasks(names ...string) (list []runner.Task) {
	for _, name := range names {
		list = append(list, runner.Task{ID: name, Command: []string{"true"}})
	}
	return list
}

// Whoever is killed between the station's yes and the book finds the jobs, and no others.
func TestPending(t *testing.T) {
	f, n := &fake{}, &notes{}
	client := f.open(t)
	q := begin(t, client, Tasks{}, n)
	for _, names := range [][]string{{"a", "b", "c"}, {"b", "c"}} {
		if _, err := begin(t, client, Tasks{}, &notes{}).Submit(tasks(names...)...); err != nil { // another sweep from here
			t.Fatal(err)
		}
	}
	if _, err := q.Submit(tasks("a", "b", "c")...); err != nil {
		t.Fatal(err)
	}
	before := n.kept[0]
	if before.Pending == nil || len(before.Numbers) != 0 || n.kept[1].Pending != nil || n.kept[1].Numbers["c"] != "8" {
		t.Fatalf("kept are %+v", n.kept)
	}
	resumed := &notes{}
	got := begin(t, client, before, resumed).Records()
	if len(got) != 3 || got[0].Number != 6 || got[2].Task.ID != "c" || resumed.kept[0].Pending != nil {
		t.Errorf("found again are %+v, kept %+v", got, resumed.kept)
	}
	f.jobs = f.jobs[:5] // the request never came
	if got := begin(t, client, before, &notes{}).Records(); len(got) != 0 {
		t.Errorf("jobs of others are taken: %+v", got)
	}
}

// Tasks go in as many requests as their environments need, and all or none are queued.
func TestTakeBack(t *testing.T) {
	large := strings.Repeat("x", 12<<20)
	many := tasks("a", "b", "c")
	for i := range many {
		many[i].Env = []string{"LARGE=" + large}
	}
	f, n := &fake{}, &notes{}
	q := begin(t, f.open(t), Tasks{}, n)
	f.refuse = func(tasks []api.Task) error {
		if tasks[0].Name == "c" {
			return api.Errorf(api.OverLimit, "tasks", "", "too many")
		}
		return nil
	}
	if _, err := q.Submit(many...); !errors.Is(err, &api.Error{Code: api.OverLimit}) {
		t.Errorf("refused with %v", err)
	}
	if len(f.requests) != 2 || len(f.jobs) != 2 || f.jobs[0].State != runner.Cancelled || f.jobs[1].State != runner.Cancelled {
		t.Errorf("%d requests, jobs %+v", len(f.requests), f.jobs)
	}
	if last := n.kept[len(n.kept)-1]; len(last.Numbers) != 0 || last.Pending != nil || len(q.Records()) != 0 {
		t.Errorf("kept is %+v", last)
	}
	f.lost = true
	if ids, err := q.Submit(tasks("d")...); err == nil || len(ids) != 0 || f.jobs[2].State != runner.Cancelled {
		t.Errorf("the answer is lost: %v, %v, %+v", ids, err, f.jobs[2])
	}
}

// One task that is over keeps the station from holding the others only until it is seen.
func TestDrain(t *testing.T) {
	f, n := &fake{}, &notes{}
	q := begin(t, f.open(t), Tasks{}, n)
	if _, err := q.Submit(tasks("a", "b", "c")...); err != nil {
		t.Fatal(err)
	}
	f.jobs[0].State = runner.Succeeded
	q.Drain()
	if err := q.Run(t.Context()); !errors.Is(err, runner.ErrDrained) {
		t.Errorf("ends with %v", err)
	}
	if !f.jobs[1].Held || !f.jobs[2].Held || n.text() != "" {
		t.Errorf("%+v; %s", f.jobs, n.text())
	}
}

// What is queued again is run again before the sweep is over, and that is no retry.
func TestRetry(t *testing.T) {
	f, n := &fake{}, &notes{}
	q := begin(t, f.open(t), Tasks{}, n)
	if _, err := q.Submit(tasks("a", "b")...); err != nil {
		t.Fatal(err)
	}
	for i := range f.jobs {
		f.jobs[i].State, f.jobs[i].Runs = runner.Cancelled, 1
	}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := q.Retry("a", "b"); err != nil {
		t.Fatal(err)
	}
	looks := 0
	f.looked = func() {
		if looks++; looks > 1 {
			for i := range f.jobs {
				f.jobs[i].State, f.jobs[i].Runs, f.jobs[i].Started = runner.Succeeded, 2, time.Unix(1, 0)
			}
		}
	}
	kinds := make(map[runner.EventKind]int)
	q.hooks.Event = func(e runner.Event) { kinds[e.Kind]++ }
	if err := q.Run(t.Context()); err != nil || looks != 2 {
		t.Errorf("ends with %v after %d looks, want 2", err, looks)
	}
	if kinds[runner.EventStarted] != 2 || kinds[runner.EventFinished] != 2 || len(kinds) != 2 {
		t.Errorf("told are %v, want two starts and two ends", kinds)
	}
}

// A station whose queue began anew has other jobs of the same numbers.
func TestGone(t *testing.T) {
	f := &fake{jobs: []api.Job{{ID: "1", Name: "stranger"}}}
	_, err := Open(t.Context(), f.open(t), Tasks{Numbers: map[string]string{"mine": "1"}}, (&notes{}).hooks())
	if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "remove station.json") {
		t.Errorf("a stranger's job: %v", err)
	}
}

// Who may not pass all others waits with them.
func TestPriority(t *testing.T) {
	f, n := &fake{}, &notes{}
	f.refuse = func(tasks []api.Task) error {
		if slices.ContainsFunc(tasks, func(t api.Task) bool { return t.Class == "high" }) {
			return api.Errorf(api.Forbidden, "class", "", "not you")
		}
		return nil
	}
	q := begin(t, f.open(t), Tasks{}, n)
	list := tasks("a", "b")
	list[0].Priority, list[1].Priority = 5, -1
	if _, err := q.Submit(list...); err != nil {
		t.Fatal(err)
	}
	if slices.Compare(f.classes, []string{"normal", "low"}) != 0 || !strings.Contains(n.text(), "class normal") {
		t.Errorf("classes %q, told %q", f.classes, n.text())
	}
}

// A sweep waits for a station that is started anew, but not forever.
func TestAway(t *testing.T) {
	f, n := &fake{}, &notes{}
	q := begin(t, f.open(t), Tasks{}, n)
	if _, err := q.Submit(tasks("a")...); err != nil {
		t.Fatal(err)
	}
	f.jobs[0].State, f.deaf = runner.Succeeded, 2
	if err := q.Run(t.Context()); err != nil || !strings.Contains(n.text(), "ending") || !strings.Contains(n.text(), "answers again") {
		t.Errorf("ends with %v, told %q", err, n.text())
	}
	f.jobs[0].State, f.deaf, q.absent = runner.Running, 1<<30, 0
	q.jobs["a"] = f.jobs[0]
	if err := q.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the station is ending") {
		t.Errorf("ends with %v", err)
	}
}
