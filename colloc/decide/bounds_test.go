package decide

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Every number of a Config may be 0, none may be less.
func TestConfig(t *testing.T) {
	for _, c := range []Config{{MaxBody: -1}, {Patience: -1}, {AtOnce: -1}} {
		c.Planner = planner(t)
		if _, err := Handler(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// The addresses are those that Addresses lists, by POST alone.
func TestAddresses(t *testing.T) {
	h := handler(t, Config{Planner: planner(t)})
	for _, pattern := range Addresses() {
		_, path, _ := strings.Cut(pattern, " ")
		for method, want := range map[string]wire.Code{http.MethodPost: wire.Invalid, http.MethodGet: wire.NotFound} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{")))
			var e wire.Error
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Code != want || e.Where != method+" "+path {
				t.Errorf("%s %s: %s, %v", method, path, w.Body, err)
			}
		}
	}
}

// Lists may be as long as is said, and a body as long as it may be.
func TestLongest(t *testing.T) {
	const task, gpu = `{"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}`, `{"id": "0", "model": "T4"}`
	body := `{"task": ` + task + `, "gpu": ` + gpu + `}`
	h := handler(t, Config{Planner: planner(t), MaxBody: profile.Bytes(len(body))})
	var fit FitAnswer
	post(t, h, 200, "fit", body, &fit)
	post(t, h, 413, "fit", body+" ", &wire.Error{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/fit", unread{t})
	r.ContentLength = 100 << 20
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("100 MiB: %d %s", w.Code, w.Body)
	}

	h = handler(t, Config{Planner: planner(t)})
	many := PlanRequest{Tasks: make([]taskfile.Task, MaxTasks)}
	for i := range many.Tasks {
		many.Tasks[i] = taskfile.Task{ID: "a", Reserved: 1, Spec: profile.Spec{Training: profile.Training{BatchSize: 1}}}
	}
	var e wire.Error
	post(t, h, 400, "plan", many, &e)
	if e.Where != "tasks[1].id" {
		t.Errorf("a list of %d tasks: %+v", MaxTasks, e)
	}
	cards := BestRequest{Task: many.Tasks[0], GPUs: make([]GPU, MaxGPUs)}
	for i := range cards.GPUs {
		cards.GPUs[i] = GPU{ID: "0", Model: "T4"}
	}
	cards.GPUs[MaxGPUs-1].Model = "Voodoo" // it is looked at
	e = wire.Error{}
	post(t, h, 400, "best", cards, &e)
	if e.Where != "gpus[4095].model" {
		t.Errorf("a list of %d GPUs: %+v", MaxGPUs, e)
	}
	full := FitRequest{many.Tasks[0], GPU{ID: "0", Model: "T4", Residents: many.Tasks[:colloc.LargestSet]}}
	e = wire.Error{}
	post(t, h, 400, "fit", full, &e)
	if e.Code != wire.Invalid || strings.Contains(e.What, "at most") {
		t.Errorf("%d residents: %+v", colloc.LargestSet, e)
	}
}

// What a request says of a GPU decides: its figures, memory, ways to share and labels.
func TestGPU(t *testing.T) {
	h := handler(t, Config{Planner: planner(t)})
	task, there := seen("a", 0.2, 6*profile.GiB), seen("b", 0.2, 6*profile.GiB)
	picky := task
	picky.On = []string{"fast"}
	small := profile.GPUModel{Name: "small", Memory: 2 * profile.GiB}
	for name, tt := range map[string]struct {
		task taskfile.Task
		gpu  GPU
		want packer.ReasonCode
	}{
		"the product":       {task, GPU{}, 0},
		"figures":           {task, GPU{Figures: &small}, packer.MemoryLimit},
		"memory":            {task, GPU{Memory: 2 * profile.GiB}, packer.MemoryLimit},
		"exclusive":         {task, GPU{Mechanisms: []profile.Mechanism{profile.Exclusive}, Residents: []taskfile.Task{there}}, packer.SetFull},
		"without its label": {picky, GPU{}, packer.WrongGPU},
		"with its label":    {picky, GPU{Labels: []string{"fast"}}, 0},
	} {
		tt.gpu.ID, tt.gpu.Model = "0", "A100-40GB"
		var got FitAnswer
		post(t, h, 200, "fit", FitRequest{tt.task, tt.gpu}, &got)
		if got.Code != tt.want || got.Fits != (tt.want == 0) {
			t.Errorf("%s: %+v, want %v", name, got.Verdict, tt.want)
		}
	}
	var best BestAnswer
	post(t, h, 200, "best", BestRequest{Task: task}, &best)
	if best.GPU != nil || best.Fits || best.Text != "there are no GPUs" {
		t.Errorf("best of none: %+v", best)
	}
}

// Each figure of an observation reaches the Planner as it was sent.
func TestObservation(t *testing.T) {
	a := seen("a", 0.5, 4*profile.GiB)
	model, _ := profile.LookupGPU("A100-40GB")
	c, err := a.Colloc()
	if err != nil {
		t.Fatal(err)
	}
	in := Observation{Model: "A100-40GB", Mechanism: profile.Some(profile.MPS), Members: []Measurement{
		{Task: a, Speed: profile.Some(0.5), Throughput: profile.Some(7.0), Peak: profile.Some(profile.GiB), OutOfMemory: true, Reserved: 2 * profile.GiB}, {Task: a},
	}}
	got, err := observationOf(&in)
	want := colloc.Observation{GPU: model, Mechanism: profile.MPS, Members: []colloc.Measurement{
		{Profile: c.Profile, Speed: profile.Some(0.5), Throughput: profile.Some(7.0), Peak: profile.Some(profile.GiB), OutOfMemory: true, Reserved: 2 * profile.GiB}, {Profile: c.Profile},
	}}
	if diff := cmp.Diff(text(t, want), text(t, got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	h := handler(t, Config{Planner: planner(t)})
	in.Members[1].Task.ModelFile = "m.onnx"
	var e wire.Error
	post(t, h, 400, "observe", in, &e)
	if e.Where != "members[1].task.model_file" {
		t.Errorf("%+v", e)
	}
	in.Members = make([]Measurement, MaxTasks+1)
	post(t, h, 413, "observe", in, &e)
}

// Over a socket of this machine nobody must say that it is JSON: no page of a browser gets
// there.
func TestSocket(t *testing.T) {
	h := handler(t, Config{Planner: planner(t)})
	for where, at := range map[string]net.Addr{"task": &net.UnixAddr{Name: "s", Net: "unix"}, "Content-Type": &net.TCPAddr{}} {
		w, e := httptest.NewRecorder(), wire.Error{}
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, at)
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/fit", strings.NewReader("{}")))
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Where != where {
			t.Errorf("%v: %s, %v", at.Network(), w.Body, err)
		}
	}
}

// A body is waited for no longer than the request is.
func TestArrivalInPatience(t *testing.T) {
	const patience = time.Second
	h := handler(t, Config{Planner: planner(t), Patience: patience})
	synctest.Test(t, func(t *testing.T) {
		w, until := &slow{ResponseRecorder: httptest.NewRecorder()}, time.Now().Add(patience)
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/fit", strings.NewReader("{}")))
		if len(w.until) == 0 || !w.until[0].Equal(until) {
			t.Errorf("it is read until %v, want %v", w.until, until)
		}
	})
}

// unread is a body that nobody should read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it was read")
	return 0, io.EOF
}

// hangs is a body that begins, and then does not come until it is told to.
type hangs struct {
	first io.Reader
	until chan struct{}
}

func (h *hangs) Read(b []byte) (int, error) {
	if n, _ := h.first.Read(b); n > 0 {
		return n, nil
	}
	<-h.until
	return 0, io.ErrUnexpectedEOF
}

// Requests that hang, brief ones and long ones, hold up no others: these are answered at once.
func TestHanging(t *testing.T) {
	const body = `{"task": {"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}, "gpu": {"id": "0", "model": "T4"}}`
	p := planner(t)
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, Config{Planner: p, AtOnce: 1})
		until := make(chan struct{})
		hanging := make(chan int, 200)
		for i := range cap(hanging) {
			begun := `{"task"`
			if i%2 == 0 {
				begun = strings.Repeat(" ", int(brief)+1)
			}
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/fit", &hangs{strings.NewReader(begun), until}))
				hanging <- w.Code
			}()
		}
		synctest.Wait()
		began := time.Now()
		for range 16 {
			post(t, h, 200, "fit", body, &FitAnswer{})
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("others waited for %v", d)
		}
		hurried, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(hurried, http.MethodPost, "/v1/fit", strings.NewReader(strings.Repeat(" ", int(brief))+body)))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "16 long requests") {
			t.Errorf("one long request too many: %d %s", w.Code, w.Body)
		}
		close(until)
		synctest.Wait()
		codes := make(map[int]int)
		for range cap(hanging) {
			codes[<-hanging]++
		}
		if codes[http.StatusBadRequest] != cap(hanging) {
			t.Errorf("those that hung got %v", codes)
		}
		post(t, h, 200, "fit", strings.Repeat(" ", int(brief))+body, &FitAnswer{})
	})
}

