package decide

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/decide"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/dispatch/dispatchtest"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// arrival is a job of a day, as scheduler.py reads it.
type arrival struct {
	At     time.Duration `json:"at_ns"`
	Length time.Duration `json:"length_ns"`
	Job    decide.Event  `json:"job"`
}

// options let a decision look ahead a little: a day has thousands.
var options = &dispatch.Options{Scheduler: online.SchedulerOptions{Budget: profile.Some(20)}}

// patient is how long a busy machine may take to answer.
const patient = 10 * time.Minute

// open returns a session of its own.
func open(t *testing.T, patience time.Duration) http.Handler {
	t.Helper()
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(planner, options)
	if err != nil {
		t.Fatal(err)
	}
	h, err := decide.Handler(decide.Config{Planner: planner, Dispatcher: d, Patience: patience, Now: func() time.Duration { return time.Hour }})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The scheduler in Python plays a day of 1,000 jobs on 32 GPUs as a Dispatcher in Go does.
func TestScheduler(t *testing.T) {
	jobs, cards := 1000, 32
	if race.Enabled {
		jobs, cards = 60, 4
	}
	rng := rand.New(rand.NewPCG(7, 0))
	day := struct {
		GPUs []decide.GPU `json:"gpus"`
		Jobs []arrival    `json:"jobs"`
	}{}
	for i := range cards {
		day.GPUs = append(day.GPUs, decide.GPU{ID: fmt.Sprintf("gpu%02d", i), Model: []string{"A100-40GB", "V100-32GB"}[i*4/(cards*3)]})
	}
	for i := range jobs {
		busy, gib := 0.1+0.8*rng.Float64(), 2+rng.IntN(20)
		task := taskfile.Task{ID: fmt.Sprintf("job%03d", i), Kind: fmt.Sprintf("%.1f-%d", busy, gib), Spec: profile.Spec{Training: profile.Training{BatchSize: 32}}}
		task.Solo = &taskfile.Solo{GPU: "A100-40GB", GPUBusy: profile.Some(float64(int(busy*10)) / 10), MemUsed: profile.Some(profile.Bytes(gib) * profile.GiB)}
		length := time.Duration(1+rng.IntN(90)) * time.Minute
		day.Jobs = append(day.Jobs, arrival{time.Duration(rng.IntN(24*60)) * time.Minute, length, decide.Event{Event: "submitted", Task: &task, Left: profile.Some(length)}})
	}
	slices.SortStableFunc(day.Jobs, func(a, b arrival) int { return int(a.At - b.At) })
	text, err := json.Marshal(day)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "day.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got := python(t, "scheduler.py", serve(t, open(t, patient)), file)
	if want := inGo(t, day.GPUs, day.Jobs); got != want || strings.Count(want, "\n") != jobs {
		t.Errorf("Python had %d starts, Go %d, and they differ:\n%.500s\n%.500s", strings.Count(got, "\n"), strings.Count(want, "\n"), got, want)
	}
}

// inGo is what scheduler.py does, with a Dispatcher of its own.
func inGo(t *testing.T, cards []decide.GPU, jobs []arrival) string {
	t.Helper()
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(planner, options)
	if err != nil {
		t.Fatal(err)
	}
	type future struct {
		at    time.Duration
		event dispatch.Event
	}
	var ahead []future // by time, of one time in the order of arrival here
	put := func(f future) {
		at := slices.IndexFunc(ahead, func(o future) bool { return o.at > f.at })
		if at < 0 {
			at = len(ahead)
		}
		ahead = slices.Insert(ahead, at, f)
	}
	lengths := make(map[string]time.Duration)
	for _, j := range jobs {
		task, err := j.Job.Task.Colloc()
		if err != nil {
			t.Fatal(err)
		}
		lengths[task.ID] = j.Length
		put(future{j.At, dispatch.Submitted{Job: dispatch.Job{Task: task, Left: j.Job.Left}}})
	}
	var told []dispatch.Event
	for _, c := range cards {
		model, _ := profile.LookupGPU(c.Model)
		told = append(told, dispatch.GPUAdded{GPU: colloc.GPU{ID: c.ID, Model: model}})
	}
	var out strings.Builder
	for now := time.Duration(0); len(ahead) > 0 || len(told) > 0; {
		for len(ahead) > 0 && ahead[0].at <= now {
			told = append(told, ahead[0].event)
			ahead = ahead[1:]
		}
		for _, e := range told {
			if err := d.Tell(now, e); err != nil {
				t.Fatal(err)
			}
		}
		actions, err := d.Decide(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		next, wakes := d.Next()
		told = nil
		for _, a := range actions {
			fmt.Fprintln(&out, int64(now), a.Job, strings.Join(a.GPUs, " "))
			told = append(told, dispatch.Started{Job: a.Job, Run: a.Run})
			put(future{now + lengths[a.Job], dispatch.Ended{Job: a.Job, Run: a.Run, How: dispatch.Done}})
		}
		if len(told) == 0 && len(ahead) > 0 {
			at := ahead[0].at
			if wakes {
				at = min(at, next)
			}
			now = max(now, at)
		}
	}
	return out.String()
}

// body drives a session by a program in Python.
type body struct {
	w       *dispatchtest.World
	turn    *json.Encoder
	answers *bufio.Scanner
}

// TestFaults plays days of faults through HTTP, from Python.
func TestFaults(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var session atomic.Pointer[http.Handler] // of the present body
	socket := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*session.Load()).ServeHTTP(w, r) }))
	command := exec.CommandContext(t.Context(), python, "-B", filepath.Join("testdata", "body.py"), socket)
	command.Env = append(os.Environ(), "PYTHONPATH=.")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<24)
	dispatchtest.Run(t, func(w *dispatchtest.World) (dispatchtest.Body, error) {
		b := &body{w, json.NewEncoder(in), answers}
		d, err := dispatch.New(planner, options)
		saved := w.Saved()
		if saved != nil {
			d, err = dispatch.Restore(planner, options, saved)
		}
		if err != nil {
			return nil, err
		}
		h, err := decide.Handler(decide.Config{Planner: planner, Dispatcher: d, Patience: patient, Save: func(state []byte) error { w.Save(state); return nil }})
		if err != nil {
			return nil, err
		}
		session.Store(&h)
		if saved == nil && w.Now() > 0 {
			err = d.Tell(w.Now(), w.Everything()...)
		}
		return b, err
	})
	if err := errors.Join(in.Close(), command.Wait()); err != nil {
		t.Error(err)
	}
}

