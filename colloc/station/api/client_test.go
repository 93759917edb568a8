package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
)

// talk returns a Client of a station that answers as a handler does. In the end it holds no
// connection any more, whatever was answered and however much of that was read.
func talk(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	_ = server.Listener.Close() // it is of another network
	server.Listener = l
	var open sync.WaitGroup
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Done()
		default:
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := NewClient(l.Addr().String())
	t.Cleanup(func() {
		c.Close()
		let := make(chan struct{})
		go func() { open.Wait(); close(let) }()
		select {
		case <-let:
		case <-time.After(5 * time.Minute):
			t.Error("a Client that was closed holds a connection")
		}
	})
	return c
}

// TestFindSocket: a user's own socket lies where the system keeps what users run, root's where
// the machine's is; one that is named goes first, then one's own if it is there.
func TestFindSocket(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tt := range []struct {
		uid           int
		runtime, want string
	}{
		{0, "/run/user/0", SystemSocket},
		{7, "/run/user/7", "/run/user/7/colloc/station.sock"},
		{7, "", filepath.Join(temp, "colloc-7", "station.sock")},
		{7, "here", filepath.Join(temp, "colloc-7", "station.sock")},
	} {
		t.Setenv("XDG_RUNTIME_DIR", tt.runtime)
		if got := socketOf(tt.uid); got != tt.want {
			t.Errorf("user %d with runtime folder %q: socket %s, want %s", tt.uid, tt.runtime, got, tt.want)
		}
	}
	own := filepath.Join(temp, "own")
	t.Setenv(SocketVariable, "")
	if got := findSocket(own); got != SystemSocket {
		t.Errorf("without one's own: %s, want the machine's", got)
	}
	l, err := net.Listen("unix", own)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody called
	if got := findSocket(own); got != own {
		t.Errorf("with one's own: %s, want %s", got, own)
	}
	t.Setenv(SocketVariable, "/named")
	if got := NewClient("").Socket(); got != "/named" {
		t.Errorf("where one is named: %s, want it", got)
	}
	if got := NewClient(own).Socket(); got != own {
		t.Errorf("a Client of %s talks to %s", own, got)
	}
}

// listed are the jobs of n that a query names: two of three are over.
func listed(n int, q Query) (jobs []Job) {
	for id := n; id > 0; id-- {
		j := Job{ID: strconv.Itoa(id), State: []queue.State{queue.Queued, queue.Succeeded, queue.Failed}[id%3]}
		if before, err := strconv.Atoi(q.Before); err == nil && id >= before || j.State.Over() && q.Ended == 0 {
			continue
		}
		if j.State.Over() {
			q.Ended--
		}
		if jobs = append(jobs, j); len(jobs) == q.Limit {
			break
		}
	}
	slices.Reverse(jobs)
	return jobs
}

// TestJobs: a list of any length comes by pages that a station gives, and is what one answer
// would be; no page is asked for that nobody needs.
func TestJobs(t *testing.T) {
	const n = MaxPage + 30 // of which 6687 are over, 20 of the first 30
	pages := 0
	c := talk(t, func(w http.ResponseWriter, r *http.Request) {
		pages++
		var q Query
		var err, limit error
		q.Ended, err = strconv.Atoi(r.FormValue("ended"))
		q.Limit, limit = strconv.Atoi(r.FormValue("limit"))
		q.Before = r.FormValue("before")
		if err != nil || limit != nil || q.Limit < 1 || q.Limit > MaxPage {
			t.Errorf("asked for %s", r.URL)
		}
		text := []byte("[")
		for i, j := range listed(n, q) {
			text = fmt.Appendf(text, `%.*s{"id":%q,"state":%q}`, min(i, 1), ",", j.ID, j.State)
		}
		_, _ = w.Write(append(text, ']')) // the client tells
	})
	for _, tt := range []struct {
		query Query
		pages int
	}{
		{Query{Ended: -1}, 2},
		{Query{Ended: -1, Limit: 7}, 1},
		{Query{Ended: -1, Limit: 1}, 1},
		{Query{Ended: -1, Limit: MaxPage + 7}, 2},
		{Query{Ended: -1, Before: "5"}, 1},
		{Query{Ended: 6680}, 2},
		{Query{Before: "700"}, 1},
	} {
		pages = 0
		got, err := c.Jobs(t.Context(), tt.query)
		if want := listed(n, tt.query); err != nil || !slices.EqualFunc(got, want, func(a, b Job) bool { return a.ID == b.ID }) || pages != tt.pages {
			t.Errorf("%+v: %d jobs on %d pages, %v; want %d on %d", tt.query, len(got), pages, err, len(want), tt.pages)
		}
	}
	pages = 0
	for page, err := range c.Pages(t.Context(), Query{Ended: -1}) {
		if len(page) != MaxPage || err != nil || pages != 1 {
			t.Errorf("the first page has %d jobs after %d requests, %v", len(page), pages, err)
		}
		break // it is enough
	}
	if none, err := c.Jobs(t.Context(), Query{Before: "1"}); err != nil || none == nil || len(none) != 0 {
		t.Errorf("of no jobs: %v, %v, want an empty list", none, err)
	}
}

