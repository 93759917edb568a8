package solo

import (
	"context"
	"strings"
	"sync"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Learning says how a [Learner] learns.
type Learning struct {
	Rules

	// Source sees the GPUs, of which Headroom is left free.
	Source   nvmlx.Source
	Headroom float64
	// Name is the kind of a run; the empty one is never learned.
	Name func(r *runner.Record) string
	// Reserve is what to reserve for a task of which something is known, 0 what follows from that; nil is what the task says.
	Reserve func(r *runner.Record) profile.Bytes
	// Gangs lets runs on several GPUs count.
	Gangs bool
	// Most is how many kinds are kept whose names begin alike, up to a colon, or, with Together, of all; of more, those that
	// come late are not learned. 0 is any number.
	Most     int
	Together bool
}

// Learner learns from the runs of a queue what the others of their kinds need: it watches one run of a kind that nobody knows and
// the GPU that it is on, and lets the tasks of that kind go by what it showed. It is safe for concurrent use.
type Learner struct {
	Learning

	learning sync.Mutex // held while a run is learned from
	runner   *runner.Runner
	models   map[nvmlx.DeviceID]profile.GPUModel

	sampling context.Context // of samplers
	stop     context.CancelFunc
	samplers sync.WaitGroup

	mu    sync.Mutex
	kinds map[string]*Kind
}

// NewLearner goes on with what was known. It learns nothing before [Learner.Attach]; close it in the end.
func NewLearner(l Learning, known map[string]Kind) *Learner {
	to := &Learner{Learning: l, models: make(map[nvmlx.DeviceID]profile.GPUModel), kinds: make(map[string]*Kind)}
	to.sampling, to.stop = context.WithCancel(context.Background())
	for name, k := range known {
		to.kinds[name] = &k
	}
	return to
}

// Attach names the queue. What happened there before tells nothing.
func (l *Learner) Attach(r *runner.Runner) {
	l.learning.Lock()
	defer l.learning.Unlock()
	l.runner = r
}

// Close ends the watching.
func (l *Learner) Close() {
	l.stop()
	l.samplers.Wait()
}

// Known returns what is known of all kinds of which something is.
func (l *Learner) Known() map[string]Kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := make(map[string]Kind)
	for name, k := range l.kinds {
		if k.Profile != nil {
			known[name] = k.known()
		}
	}
	return known
}

// known is what is known, without who is watched.
func (k *Kind) known() Kind { return Kind{Profile: k.Profile, Peaks: k.Peaks, Timing: k.Timing} }

// Profile returns what is known of a kind; nil is nothing.
func (l *Learner) Profile(name string) *profile.Profile {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.kinds[name]; k != nil {
		return k.Profile
	}
	return nil
}

// News is what a run told of its kind.
type News struct {
	Name string
	Kind
	// First says that the kind is known since, or better known, and More that the run uses more than any before.
	First, More bool
}

// Follow learns from what happens to a task, and lets those of its kind go by that; nil is no news.
func (l *Learner) Follow(e *runner.Event) (*News, error) {
	r := &e.Record
	l.learning.Lock()
	defer l.learning.Unlock()
	if l.runner == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	switch e.Kind {
	case runner.EventStarted:
		l.join(r)
		if beside := l.beside(r); l.begin(e.At, r, beside) && !beside {
			l.sample(r.GPU)
		}
	case runner.EventProgress, runner.EventFinished, runner.EventRetry, runner.EventRecovering, runner.EventOverrun, runner.EventStopped:
		news, err := l.progress(e.At, r, l.model(r.GPU))
		if news != nil {
			err = l.spread(news)
		}
		return news, err
	default:
	}
	return nil, nil //nolint:nilnil // as above
}

// Look has follow told of the runs that are watched: enough may have been seen of one of which nothing is told.
func (l *Learner) Look(now time.Time, follow func(*runner.Event)) {
	l.mu.Lock()
	var watched []string
	for _, k := range l.kinds {
		if r := k.Watched(); r != nil {
			watched = append(watched, r.Task.ID)
		}
	}
	l.mu.Unlock()
	for _, id := range watched {
		if r, ok := l.runner.Record(id); ok && r.State == runner.Running {
			follow(&runner.Event{Kind: runner.EventProgress, At: now, Record: r})
		}
	}
}

