package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"
	"unicode"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/wire"
	"example.com/colloc/profile"
)

// Config says what a handler decides with. Planner is required, every other zero is a
// documented default.
type Config struct {
	// Planner decides, and learns from what is observed. Whoever made it calls Refit and
	// Save; it may be in use elsewhere too.
	Planner *colloc.Planner
	// MayTeach says who may observe: its error, best a [*wire.Error], is the answer to
	// others. nil lets everybody who can send a request.
	MayTeach func(*http.Request) error
	// MaxBody is the length of a request; 0 means [DefaultMaxBody].
	MaxBody profile.Bytes
	// Patience is how long a request may wait for its turn and be decided; 0 means
	// [DefaultPatience]. A plan that takes longer is the best that was found until then. A
	// body has a fourth of it to arrive, and 5 s at least.
	Patience time.Duration
	// Dispatcher decides for who drives it by /v1/events and /v1/decide; nil answers 404 there.
	// The handler has it to itself, and everybody who can send a request drives it.
	Dispatcher *dispatch.Dispatcher
	// Save keeps the state of the Dispatcher before what changed it is answered; nil keeps none.
	Save func(state []byte) error
	// Now is the time where a request of a session tells none; without it each must.
	Now func() time.Duration
	// AtOnce is how many requests are decided at the same time, the others wait; 0 means
	// one for each CPU.
	AtOnce int
}

// Defaults of [Config].
const (
	DefaultMaxBody  = 16 * profile.MiB
	DefaultPatience = 20 * time.Second
)

// Answers to fit and best.
type (
	// FitAnswer says whether a task may run on a GPU.
	FitAnswer struct {
		// Verdict is what decided; its fields are those of [colloc.Verdict].
		colloc.Verdict
		// Score is how good the GPU is for the task, in [0, 1], see [colloc.Planner.Score].
		Score float64 `json:"score"`
		// Changes are what would lift the limit that binds, Text says it for people.
		Changes []colloc.Relief `json:"changes,omitempty"`
		Text    string          `json:"text"`
	}
	// BestAnswer says on which GPU a task runs best.
	BestAnswer struct {
		// GPU is its ID; nil where the task fits on none. The rest then tells of the first
		// one that it does not fit on.
		GPU *string `json:"gpu"`
		colloc.Verdict
		// Text says it for people.
		Text string `json:"text"`
	}
)

// decider answers requests.
type decider struct {
	config Config
	turns  chan struct{} // has an element for each request that is decided
	askers *askers
	intake *intake

	session *session // nil where there is no Dispatcher
}

// Handler returns a handler of the requests that the package comment lists. Mount it at
// the root, by itself or with others: it answers its addresses and 404 elsewhere. Give
// the http.Server a ReadTimeout: a client that hangs holds its connection that long. A
// request over TCP says that its Content-Type is application/json. Handler returns an error
// for a Config without a Planner.
func Handler(c Config) (http.Handler, error) {
	if c.Planner == nil {
		return nil, errors.New("decide: config: no Planner, want what colloc.New returns")
	}
	if c.MaxBody < 0 || c.Patience < 0 || c.AtOnce < 0 {
		return nil, errors.New("decide: config: MaxBody, Patience and AtOnce want 0 for the default or more")
	}
	c.MaxBody, c.Patience = cmp.Or(c.MaxBody, DefaultMaxBody), cmp.Or(c.Patience, DefaultPatience)
	atOnce := cmp.Or(c.AtOnce, runtime.GOMAXPROCS(0))
	d := &decider{config: c, turns: make(chan struct{}, atOnce), askers: newAskers(min(atOnce, longs) / 2), intake: &intake{c.MaxBody, max(arrival, c.Patience/part), make(chan struct{}, longs)}}
	mux := http.NewServeMux()
	answer(mux, d, "fit", d.fit)
	answer(mux, d, "best", d.best)
	answer(mux, d, "plan", d.plan)
	answer(mux, d, "observe", d.observe)
	known := Addresses()
	if c.Dispatcher != nil {
		d.session = &session{d: c.Dispatcher, save: c.Save, now: c.Now}
		answer(mux, d, "events", d.session.events)
		answer(mux, d, "decide", d.session.decide)
		mux.HandleFunc("GET /v1/jobs/{id}/why", d.session.why)
		known = append(known, "POST /v1/events", "POST /v1/decide", "GET /v1/jobs/ID/why")
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		wire.Refuse(w, wire.Errorf(wire.NotFound, r.Method+" "+r.URL.Path, "the addresses are "+strings.Join(known, ", "), "there is no such address"))
	})
	return mux, nil
}

// Addresses are the patterns that a [Handler] without a Dispatcher answers, for an
// http.ServeMux with others.
func Addresses() []string {
	return []string{"POST /v1/fit", "POST /v1/best", "POST /v1/plan", "POST /v1/observe"}
}