// TestRequests: what is asked for stands in the request as the addresses of the package say.
func TestRequests(t *testing.T) {
	var got string
	c := talk(t, func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		got = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), body.String()))
		_, _ = w.Write([]byte(map[string]string{"GET /v1/jobs": `[]`, "POST /v1/jobs": `{"ids":["8"]}`, "GET /v1/wait": `[]`}[r.Method+" "+r.URL.Path]))
	})
	for _, tt := range []struct {
		ask  func(context.Context) error
		want string
	}{
		{func(ctx context.Context) error {
			_, err := c.Jobs(ctx, Query{User: "ann", States: []queue.State{queue.Failed, queue.Queued}, Ended: 4, Before: "9", Limit: 3, Brief: true})
			return err
		}, "GET /v1/jobs?before=9&brief=true&ended=4&limit=3&state=failed&state=queued&user=ann"},
		{func(ctx context.Context) error { _, err := c.Jobs(ctx, Query{}); return err }, "GET /v1/jobs?brief=false&ended=0&limit=10000"},
		{func(ctx context.Context) error {
			ids, err := c.Submit(ctx, Task{Command: []string{"true"}, Dir: "/"})
			return errors.Join(err, map[bool]error{false: fmt.Errorf("IDs %q", ids)}[slices.Equal(ids, []string{"8"})])
		}, `POST /v1/jobs application/json {"tasks":[{"command":["true"],"dir":"/"}]}`},
		{func(ctx context.Context) error { _, err := c.Look(ctx, "7", "3"); return err }, "GET /v1/wait?id=7&id=3&timeout=0s"},
		{func(ctx context.Context) error { return c.Do(ctx, "hold", "7") }, `POST /v1/jobs/hold application/json {"ids":["7"]}`},
		{func(ctx context.Context) error { return c.GPUs(ctx, "drain", GPURequest{GPUs: []string{"1"}}) }, `POST /v1/gpus/drain application/json {"gpus":["1"]}`},
		{func(ctx context.Context) error { return c.Log(ctx, &bytes.Buffer{}, "7", true) }, "GET /v1/jobs/7/log?follow=true"},
	} {
		if err := tt.ask(t.Context()); err != nil || got != tt.want {
			t.Errorf("asked for %s, %v; want %s", got, err, tt.want)
		}
	}
}

// TestWait: waiting ends when all jobs are over, and asks again until then; of very many jobs
// no request has more than its address can, and all come back in the order of the question.
func TestWait(t *testing.T) {
	asked := make(map[string]int)
	c := talk(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > 1<<14 {
			t.Errorf("an address of %d bytes", len(r.URL.RawQuery))
		}
		var jobs []Job
		for _, id := range r.URL.Query()["id"] {
			j := Job{ID: id, State: queue.Running}
			if asked[id]++; asked[id] > 1 || id != "3" && id != "1500" {
				j.State = queue.Succeeded
			}
			jobs = append(jobs, j)
		}
		_ = json.NewEncoder(w).Encode(jobs) // the client tells
	})
	var ids []string
	for n := range 2100 {
		ids = append(ids, strconv.Itoa(n))
	}
	same := func(jobs []Job) bool {
		return slices.EqualFunc(ids, jobs, func(id string, j Job) bool { return j.ID == id })
	}
	jobs, err := c.Look(t.Context(), ids...)
	if err != nil || !same(jobs) || jobs[3].State != queue.Running {
		t.Errorf("looked at %d jobs, %v, one of them %v; want %d as they are", len(jobs), err, jobs[3].State, len(ids))
	}
	clear(asked)
	jobs, err = c.Wait(t.Context(), ids...)
	if err != nil || !same(jobs) || slices.ContainsFunc(jobs, func(j Job) bool { return !j.State.Over() }) {
		t.Errorf("waited for %d jobs, %v; want %d that are over", len(jobs), err, len(ids))
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestAnswers: an error says what kind it is, where, and whether to try again, whatever a
// station answers.
func TestAnswers(t *testing.T) {
	ctx := context.WithoutCancel(t.Context()) // which would let go of connections
	long := strings.Repeat(" ", 1<<20)
	for _, tt := range []struct {
		name, text string
		status     int
		want       error // nil is none
		what       string
	}{
		{"an answer", `{"version":"v1"}`, 200, nil, ""},
		{"an error", `{"code":"not_found","where":"job 7","what":"there is none"}`, 400, &Error{Code: NotFound}, "job 7: there is none"},
		{"another one's error", `{"message":"no"}`, 502, &Error{Code: Failed}, "502 Bad Gateway"},
		{"no error in JSON", `<html>`, 500, &Error{Code: Failed}, "500 Internal Server Error"},
		{"no JSON", `hello`, 200, &Error{Code: Failed}, "the answer is not understood"},
		{"half an answer", `{"version":`, 200, &Error{Code: Unavailable}, "the station went away while it answered"},
		{"an answer and much more", `{"version":"v1"}` + long, 200, nil, ""},
		{"an error and much more", `{"code":"not_found","where":"job 7","what":"there is none"}` + long, 400, &Error{Code: NotFound}, "job 7: there is none"},
		{"nothing", ``, 200, &Error{Code: Unavailable}, "the station went away while it answered"},
	} {
		c := talk(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.text))
		})
		s, err := c.State(ctx)
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.what) || (s.Version == "v1") != (err == nil) {
			t.Errorf("%s: %+v, %v; want %v with %q", tt.name, s, err, tt.want, tt.what)
		}
		err = c.Do(ctx, "hold", "7") // of which the answer says nothing
		if (err == nil) != (tt.status < 400) {
			t.Errorf("%s to what tells nothing: %v", tt.name, err)
		}
		var log bytes.Buffer
		err = c.Log(ctx, &log, "7", false)
		if want := tt.status < 400; (err == nil) != want || (log.String() == tt.text) != want && tt.text != "" {
			t.Errorf("%s as an output: %d bytes, %v", tt.name, log.Len(), err)
		}
		if c.Log(ctx, full{}, "7", false) == nil && tt.text != "" {
			t.Errorf("%s as an output is written where there is no room", tt.name)
		}
	}
}

