package decide

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// dispatcher is a new one.
func dispatcher(tb testing.TB) *dispatch.Dispatcher {
	tb.Helper()
	d, err := dispatch.New(planner(tb), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// Each event is taken in by itself: what makes no sense is named, and all else counts.
func TestEvents(t *testing.T) {
	saved := 0
	h := handler(t, Config{Planner: planner(t), Dispatcher: dispatcher(t), Save: func([]byte) error { saved++; return nil }})
	var answer EventsAnswer
	post(t, h, http.StatusOK, "events", `{"at_ns": 0, "events": [
		{"event": "gpu_added", "card": {"id": "g", "model": "A100-40GB"}},
		{"event": "gpu_added", "card": {"id": "g", "model": "A100-40GB"}},
		{"event": "submitted", "task": {"id": "a", "reserved": "1GiB"}},
		{"event": "submitted", "task": {"id": "b"}, "left_ns": -5},
		{"event": "started", "job": "a", "run": 7},
		{"event": "held", "job": "nobody"},
		{"event": "submitted", "task": {"id": "c", "kind": "k"}}]}`, &answer)
	var got []string
	for _, r := range answer.Refused {
		got = append(got, strings.Repeat(".", r.Index)+string(r.Code))
	}
	if want := ".conflict ...invalid ....not_found .....not_found"; strings.Join(got, " ") != want {
		t.Errorf("refused %+v, want %s", answer.Refused, want)
	}
	var did ActionsAnswer
	post(t, h, http.StatusOK, "decide", `{"at_ns": 0}`, &did)
	if len(did.Actions) != 2 || did.Actions[0].Verb != dispatch.Start || did.Actions[0].Job != "a" || did.Next.IsZero() {
		t.Errorf("%+v", did)
	}
	var e wire.Error
	post(t, h, http.StatusOK, "decide", `{"at_ns": 9}`, &did)
	post(t, h, http.StatusConflict, "decide", `{"at_ns": 8}`, &e)
	post(t, h, http.StatusConflict, "events", `{"at_ns": 8, "events": [{"event": "learned"}]}`, &e)
	if saved != 3 {
		t.Errorf("saved %d times, want 3", saved)
	}
}

// A request that is wrong is refused whole, in words that name the place.
func TestEventsRefused(t *testing.T) {
	h := handler(t, Config{Planner: planner(t), Dispatcher: dispatcher(t)})
	for event, where := range map[string]string{
		`{"event": "nonsense"}`:  "events[0].event",
		`{"event": "submitted"}`: "events[0].task",
		`{"event": "submitted", "task": {"id": "a", "model_file": "x"}}`: "events[0].task.model_file",
		`{"event": "gpu_added"}`: "events[0].card",
		`{"event": "gpu_added", "card": {"id": "g", "model": "Voodoo"}}`:                                                        "events[0].card.model",
		`{"event": "ended", "job": "a", "run": 1, "how": "well"}`:                                                               "POST /v1/events",
		`{"event": "ended", "job": "a", "run": 1}`:                                                                              "events[0].how",
		`{"event": "seen", "job": "a", "run": 1}`:                                                                               "events[0].peak",
		`{"event": "progress", "job": "a", "run": 1}`:                                                                           "events[0].left_ns",
		`{"event": "held", "job": "a", "jobs": []}`:                                                                             "POST /v1/events",
		`{"event": "gpu_added", "card": {"id": "g", "model": "T4", "residents": [{"id": "a", "training": {"batch_size": 1}}]}}`: "events[0].card.residents",
	} {
		var e wire.Error
		post(t, h, http.StatusBadRequest, "events", `{"at_ns": 0, "events": [`+event+`]}`, &e)
		if e.Where != where {
			t.Errorf("%s: %+v, want it at %s", event, e, where)
		}
	}
	many := EventsRequest{Events: make([]Event, MaxEvents+1)}
	var e wire.Error
	post(t, h, http.StatusRequestEntityTooLarge, "events", many, &e)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/jobs/a%2Fb/why", nil)); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "a/b") {
		t.Errorf("why of nobody: %d %s", w.Code, w.Body)
	}
	alone := handler(t, Config{Planner: planner(t)})
	post(t, alone, http.StatusNotFound, "events", `{"events": []}`, &e)
}

// What is observed teaches the session, and a state that cannot be kept is told.
func TestSessionLearns(t *testing.T) {
	own, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	var now time.Duration
	h := handler(t, Config{Planner: own, Dispatcher: dispatcher(t), Save: func([]byte) error { return full }, Now: func() time.Duration { return now }})
	var e wire.Error
	post(t, h, http.StatusInternalServerError, "events", EventsRequest{Events: []Event{{Event: "submitted", Task: &taskfile.Task{ID: "a"}}}}, &e)
	if !strings.Contains(e.What, "the disk is full") {
		t.Error(e)
	}
	h = handler(t, Config{Planner: own, Dispatcher: dispatcher(t), Now: func() time.Duration { return now }})
	task := seen("a", 0.4, profile.GiB)
	var none struct{}
	post(t, h, http.StatusOK, "observe", Observation{Model: "T4", Members: []Measurement{{Task: task, Peak: profile.Some(profile.GiB)}}}, &none)
	now = time.Hour
	var did ActionsAnswer
	post(t, h, http.StatusOK, "decide", `{}`, &did)
	if did.Note != "" || len(did.Actions) != 0 {
		t.Errorf("%+v", did)
	}
}

// FuzzEvents: no request makes the handler panic, and each is answered.
func FuzzEvents(f *testing.F) {
	f.Add(`{"at_ns": 1, "events": [{"event": "gpu_added", "card": {"id": "g", "model": "T4"}}, {"event": "submitted", "task": {"id": "a"}}, {"event": "adopted", "task": {"id": "b"}, "run": 3, "gpus": ["g"]}]}`)
	f.Add(`{"events": [{"event": "drained", "gpu": "g", "off": true}, {"event": "foreign", "gpu": "g", "memory": "1GiB"}, {"event": "ended", "job": "a", "run": 1, "how": "lost"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		d, err := dispatch.New(planner(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		h := handler(t, Config{Planner: planner(t), Dispatcher: d, Now: func() time.Duration { return time.Hour }})
		for _, name := range []string{"events", "decide"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/"+name, strings.NewReader(body)))
			if w.Code >= http.StatusInternalServerError {
				t.Fatalf("%s: %d %s", name, w.Code, w.Body)
			}
		}
	})
}
