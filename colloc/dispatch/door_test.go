package dispatch_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// TestServices: a service has no company that would cost it its latency at its load, has some once
// it is told that the load has become less, and none again when the load grows.
func TestServices(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	solo := func(name string, server *profile.Server) *profile.Profile {
		p, err := profile.Solo{
			Name: name, GPU: "A100-SXM4-40GB", Batch: 32, SMActive: profile.Some(0.4), Memory: profile.Some(4 * profile.GiB), Server: server,
		}.Profile()
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	at := func(rate float64) dispatch.Job {
		return dispatch.Job{Task: colloc.Task{ID: "service", Profile: solo("answers", &profile.Server{Rate: rate, Capacity: 100, Limit: 30 * time.Millisecond})}}
	}
	s.tell(dispatch.Submitted{Job: at(60)}) // it keeps 30 ms at 93 % of its speed alone
	s.decide()
	s.tell(dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: "job", Profile: solo("net", nil)}, Left: profile.Some(time.Hour)}})
	if got := s.decide(); len(got) > 0 {
		t.Fatalf("%v starts beside a service at its limit", got)
	}
	s.tell(dispatch.Described{Job: at(5)})
	if got := s.decide(); len(got) != 1 {
		t.Fatalf("%v starts beside a service that has little to do: %v", got, s.why("job"))
	}
	s.tell(dispatch.Described{Job: at(60)})
	if got := s.asked(); len(got) > 0 {
		t.Fatalf("%v, of a job that does not say what a restart costs", got)
	}
	s.tell(dispatch.Described{Job: dispatch.Job{Task: colloc.Task{ID: "job", Profile: solo("net", nil)}, Left: profile.Some(time.Hour), Restart: profile.Some(time.Minute)}})
	if got := s.asked(); len(got) != 1 || got[0] != "stop job [gpu0] 0 B" {
		t.Fatalf("%v when the load of its neighbour has grown", got)
	}
	s.tell(dispatch.Ended{Job: "job", Run: s.on["job"], How: dispatch.Stopped})
	if got := s.asked(); len(got) > 0 {
		t.Fatalf("%v beside a service at its limit", got)
	}
	s.tell(dispatch.Described{Job: at(5)})
	if got := s.asked(); len(got) != 1 {
		t.Fatalf("%v beside a service that has little to do", got)
	}
}

// TestLayouts: a GPU that is cut into MIG instances is GPUs of their own, and one again when they are
// gone; nobody has more of it than an instance holds.
func TestLayouts(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	reserves := func(m profile.Bytes) func(*dispatch.Job) {
		return func(j *dispatch.Job) { j.Reserved = m }
	}
	s.submit("old", "ann", reserves(4*profile.GiB))
	s.decide()
	s.tell(dispatch.Drained{GPU: "gpu0"})
	s.submit("large", "ann", reserves(30*profile.GiB))
	s.submit("middle", "ann", reserves(8*profile.GiB))
	s.submit("small", "ann", reserves(3*profile.GiB))
	if got := s.decide(); len(got) > 0 {
		t.Fatalf("%v starts on a GPU that is drained", got)
	}
	s.end("old")
	cut := []dispatch.Event{dispatch.GPURemoved{GPU: "gpu0"}}
	for i := range model.MIG {
		if p := &model.MIG[i]; p.Name == "1g.5gb" || p.Name == "2g.10gb" {
			cut = append(cut, dispatch.GPUAdded{GPU: colloc.GPU{ID: p.Name, Model: model, Slice: p}})
		}
	}
	if len(cut) != 3 {
		t.Fatalf("%d instances of %+v", len(cut)-1, model.MIG)
	}
	s.tell(cut...)
	if got := s.asked(); len(got) != 2 || got[0] != "start middle [2g.10gb] 8 GiB" || got[1] != "start small [1g.5gb] 3 GiB" {
		t.Fatalf("%v start on the instances", got)
	}
	for _, id := range []string{"small", "middle"} {
		s.tell(dispatch.Started{Job: id, Run: s.on[id]})
		s.end(id)
	}
	s.tell(dispatch.GPURemoved{GPU: "1g.5gb"}, dispatch.GPURemoved{GPU: "2g.10gb"}, dispatch.GPUAdded{GPU: colloc.GPU{ID: "gpu0", Model: model}})
	if got := s.asked(); len(got) != 1 || got[0] != "start large [gpu0] 30 GiB" {
		t.Fatalf("%v start on the whole GPU", got)
	}
}