// TestBroken: what ends in the middle is an error everywhere, and no list that is too short.
func TestBroken(t *testing.T) {
	page, _ := json.Marshal(listed(3*MaxPage, Query{Ended: -1, Limit: MaxPage}))
	c := talk(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("before") == "" && r.URL.Path == "/v1/jobs" {
			_, _ = w.Write(page)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`[`))
	})
	if jobs, err := c.Jobs(t.Context(), Query{Ended: -1}); !errors.Is(err, &Error{Code: Unavailable}) || jobs != nil {
		t.Errorf("%d jobs, %v, want the fault of the second page", len(jobs), err)
	}
	if jobs, err := c.Wait(t.Context(), "7"); !errors.Is(err, &Error{Code: Unavailable}) || jobs != nil {
		t.Errorf("waited: %v, %v", jobs, err)
	}
	if jobs, err := c.Look(t.Context(), "7"); !errors.Is(err, &Error{Code: Unavailable}) || jobs != nil {
		t.Errorf("looked: %v, %v", jobs, err)
	}
	if err := c.Do(t.Context(), "hold", "7"); err == nil {
		t.Error("done, though the answer broke off")
	}
	if err := c.Log(t.Context(), &bytes.Buffer{}, "7", false); err == nil {
		t.Error("an output is whole that broke off")
	}
}

// TestUnreachable: where nobody answers the error says what to do about it; who gave up gets
// that back.
func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "left")
	l, err := net.Listen("unix", left)
	if err != nil {
		t.Fatal(err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	_ = l.Close() // nobody called
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"):        "or name its socket in " + SocketVariable,
		left:                              "the station does not run any more; start one with: colloc station serve",
		filepath.Join(dir, "file", "any"): "not a directory",
	} {
		_, err := NewClient(path).State(t.Context())
		if !errors.Is(err, &Error{Code: Unavailable}) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%v, want %s: %s", err, path, want)
		}
		if u := new(url.Error); errors.As(err, &u) {
			t.Errorf("%v names an address that nobody asked for", err)
		}
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := NewClient(left).State(over); !errors.Is(err, context.Canceled) {
		t.Errorf("of who gave up: %v", err)
	}
}

// TestDuration: a time is text that people write, both ways; what is none is refused.
func TestDuration(t *testing.T) {
	var task Task
	if err := json.Unmarshal([]byte(`{"time":"90m"}`), &task); err != nil || task.Time.String() != "1h30m0s" {
		t.Errorf("90m is %v, %v", task.Time, err)
	}
	text, err := json.Marshal(Task{Time: task.Time})
	if err != nil || !strings.Contains(string(text), `"time":"1h30m0s"`) {
		t.Errorf("written as %s, %v", text, err)
	}
	if err := json.Unmarshal([]byte(`{"time":"tomorrow"}`), &task); err == nil || !strings.Contains(err.Error(), "want 90s") || task.Time.String() != "1h30m0s" {
		t.Errorf("tomorrow is %v, %v", task.Time, err)
	}
}
