//go:build linux

package station

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/internal/race"
)

// ask sends a request as a user and returns status and answer.
func (g *rig) ask(tb testing.TB, uid uint32, method, path, body string) (int, api.Error) {
	tb.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r = r.WithContext(peer.With(tb.Context(), peer.User{UID: uid, GID: uid}))
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	var e api.Error
	if w.Code >= http.StatusBadRequest {
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code.Status() != w.Code || e.What == "" {
			tb.Errorf("%s %s: status %d with %q: %v", method, path, w.Code, w.Body.String(), err)
		}
	}
	return w.Code, e
}

// Requests that come at the same time are together held to what a user may have in the queue.
func TestQueuedAtOnce(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, func(c *Config) { c.MaxQueued = 3 })
	const three = `{"tasks":[{"command":["true"],"dir":"/","held":true},{"command":["true"],"dir":"/","held":true},{"command":["true"],"dir":"/","held":true}]}`
	for range 20 {
		var taken atomic.Int32
		var all sync.WaitGroup
		for range maxRequests {
			all.Go(func() {
				switch code, e := g.ask(t, uint32(os.Geteuid()), http.MethodPost, "/v1/jobs", three); {
				case code == http.StatusOK:
					taken.Add(1)
				case e.Code != api.OverLimit:
					t.Errorf("status %d: %v", code, e)
				}
			})
		}
		if all.Wait(); taken.Load() != 1 {
			t.Errorf("%d requests for as many jobs as a user may have are taken, want 1", taken.Load())
		}
		if err := g.runner.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is queued again counts as what is submitted.
func TestQueuedAgain(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, func(c *Config) { c.MaxQueued = 3 })
	held := api.Task{Command: []string{"true"}, Dir: "/", Held: true}
	first := g.add(t, held, held, held)
	if err := g.runner.Kill(first...); err != nil {
		t.Fatal(err)
	}
	second := g.add(t, held, held)
	requeue := func(ids ...string) api.Code {
		text, _ := json.Marshal(api.IDs{IDs: ids})
		_, e := g.ask(t, uint32(os.Geteuid()), http.MethodPost, "/v1/jobs/requeue", string(text))
		return e.Code
	}
	if code := requeue(first[:2]...); code != api.OverLimit {
		t.Errorf("two beside two of three: %q, want %q", code, api.OverLimit)
	}
	if j, err := g.Job(t.Context(), first[0]); err != nil || j.State != runner.Cancelled {
		t.Errorf("what was refused is %v, %v", j.State, err)
	}
	if code := requeue(first[0]); code != "" {
		t.Errorf("one beside two of three: %q", code)
	}
	if code := requeue(first[1]); code != api.OverLimit {
		t.Errorf("one beside three of three: %q, want %q", code, api.OverLimit)
	}
	if err := g.runner.Kill(second...); err != nil {
		t.Fatal(err)
	}
	if code := requeue(first[1:]...); code != "" {
		t.Errorf("two beside one of three: %q", code)
	}
}

