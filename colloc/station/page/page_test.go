package page_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/page"
	"example.com/colloc/profile"
)

const hostile = `<script>console.log("x")</script>`

// busy is a station with a bit of everything, and what nobody else may see.
func busy() api.State {
	now := time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)
	return api.State{
		At: now, Since: now.Add(-50 * time.Hour), Version: "v1", Draining: true, Warnings: []api.Warning{{At: now, Text: "secret"}},
		Count: api.Count{Running: 2, Queued: 12},
		GPUs: []api.GPU{
			{Index: 0, Name: "A100", Memory: 40 * profile.GiB, Usable: 38 * profile.GiB, Reserved: 20 * profile.GiB, Used: profile.Some(10 * profile.GiB), Busy: profile.Some(0.5), Jobs: []string{"1", "2", "ended"}},
			{Index: 1, Name: hostile, Memory: 40 * profile.GiB, Lost: true},
			{Index: 2, Name: "A100", Drained: true},
			{Index: 3, Name: "A100", For: "ann", Until: now.Add(time.Hour)},
		},
		Users: []api.User{{Name: "ann", Count: api.Count{Running: 2, Queued: 12}, Share: 0.4, Had: 0.6, GPUSeconds: 7200, SavedSeconds: 1800, WaitSeconds: 190, Started: 2, OutOfMemory: 3}, {Name: "new"}, {Name: "once", Started: 1, WaitSeconds: 61}},
		Active: []api.Job{
			{
				ID: "1", Name: "bert", User: "ann", State: queue.Running, Command: []string{"secret"}, Dir: "/secret", Log: "/secret/1", Err: "secret", Submitted: now.Add(-time.Hour), Started: now.Add(-90 * time.Second),
				Ends: profile.Some(now.Add(125 * time.Minute)), Width: 1, GPUs: []int{0}, Beside: []string{"2"}, Reserved: 12 * profile.GiB, Peak: profile.Some(9 * profile.GiB),
				Predicted: profile.Some(0.8), Speed: profile.Some(0.75), Step: profile.Some[int64](25), Total: profile.Some[int64](100),
			},
			{ID: "2", Name: hostile, User: hostile, State: queue.Running, Started: now, Width: 1, GPUs: []int{0}, Step: profile.Some[int64](4711), Predicted: profile.Some(0.66)},
		},
		Queue: []api.Job{
			{ID: "3", Kind: "resnet", User: "ann", State: queue.Queued, Submitted: now.Add(-time.Minute), Starts: profile.Some(now.Add(30 * time.Second)), Width: 4, Why: "for four GPUs", Command: []string{"secret"}},
			{ID: "4", User: "bob", State: queue.Queued, Submitted: now.Add(time.Hour), Why: hostile},
			{ID: "5", User: "bob", State: queue.Queued, Submitted: now.Add(-20 * time.Minute), Started: now.Add(-10 * time.Minute), Starts: profile.Some(now.Add(time.Hour)), Why: "again"},
		},
	}
}

func get(t *testing.T, method string, s api.State, err error) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	asked, stop := context.WithCancel(t.Context())
	defer stop()
	page.Handler(func(ctx context.Context) (api.State, error) { asked = ctx; return s, err }).ServeHTTP(w, httptest.NewRequestWithContext(asked, method, "/", nil))
	if method == "GET" && asked.Err() == nil {
		t.Error("what looks goes on after the answer")
	}
	return w
}

func TestHandler(t *testing.T) {
	w := get(t, "GET", busy(), nil)
	got := w.Body.String()
	for _, text := range []string{
		"<h1>2 running, 12 waiting</h1>", "up 2d2h", "Draining", "1 warnings", "and 9 more that wait",
		"10GiB used, 20GiB reserved of 40GiB", `class="reserved" style="width:50%"`, `class="used" style="width:25%"`, "does not answer", "drained", "for ann until 2026-03-14 16:00",
		"75 % (predicted 80 %)", "25/100", "9GiB of 12GiB", "beside 2", "1m30s", "1m00s", "1m01s", "in 2h05m", "resnet", "4 wanted", "in 30s", "for four GPUs",
		"40 %", "60 %", "2.0 h", "0.5 h", "1m35s", "50 %", "4711", "20m00s", "in 1h00m", "– (predicted 66 %)", "ended", "&lt;script&gt;",
	} {
		if !strings.Contains(got, text) && !strings.Contains(got, strings.ReplaceAll(text, "GiB", " GiB")) {
			t.Errorf("%q is not shown", text)
		}
	}
	for _, text := range []string{"secret", "<script", "http:", "https:", "src=", "-3600s", "NaN"} {
		if strings.Contains(got, text) {
			t.Errorf("%q is shown", text)
		}
	}
	if policy := w.Header().Get("Content-Security-Policy"); w.Code != 200 || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("status %d, policy %q", w.Code, policy)
	}
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if value := w.Header().Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	if n := strings.Count(got, "bert"); n < 2 {
		t.Errorf("a job that runs is named %d times, want it on its GPU, too", n)
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Of a job that says nothing of itself no number is made up.
func TestUnknown(t *testing.T) {
	if w := get(t, "GET", api.State{Count: api.Count{Queued: 1}, Queue: []api.Job{{ID: "1"}}}, nil); strings.Contains(w.Body.String(), "more that wait") {
		t.Errorf("all that wait are listed, but shown is %s", w.Body)
	}
	if w := get(t, "GET", api.State{Active: []api.Job{{ID: "1"}}}, nil); strings.Contains(w.Body.String(), "0 B") || strings.Contains(w.Body.String(), "0 %") {
		t.Errorf("shown is %s", w.Body)
	}
}

func TestRefusals(t *testing.T) {
	if w := get(t, "POST", busy(), nil); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d", w.Code)
	}
	if w := get(t, "GET", busy(), errors.New("secret")); w.Code != 503 || !strings.Contains(w.Body.String(), "does not answer") || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("without a station: status %d with %s", w.Code, w.Body)
	}
	if w := get(t, "GET", api.State{}, nil); w.Code != 200 || !strings.Contains(w.Body.String(), "Nothing runs") || strings.Contains(w.Body.String(), "more that wait") {
		t.Errorf("an empty station: status %d with %s", w.Code, w.Body)
	}
}
