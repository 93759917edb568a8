package dispatchtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Body is a scheduler under test.
type Body interface {
	// Turn tells what happened, decides, and acts, once. It is called whenever something
	// happened, and at next; 0 is never.
	Turn(ctx context.Context) (next time.Duration, err error)
}

const (
	days   = 6  // scripts
	jobs   = 40 // of each
	length = 6 * time.Hour
)

// Run plays some days of faults with bodies that open makes, also where one restarts, and
// reports what was not kept.
func Run(t *testing.T, open func(*World) (Body, error)) {
	t.Helper()
	for day := range uint64(days) {
		t.Run(fmt.Sprintf("day %d", day), func(t *testing.T) {
			for i, fault := range Play(day, open) {
				if t.Error(fault); i > 10 {
					break
				}
			}
		})
	}
}

// RunOnce is Run for bodies that start real processes: of so many days each is played once, every
// start is answered and every stop carried out, and what ended is heard of at once. Events are then orders to the machine: a run
// of which Ended tells is to end so.
func RunOnce(t *testing.T, days int, open func(*World) (Body, error)) {
	t.Helper()
	for day := range uint64(days) {
		t.Run(fmt.Sprintf("day %d", day), func(t *testing.T) {
			for _, fault := range play(day, true, open).faults {
				t.Error(fault)
			}
		})
	}
}

// Play plays one day, twice, and returns what was not kept.
func Play(day uint64, open func(*World) (Body, error)) (faults []string) {
	first, second := play(day, false, open), play(day, false, open)
	if !slices.Equal(first.log, second.log) {
		first.fault("the same events came to other actions")
	}
	return first.faults
}

const (
	moments  = 100000 // at most, of a day
	restarts = 60     // once in so many turns the body does
)

// play is one day.
func play(seed uint64, prompt bool, open func(*World) (Body, error)) *World {
	w := draw(rand.New(rand.NewPCG(seed, 1)))
	w.prompt = prompt
	ctx := context.Background()
	body, err := open(w)
	for range moments {
		w.calm = w.now >= length
		if err == nil && w.chance(restarts) {
			if w.chance(2) {
				w.saved = nil
			}
			w.log = append(w.log, "restart")
			body, err = open(w)
		}
		w.fresh = w.fresh[:0]
		var wake time.Duration
		if err == nil {
			wake, err = body.Turn(ctx)
		}
		if err != nil {
			w.fault("%v", err)
			return w
		}
		w.strict()
		if !slices.ContainsFunc(w.jobs, func(j *job) bool { return j.over == "" }) {
			return w
		}
		if !w.forward(wake) {
			break
		}
	}
	for _, j := range w.jobs {
		if j.over == "" {
			w.fault("%q is lost: nothing happens any more, and it is not over", j.ID)
		}
	}
	return w
}

// forward goes on to the next moment at which something happens; false if there is none.
func (w *World) forward(wake time.Duration) bool {
	next := time.Duration(-1)
	sooner := func(at time.Duration) {
		if next < 0 || at < next {
			next = max(w.now, at)
		}
	}
	if wake > 0 {
		sooner(max(wake, w.now+time.Second))
	}
	for i := range w.script {
		sooner(w.script[i].at)
	}
	for i := range w.out {
		sooner(w.out[i].at)
	}
	for _, j := range w.jobs {
		if l := j.life; l != nil && !l.done {
			sooner(l.began + j.left)
			if !l.seen {
				sooner(l.began + watched)
			}
		}
	}
	if next < 0 {
		return false
	}
	w.now = next
	for len(w.script) > 0 && w.script[0].at <= w.now {
		do := w.script[0].do
		w.script = w.script[1:]
		do(w)
	}
	for _, j := range w.jobs {
		w.live(j)
	}
	return true
}

// watched is after how long a job shows its memory, or dies for lack of it.
const watched = 2 * time.Minute

