package follow

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/shadow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// Config says who decides.
type Config struct {
	// Planner is asked; nil is that of the zero colloc.Config.
	Planner *colloc.Planner
	// Models says which product stands behind a type of the site's.
	Models map[string]string
}

// Kept is for how long a Follower remembers a job that ended: a Summary's gain is that of this
// time at most.
const Kept = 92 * 24 * time.Hour

// Follower follows one site. Make one with [New]. It is not safe for concurrent use.
type Follower struct {
	config  Config
	shadow  *shadow.Shadow
	tracked map[string]*tracked
	kinds   map[string]*kind
	past    []records.Job // in the order in which they ended, of the last [Kept]
	gpus    []journal.GPU
	asked   question // of the last decision
	plan    *dispatch.Decision
	from    time.Time
	last    time.Time
	rounds  int
	strange int
	use     Use
}

// question is what a decision answers: who waits, and who runs where.
type question struct {
	queue []colloc.Task
	gpus  []colloc.GPU
}

// Use compares shares of the time for which jobs kept their GPUs busy with what was foretold.
type Use struct {
	Seen int `json:"seen"`
	// MAE is the mean absolute error, Bias the mean of seen less foretold.
	MAE  float64 `json:"mae"`
	Bias float64 `json:"bias"`
}

// tracked is a job that has not ended.
type tracked struct {
	journal.Job
	running bool
	shared  bool // it had company, and what was seen is not its own
	busy    float64
	n       int
	peak    profile.Bytes
	told    *kind // what was known of its kind when it started
}

// kind is what is known of jobs of one user and name.
type kind struct {
	solo    profile.Solo
	profile *profile.Profile
}

// New returns a Follower that has seen nothing.
func New(c Config) (*Follower, error) {
	if c.Planner == nil {
		var err error
		if c.Planner, err = colloc.New(colloc.Config{}); err != nil {
			return nil, fmt.Errorf("follow: %w", err)
		}
	}
	s, err := shadow.New(shadow.Config{Planner: c.Planner})
	if err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	return &Follower{config: c, shadow: s, tracked: map[string]*tracked{}, kinds: map[string]*kind{}}, nil
}

// Take goes one round on and returns what colloc would do with what waits and with what has just
// started, all else as it is; nil if that is nobody of whom anything is known. A round
// before the last one is an error; where that is by more than an hour, the clock was wrong before, and the jobs until then
// count no more. What was learned of them stays. O(jobs + GPUs) and a decision, if anything changed.
func (f *Follower) Take(ctx context.Context, s *journal.Snapshot) (*dispatch.Decision, error) {
	if f.late(s) {
		return nil, fmt.Errorf("follow: a round of %v after one of %v: was the clock set back?", s.At, f.last)
	}
	if s.At.Before(f.last) { // the clock was wrong until now
		f.past, f.from, f.plan, f.asked = nil, time.Time{}, nil, question{}
		clear(f.tracked)
	}
	if f.from.IsZero() {
		f.from = s.At
	}
	f.last, f.gpus = s.At, slices.Clone(s.GPUs)
	f.rounds++
	f.end(s)
	for len(f.past) > 0 && s.At.Sub(f.past[0].Ended) > Kept {
		f.past = f.past[1:]
	}
	cards := newCards(s.GPUs, f.model)
	var queue []colloc.Task
	var started []*tracked
	for i := range s.Jobs {
		t := f.track(&s.Jobs[i])
		if t.running {
			cards.put(f.task(t), t.On)
			continue
		}
		if !t.Started.IsZero() {
			started = append(started, t)
		}
		if task := f.task(t); !task.Foreign {
			queue = append(queue, task)
		}
	}
	if err := f.decide(ctx, s.At, queue, cards); err != nil {
		return nil, err
	}
	for _, t := range started {
		if err := f.start(s.At, t, cards); err != nil {
			return nil, err
		}
	}
	for _, id := range cards.company() {
		f.tracked[id].shared = true
	}
	for i := range s.Jobs {
		f.watch(f.tracked[s.Jobs[i].ID])
	}
	return f.plan, nil
}

// late reports whether a round is before the last one, by so little that the clock comes there again.
func (f *Follower) late(s *journal.Snapshot) bool {
	back := f.last.Sub(s.At)
	return back > 0 && back <= time.Hour
}

// track finds a job, or begins to follow it.
func (f *Follower) track(j *journal.Job) *tracked {
	t := f.tracked[j.ID]
	if t != nil && t.running && j.Started.IsZero() { // it was put back into the queue
		f.finish(t, f.last)
		t = nil
	}
	if t == nil {
		t = &tracked{}
		f.tracked[j.ID] = t
	}
	t.Job = *j
	return t
}

// end takes out what is no longer there.
func (f *Follower) end(s *journal.Snapshot) {
	there := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		there[s.Jobs[i].ID] = true
	}
	var gone []string
	for id := range f.tracked {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		f.finish(f.tracked[id], s.At)
		delete(f.tracked, id)
	}
}

