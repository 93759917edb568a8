package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
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

// shared is one Planner for all tests that teach it nothing.
var shared = sync.OnceValues(func() (*colloc.Planner, error) { return colloc.New(colloc.Config{}) })

func planner(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func handler(tb testing.TB, c Config) http.Handler {
	tb.Helper()
	h, err := Handler(c)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// seen is a task of which a run alone was seen.
func seen(id string, busy float64, used profile.Bytes) taskfile.Task {
	return taskfile.Task{
		ID: id, Spec: profile.Spec{Model: profile.Model{Name: id}, Training: profile.Training{BatchSize: 32}},
		Solo: &taskfile.Solo{GPU: "A100-40GB", GPUBusy: profile.Some(busy), MemUsed: profile.Some(used)},
	}
}

// post sends a request and reads the answer, which must have the status.
func post(tb testing.TB, h http.Handler, status int, name string, body, to any) {
	tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	if raw, ok := body.(string); ok {
		text = []byte(raw)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/v1/"+name, strings.NewReader(string(text))))
	if w.Code != status {
		tb.Fatalf("%s: status %d: %s", name, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		tb.Fatalf("%s: %v: %s", name, err, w.Body)
	}
}

// What comes over HTTP is what the Planner says.
func TestAnswers(t *testing.T) {
	p := planner(t)
	h := handler(t, Config{Planner: p})
	task, large := seen("bert", 0.4, 6*profile.GiB), seen("large", 0.9, 38*profile.GiB)
	resident := seen("gnn", 0.3, 5*profile.GiB)
	resident.Reserved = 8 * profile.GiB
	empty, used := GPU{ID: "b", Model: "A100-40GB"}, GPU{ID: "a", Model: "NVIDIA A100-SXM4-40GB", Residents: []taskfile.Task{resident}}
	asTask := func(f *taskfile.Task) colloc.Task {
		c, err := f.Colloc()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	model, _ := profile.LookupGPU("A100-40GB")
	gpus := []colloc.GPU{{ID: "b", Model: model}, {ID: "a", Model: model, Residents: []colloc.Task{asTask(&resident)}}}
	for _, tt := range []struct {
		task taskfile.Task
		at   int
	}{{task, 0}, {task, 1}, {large, 0}, {large, 1}} {
		want, err := p.Fit(asTask(&tt.task), gpus[tt.at])
		if err != nil {
			t.Fatal(err)
		}
		score, _ := p.Score(asTask(&tt.task), gpus[tt.at])
		var got FitAnswer
		post(t, h, 200, "fit", FitRequest{tt.task, []GPU{empty, used}[tt.at]}, &got)
		if diff := cmp.Diff(FitAnswer{want, score, want.Reliefs(asTask(&tt.task), gpus[tt.at]), want.String()}, got); diff != "" {
			t.Errorf("fit of %s on %s (-want +got):\n%s", tt.task.ID, gpus[tt.at].ID, diff)
		}
	}
	at, verdict, _ := p.Best(asTask(&task), gpus)
	var best BestAnswer
	post(t, h, 200, "best", BestRequest{task, []GPU{empty, used}}, &best)
	if diff := cmp.Diff(BestAnswer{&gpus[at].ID, verdict, verdict.String()}, best); diff != "" {
		t.Errorf("best (-want +got):\n%s", diff)
	}
	best = BestAnswer{}
	post(t, h, 200, "best", BestRequest{large, []GPU{used}}, &best)
	if best.GPU != nil || best.Fits || best.Code != packer.MemoryLimit || !strings.Contains(best.Text, "would lift it") {
		t.Errorf("best where it fits nowhere: %+v", best)
	}
	want, err := p.Plan(t.Context(), []colloc.Task{asTask(&task), asTask(&large)}, gpus)
	if err != nil {
		t.Fatal(err)
	}
	var got colloc.Plan
	post(t, h, 200, "plan", PlanRequest{[]taskfile.Task{task, large}, []GPU{empty, used}}, &got)
	if diff := cmp.Diff(text(t, want), text(t, &got)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func text(tb testing.TB, v any) string {
	tb.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// What is wrong is told with its place in the request.
func TestRefusals(t *testing.T) {
	h := handler(t, Config{Planner: planner(t), MaxBody: profile.MiB})
	const task, gpu = `{"id": "a", "training": {"batch_size": 1}, "reserved": "1GiB"}`, `{"id": "0", "model": "T4"}`
	many := strings.Repeat(task+",", MaxTasks)
	residents := func(list string) string { return `{"id": "0", "model": "T4", "residents": [` + list + `]}` }
	for _, tt := range []struct {
		name, path, body string
		status           int
		where, what      string
	}{
		{"no address", "guess", "{}", 404, "POST /v1/guess", "no such address"},
		{"no JSON", "fit", "hello", 400, "POST /v1/fit", "invalid character"},
		{"an unknown field", "fit", `{"task": {"id": "a", "weigth": 1}, "gpu": ` + gpu + `}`, 400, "POST /v1/fit", `unknown field "weigth"`},
		{"a wrong type", "fit", `{"task": {"id": 7}, "gpu": ` + gpu + `}`, 400, "POST /v1/fit", "task.id"},
		{"too long", "fit", `{"task": ` + strings.Repeat(" ", 1<<20), 413, "", "longer than 1048576 bytes"},
		{"no task", "fit", `{"gpu": ` + gpu + `}`, 400, "task", "batch_size"},
		{"no id", "fit", `{"task": {"training": {"batch_size": 1}}, "gpu": ` + gpu + `}`, 400, "id", "is empty"},
		{"no GPU", "fit", `{"task": ` + task + `}`, 400, "gpu.model", `"" is not in the catalogue`},
		{"no such GPU", "best", `{"task": ` + task + `, "gpus": [` + gpu + `, {"id": "1", "model": "Voodoo"}]}`, 400, "gpus[1].model", `"Voodoo" is not in the catalogue`},
		{"a file", "fit", `{"task": {"id": "a", "model_file": "/etc/passwd", "training": {"batch_size": 1}}, "gpu": ` + gpu + `}`, 400, "task.model_file", "reads no files"},
		{"a share in per cent", "fit", `{"task": {"id": "a", "training": {"batch_size": 1}, "solo": {"gpu": "T4", "gpu_busy": 45}}, "gpu": ` + gpu + `}`, 400, "task", "gpu_busy is 45"},
		{"a slowdown below 1", "plan", `{"tasks": [{"id": "a", "training": {"batch_size": 1}, "max_slowdown": 0.5}], "gpus": [` + gpu + `]}`, 400, "tasks[0].max_slowdown", "is 0.5"},
		{"a resident's fault", "plan", `{"tasks": [` + task + `], "gpus": [` + gpu + `,` + strings.Replace(residents(`{"id": "b", "training": {"batch_size": 1}, "weight": -1}`), `"0"`, `"1"`, 1) + `]}`, 400, "gpus[1].residents[0].weight", "is -1"},
		{"a fault of the first GPU", "plan", `{"tasks": [` + task + `], "gpus": [` + residents(`{"id": "b", "training": {"batch_size": 1}, "weight": -1}`) + `]}`, 400, "gpus[0].residents[0].weight", "is -1"},
		{"a fault of the one task", "fit", `{"task": {"id": "a", "training": {"batch_size": 1}, "max_slowdown": 0.5}, "gpu": ` + gpu + `}`, 400, `task "a".max_slowdown`, "is 0.5"},
		{"a fault of the one GPU", "fit", `{"task": ` + task + `, "gpu": ` + residents(`{"id": "b", "training": {"batch_size": 1}, "weight": -1}`) + `}`, 400, `GPU "0".residents[0].weight`, "is -1"},
		{"an id twice", "plan", `{"tasks": [` + task + `,` + task + `], "gpus": [` + gpu + `]}`, 400, "tasks[1].id", "another task"},
		{"two faults", "plan", `{"tasks": [` + task + `,` + task + `,` + task + `], "gpus": [` + gpu + `]}`, 400, "tasks[1].id", "1 more"},
		{"too many tasks", "plan", `{"tasks": [` + many + task + `], "gpus": []}`, 413, "tasks", "4097 tasks"},
		{"too many GPUs", "best", `{"task": ` + task + `, "gpus": [` + strings.Repeat(gpu+",", MaxGPUs) + gpu + `]}`, 413, "gpus", "4097"},
		{"too many residents", "fit", `{"task": ` + task + `, "gpu": ` + residents(strings.Repeat(task+",", 64)+task) + `}`, 413, "gpu.residents", "65 tasks"},
		{"no members", "observe", `{"model": "T4"}`, 400, "members", "there is none"},
		{"no product", "observe", `{"members": [{"task": ` + task + `}]}`, 400, "observation.model", "not in the catalogue"},
		{"a speed of 0", "observe", `{"model": "T4", "members": [{"task": ` + task + `, "speed": 0}, {"task": ` + task + `}]}`, 400, "observation", "speed is 0"},
		{"no such mechanism", "observe", `{"model": "T4", "mechanism": "magic", "members": []}`, 400, "POST /v1/observe", "magic"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got wire.Error
			post(t, h, tt.status, tt.path, tt.body, &got)
			if got.Where != tt.where || !strings.Contains(got.What, tt.what) || got.Code.Status() != tt.status {
				t.Errorf("%+v, want %s: %s", got, tt.where, tt.what)
			}
		})
	}
	if _, err := Handler(Config{}); err == nil || !strings.Contains(err.Error(), "no Planner") {
		t.Errorf("without a Planner: %v", err)
	}
	if _, err := Handler(Config{Planner: planner(t), AtOnce: -1}); err == nil {
		t.Error("AtOnce of -1 is taken")
	}
}

// A short request is not much memory: what is too much is refused before it is made.
func TestMemory(t *testing.T) {
	h := handler(t, Config{Planner: planner(t)})
	body := `{"tasks": [` + strings.Repeat("{},", 1<<20) + `{}]}` // 3 MiB
	var before, after runtime.MemStats
	var refused wire.Error
	runtime.ReadMemStats(&before)
	post(t, h, 413, "plan", body, &refused)
	runtime.ReadMemStats(&after)
	if got := profile.Bytes(after.TotalAlloc - before.TotalAlloc); got > 64*profile.MiB {
		t.Errorf("a request of 3 MiB allocates %v", got)
	}
}

// slow is an answer on a connection that notes until when it is read.
type slow struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (s *slow) SetReadDeadline(t time.Time) error {
	s.until = append(s.until, t)
	return nil
}

// A body that does not arrive gives its turn up, and one that has arrived may be decided
// for longer.
func TestArrival(t *testing.T) {
	w, asked := &slow{ResponseRecorder: httptest.NewRecorder()}, time.Now()
	handler(t, Config{Planner: planner(t)}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/fit", strings.NewReader("{}")))
	if len(w.until) != 2 || w.until[0].Before(asked) || !w.until[1].IsZero() {
		t.Errorf("it is read until %v", w.until)
	}
}

// Over TCP a request says that it is JSON, which a page of another site cannot.
func TestDeclared(t *testing.T) {
	server := httptest.NewServer(handler(t, Config{Planner: planner(t)}))
	defer server.Close()
	for kind, want := range map[string]string{"text/plain": "Content-Type", "": "Content-Type", "application/json; charset=utf-8": "task"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/fit", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var refused wire.Error
		if err := errors.Join(json.NewDecoder(answer.Body).Decode(&refused), answer.Body.Close()); err != nil || refused.Where != want {
			t.Errorf("%q: %+v, %v; want a fault of %s", kind, refused, err, want)
		}
	}
}

// A MIG slice by the name that NVML has for it is no whole card.
func TestSlice(t *testing.T) {
	h := handler(t, Config{Planner: planner(t)})
	for name, want := range map[string]profile.Bytes{
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb": 5 * profile.GiB, "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb": 20 * profile.GiB, "NVIDIA A100-SXM4-40GB": 40 * profile.GiB,
	} {
		var got FitAnswer
		post(t, h, 200, "fit", FitRequest{seen("a", 0.4, 6*profile.GiB), GPU{ID: "0", Model: name}}, &got)
		if got.Free > want || got.Free < want*8/10 || got.Fits != (want > 6*profile.GiB) {
			t.Errorf("%s: fits %v, %v are free of %v", name, got.Fits, got.Free, want)
		}
	}
}

// What is observed is learned, from those who may teach.
func TestObserve(t *testing.T) {
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, Config{Planner: p})
	a, b := seen("a", 0.5, 4*profile.GiB), seen("b", 0.5, 4*profile.GiB)
	ask := FitRequest{a, GPU{ID: "0", Model: "A100-40GB", Residents: []taskfile.Task{b}}}
	var before, after FitAnswer
	post(t, h, 200, "fit", ask, &before)
	o := Observation{Model: "A100-40GB", Members: []Measurement{
		{Task: a, Speed: profile.Some(0.55), Peak: profile.Some(9 * profile.GiB)}, {Task: b, Speed: profile.Some(0.55)},
	}}
	for range 4 {
		post(t, h, 200, "observe", o, &struct{}{})
	}
	post(t, h, 200, "fit", ask, &after)
	if !(after.Speed.Value < before.Speed.Value) || after.Reserved < 9*profile.GiB {
		t.Errorf("speed %v -> %v, reserved %v -> %v", before.Speed.Value, after.Speed.Value, before.Reserved, after.Reserved)
	}
	h = handler(t, Config{Planner: p, MayTeach: func(*http.Request) error {
		return wire.Errorf(wire.Forbidden, "", "", "not you")
	}})
	var refused wire.Error
	post(t, h, 403, "observe", o, &refused)
	if refused.What != "not you" {
		t.Errorf("refused with %+v", refused)
	}
}

// stuck packs for as long as it may.
type stuck struct{ packer.Method }

func (s stuck) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	solution, err := s.Method.Pack(ctx, p)
	<-ctx.Done()
	return solution, errors.Join(err, ctx.Err())
}

// A plan that takes too long is the best so far, and who waits in vain is told so.
func TestPatience(t *testing.T) {
	p, err := colloc.New(colloc.Config{Method: stuck{planner(t).Config().Method}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, Config{Planner: p, AtOnce: 1})
		body := PlanRequest{[]taskfile.Task{seen("a", 0.5, 4*profile.GiB)}, []GPU{{ID: "0", Model: "A100-40GB"}}}
		codes := make(chan string, 2)
		ask := func(ctx context.Context) {
			text, err := json.Marshal(body)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/plan", strings.NewReader(string(text))))
			codes <- fmt.Sprint(w.Code, strings.Contains(w.Body.String(), `"task":"a"`), strings.Contains(w.Body.String(), "being decided already"), err)
		}
		go ask(t.Context())
		synctest.Wait() // it is being decided
		hurried, stop := context.WithTimeout(t.Context(), DefaultPatience/2)
		defer stop()
		ask(hurried)
		go ask(t.Context()) // after the first one its turn comes
		if first, second, third := <-codes, <-codes, <-codes; first != "503 false true <nil>" || second != "200 true false <nil>" || third != second {
			t.Errorf("got %s, %s and %s", first, second, third)
		}
	})
}

// Whatever is sent gets an answer or says what is wrong.
func FuzzHandler(f *testing.F) {
	p, err := colloc.New(colloc.Config{}) // it is taught
	if err != nil {
		f.Fatal(err)
	}
	h := handler(f, Config{Planner: p})
	whole := text(f, seen("a", 0.5, 4*profile.GiB))
	for i, body := range []string{
		`{"task": ` + whole + `, "gpu": {"id": "0", "model": "T4", "residents": [{"id": "b", "training": {"batch_size": 1}, "reserved": 1}]}}`,
		`{"task": ` + whole + `, "gpus": [{"id": "0", "model": "A100-SXM4-40GB MIG 1g.5gb"}, {"id": "1", "gpu_model": {"name": "x", "memory_bytes": 1e10}}]}`,
		`{"tasks": [` + whole + `], "gpus": [{"id": "0", "model": "T4", "mechanisms": ["mps"]}]}`,
		`{"model": "T4", "mechanism": "mps", "members": [{"task": ` + whole + `, "speed": 0.5}, {"task": ` + whole + `, "peak": "1GiB", "out_of_memory": true}]}`,
	} {
		f.Add(byte(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		name := []string{"fit", "best", "plan", "observe"}[which%4]
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+name, strings.NewReader(string(body))))
		var e wire.Error
		switch {
		case w.Code == http.StatusOK && json.Valid(w.Body.Bytes()):
		case w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge:
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.What == "" {
				t.Fatalf("%s: %v: %s", name, err, w.Body)
			}
		default:
			t.Fatalf("%s: status %d: %s", name, w.Code, w.Body)
		}
	})
}