// TestWrongEvents: what is unknown, told twice, late or out of its range is a typed error, and changes
// nothing.
func TestWrongEvents(t *testing.T) {
	s := newSite(t, 2, dispatch.Options{})
	s.submit("runs", "ann")
	s.submit("waits", "ann", func(j *dispatch.Job) { j.On = []string{"nowhere"} })
	s.decide()
	s.submit("over", "ann")
	s.decide()
	s.end("over")
	run, over := s.on["runs"], s.on["over"]
	minute, less := profile.Some(time.Minute), profile.Some(-time.Minute)
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	job := func(id string) dispatch.Job {
		return dispatch.Job{Task: colloc.Task{ID: id, Reserved: profile.GiB}, User: "ann"}
	}
	with := func(id string, change func(*dispatch.Job)) dispatch.Job {
		j := job(id)
		change(&j)
		return j
	}
	before := state(t, s.d)
	for want, events := range map[error][]dispatch.Event{
		dispatch.ErrUnknown: {
			dispatch.Held{Job: "x"},
			dispatch.Released{Job: "x"},
			dispatch.Withdrawn{Job: "over"},
			dispatch.Described{Job: job("x")},
			dispatch.Barred{Job: "x"},
			dispatch.Barred{Job: "runs", GPUs: []string{"x"}},
			dispatch.Started{Job: "x", Run: 99},
			dispatch.Started{Job: "runs"},
			dispatch.Refused{Job: "runs", Run: 99},
			dispatch.Stays{Job: "runs", Run: 99},
			dispatch.Ended{Job: "runs", Run: 99, How: dispatch.Done},
			dispatch.Seen{Job: "runs", Run: 99, Peak: 1},
			dispatch.Progress{Job: "runs", Run: 99, Left: minute},
			dispatch.GPUChanged{GPU: colloc.GPU{ID: "x", Model: model}},
			dispatch.GPURemoved{GPU: "x"},
			dispatch.GPUFailed{GPU: "x"},
			dispatch.GPURestored{GPU: "x"},
			dispatch.Drained{GPU: "x"},
			dispatch.Reserved{GPU: "x"},
			dispatch.Foreign{GPU: "x"},
			dispatch.Adopted{Job: job("new"), Run: 99, GPUs: []string{"x"}},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.After = []dispatch.Dependency{{Job: "over"}} })},
		},
		dispatch.ErrDuplicate: {
			dispatch.Submitted{Job: job("runs")},
			dispatch.Submitted{Job: job("waits")},
			dispatch.Adopted{Job: job("runs"), Run: 99, GPUs: []string{"gpu1"}},
			dispatch.Held{Job: "waits"},
			dispatch.Started{Job: "runs", Run: run},
			dispatch.Stays{Job: "runs", Run: run},
			dispatch.GPUAdded{GPU: colloc.GPU{ID: "gpu0", Model: model}},
			dispatch.GPURestored{GPU: "gpu0"},
			dispatch.Drained{GPU: "gpu0", Off: true},
		},
		dispatch.ErrLate: {
			dispatch.Started{Job: "over", Run: over},
			dispatch.Refused{Job: "over", Run: over},
			dispatch.Stays{Job: "over", Run: over},
			dispatch.Ended{Job: "over", Run: over, How: dispatch.Done},
			dispatch.Seen{Job: "over", Run: over, Peak: 1},
			dispatch.Progress{Job: "over", Run: over, Left: minute},
			dispatch.Ended{Job: "runs", Run: over, How: dispatch.Done},
		},
		dispatch.ErrInvalid: {
			nil,
			dispatch.Submitted{},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.Left = less })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.Done = less })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.Restart = less })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.Weight = math.NaN() })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.Weight = math.Inf(1) })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.MaxSlowdown = math.Inf(-1) })},
			dispatch.Submitted{Job: with("new", func(j *dispatch.Job) { j.GPUs = -1 })},
			dispatch.Adopted{Job: job("new"), GPUs: []string{"gpu1"}},
			dispatch.Adopted{Job: job("new"), Run: run, GPUs: []string{"gpu1"}},
			dispatch.Adopted{Job: job("new"), Run: 99},
			dispatch.Adopted{Job: with("new", func(j *dispatch.Job) { j.GPUs = 2 }), Run: 99, GPUs: []string{"gpu1", "gpu1"}},
			dispatch.Described{Job: with("runs", func(j *dispatch.Job) { j.GPUs = 2 })},
			dispatch.Described{Job: with("runs", func(j *dispatch.Job) { j.User = "bob" })},
			dispatch.Described{Job: with("runs", func(j *dispatch.Job) { j.Reserved = -1 })},
			dispatch.Refused{Job: "runs", Run: run},
			dispatch.Ended{Job: "runs", Run: run},
			dispatch.Ended{Job: "runs", Run: run, How: 99},
			dispatch.Ended{Job: "runs", Run: run, How: dispatch.Lost, Left: less},
			dispatch.Ended{Job: "runs", Run: run, How: dispatch.OutOfMemory, Peak: profile.Some[profile.Bytes](-1)},
			dispatch.Seen{Job: "runs", Run: run},
			dispatch.Seen{Job: "runs", Run: run, Peak: math.MaxInt64},
			dispatch.Progress{Job: "runs", Run: run},
			dispatch.Progress{Job: "runs", Run: run, Left: less},
			dispatch.Progress{Job: "runs", Run: run, Ends: less},
			dispatch.Progress{Job: "runs", Run: run, Left: minute, Ends: minute},
			dispatch.GPUAdded{},
			dispatch.GPUAdded{GPU: colloc.GPU{ID: "new", Model: model, Memory: -1}},
			dispatch.GPUAdded{GPU: colloc.GPU{ID: "new", Model: model}, Machine: -1},
			dispatch.GPUChanged{GPU: colloc.GPU{ID: "gpu0", Model: model, Memory: -1}},
			dispatch.Foreign{GPU: "gpu0", Memory: -1},
			dispatch.Foreign{GPU: "gpu0", Memory: math.MaxInt64},
			dispatch.Reserved{GPU: "gpu0", For: []dispatch.Reservation{{From: -1}}},
			dispatch.Reserved{GPU: "gpu0", For: []dispatch.Reservation{{From: 2, Until: 1}}},
			dispatch.Allowed{Limits: dispatch.Limits{Weight: math.NaN()}},
			dispatch.Allowed{Limits: dispatch.Limits{Weight: math.Inf(1)}},
			dispatch.Allowed{Limits: dispatch.Limits{Weight: -1}},
			dispatch.Allowed{Limits: dispatch.Limits{Jobs: profile.Some(-1)}},
			dispatch.Allowed{Limits: dispatch.Limits{GPUs: profile.Some(-1)}},
			dispatch.Allowed{Limits: dispatch.Limits{Quota: profile.Some(-time.Nanosecond)}},
			dispatch.Elsewhere{Jobs: -1},
			dispatch.Elsewhere{User: "ann", GPUs: math.MaxInt},
			dispatch.Accounted{Used: dispatch.Used{Recent: -1}},
			dispatch.Accounted{Used: dispatch.Used{Hours: map[int64]time.Duration{9e9: 1}}},
		},
	} {
		for _, e := range events {
			err := s.d.Tell(s.now, dispatch.Held{Job: "waits"}, e) // the first of which is right
			if !errors.Is(err, want) {
				t.Errorf("%T %+v: %v, want %v", e, e, err, want)
			}
			if !bytes.Equal(before, state(t, s.d)) {
				t.Fatalf("%T %+v changed something", e, e)
			}
		}
	}
}