// name is that of the kind of a job.
func (t *tracked) name() string { return t.past(time.Time{}).Kind() }

// past is the job as history has it.
func (t *tracked) past(end time.Time) *records.Job {
	j := &records.Job{
		ID: t.ID, User: t.User, Name: t.Name, Partition: t.Partition, Submitted: t.Submitted, Started: t.Started, Ended: end,
		Ran: end.Sub(t.Started), GPUs: max(1, t.GPUs), Product: t.Product,
	}
	if t.n > 0 && !t.shared {
		j.Seen = profile.Solo{GPUBusy: profile.Some(t.busy / float64(t.n)), Memory: profile.Some(t.peak)}
	}
	return j
}

// finish ends a job, and learns what its kind does.
func (f *Follower) finish(t *tracked, at time.Time) {
	f.shadow.Ended(at, t.ID, false)
	if !t.running {
		return
	}
	j := t.past(at)
	f.place(j, t.On)
	if at.After(t.Started) {
		f.past = append(f.past, *j)
	}
	if !j.Observed() {
		return
	}
	if t.told != nil {
		f.compare(t.told, j)
	}
	f.learn(t)
}

// place says on which product and which nodes a job is.
func (f *Follower) place(j *records.Job, on []string) {
	for _, id := range on {
		if i := slices.IndexFunc(f.gpus, func(g journal.GPU) bool { return g.ID == id }); i >= 0 {
			j.Product = f.gpus[i].Product
			if n := f.gpus[i].Node; !slices.Contains(j.Nodes, n) && n != "" {
				j.Nodes = append(j.Nodes, n)
			}
		}
	}
}

// compare holds what was known of the kind against what the job did.
func (f *Follower) compare(k *kind, j *records.Job) {
	off := j.Seen.GPUBusy.Or(0) - k.solo.GPUBusy.Or(0)
	f.use.Seen++
	f.use.MAE += math.Abs(off)
	f.use.Bias += off
	model, _ := f.model(j.Product)
	// Of memory the shadow keeps count; there is nothing to do where it is of no use.
	_ = f.shadow.Seen(colloc.Observation{GPU: model, Members: []colloc.Measurement{{Profile: k.profile, Peak: j.Seen.Memory}}})
}

// watch takes what a job uses now.
func (f *Follower) watch(t *tracked) {
	busy, ok := t.Busy.Get()
	used, some := t.Memory.Get()
	if !t.running || !ok || !some {
		return
	}
	t.busy += busy
	t.n++
	t.peak = max(t.peak, used)
	if t.n == enough && f.kinds[t.name()] == nil {
		f.learn(t)
	}
}

// enough is how often a job must be seen to say what its kind does, before it has ended.
const enough = 3

// learn says what jobs like this one do: as busy as the last, with the memory of the largest.
func (f *Follower) learn(t *tracked) {
	seen := t.past(time.Time{}).Seen
	if seen.GPUBusy.IsZero() {
		return
	}
	name := t.name()
	if k := f.kinds[name]; k != nil {
		before, _ := k.solo.Memory.Get()
		seen.Memory = profile.Some(max(t.peak, before))
	}
	model, _ := f.model(t.Product) // what was seen counts on any product
	seen.Name, seen.GPUModel = "observed", &model
	p, err := seen.Profile()
	if err != nil {
		return // the busy share is none
	}
	f.kinds[name] = &kind{solo: seen, profile: &p}
}

// task is what colloc is told of a job: of strangers that they are there.
func (f *Follower) task(t *tracked) colloc.Task {
	task := colloc.Task{ID: t.ID, GPUs: max(1, t.GPUs)}
	if k := f.kinds[t.name()]; k != nil {
		task.Profile = k.profile
	} else {
		task.Reserved, task.Foreign = memory.Whole, true
	}
	return task
}

// model is the product behind a word of the site's.
func (f *Follower) model(word string) (profile.GPUModel, bool) {
	if name, ok := f.config.Models[word]; ok {
		word = name
	}
	return profile.LookupGPU(word)
}

// decide asks what to do, unless nothing changed.
func (f *Follower) decide(ctx context.Context, at time.Time, queue []colloc.Task, c *cards) error {
	if len(queue) == 0 {
		f.plan, f.asked = nil, question{}
		return nil
	}
	asked := question{queue, slices.Clone(c.list)} // cards change when jobs start
	if reflect.DeepEqual(asked, f.asked) {
		return nil
	}
	plan, err := f.shadow.Waiting(ctx, at, queue, c.list)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	f.plan, f.asked = plan, asked
	return nil
}

// start records what the site did.
func (f *Follower) start(at time.Time, t *tracked, c *cards) error {
	t.running = true
	t.told = f.kinds[t.name()]
	task := f.task(t)
	gpus := c.of(t.On)
	if task.Foreign {
		f.strange++
	}
	if !task.Foreign && len(gpus) > 0 {
		if err := f.shadow.Started(at, task, gpus...); err != nil {
			return fmt.Errorf("follow: %w", err)
		}
	}
	c.put(task, t.On)
	return nil
}