// model is the product of a device.
func (l *Learner) model(id nvmlx.DeviceID) profile.GPUModel {
	if _, known := l.models[id]; !known {
		for _, g := range l.runner.GPUs() {
			model, _ := g.Device.GPU()
			l.models[g.Device.ID] = model
			l.Largest = max(l.Largest, colloc.Usable(g.Device.Memory.Or(model.Memory), l.Headroom))
		}
	}
	return l.models[id]
}

// beside reports whether others run on the GPU of a task.
func (l *Learner) beside(r *runner.Record) bool {
	for _, g := range l.runner.GPUs() {
		if g.Device.ID == r.GPU {
			return len(g.Tasks) > 1
		}
	}
	return false
}

// spread lets the tasks of a kind go by what is known of it.
func (l *Learner) spread(news *News) error {
	by := make(map[profile.Bytes][]string)
	for _, r := range l.runner.Records() {
		if !r.State.Over() && l.Name(&r) == news.Name {
			memory := r.Task.Memory
			if l.Reserve != nil {
				memory = l.Reserve(&r)
			}
			by[memory] = append(by[memory], r.Task.ID)
		}
	}
	for memory, ids := range by {
		if err := l.runner.Describe(news.Profile, memory, ids...); err != nil {
			return err
		}
	}
	return nil
}

// sample looks closely at a GPU for as long as a run there may be watched.
func (l *Learner) sample(id nvmlx.DeviceID) {
	ctx, stop := context.WithTimeout(l.sampling, 3*l.Enough)
	l.samplers.Go(func() {
		defer stop()
		c := &nvmlx.SamplerConfig{Every: l.Enough / 20, Devices: []nvmlx.DeviceID{id}}
		_ = nvmlx.NewSampler(l.Source, c).Run(ctx, func(s nvmlx.Sample) { l.saw(&s) }) // what cannot be read is not known
	})
}

// saw notes what a GPU did.
func (l *Learner) saw(s *nvmlx.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kinds {
		k.Sample(s)
	}
}

// join notes that a run starts: what its GPU does tells no more of another one there.
func (l *Learner) join(r *runner.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kinds {
		k.Join(r)
	}
}

// counts reports whether a run tells of others.
func (l *Learner) counts(r *runner.Record) bool { return l.Gangs || r.Task.Width() == 1 }

// begin watches a run that starts, if no other of its kind is watched and the kind is unknown, or only its memory is and nobody
// is beside the run; true if it does.
func (l *Learner) begin(at time.Time, r *runner.Record, beside bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.Name(r)
	k := l.kinds[name]
	if name == "" || !l.counts(r) || k == nil && l.full(name) {
		return false
	}
	if k == nil {
		k = new(Kind)
		l.kinds[name] = k
	}
	return (k.Profile == nil || !beside && k.OnlyMemory()) && k.Begin(at, r, beside)
}

// full reports whether there is no room for another kind like one. O(kinds).
func (l *Learner) full(like string) bool {
	part, _, _ := strings.Cut(like, ":")
	n := 0
	for name := range l.kinds {
		if l.Together || strings.HasPrefix(name, part+":") {
			n++
		}
	}
	return l.Most > 0 && n >= l.Most
}

// progress notes how far a run is, or that it is over; nil if its kind is known no better for that.
func (l *Learner) progress(at time.Time, r *runner.Record, gpu profile.GPUModel) (*News, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := l.Name(r)
	k := l.kinds[name]
	if k == nil {
		return nil, nil //nolint:nilnil // as above
	}
	rules := l.Rules
	rules.Blind = rules.Blind || r.Task.Memory > 0
	most, watched := k.Peaks.Most, k.Watched() != nil && k.Watched().Task.ID == r.Task.ID
	news := &News{Name: name}
	var err error
	if watched {
		news.First, err = k.Follow(at, name, r, &rules, gpu)
	}
	known := news.First
	if !known && err == nil && (!watched && l.counts(r) || watched && k.Watched() == nil && r.State == runner.Succeeded) {
		known = k.Saw(r, &rules) // it was beside others, and its kind is known
	}
	if !known {
		return nil, err
	}
	news.Kind, news.More = k.known(), k.Peaks.Most > most
	return news, nil
}
