package simtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Conformance runs a policy through scenarios that a cluster may bring (bursts,
// gangs, deaths for lack of memory, GPUs that fail, wrong predictions) and checks
// in each that
//
//   - nothing impossible is decided (see [sim.DecisionError]);
//   - every task that fits finishes, and none runs before it arrives, on a GPU
//     that is away, or on more GPUs than it asked for;
//   - the work that is done is the work that was submitted;
//   - no GPU is over its memory except until the out-of-memory event that follows;
//   - the same seed gives the same events, byte for byte, on one processor and on
//     eight.
//
// It is meant for the tests of whoever writes a policy. It changes GOMAXPROCS
// while it runs, so it must not run in parallel with tests that mind.
func Conformance(t *testing.T, p sim.Policy) {
	t.Helper()
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			for _, fault := range Faults(p, s) {
				t.Errorf("policy %s: %s", p.Name(), fault)
			}
		})
	}
}

// Faults runs a policy through one scenario, on one processor and on eight, and
// returns every rule of [Conformance] that it broke; nil if none. All tasks of the
// scenario must fit its cluster.
func Faults(p sim.Policy, s Scenario) []string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, faults := Replay(p, s)
	runtime.GOMAXPROCS(8)
	second, _ := Replay(p, s)
	if len(faults) == 0 && !bytes.Equal(first, second) {
		faults = append(faults, "the same seed gave other events on 8 processors")
	}
	return faults
}

// Replay runs a policy through a scenario once. It returns every event and the
// whole result as JSON, and the rules that were broken. Of two versions of a
// policy, on whatever processors, that decide alike the JSON is the same, byte for
// byte.
func Replay(p sim.Policy, s Scenario) (log []byte, faults []string) {
	var out bytes.Buffer
	c := newChecker(s, &out)
	o := s.Options
	o.OnEvent = c.event
	r, err := sim.Run(context.Background(), s.Cluster, s.Tasks, p, o)
	if err != nil {
		return nil, append(c.faults, err.Error())
	}
	c.end(r)
	if err := json.NewEncoder(&out).Encode(struct {
		*sim.Result
		Ends   []sim.End
		Series []sim.Point
	}{r, r.Ends, r.Series}); err != nil {
		c.fault("result: %v", err)
	}
	return out.Bytes(), c.faults
}

// checker follows a run by its events alone.
type checker struct {
	s      Scenario
	log    io.Writer
	tasks  map[string]*life
	gpus   []gpu
	faults []string
	grace  time.Duration
}

// life is what the events say of a task.
type life struct {
	task    *sim.Task
	arrived bool
	ended   bool
	on      []int
	host    bool          // it runs without GPUs
	since   time.Duration // of the last change
	paused  time.Duration // start-up that is still to pass
	speed   float64
	done    float64
	saved   float64
	started time.Duration
}

// gpu is what the events say of a GPU.
type gpu struct {
	total profile.Bytes
	tasks []*life
	away  bool
}