// TestAskers: who sends many requests, which hang or take long, waits for himself.
func TestAskers(t *testing.T) {
	const fit = `{"task": {"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}, "gpu": {"id": "0", "model": "T4"}}`
	p, err := colloc.New(colloc.Config{Method: stuck{planner(t).Config().Method}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(PlanRequest{[]taskfile.Task{seen("a", 0.5, 4*profile.GiB)}, []GPU{{ID: "0", Model: "A100-40GB"}}})
	if err != nil {
		t.Fatal(err)
	}
	const many = 40
	spaces := strings.Repeat(" ", int(brief)+1)
	for name, body := range map[string]func(until chan struct{}) io.Reader{
		"plan": func(chan struct{}) io.Reader { return strings.NewReader(string(plan)) },
		"long": func(until chan struct{}) io.Reader { return &hangs{strings.NewReader(spaces), until} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := handler(t, Config{Planner: p, AtOnce: 2})
				ask := func(who, path string, body io.Reader) int {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(WithAsker(t.Context(), who), http.MethodPost, path, body))
					return w.Code
				}
				until, done := make(chan struct{}), make(chan int, many)
				for range many {
					go func() { done <- ask("one", "/v1/plan", body(until)) }()
				}
				synctest.Wait()
				began := time.Now()
				if code := ask("other", "/v1/fit", strings.NewReader(spaces+fit)); code != http.StatusOK || time.Since(began) != 0 {
					t.Errorf("another one gets %d after %v", code, time.Since(began))
				}
				close(until)
				for range many {
					<-done
				}
				if code := ask("one", "/v1/fit", strings.NewReader(fit)); code != http.StatusOK {
					t.Errorf("when his are over, the first one gets %d", code)
				}
			})
		})
	}
	a := newAskers(0)
	leave, err := a.take(WithAsker(t.Context(), "one"))
	if err != nil || len(a.of) != 1 {
		t.Fatal(err, a.of)
	}
	over, stop := context.WithCancel(WithAsker(t.Context(), "one"))
	stop()
	if _, err := a.take(over); err == nil {
		t.Error("one asker has two places of one")
	}
	if leave(); len(a.of) != 0 {
		t.Errorf("%v are kept of those who ask no more", a.of)
	}
}
