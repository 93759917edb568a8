package station

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/replace"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The files of what was learned.
const (
	modelsFile = "models.json"
	kindsFile  = "kinds.json"
)

// loadPlanner returns a Planner that goes on with what was learned; fault says why it
// begins anew.
func (c *Config) loadPlanner() (p *colloc.Planner, fault, err error) {
	config := colloc.Config{Headroom: c.Headroom, MaxSet: c.PerGPU}
	file, err := os.Open(filepath.Join(c.Dir, modelsFile))
	if err == nil {
		defer func() { _ = file.Close() }() // it was only read
		if p, err = colloc.Load(file, config); err == nil {
			return p, nil, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		fault = fmt.Errorf("what was learned of speeds and memory cannot be read, and begins anew: %w", err)
	}
	p, err = colloc.New(config)
	return p, fault, err
}

// saveLearned writes what was learned.
func (s *Station) saveLearned() error {
	err := replace.File(filepath.Join(s.config.Dir, modelsFile), func(f *os.File) error { return errors.Join(s.planner.Save(f), f.Sync()) })
	if err = errors.Join(err, s.kindsKeeper.Write(s.kinds.Known())); err != nil {
		return fmt.Errorf("station: %w", err)
	}
	return nil
}

// refitAfter is how many lessons make the models be fitted anew: that takes seconds of a CPU.
const refitAfter = 100

// keepLearned fits models anew, and writes what was learned, now and then until ctx is done.
func (s *Station) keepLearned(ctx context.Context) {
	waiter := s.config.Clock.NewWaiter()
	defer waiter.Stop()
	var saved, fitted int64
	for waiter.Wait(ctx, s.config.Clock.Now().Add(s.config.saveEvery)) == nil {
		lessons := s.lessons.Load()
		if lessons == saved {
			continue
		}
		var err error
		if lessons-fitted >= refitAfter {
			err, fitted = s.planner.Refit(ctx), lessons
		}
		if ctx.Err() != nil {
			return
		}
		if err = errors.Join(err, s.saveLearned()); err != nil {
			s.warn(s.config.Clock.Now(), "what was learned is not kept: "+err.Error())
			continue
		}
		saved = lessons
	}
}

// follow learns from what happens to a job.
func (s *Station) follow(e *runner.Event) {
	r := &e.Record
	s.learning.Lock()
	defer s.learning.Unlock()
	switch e.Kind {
	case runner.EventStarted:
		s.kinds.Join(r)
		if beside := s.beside(r); s.kinds.Begin(e.At, r, beside) && !beside {
			s.sample(r.GPU)
		}
	case runner.EventProgress, runner.EventFinished, runner.EventRetry, runner.EventRecovering, runner.EventOverrun:
		model := s.model(r.GPU) // which tells the largest, too
		known, err := s.kinds.Progress(e.At, r, model, s.largest)
		if known || e.Kind == runner.EventFinished && r.Task.Profile != nil {
			s.lessons.Add(1)
		}
		if err == nil && known {
			err = s.spread(r)
		}
		if err != nil && !errors.Is(err, runner.ErrClosed) {
			s.warnOf(e, fmt.Sprintf("what was seen of job %s is not learned: %v", r.Task.ID, err))
		}
	default:
	}
}

// watch looks at the runs that are watched: enough may have been seen of one of which nothing is told.
func (s *Station) watch(now time.Time) {
	for _, id := range s.kinds.Watched() {
		if r, ok := s.runner.Record(id); ok && r.State == runner.Running {
			s.follow(&runner.Event{Kind: runner.EventProgress, At: now, Record: r})
		}
	}
}

// model is the product of a device. Only who learns asks.
func (s *Station) model(id nvmlx.DeviceID) profile.GPUModel {
	if _, known := s.models[id]; !known {
		for _, g := range s.runner.GPUs() {
			model, _ := g.Device.GPU()
			s.models[g.Device.ID] = model
			s.largest = max(s.largest, colloc.Usable(g.Device.Memory.Or(model.Memory), s.config.Headroom.Or(0)))
		}
	}
	return s.models[id]
}

// beside reports whether others run on the GPU of a job.
func (s *Station) beside(r *runner.Record) bool {
	for _, g := range s.runner.GPUs() {
		if g.Device.ID == r.GPU {
			return len(g.Tasks) > 1
		}
	}
	return false
}

// spread lets the jobs of the kind of one go by what is known of it.
func (s *Station) spread(of *runner.Record) error {
	by := make(map[profile.Bytes][]string)
	for _, r := range s.runner.Records() {
		if !r.State.Over() && s.kinds.Same(&r, of) {
			by[r.Task.Memory] = append(by[r.Task.Memory], r.Task.ID)
		}
	}
	p := s.kinds.Of(uidOf(of), of.Task.Kind)
	var err error
	for memory, ids := range by {
		err = errors.Join(err, s.runner.Describe(p, memory, ids...))
	}
	return err
}

// sample looks closely at a GPU for as long as a run there may be watched.
func (s *Station) sample(id nvmlx.DeviceID) {
	ctx, stop := context.WithCancel(s.sampling)
	s.samplers.Go(func() {
		defer stop()
		waiter := s.config.Clock.NewWaiter()
		defer waiter.Stop()
		_ = waiter.Wait(ctx, s.config.Clock.Now().Add(3*s.config.Profiling)) // or the station ends
	})
	s.samplers.Go(func() {
		c := &nvmlx.SamplerConfig{Every: s.config.Profiling / 20, Devices: []nvmlx.DeviceID{id}}
		_ = nvmlx.NewSampler(s.config.Source, c).Run(ctx, func(sample nvmlx.Sample) { s.kinds.Sample(&sample) }) // what cannot be read is not known
	})
}