// live lets a job do what it does.
func (w *World) live(j *job) {
	l := j.life
	if l == nil {
		return
	}
	alone := !slices.ContainsFunc(w.jobs, func(o *job) bool {
		return o != j && o.life != nil && slices.ContainsFunc(o.life.gpus, func(id string) bool { return slices.Contains(l.gpus, id) })
	})
	switch {
	case !l.seen && w.now >= l.began+watched:
		l.seen = true
		if j.peak > l.promised && !alone {
			j.life = nil
			w.tell(dispatch.Ended{Job: j.ID, Run: l.number, How: dispatch.OutOfMemory, Peak: profile.Some(j.peak)})
			return
		}
		for _, o := range w.jobs {
			if o.life != nil && (o == j || o.Kind != "" && o.Kind == j.Kind) {
				o.life.promised = min(o.life.promised, profile.BytesOf((1+online.DefaultGrowth)*float64(j.peak)))
			}
		}
		w.tell(dispatch.Seen{Job: j.ID, Run: l.number, Peak: j.peak})
		fallthrough
	case w.now < l.began+j.left:
		if w.now < l.began+j.left {
			return
		}
		fallthrough
	default:
		j.life, j.over, j.left = nil, "done", 0
		w.tell(dispatch.Ended{Job: j.ID, Run: l.number, How: dispatch.Done})
	}
}

// strict finds jobs that started alone on a GPU that one of a higher class waits for.
func (w *World) strict() {
	for _, low := range w.fresh {
		l := low.life
		if l == nil || len(l.gpus) != 1 || w.now-l.began != 0 {
			continue
		}
		c := w.card(l.gpus[0])
		if slices.ContainsFunc(w.jobs, func(o *job) bool { return o != low && o.life != nil && slices.Contains(o.life.gpus, c.ID) }) {
			continue
		}
		for _, high := range w.jobs {
			if high.told && high.over == "" && high.life == nil && !high.held && high.Priority > low.Priority && high.Width() == 1 && len(high.After) == 0 &&
				high.peak <= c.offers() && high.Reserved <= c.offers() && high.shunned == nil && w.calm {
				w.fault("%q of class %d starts on GPU %q, and %q of class %d waits for one", low.ID, low.Priority, c.ID, high.ID, high.Priority)
			}
		}
	}
}

// draw makes a world.
func draw(rng *rand.Rand) *World {
	w := &World{rng: rng}
	for i := range 6 {
		model, _ := profile.LookupGPU([]string{"A100-SXM4-40GB", "Tesla V100-SXM2-32GB"}[i/4])
		w.cards = append(w.cards, &card{GPU: colloc.GPU{ID: fmt.Sprintf("gpu%d", i), Model: model, Memory: model.Memory}, machine: i / 2})
	}
	for _, c := range w.cards {
		w.out = append(w.out, letter{0, dispatch.GPUAdded{GPU: c.GPU, Machine: c.machine}})
	}
	for _, user := range []string{"ann", "bob"} {
		w.out = append(w.out, letter{0, dispatch.Allowed{User: user, Limits: limits[user]}})
	}
	for i := range jobs {
		w.jobs = append(w.jobs, w.drawJob(i))
		w.at(time.Duration(rng.Int64N(int64(length/2))), w.jobs[i].submit)
	}
	for range 8 {
		w.drawTrouble()
	}
	at := time.Duration(rng.Int64N(int64(length / 2)))
	w.at(at, func(w *World) { w.spread(rng.IntN(5)) })
	w.at(at+length/4, func(w *World) { w.spread(0) })
	slices.SortStableFunc(w.script, func(a, b change) int { return int(a.at - b.at) })
	return w
}

// drawJob makes a job.
func (w *World) drawJob(i int) *job {
	r := w.rng
	j := &job{left: time.Duration(5+r.IntN(120)) * time.Minute, peak: profile.Bytes(2+r.IntN(20)) * profile.GiB}
	j.ID, j.User, j.Priority = fmt.Sprintf("job%02d", i), []string{"ann", "bob"}[r.IntN(2)], r.IntN(3)/2
	j.Reserved = j.peak
	switch r.IntN(8) {
	case 0:
		j.GPUs = 2
	case 1:
		j.Reserved = j.peak * 3 / 4 // it says less than it needs
	case 2:
		j.Reserved, j.Kind = 0, "untold"
		j.peak = 9 * profile.GiB
	case 3:
		j.Restart = profile.Some(time.Minute)
	case 4:
		if i > 0 {
			j.After = []dispatch.Dependency{{Job: fmt.Sprintf("job%02d", r.IntN(i)), Any: r.IntN(2) == 0}}
		}
	}
	if r.IntN(2) == 0 {
		j.Left = profile.Some(j.left)
	}
	return j
}

