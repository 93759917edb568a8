package sim_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// deed is one action of a policy, or its being asked (verb 0).
type deed struct {
	at   time.Duration
	verb byte // 's'tart, 'p'reempt
	task string
	gpus []int
}

// tossed does anything that is possible and writes down what.
type tossed struct {
	seed  uint64
	deeds *[]deed
}

func (tossed) Name() string { return "tossed" }

func (p tossed) Begin(*sim.State) (sim.Scheduler, error) {
	return &toss{tossed: p, draw: rand.New(rand.NewPCG(p.seed, 2)), stops: 60}, nil
}

type toss struct {
	tossed
	draw  *rand.Rand
	stops int
}

func (p *toss) note(s *sim.State, d deed) {
	d.at = s.Now()
	*p.deeds = append(*p.deeds, d)
}

// Decide implements [sim.Scheduler].
func (p *toss) Decide(s *sim.State) error {
	p.note(s, deed{})
	for t := range s.Running() {
		if p.stops > 0 && p.draw.IntN(10) == 0 {
			p.stops--
			p.note(s, deed{verb: 'p', task: t.ID})
			s.Stop(t)
		}
	}
	for t := range s.Waiting() {
		if t.HostOnly {
			p.note(s, deed{verb: 's', task: t.ID})
			s.Place(sim.Launch{Task: t.Index})
			continue
		}
		var gpus []int
		for _, i := range p.draw.Perm(len(s.GPUs())) {
			g := s.GPUs()[i]
			if len(gpus) < t.GPUs && s.Fits(t, g) && (t.Deaths == 0 || len(g.Set) == 0) {
				gpus = append(gpus, i)
			}
		}
		if len(gpus) == t.GPUs && p.draw.IntN(4) > 0 {
			p.note(s, deed{verb: 's', task: t.ID, gpus: gpus})
			s.Start(t, gpus...)
		}
	}
	s.WakeAt(s.Now() + time.Duration(1+p.draw.Int64N(int64(4*time.Minute))))
	return nil
}

// A slowTask and a slowGPU are what the twin knows: nothing is kept that could be
// worked out from them.
type slowTask struct {
	*sim.Task
	on           []int // nil while it does not run
	runs, gone   bool
	came         bool
	order        int // of its start, among all starts
	base, saved  float64
	since, ready time.Duration // base is of since, nothing is done before ready
	speed        float64
	oom, save    time.Duration // when; -1 is never
	waits        time.Duration // since when it waits
	end          sim.End
}

type slowGPU struct {
	*sim.GPU
	node   *sim.Node
	losses int
}

// twin is the engine once more, in the obvious way: at each moment it looks at
// everything, and works out every set, sum and speed from nothing.
type twin struct {
	o      sim.Options
	now    time.Duration
	tasks  []*slowTask
	gpus   []*slowGPU
	losses []sim.Loss
	starts int
	energy float64
	wasted float64
	counts map[sim.EventKind]int
}

func newTwin(c *sim.Cluster, tasks []sim.Task, o sim.Options) *twin {
	w := &twin{o: o, losses: c.Losses, counts: map[sim.EventKind]int{}}
	for i := range c.Nodes {
		for g := range c.Nodes[i].GPUs {
			w.gpus = append(w.gpus, &slowGPU{GPU: &c.Nodes[i].GPUs[g], node: &c.Nodes[i]})
		}
	}
	for i := range tasks {
		w.tasks = append(w.tasks, &slowTask{Task: &tasks[i], oom: -1, save: -1, end: sim.End{ID: tasks[i].ID, Arrival: tasks[i].Arrival, Start: -1}})
	}
	slices.SortStableFunc(w.tasks, func(a, b *slowTask) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return w
}

// set are the tasks on a GPU, in the order in which they came.
func (w *twin) set(gpu int) []*slowTask {
	var out []*slowTask
	for _, t := range w.tasks {
		if t.runs && slices.Contains(t.on, gpu) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *slowTask) int { return cmp.Compare(a.order, b.order) })
	return out
}