// What makes no sense is refused with what is wrong and where, and changes nothing.
func TestRefused(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, func(c *Config) { c.MaxQueued = 3 })
	me := uint32(os.Geteuid())
	long := strings.Repeat("x", 1<<20+1)
	for _, tt := range []struct {
		name, method, path, body string
		code                     api.Code
		where, what              string
	}{
		{"no address", "GET", "/v1/nothing", "", api.NotFound, "GET /v1/nothing", "no such address"},
		{"other method", "DELETE", "/v1/jobs", "", api.NotFound, "DELETE /v1/jobs", "no such address"},
		{"no JSON", "POST", "/v1/jobs", "hello", api.Invalid, "POST /v1/jobs", "not understood"},
		{"nothing", "POST", "/v1/jobs", "", api.Invalid, "POST /v1/jobs", "not understood"},
		{"more behind it", "POST", "/v1/jobs", `{"tasks":[]} {}`, api.Invalid, "POST /v1/jobs", "more text"},
		{"unknown field", "POST", "/v1/jobs", `{"tasks":[{"comand":["true"]}]}`, api.Invalid, "POST /v1/jobs", "comand"},
		{"no tasks", "POST", "/v1/jobs", `{"tasks":[]}`, api.Invalid, "tasks", "none"},
		{"no command", "POST", "/v1/jobs", `{"tasks":[{"dir":"/"}]}`, api.Invalid, "tasks", "Command is empty"},
		{"relative folder", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"."}]}`, api.Invalid, "tasks[0].dir", "."},
		{"second task", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/"},{"command":["true"]}]}`, api.Invalid, "tasks[1].dir", ""},
		{"hostile name", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","name":"a\u001b[2Jb"}]}`, api.Invalid, "tasks[0].name", "no name"},
		{"long name", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","name":"` + long[:201] + `"}]}`, api.Invalid, "tasks[0].name", "no name"},
		{"hostile kind", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","kind":"a\nb"}]}`, api.Invalid, "tasks[0].kind", "no kind"},
		{"large environment", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","env":["A=` + long + `"]}]}`, api.Invalid, "tasks[0].command", "bytes"},
		{"environment", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","env":["=secret"]}]}`, api.Invalid, "tasks", "Env"},
		{"zero byte", "POST", "/v1/jobs", `{"tasks":[{"command":["true","\u0000"],"dir":"/"}]}`, api.Invalid, "tasks", "zero byte"},
		{"folder with zero byte", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/\u0000"}]}`, api.Invalid, "tasks[0].dir", ""},
		{"retries for ever", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","retries":1001}]}`, api.Invalid, "tasks[0].retries", "1001"},
		{"wait for too many", "GET", "/v1/wait?id=77" + strings.Repeat("&id=77", api.MaxIDs), "", api.TooLarge, "id", "1001 jobs"},
		{"class", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","class":"urgent"}]}`, api.Invalid, "tasks[0].class", "urgent"},
		{"umask", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","umask":4096}]}`, api.Invalid, "tasks[0].umask", "10000"},
		{"time", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","time":"tomorrow"}]}`, api.Invalid, "POST /v1/jobs", "tomorrow"},
		{"too many GPUs", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","gpus":2}]}`, api.Invalid, "tasks", "GPUs is 2"},
		{"negative memory", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","memory":-1}]}`, api.Invalid, "", ""},
		{"after nobody", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","after":[{"task":"9"}]}]}`, api.Invalid, "tasks", `"9"`},
		{"after itself", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","after":[{"task":"#1"}]}]}`, api.Invalid, "tasks", "itself"},
		{"after the second of one", "POST", "/v1/jobs", `{"tasks":[{"command":["true"],"dir":"/","after":[{"task":"#2"}]}]}`, api.Invalid, "tasks[0].after", "#2"},
		{"too many", "POST", "/v1/jobs", `{"tasks":[` + strings.Repeat(`{"command":["true"],"dir":"/","held":true},`, 3) + `{"command":["true"],"dir":"/"}]}`, api.OverLimit, "tasks", "beyond the 3"},
		{"no job", "GET", "/v1/jobs/77", "", api.NotFound, `job "77"`, "none"},
		{"hostile job", "GET", "/v1/jobs/%0a%1b", "", api.NotFound, `job "\n\x1b"`, "none"},
		{"log of no job", "GET", "/v1/jobs/77/log", "", api.NotFound, `job "77"`, "none"},
		{"no verb", "POST", "/v1/jobs/kill", `{"ids":["1"]}`, api.NotFound, "", "nothing of that name"},
		{"no jobs", "POST", "/v1/jobs/cancel", `{"ids":[]}`, api.Invalid, "ids", "none"},
		{"too many jobs", "POST", "/v1/jobs/cancel", `{"ids":["1"` + strings.Repeat(`,"1"`, api.MaxTasks) + `]}`, api.TooLarge, "ids", "10001 jobs, want at most 10000"},
		{"cancel nobody", "POST", "/v1/jobs/cancel", `{"ids":["77"]}`, api.NotFound, "", "none"},
		{"wait for nobody", "GET", "/v1/wait?id=77", "", api.NotFound, "", "none"},
		{"wait for long", "GET", "/v1/wait?id=77&timeout=1000h", "", api.Invalid, "timeout", "1000h"},
		{"state", "GET", "/v1/jobs?state=lost", "", api.Invalid, "state", "lost"},
		{"no GPU", "POST", "/v1/gpus/drain", `{"gpus":["1"]}`, api.NotFound, "", "none"},
		{"no GPU verb", "POST", "/v1/gpus/burn", `{}`, api.NotFound, "", "nothing of that name"},
		{"reserve in the past", "POST", "/v1/gpus/reserve", `{"gpus":["0"],"until":"2001-01-01T00:00:00Z"}`, api.Invalid, "until", "2001"},
		{"reserve for nobody", "POST", "/v1/gpus/reserve", `{"gpus":["0"],"user":"nobody at all","until":"2999-01-01T00:00:00Z"}`, api.NotFound, "user", "nobody at all"},
	} {
		_, e := g.ask(t, me, tt.method, tt.path, tt.body)
		if e.Code != tt.code || !strings.Contains(e.Where, tt.where) || !strings.Contains(e.What, tt.what) {
			t.Errorf("%s: %+v, want %s at %q with %q", tt.name, e, tt.code, tt.where, tt.what)
		}
	}
	if s, err := g.State(t.Context()); err != nil || s.Count != (api.Count{}) {
		t.Errorf("something was done: %+v, %v", s.Count, err)
	}
}

// Nobody is let in whom the kernel does not name, nor another user into one's own station.
func TestForeign(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, nil)
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/state", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("nobody gets %d", w.Code)
	}
	for _, path := range []string{"/v1/state", "/v1/jobs", "/v1/jobs/1/log"} {
		if code, _ := g.ask(t, 54321, http.MethodGet, path, ""); code != http.StatusForbidden {
			t.Errorf("%s: another user gets %d", path, code)
		}
	}
}

// A request that is too long is refused unread if it says so, and cut off if it does not.
func TestLong(t *testing.T) {
	g := newRig(t, t.TempDir(), 1, nil)
	for name, length := range map[string]int64{"said": int64(api.MaxBody) + 1, "unsaid": -1} {
		body := io.Reader(unread{t})
		if length < 0 {
			if race.Enabled {
				continue // 64 MiB take seconds
			}
			body = strings.NewReader(`{"tasks":[{"command":["` + strings.Repeat("x", int(api.MaxBody)) + `"]}]}`)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/jobs", body)
		r.ContentLength = length
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r.WithContext(peer.With(t.Context(), peer.User{UID: self()})))
		if w.Code != api.TooLarge.Status() {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
