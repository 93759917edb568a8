package ahead

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// direct asks an online.Scheduler without a Dispatcher between, when something has changed: for days
// on which no task dies, no GPU fails and all have room on their hosts.
type direct struct {
	*mind
	Config
	online *online.Scheduler
	seen   map[int]time.Duration
	stale  bool
}

func (d direct) Name() string { return "direct" }

func (d direct) Begin(s *sim.State) (sim.Scheduler, error) {
	d.mind, d.seen = newMind(s, packer.Limits{Headroom: d.Headroom, MaxSet: d.MaxSet}, d.MaxSlowdown), map[int]time.Duration{}
	o := online.SchedulerOptions{Objective: d.Objective, Budget: d.Budget, Without: d.Without}
	var err error
	if d.online, err = d.Scheduler(nil, &o); err != nil {
		return nil, err
	}
	for _, g := range s.GPUs() {
		p, err := d.PackedGPU(colloc.GPU{ID: strconv.Itoa(g.Index), Memory: capacity(g)})
		if err != nil {
			return nil, err
		}
		if _, err := d.online.AddGPU(p, g.Node); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

func (d *direct) Observe(o *sim.CoRun) error { return d.known.Observe(d.state, o) }

func (d *direct) watch(s *sim.State, t *sim.TaskView) error {
	if d.seen[t.Index] == t.Since+1 {
		return nil
	}
	peak, at, ok := s.Seen(t)
	if !ok {
		s.WakeAt(at)
		return nil
	}
	d.seen[t.Index], d.stale = t.Since+1, true
	return d.online.Seen(t.ID, min(peak, d.largest))
}

func (d *direct) Decide(s *sim.State) error {
	for _, t := range s.Ended() {
		delete(d.tasks, t.ID)
		if err := d.online.Finish(t.ID); err != nil {
			return err
		}
	}
	for _, t := range s.Arrived() {
		d.tasks[t.ID] = t
		p, err := d.Packed(colloc.Task{ID: t.ID})
		if err != nil {
			return err
		}
		restart := profile.Some(max(t.Startup, time.Second))
		if d.NoStop {
			restart = profile.Opt[time.Duration]{}
		}
		if err := d.online.Submit(online.Job{Task: p, Left: remaining(s, t), Restart: restart, Came: profile.Some(s.Now())}); err != nil {
			return err
		}
	}
	d.stale = d.stale || len(s.Ended())+len(s.Arrived()) > 0
	if d.known.Learn() {
		d.stale = true
		if err := d.online.SetModel(d); err != nil {
			return err
		}
	}
	for t := range s.Running() {
		if left, ok := remaining(s, t).Get(); ok {
			if err := d.online.Report(t.ID, left); err != nil {
				return err
			}
		}
		if err := d.watch(s, t); err != nil {
			return err
		}
	}
	if !d.stale { // a look at a task that has stopped meanwhile
		return d.online.Advance(s.Now())
	}
	d.stale = false
	ds, err := d.online.Decide(context.Background(), s.Now())
	if err != nil {
		return err
	}
	for _, x := range ds {
		t := d.tasks[x.Task]
		if !x.Placed {
			s.Stop(t)
			continue
		}
		s.Place(sim.Launch{Task: t.Index, GPUs: append([]int{x.GPU}, x.Gang...), Mechanism: x.Mechanism, Reserve: profile.Some[profile.Bytes](0)})
		if err := d.watch(s, t); err != nil {
			return err
		}
	}
	return nil
}

// through is the body as a policy.
type through struct{ Config }

func (through) Name() string                                { return "direct" }
func (p through) Begin(s *sim.State) (sim.Scheduler, error) { return New(p.Config, s) }

// day draws a day of tasks that hold what they promise of memory.
func day(seed uint64) (*sim.Cluster, []sim.Task, sim.Options) {
	r := rand.New(rand.NewPCG(seed, 1))
	c := &sim.Cluster{}
	for range 1 + r.IntN(2) {
		n := sim.Node{}
		for range 2 + r.IntN(3) {
			model := profile.GPUModel{Name: []string{"A", "B"}[r.IntN(2)], Memory: profile.GiB * 16, PowerWatts: 300}
			n.GPUs = append(n.GPUs, sim.GPU{Model: model})
		}
		c.Nodes = append(c.Nodes, n)
	}
	var tasks []sim.Task
	at := time.Duration(0)
	for i := range 30 + r.IntN(30) {
		at += time.Duration(r.Int64N(int64(8 * time.Minute)))
		k := r.IntN(9)
		class := []string{"light", "medium", "heavy"}[k%3]
		t := sim.Task{
			ID: fmt.Sprint("task", i), Arrival: at, Work: time.Duration(1 + r.ExpFloat64()*float64(time.Hour)), GPUs: 1 + r.IntN(8)/7, Class: class,
			Memory: profile.Bytes(1+3*k/2) * profile.GiB, Type: "type" + strconv.Itoa(k), Startup: time.Duration(r.IntN(120)) * time.Second,
		}
		if r.IntN(10) == 0 {
			t.Only = []string{c.Nodes[0].GPUs[0].Model.Name}
			t.GPUs = 1
		}
		tasks = append(tasks, t)
	}
	o := sim.Options{
		Truth: speed.Contention{}, Predicted: speed.Noisy{Model: speed.Contention{}, SD: 0.2, Seed: seed}, Seed: seed, ObserveError: 0.05,
		Reserve: func(t *sim.Task) profile.Bytes { return min(15*profile.GiB, t.Memory*5/4) },
	}
	switch r.IntN(3) {
	case 0:
		o.LengthError = 0.5
	case 1:
		o.Guessed = true
	}
	return c, tasks, o
}

// TestThroughDispatch: where no task dies, no GPU fails and there are no classes, a Dispatcher lets the
// Scheduler decide what it decides alone, to the last event.
func TestThroughDispatch(t *testing.T) {
	for seed := range uint64(max(4, race.Fewer(24))) {
		c, tasks, o := day(seed)
		p := Config{MaxSet: 4, Headroom: profile.Some(0.02), Budget: profile.Some([]int{0, 300, 3000}[seed%3]), NoStop: seed%4 == 3}
		log := func(p sim.Policy) []string {
			var out []string
			o.OnEvent = func(e *sim.Event) { out = append(out, fmt.Sprintf("%+v", *e)) }
			r, err := sim.Run(t.Context(), c, tasks, p, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.OutOfMemory > 0 || r.Finished < len(tasks)/2 {
				t.Fatalf("seed %d: %d deaths, %d of %d finished; the day is none for this test", seed, r.OutOfMemory, r.Finished, len(tasks))
			}
			return out
		}
		want, got := log(direct{Config: p}), log(through{p})
		if slices.Equal(got, want) {
			continue
		}
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("seed %d, budget %d: event %d of %d is %s, want %s", seed, p.Budget.Or(0), i, len(want), got[min(i, len(got)-1)], want[i])
				break
			}
		}
	}
}