// Turn implements dispatchtest.Body.
func (b *body) Turn(context.Context) (time.Duration, error) {
	events := []decide.Event{}
	for _, e := range b.w.Events() {
		events = append(events, wired(e))
	}
	for {
		if err := b.turn.Encode(map[string]any{"now": b.w.Now(), "events": events}); err != nil {
			return 0, err
		}
		var answer decide.ActionsAnswer
		if !b.answers.Scan() {
			return 0, errors.New("the program in Python ended")
		}
		if err := json.Unmarshal(b.answers.Bytes(), &answer); err != nil || answer.Note != "" {
			return 0, fmt.Errorf("%s: %w", b.answers.Bytes(), err)
		}
		events = events[:0]
		for _, a := range answer.Actions {
			if err := b.w.Do(a); err != nil {
				events = append(events, decide.Event{Event: "refused", Job: a.Job, Run: a.Run, Why: err.Error()})
			}
		}
		if len(events) == 0 {
			return answer.Next.Or(0), nil
		}
	}
}

// wired is an event as HTTP bears it.
func wired(e dispatch.Event) decide.Event {
	task := func(j *dispatch.Job) decide.Event {
		t := taskfile.Task{ID: j.ID, Kind: j.Kind, GPUs: j.GPUs, Priority: j.Priority, Reserved: j.Reserved}
		return decide.Event{Event: "submitted", Task: &t, User: j.User, Left: j.Left, Done: j.Done, Restart: j.Restart, After: j.After}
	}
	switch e := e.(type) {
	case dispatch.Submitted:
		return task(&e.Job)
	case dispatch.Adopted:
		x := task(&e.Job)
		x.Event, x.Run, x.On = "adopted", e.Run, e.GPUs
		return x
	case dispatch.Held:
		return decide.Event{Event: "held", Job: e.Job}
	case dispatch.Released:
		return decide.Event{Event: "released", Job: e.Job}
	case dispatch.Withdrawn:
		return decide.Event{Event: "withdrawn", Job: e.Job}
	case dispatch.Started:
		return decide.Event{Event: "started", Job: e.Job, Run: e.Run}
	case dispatch.Stays:
		return decide.Event{Event: "stays", Job: e.Job, Run: e.Run}
	case dispatch.Ended:
		return decide.Event{Event: "ended", Job: e.Job, Run: e.Run, How: e.How, Peak: e.Peak, Left: e.Left}
	case dispatch.Seen:
		return decide.Event{Event: "seen", Job: e.Job, Run: e.Run, Peak: profile.Some(e.Peak)}
	case dispatch.GPUAdded:
		return decide.Event{Event: "gpu_added", Card: &decide.GPU{ID: e.GPU.ID, Model: e.GPU.Model.Name, Memory: e.GPU.Memory}, Machine: e.Machine}
	case dispatch.GPUFailed:
		return decide.Event{Event: "gpu_failed", GPU: e.GPU}
	case dispatch.GPURestored:
		return decide.Event{Event: "gpu_restored", GPU: e.GPU}
	case dispatch.Drained:
		return decide.Event{Event: "drained", GPU: e.GPU, Off: e.Off}
	case dispatch.Allowed:
		return decide.Event{Event: "allowed", User: e.User, Limits: e.Limits}
	case dispatch.Elsewhere:
		return decide.Event{Event: "elsewhere", User: e.User, Jobs: e.Jobs, Cards: e.GPUs}
	case dispatch.Foreign:
		return decide.Event{Event: "foreign", GPU: e.GPU, Memory: e.Memory}
	}
	return decide.Event{Event: fmt.Sprintf("%T", e)} // which is refused
}

// Sixteen clients at once tell a session of jobs, each is taken in once; meanwhile others send 100 MB,
// no JSON, or begin and do not go on: these are refused in words, and disturb nobody.
func TestClients(t *testing.T) {
	out := python(t, filepath.Join("testdata", "clients.py"), serve(t, open(t, patient)), serve(t, open(t, time.Second)))
	const want = `100 MB of unknown length: too_large: the request is longer than 16777216 bytes: send several requests
100 MB: too_large: the request is longer than 16777216 bytes: send several requests
no JSON: invalid: POST /v1/events: the body is not understood: invalid character 'h' looking for beginning of value
no events: invalid: events[0].event: there is no event "nonsense": see docs/howto/http.md
slow: {"code":"invalid","what":"the body took too long to arrive","where":"POST /v1/events","do":"send it at once"}
`
	if out != want {
		t.Errorf("it printed\n%s\nwant\n%s", out, want)
	}
}

// python runs a program of this folder and returns what it prints.
func python(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	var errs bytes.Buffer
	command := exec.CommandContext(t.Context(), path, append([]string{"-B"}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPATH=.")
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	return string(out)
}
