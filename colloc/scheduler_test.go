package colloc_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// plain starts a scheduler that does not look ahead.
func plain(t *testing.T, p *colloc.Planner, gpus []colloc.GPU) *online.Scheduler {
	t.Helper()
	s, err := p.Scheduler(gpus, &online.SchedulerOptions{Budget: profile.Some(0)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// arrive lets a task come, and says where it starts, if it does.
func arrive(t *testing.T, s *online.Scheduler, task packer.Task) online.Decision {
	t.Helper()
	if err := s.Submit(online.Job{Task: task, Left: profile.Some(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	ds, err := s.Decide(t.Context(), 0)
	if err != nil || len(ds) > 1 {
		t.Fatalf("%+v, %v", ds, err)
	}
	return append(ds, online.Decision{})[0]
}

// packed is a task in the words of package packer.
func packed(t *testing.T, p *colloc.Planner, task colloc.Task) packer.Task {
	t.Helper()
	out, err := p.Packed(task)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchedulerTakesTheFasterGPU: of two empty GPUs, whatever their order, and then
// the other; measured throughputs turn it round.
func TestSchedulerTakesTheFasterGPU(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	volta, kepler := empty(t, "a", "V100"), empty(t, "b", "K80")
	first := func(gpus ...colloc.GPU) string {
		t.Helper()
		d := arrive(t, plain(t, p, gpus), packed(t, p, colloc.Task{ID: "t", Profile: net}))
		if !d.Placed || math.Abs(d.Speed-1) > 1e-6 {
			t.Fatalf("%+v", d)
		}
		return gpus[d.GPU].ID
	}
	for _, gpus := range [][]colloc.GPU{{volta, kepler}, {kepler, volta}} {
		if got := first(gpus...); got != "a" {
			t.Errorf("placed on %s", got)
		}
	}
	for _, o := range []struct {
		gpu  colloc.GPU
		rate float64
	}{{volta, 10}, {kepler, 20}} {
		if err := p.Observe(colloc.Observation{GPU: o.gpu.Model, Members: []colloc.Measurement{{Profile: net, Throughput: profile.Some(o.rate)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := first(volta, kepler); got != "b" {
		t.Errorf("with measured throughputs placed on %s", got)
	}
}

// TestSchedulerReference: what a task gains counts in its pace on the card that Config names, or
// else on the fastest that there is.
func TestSchedulerReference(t *testing.T) {
	net := colloc.Task{ID: "t", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}
	gpus := []colloc.GPU{empty(t, "a", "K80"), empty(t, "b", "V100")}
	named := newPlanner(t, colloc.Config{Reference: gpus[0].Model})
	v, err := named.Fit(net, gpus[1])
	if err != nil || v.Pace.Value < 2 {
		t.Fatalf("on the V100: %+v, %v", v, err)
	}
	for _, tt := range []struct {
		p    *colloc.Planner
		gain float64
	}{{named, v.Pace.Value}, {shared(t), 1}} {
		if d := arrive(t, plain(t, tt.p, gpus), packed(t, tt.p, net)); d.GPU != 1 || math.Abs(d.Gain-tt.gain) > 1e-3 {
			t.Errorf("%+v; want a gain of %v on the V100", d, tt.gain)
		}
	}
}

// TestSchedulerSharesAsFitSays: a scheduler predicts what Fit does, also for tasks that
// nobody observed and on one kind of GPU.
func TestSchedulerSharesAsFitSays(t *testing.T) {
	p := shared(t)
	a, b := colloc.Task{ID: "a", Profile: describe(t)}, seen(t, "b", 0.3, 0.1, 2*profile.GiB)
	for _, gpus := range [][]colloc.GPU{{card(t, "g")}, {card(t, "g"), {ID: "small", Model: gpuModel(t, "K80"), Memory: profile.GiB}}} {
		s := plain(t, p, gpus)
		arrive(t, s, packed(t, p, a))
		d := arrive(t, s, packed(t, p, b))
		v, err := p.Fit(b, card(t, "g", a))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(d.Speed-v.Speed.Value) > 1e-6 {
			t.Errorf("speed %v in the scheduler, %v by Fit", d.Speed, v.Speed.Value)
		}
	}
	if _, err := p.Scheduler([]colloc.GPU{{}}, nil); len(colloc.Faults(err)) == 0 {
		t.Errorf("a GPU without anything: %v", err)
	}
	b.Elsewhere = []*profile.Profile{b.Profile}
	if _, err := p.Packed(b); len(colloc.Faults(err)) != 1 {
		t.Errorf("a profile from elsewhere: %v", err)
	}
}

// TestBest: the GPU that scores most, ties by memory and ID, in any order; -1 where
// none fits.
func TestBest(t *testing.T) {
	p := shared(t)
	task := colloc.Task{ID: "t", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}
	smaller := card(t, "e")
	smaller.Memory = 23 * profile.GiB
	gpus := []colloc.GPU{empty(t, "a", "K80"), card(t, "d"), card(t, "c"), smaller}
	for range len(gpus) {
		gpus = append(gpus[1:], gpus[0])
		i, v, err := p.Best(task, gpus)
		if err != nil || i < 0 || gpus[i].ID != "e" || !v.Fits {
			t.Errorf("%v: %d, %+v, %v", gpus, i, v, err)
		}
	}
	gpus = slices.DeleteFunc(gpus, func(g colloc.GPU) bool { return g.ID == "e" })
	if i, _, err := p.Best(task, gpus); err != nil || gpus[i].ID != "c" {
		t.Errorf("%d, %v; want the first ID", i, err)
	}
	task.Reserved = profile.Bytes(1 << 50)
	if i, v, err := p.Best(task, gpus); err != nil || i != -1 || v.Code != packer.MemoryLimit {
		t.Errorf("too large: %d, %+v, %v", i, v, err)
	}
	if i, v, err := p.Best(task, nil); err != nil || i != -1 || fmt.Sprint(v) != "no verdict" {
		t.Errorf("no GPUs: %d, %+v, %v", i, v, err)
	}
}

// TestSchedulerKeepsItsModel: what is observed while a scheduler goes on counts from Relearn on, also
// for tasks that come later.
func TestSchedulerKeepsItsModel(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	gpus := []colloc.GPU{empty(t, "a", "V100"), empty(t, "b", "K80")}
	s := plain(t, p, gpus)
	for k, rate := range []float64{10, 20} {
		err := p.Observe(colloc.Observation{GPU: gpus[k].Model, Members: []colloc.Measurement{{Profile: net, Throughput: profile.Some(rate)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for want := range 2 {
		if d := arrive(t, s, packed(t, p, colloc.Task{ID: "t", Profile: net})); !d.Placed || d.GPU != want {
			t.Errorf("placed on %+v; want %d", d, want)
		}
		if err := errors.Join(s.Withdraw("t"), p.Relearn(s, gpus)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Relearn(nil, gpus); err == nil {
		t.Error("no scheduler relearns")
	}
}

// TestSchedulerWhileLearning: the decisions of a scheduler are those of one beside which
// nothing is learned, while co-runs are observed and fitted by another goroutine.
func TestSchedulerWhileLearning(t *testing.T) {
	quiet, loud := newPlanner(t, colloc.Config{}), newPlanner(t, colloc.Config{})
	gpus := []colloc.GPU{card(t, "a"), empty(t, "b", "V100"), card(t, "c")}
	tasks := crowd(t, 12)
	for i := range tasks {
		tasks[i].Reserved = 2 * profile.GiB // what is reserved is learned, too, and settled when a task comes
	}
	done, learned := make(chan struct{}), make(chan struct{})
	one, other := plain(t, loud, gpus), plain(t, quiet, gpus)
	go func() {
		defer close(learned)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			err := loud.Observe(colloc.Observation{GPU: gpus[0].Model, Members: []colloc.Measurement{
				{Profile: tasks[n%6].Profile, Speed: profile.Some(0.3)}, {Profile: tasks[6+n%6].Profile, Speed: profile.Some(0.3)},
			}})
			if err == nil && n%5 == 0 {
				err = loud.Refit(t.Context())
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for round := range 40 {
		task := tasks[round%len(tasks)]
		task.ID = fmt.Sprint("t", round)
		job := online.Job{Task: packed(t, quiet, task), Left: profile.Some(time.Hour)}
		var answers []string
		for _, s := range []*online.Scheduler{other, one} {
			err := s.Submit(job)
			if round >= 4 && err == nil {
				err = s.Withdraw(fmt.Sprint("t", round-4))
			}
			if err != nil {
				t.Fatal(err)
			}
			ds, err := s.Decide(t.Context(), time.Duration(round)*time.Minute)
			answers = append(answers, fmt.Sprint(ds, err))
		}
		if answers[0] != answers[1] {
			t.Fatalf("round %d: %s; want %s", round, answers[1], answers[0])
		}
	}
	close(done)
	<-learned
}

// TestPackedGPU: a GPU that comes later, or changes, is judged as one that was there
// from the start, a MIG slice and a product that the scheduler has not seen included.
func TestPackedGPU(t *testing.T) {
	p := shared(t)
	a100 := gpuModel(t, "A100")
	slice := a100.MIG[0]
	gpus := []colloc.GPU{card(t, "a"), empty(t, "b", "H100"), {ID: "c", Model: a100, Slice: &slice}}
	task := packed(t, p, seen(t, "task", 0.5, 0.2, 2*profile.GiB))
	task.On = []string{"here"}
	for _, gpu := range gpus {
		gpu.Labels = []string{"here"}
		all := []colloc.GPU{gpus[1], {ID: "x", Model: gpu.Model, Slice: gpu.Slice, Labels: gpu.Labels}}
		want := arrive(t, plain(t, p, all), task).Gain
		if want == 0 {
			t.Fatal("it does not start on a GPU that was there from the start")
		}
		late, err := p.PackedGPU(gpu)
		if err != nil {
			t.Fatal(err)
		}
		late.ID = "late"
		for _, change := range []bool{false, true} {
			s := plain(t, p, gpus[1:2])
			if change {
				err = s.ChangeGPU(0, late, 0)
			} else {
				_, err = s.AddGPU(late, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := arrive(t, s, task); math.Abs(d.Gain-want) > 1e-9 {
				t.Errorf("%s, changed %v: %+v; want a gain of %v", gpu.ID, change, d, want)
			}
		}
	}
	if _, err := p.PackedGPU(colloc.GPU{}); len(colloc.Faults(err)) == 0 {
		t.Errorf("a GPU without anything: %v", err)
	}
}

// TestRelearnKeepsUnits: a scheduler that learns goes on to count time on the card that
// was the reference when it was made, whatever GPUs it is told; another number of them, or
// a scheduler with a model of its own, is an error.
func TestRelearnKeepsUnits(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	packed, err := p.Packed(colloc.Task{ID: "t", Profile: net})
	if err != nil {
		t.Fatal(err)
	}
	gpus := []colloc.GPU{empty(t, "a", "V100"), empty(t, "b", "K80")}
	s, err := p.Scheduler(gpus, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Adopt(online.Job{Task: packed, Left: profile.Some(time.Hour)}, 1); err != nil {
		t.Fatal(err)
	}
	before := s.Expect(1)["t"].End
	if before < 90*time.Minute {
		t.Fatalf("an hour on the V100 takes %v on the K80", before)
	}
	for _, others := range [][]colloc.GPU{gpus, {gpus[1], empty(t, "c", "K80")}} {
		if err := p.Relearn(s, others); err != nil {
			t.Fatal(err)
		}
		if after := s.Expect(1)["t"].End; after != before {
			t.Errorf("it takes %v, and with GPUs %s and %s %v", before, others[0].Model.Name, others[1].Model.Name, after)
		}
	}
	if err := s.SetModel(quiet{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Relearn(s, gpus); err == nil {
		t.Error("a model of its own: no error")
	}
}

// quiet is a model in which nobody disturbs anybody.
type quiet struct{}

func (quiet) Speeds(_ []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

// TestSchedulerNeedsATypeOfGPU: a GPU of which nobody knows what it is is an error.
func TestSchedulerNeedsATypeOfGPU(t *testing.T) {
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Scheduler(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AddGPU(packer.GPU{ID: "g", Memory: profile.GiB}, 0)
	if fault := (*colloc.FaultError)(nil); !errors.As(err, &fault) || fault.GPU != "g" {
		t.Errorf("%v, want a FaultError of g", err)
	}
}