// submit tells of a job that comes.
func (j *job) submit(w *World) {
	j.told = true
	after := j.After
	j.After = nil
	for _, a := range after {
		if o := w.job(a.Job); o != nil && o.over == "" {
			j.After = append(j.After, a)
		}
	}
	w.hear(dispatch.Submitted{Job: j.Job})
}

func (w *World) at(at time.Duration, do func(*World)) { w.script = append(w.script, change{at, do}) }

// drawTrouble is something that happens to a GPU or a job, and is over after a while.
func (w *World) drawTrouble() {
	r := w.rng
	at, later := time.Duration(r.Int64N(int64(length))), time.Duration(5+r.IntN(60))*time.Minute
	c, j := w.cards[r.IntN(len(w.cards))], w.jobs[r.IntN(len(w.jobs))]
	does := [...]func(w *World) (over func(w *World)){c.fail, c.drain, c.lend, j.withdraw, j.hold}[r.IntN(5)]
	w.at(at, func(w *World) {
		if over := does(w); over != nil {
			w.at(at+later, over)
			slices.SortStableFunc(w.script, func(a, b change) int { return int(a.at - b.at) })
		}
	})
}

// hear tells an event at once.
func (w *World) hear(e dispatch.Event) { w.out = append(w.out, letter{w.now, e}) }

func (c *card) fail(w *World) func(*World) {
	if c.failed {
		return nil
	}
	c.failed, c.drained = true, false
	w.lose(c.ID)
	w.hear(dispatch.GPUFailed{GPU: c.ID})
	return func(w *World) {
		c.failed = false
		w.hear(dispatch.GPURestored{GPU: c.ID})
	}
}

func (c *card) drain(w *World) func(*World) {
	if c.failed || c.drained {
		return nil
	}
	c.drained = true
	w.hear(dispatch.Drained{GPU: c.ID})
	return func(w *World) {
		if c.drained {
			c.drained = false
			w.hear(dispatch.Drained{GPU: c.ID, Off: true})
		}
	}
}

// lend lets processes that are no jobs use a GPU.
func (c *card) lend(w *World) func(*World) {
	c.foreign = 8 * profile.GiB
	w.hear(dispatch.Foreign{GPU: c.ID, Memory: c.foreign})
	return func(w *World) {
		c.foreign = 0
		w.hear(dispatch.Foreign{GPU: c.ID})
	}
}

// spread lets ann run jobs on GPUs that the body does not look at. One that is the machine's alone has none.
func (w *World) spread(gpus int) {
	if !w.prompt {
		w.away = gpus
		w.hear(dispatch.Elsewhere{User: "ann", Jobs: gpus, GPUs: gpus})
	}
}

func (j *job) withdraw(w *World) func(*World) {
	if j.told && j.over == "" {
		j.over = "withdrawn"
		w.hear(dispatch.Withdrawn{Job: j.ID})
	}
	return nil
}

func (j *job) hold(w *World) func(*World) {
	if !j.told || j.over != "" || j.held {
		return nil
	}
	j.held = true
	w.hear(dispatch.Held{Job: j.ID})
	return func(w *World) {
		if j.held = false; j.over == "" {
			w.hear(dispatch.Released{Job: j.ID})
		}
	}
}

// lose ends what runs on a GPU: work since its start is lost.
func (w *World) lose(gpu string) {
	for _, j := range w.jobs {
		if l := j.life; l != nil && slices.Contains(l.gpus, gpu) {
			j.life = nil
			if len(l.gpus) > 1 {
				w.tell(dispatch.Ended{Job: j.ID, Run: l.number, How: dispatch.Lost})
			}
		}
	}
}