// crowded reports whether a GPU's tasks need more memory than it has.
func (w *twin) crowded(gpu int) bool {
	var need profile.Bytes
	for _, t := range w.set(gpu) {
		need += t.Memory
	}
	g := w.gpus[gpu]
	total := g.Memory
	if total == 0 {
		total = g.Model.Memory
	}
	return need > total
}

// on asks the truth for the speeds of a GPU's tasks, together and alone.
func (w *twin) on(gpu int) (together, alone []float64) {
	set := w.set(gpu)
	plain := make([]*sim.Task, len(set))
	for i, t := range set {
		plain[i] = t.Task
	}
	together, alone = make([]float64, len(set)), make([]float64, len(set))
	for i := range set {
		if err := w.o.Truth.Speeds(w.gpus[gpu].GPU, profile.Exclusive, plain[i:i+1], alone[i:i+1]); err != nil {
			panic(err)
		}
	}
	if len(set) > 0 {
		if err := w.o.Truth.Speeds(w.gpus[gpu].GPU, profile.TimeSlice, plain, together); err != nil {
			panic(err)
		}
	}
	return together, alone
}

// work is what a task has done by now.
func (w *twin) work(t *slowTask) float64 {
	if from := max(t.since, t.ready); t.runs && w.now > from {
		return min(float64(t.Work), t.base+float64(t.rate()*float64(w.now-from)))
	}
	return t.base
}

// fix makes now the moment that a task's work counts from.
func (w *twin) fix(t *slowTask) { t.base, t.since = w.work(t), w.now }

// rate is the work per unit of time: a service is up or not.
func (t *slowTask) rate() float64 {
	if t.Service != nil {
		return min(1, math.Ceil(t.speed))
	}
	return t.speed
}

// finish is when a task is done if nothing changes; -1 is never.
func (t *slowTask) finish() time.Duration {
	if !t.runs || t.speed == 0 {
		return -1
	}
	return max(t.since, t.ready) + time.Duration(math.Ceil((float64(t.Work)-t.base)/t.rate()))
}

// next is the next moment at which something must happen; -1 is never.
func (w *twin) next() time.Duration {
	at := time.Duration(-1)
	look := func(x time.Duration) {
		if x > w.now && (at < 0 || x < at) {
			at = x
		}
	}
	alive := false
	for _, t := range w.tasks {
		look(t.Arrival)
		look(t.finish())
		look(t.oom)
		look(t.save)
		alive = alive || !t.gone
	}
	for _, l := range w.losses {
		if alive {
			look(l.At)
			look(l.At + l.For)
		}
	}
	return at
}

// advance charges the energy up to a moment.
func (w *twin) advance(to time.Duration) {
	for i, g := range w.gpus {
		set, busy := w.set(i), 0.0
		_, alone := w.on(i)
		for k, t := range set {
			busy += t.Busy * min(1, t.speed/alone[k])
		}
		w.energy += (g.IdleWatts + (g.BusyWatts-g.IdleWatts)*min(1, busy)) * (to - w.now).Seconds()
	}
	w.now = to
}

// happen does what is due now.
func (w *twin) happen() {
	for _, t := range w.tasks {
		if t.finish() == w.now {
			t.runs, t.gone = false, true
			t.oom, t.save = -1, -1
			t.end.End, t.end.Finished = w.now, true
		}
	}
	for _, t := range w.tasks {
		if t.oom == w.now {
			t.oom = -1
			if slices.ContainsFunc(t.on, w.crowded) {
				w.die(t)
			}
		}
		if t.save == w.now {
			w.fix(t)
			t.saved, t.ready, t.save = t.base, max(t.ready, w.now+w.o.CheckpointCost), w.now+w.o.Checkpoint
		}
	}
	for _, l := range w.losses {
		if l.At == w.now {
			w.gpus[l.GPU].losses++
			w.lose()
		}
		if l.For > 0 && l.At+l.For == w.now {
			w.gpus[l.GPU].losses--
		}
	}
	for _, t := range w.tasks {
		if t.Arrival == w.now {
			t.came, t.waits = true, w.now
		}
	}
}

