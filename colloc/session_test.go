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

// TestSessionTakesTheFasterGPU: of two empty GPUs, whatever their order, and then
// the other; measured throughputs turn it round.
func TestSessionTakesTheFasterGPU(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	volta, kepler := empty(t, "a", "V100"), empty(t, "b", "K80")
	first := func(gpus ...colloc.GPU) string {
		t.Helper()
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := p.Packed(colloc.Task{ID: "t", Profile: net})
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Arrive(packed)
		if err != nil || !d.Placed || d.Speed != 1 {
			t.Fatalf("%+v, %v", d, err)
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

// TestSessionReference: what a task gains counts in its pace on the card that Config names, or
// else on the fastest that there is.
func TestSessionReference(t *testing.T) {
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
		s, err := tt.p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := tt.p.Packed(net)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Arrive(packed); err != nil || d.GPU != 1 || math.Abs(d.Gain-tt.gain) > 1e-9 {
			t.Errorf("%+v, %v; want a gain of %v on the V100", d, err, tt.gain)
		}
	}
}

// TestSessionSharesAsFitSays: a session predicts what Fit does, also for tasks that
// nobody observed and on one kind of GPU.
func TestSessionSharesAsFitSays(t *testing.T) {
	p := shared(t)
	a, b := colloc.Task{ID: "a", Profile: describe(t)}, seen(t, "b", 0.3, 0.1, 2*profile.GiB)
	for _, gpus := range [][]colloc.GPU{{card(t, "g")}, {card(t, "g"), {ID: "small", Model: gpuModel(t, "K80"), Memory: profile.GiB}}} {
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range []colloc.Task{a, b} {
			packed, err := p.Packed(task)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Arrive(packed); err != nil {
				t.Fatal(err)
			}
		}
		v, err := p.Fit(b, card(t, "g", a))
		if err != nil {
			t.Fatal(err)
		}
		if _, speed, ok := s.Where("b"); !ok || math.Abs(speed-v.Speed.Value) > 1e-9 {
			t.Errorf("speed %v in the session, %v by Fit", speed, v.Speed.Value)
		}
	}
	if _, err := p.Session([]colloc.GPU{{}}, nil); len(colloc.Faults(err)) == 0 {
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

// TestSessionKeepsItsModel: what is observed while a session goes on counts for the
// next one, also for tasks that come later.
func TestSessionKeepsItsModel(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	gpus := []colloc.GPU{empty(t, "a", "V100"), empty(t, "b", "K80")}
	for i, want := range []int{0, 1} {
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, rate := range []float64{10, 20} {
			err := p.Observe(colloc.Observation{GPU: gpus[k].Model, Members: []colloc.Measurement{{Profile: net, Throughput: profile.Some(rate)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		packed, err := p.Packed(colloc.Task{ID: "t", Profile: net})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Arrive(packed); err != nil || d.GPU != want {
			t.Errorf("session %d: placed on %d, %v; want %d", i, d.GPU, err, want)
		}
	}
}

// TestRenew: a session keeps its version, whatever is learned beside it, and takes the
// new one when it is told to: for what runs, for what waits and for what comes.
func TestRenew(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	heavy, other := seen(t, "heavy", 0.9, 0.6, 2*profile.GiB), seen(t, "other", 0.9, 0.6, 2*profile.GiB)
	s, err := p.Session([]colloc.GPU{card(t, "g")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	arrive := func(task colloc.Task, id string) bool {
		t.Helper()
		task.ID = id
		packed, err := p.Packed(task)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Arrive(packed)
		if err != nil {
			t.Fatal(err)
		}
		return d.Placed
	}
	if !arrive(heavy, "a") || !arrive(other, "b") {
		t.Fatal("two tasks do not share")
	}
	_, before, _ := s.Where("b")
	for range 10 {
		err := p.Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Members: []colloc.Measurement{
			{Profile: heavy.Profile, Speed: profile.Some(0.3)}, {Profile: other.Profile, Speed: profile.Some(0.3)},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, speed, _ := s.Where("b"); speed != before {
		t.Errorf("speed %v became %v without Renew", before, speed)
	}
	if _, err := s.Finish("a"); err != nil {
		t.Fatal(err)
	}
	if !arrive(heavy, "c") {
		t.Error("what was observed counts before Renew")
	}
	if _, err := p.Renew(s); err != nil {
		t.Fatal(err)
	}
	if _, speed, _ := s.Where("b"); speed >= before {
		t.Errorf("speed %v is %v after Renew", before, speed)
	}
	if _, err := s.Finish("c"); err != nil {
		t.Fatal(err)
	}
	if arrive(heavy, "d") {
		t.Error("a pair that was seen to run at 0.3 shares after Renew")
	}
	if _, err := p.Renew(nil); err == nil {
		t.Error("no session is renewed")
	}
}

// TestSessionWhileLearning: the decisions of a session are those of one beside which
// nothing is learned, while co-runs are observed and fitted by another goroutine.
func TestSessionWhileLearning(t *testing.T) {
	quiet, loud := newPlanner(t, colloc.Config{}), newPlanner(t, colloc.Config{})
	gpus := []colloc.GPU{card(t, "a"), empty(t, "b", "V100"), card(t, "c")}
	tasks := crowd(t, 12)
	for i := range tasks {
		tasks[i].Reserved = 2 * profile.GiB // what is reserved is learned, too, and settled when a task comes
	}
	done, learned := make(chan struct{}), make(chan struct{})
	loudSession, err := loud.Session(gpus, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	quietSession, err := quiet.Session(gpus, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 40 {
		task := tasks[round%len(tasks)]
		task.ID = fmt.Sprint("t", round)
		packed, err := quiet.Packed(task)
		if err != nil {
			t.Fatal(err)
		}
		want, err := quietSession.Arrive(packed)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := loudSession.Arrive(packed); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: %+v, %v; want %+v", round, got, err, want)
		}
		if round >= 4 {
			id := fmt.Sprint("t", round-4)
			want, err := quietSession.Finish(id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := loudSession.Finish(id); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("round %d: %+v, %v; want %+v", round, got, err, want)
			}
		}
	}
	close(done)
	<-learned
}

// TestPackedGPU: a GPU that comes later, or changes, is judged as one that was there
// from the start, a MIG slice and a product that the session has not seen included.
func TestPackedGPU(t *testing.T) {
	p := shared(t)
	a100 := gpuModel(t, "A100")
	slice := a100.MIG[0]
	gpus := []colloc.GPU{card(t, "a"), empty(t, "b", "H100"), {ID: "c", Model: a100, Slice: &slice}}
	task, err := p.Packed(seen(t, "task", 0.5, 0.2, 2*profile.GiB))
	if err != nil {
		t.Fatal(err)
	}
	task.On = []string{"here"}
	for _, gpu := range gpus {
		gpu.Labels = []string{"here"}
		want, err := func() (float64, error) {
			s, err := p.Session([]colloc.GPU{gpus[1], {ID: "x", Model: gpu.Model, Slice: gpu.Slice, Labels: gpu.Labels}}, nil)
			if err != nil {
				return 0, err
			}
			d, err := s.Arrive(task)
			return d.Gain, err
		}()
		if err != nil || want == 0 {
			t.Fatal(want, err)
		}
		packed, err := p.PackedGPU(gpu)
		if err != nil {
			t.Fatal(err)
		}
		packed.ID = "late"
		for _, change := range []bool{false, true} {
			s, err := p.Session(gpus[1:2], nil)
			if err != nil {
				t.Fatal(err)
			}
			if change {
				_, err = s.ChangeGPU(0, packed)
			} else {
				_, err = s.AddGPU(packed)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d, err := s.Arrive(task); err != nil || math.Abs(d.Gain-want) > 1e-9 {
				t.Errorf("%s, changed %v: %+v, %v; want a gain of %v", gpu.ID, change, d, err, want)
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
	_, before := s.Forecast()
	if before < 90*time.Minute {
		t.Fatalf("an hour on the V100 takes %v on the K80", before)
	}
	for _, others := range [][]colloc.GPU{gpus, {gpus[1], empty(t, "c", "K80")}} {
		if err := p.Relearn(s, others); err != nil {
			t.Fatal(err)
		}
		if _, after := s.Forecast(); after != before {
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