// answer lets f answer a request of type T.
func answer[T any](mux *http.ServeMux, d *decider, name string, f func(*http.Request, *T) (any, error)) {
	mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		value, err := decided(d, w, r, f)
		if err != nil {
			wire.Refuse(w, err)
			return
		}
		wire.Answer(w, value)
	})
}

// decided reads a request and waits for its turn.
func decided[T any](d *decider, w http.ResponseWriter, r *http.Request, f func(*http.Request, *T) (any, error)) (any, error) {
	if err := declared(r); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(r.Context(), d.config.Patience)
	defer stop()
	leave, err := d.askers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	in := new(T)
	done, err := d.intake.read(ctx, w, r, in)
	defer done()
	if err != nil {
		return nil, err
	}
	if err := take(ctx, d.turns, "requests are being decided"); err != nil {
		return nil, err
	}
	defer func() { <-d.turns }()
	value, err := f(r.WithContext(ctx), in)
	return value, refused(err)
}

// fit is POST /v1/fit.
func (d *decider) fit(_ *http.Request, in *FitRequest) (any, error) {
	task, err := taskOf(&in.Task, "task")
	if err != nil {
		return nil, err
	}
	gpu, err := gpuOf(&in.GPU, "gpu")
	if err != nil {
		return nil, err
	}
	v, err := d.config.Planner.Fit(task, gpu)
	if err != nil {
		return nil, err
	}
	score, err := d.config.Planner.Score(task, gpu)
	return FitAnswer{v, score, v.Reliefs(task, gpu), v.String()}, err
}

// best is POST /v1/best.
func (d *decider) best(_ *http.Request, in *BestRequest) (any, error) {
	task, err := taskOf(&in.Task, "task")
	if err != nil {
		return nil, err
	}
	gpus, err := gpusOf(in.GPUs)
	if err != nil {
		return nil, err
	}
	at, v, err := d.config.Planner.Best(task, gpus)
	if err != nil {
		return nil, err
	}
	a := BestAnswer{Verdict: v, Text: v.String()}
	if at >= 0 {
		a.GPU = &gpus[at].ID
	}
	if len(gpus) == 0 {
		a.Text = "there are no GPUs"
	}
	return a, nil
}

// plan is POST /v1/plan.
func (d *decider) plan(r *http.Request, in *PlanRequest) (any, error) {
	tasks, err := tasksOf(in.Tasks, "tasks")
	if err != nil {
		return nil, err
	}
	gpus, err := gpusOf(in.GPUs)
	if err != nil {
		return nil, err
	}
	p, err := d.config.Planner.Plan(r.Context(), tasks, gpus)
	if p != nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // its bound says how good it is
	}
	return p, err
}

// observe is POST /v1/observe.
func (d *decider) observe(r *http.Request, in *Observation) (any, error) {
	if d.config.MayTeach != nil {
		if err := d.config.MayTeach(r); err != nil {
			return nil, err
		}
	}
	o, err := observationOf(in)
	if err == nil {
		if err = d.config.Planner.Observe(o); err != nil {
			err = wire.Errorf(wire.Invalid, "observation", "", "%s", strings.TrimPrefix(err.Error(), "colloc: observation: "))
		} else if s := d.session; s != nil {
			s.mu.Lock()
			s.learned = true
			s.mu.Unlock()
		}
	}
	return struct{}{}, err
}

// refused puts the fault of a request into words: the first, and how many more there are.
func refused(err error) error {
	faults := colloc.Faults(err)
	if len(faults) == 0 {
		return err
	}
	f := faults[0]
	var where []string
	switch {
	case f.GPUIndex >= 0:
		where = append(where, fmt.Sprintf("gpus[%d]", f.GPUIndex))
	case f.GPU != "":
		where = append(where, fmt.Sprintf("GPU %.100q", f.GPU))
	}
	switch {
	case f.TaskIndex >= 0 && len(where) > 0:
		where = append(where, fmt.Sprintf("residents[%d]", f.TaskIndex))
	case f.TaskIndex >= 0:
		where = append(where, fmt.Sprintf("tasks[%d]", f.TaskIndex))
	case f.Task != "":
		where = append(where, fmt.Sprintf("task %.100q", f.Task))
	}
	what, more := "is wrong", ""
	if f.Err != nil {
		what = f.Err.Error()
	}
	if n := len(faults) - 1; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return wire.Errorf(wire.Invalid, strings.Join(append(where, key(f.Field)), "."), "", "%s%s", what, more)
}

// key is the name that a field of package colloc has in JSON.
func key(field string) string {
	var b strings.Builder
	lower := false
	for _, c := range field {
		if lower && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(c)
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