// lose stops the tasks on GPUs that failed.
func (w *twin) lose() {
	for i, g := range w.gpus {
		if g.losses > 0 {
			for _, t := range w.set(i) {
				w.drop(t)
			}
		}
	}
}

// drop takes a task off its GPUs with the loss of what was not saved.
func (w *twin) drop(t *slowTask) {
	w.wasted += w.work(t) - t.saved
	t.base = t.saved
	w.idle(t)
}

func (w *twin) die(t *slowTask) {
	w.drop(t)
	w.counts[sim.OutOfMemory]++
	t.end.Deaths++
	if t.end.Deaths >= w.o.MaxFailures {
		t.gone, t.end.End = true, w.now
	}
}

// idle lets a task wait.
func (w *twin) idle(t *slowTask) {
	t.runs, t.on, t.oom, t.save, t.waits = false, nil, -1, -1, w.now
}

// do repeats what the policy did.
func (w *twin) do(d deed) {
	t := w.tasks[slices.IndexFunc(w.tasks, func(t *slowTask) bool { return t.ID == d.task })]
	if d.verb == 'p' {
		w.counts[sim.Preemption]++
		w.fix(t)
		t.saved = t.base
		w.idle(t)
		return
	}
	w.starts++
	t.runs, t.on, t.order = true, d.gpus, w.starts
	t.since, t.ready, t.speed = w.now, w.now+t.Startup, 0
	t.end.Wait += w.now - t.waits
	if t.end.Start < 0 {
		t.end.Start = w.now
		t.ready += t.Profiling
	}
	if slices.ContainsFunc(t.on, w.crowded) {
		t.oom = w.now + w.o.OOMAfter
	}
	if w.o.Checkpoint > 0 {
		t.save = w.now + w.o.Checkpoint
	}
}

// respeed works out all speeds; a gang runs as fast as its slowest GPU.
func (w *twin) respeed() {
	fresh := map[*slowTask]float64{}
	for i := range w.gpus {
		together, _ := w.on(i)
		for k, t := range w.set(i) {
			if x, ok := fresh[t]; !ok || together[k] < x {
				fresh[t] = together[k]
			}
		}
	}
	for _, t := range w.tasks {
		if t.HostOnly && t.runs {
			fresh[t] = 1
		}
		if t.runs && !t.HostOnly && w.o.ShareCPU {
			fresh[t] *= w.cores(t)
		}
		if x := fresh[t]; t.runs && x != t.speed {
			w.fix(t)
			t.speed = x
		}
	}
}

// cores is the part of its cores that a task gets where it gets least.
func (w *twin) cores(t *slowTask) float64 {
	part := 1.0
	for _, g := range t.on {
		node, wants := w.gpus[g].node, 0.0
		for _, other := range w.tasks {
			for _, h := range other.on {
				if other.runs && w.gpus[h].node == node {
					wants += other.CPU / float64(len(other.on))
				}
			}
		}
		if wants > node.CPU && t.CPU > 0 {
			part = min(part, node.CPU/wants)
		}
	}
	return part
}

// repeat goes through the moments at which the policy was asked; at no other may
// anything happen.
func (w *twin) repeat(t *testing.T, deeds []deed) {
	t.Helper()
	for i := 0; i < len(deeds); {
		at := deeds[i].at
		if next := w.next(); next >= 0 && next < at {
			t.Fatalf("something happens at %v and the policy is not asked before %v", next, at)
		}
		w.advance(at)
		w.happen()
		w.respeed()
		for ; i < len(deeds) && deeds[i].at == at; i++ {
			if deeds[i].verb != 0 {
				w.do(deeds[i])
			}
		}
		w.respeed()
	}
}