func newChecker(s Scenario, log io.Writer) *checker {
	c := &checker{s: s, log: log, tasks: map[string]*life{}, grace: s.Options.OOMAfter}
	if c.grace == 0 {
		c.grace = 30 * time.Second
	}
	for i := range s.Tasks {
		c.tasks[s.Tasks[i].ID] = &life{task: &s.Tasks[i]}
	}
	if s.Cluster == nil {
		return c // Run says what is wrong
	}
	for _, n := range s.Cluster.Nodes {
		for _, g := range n.GPUs {
			c.gpus = append(c.gpus, gpu{total: g.Model.Memory})
		}
	}
	return c
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < 20 {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// event checks and logs one event.
func (c *checker) event(e *sim.Event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintf(c.log, "%s\n", line)
	}
	if err != nil {
		c.fault("event %v: %v", e.Kind, err)
	}
	if e.Index < 0 {
		for _, g := range e.GPUs {
			c.gpus[g].away = e.Kind == sim.GPULoss
		}
		return
	}
	l := c.tasks[e.Task]
	if l == nil {
		c.fault("event %v of an unknown task %q", e.Kind, e.Task)
		return
	}
	if e.At < l.task.Arrival || !l.arrived && e.Kind != sim.Arrival || l.ended {
		c.fault("%v of %q at %v: it arrives at %v (arrived %v, ended %v)", e.Kind, e.Task, e.At, l.task.Arrival, l.arrived, l.ended)
	}
	c.work(l, e.At)
	switch e.Kind {
	case sim.Arrival:
		l.arrived = true
	case sim.Start, sim.Recovery:
		c.start(l, e)
	case sim.SpeedChange:
		l.speed = e.Speed
	case sim.Checkpoint:
		l.saved = l.done
		l.paused += c.s.Options.CheckpointCost
	case sim.Preemption:
		l.saved = l.done
		c.leave(l)
	case sim.OutOfMemory, sim.GPULoss:
		l.done = l.saved
		c.leave(l)
	case sim.Finish:
		if want := float64(l.task.Work); l.done < want*(1-1e-9)-2 || l.done > want*(1+1e-9)+2*max(1, l.speed) {
			c.fault("%q finished with %.9g ns of work done of %.9g", e.Task, l.done, want)
		}
		c.leave(l)
		l.ended = true
	case sim.Failure:
		l.ended = true
	default:
	}
}

// work adds what a task did since its last change.
func (c *checker) work(l *life, now time.Duration) {
	dt := now - l.since
	l.since = now
	if len(l.on) == 0 && !l.host {
		return
	}
	used := min(dt, l.paused)
	l.paused -= used
	l.done += l.speed * float64(dt-used)
	for _, g := range l.on {
		c.memory(g, now)
	}
}

func (c *checker) start(l *life, e *sim.Event) {
	want := max(1, l.task.GPUs)
	if l.task.HostOnly {
		want = 0
	}
	if len(e.GPUs) != want || len(l.on) > 0 {
		c.fault("%q starts on GPUs %v while on %v; it asks for %d", e.Task, e.GPUs, l.on, want)
	}
	l.host = l.task.HostOnly
	l.on, l.speed, l.started, l.paused = append([]int(nil), e.GPUs...), 1, e.At, l.task.Startup
	for _, g := range l.on {
		on := &c.gpus[g]
		if on.away {
			c.fault("%q starts on GPU %d, which is away", e.Task, g)
		}
		on.tasks = append(on.tasks, l)
	}
}

func (c *checker) leave(l *life) {
	for _, g := range l.on {
		for i, other := range c.gpus[g].tasks {
			if other == l {
				c.gpus[g].tasks = append(c.gpus[g].tasks[:i], c.gpus[g].tasks[i+1:]...)
				break
			}
		}
	}
	l.on, l.host = l.on[:0], false
}

// memory checks that a GPU is over its memory for a short time only: until the
// task that came last dies.
func (c *checker) memory(g int, now time.Duration) {
	var sum profile.Bytes
	var last time.Duration
	for _, l := range c.gpus[g].tasks {
		sum += l.task.Memory
		last = max(last, l.started)
	}
	if sum > c.gpus[g].total && now > last+c.grace {
		c.fault("GPU %d is over its memory since %v, now is %v and nobody died", g, last, now)
	}
}

// end checks the result.
func (c *checker) end(r *sim.Result) {
	for i := range c.s.Tasks {
		l := c.tasks[c.s.Tasks[i].ID]
		if !l.ended {
			c.fault("task %q did not end", c.s.Tasks[i].ID)
		}
	}
	if r.Finished+r.Failed+r.Unfinished != len(c.s.Tasks) {
		c.fault("%d finished, %d failed, %d unfinished of %d", r.Finished, r.Failed, r.Unfinished, len(c.s.Tasks))
	}
	if r.Failed > 0 {
		c.fault("%d tasks were given up although all fit", r.Failed)
	}
}
