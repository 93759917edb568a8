package station

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/internal/regular"
	"example.com/colloc/internal/replace"
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
	file, err := regular.Found(filepath.Join(c.Dir, modelsFile))
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
	if err = errors.Join(err, s.kindsKeeper.Write(s.learner.Known())); err != nil {
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

// maxKinds is how many kinds are kept, of each user alone or of all together.
const maxKinds = 2_000

// usual is by what share runs of a program are believed to differ before they are seen: their arguments and data do.
const usual = 0.1

// learns is how the station learns what programs need.
func (c *Config) learns() solo.Learning {
	return solo.Learning{
		Rules:  solo.Rules{Enough: c.Profiling, Usual: usual},
		Source: c.Source, Headroom: c.Headroom.Or(0), Most: maxKinds, Together: c.ShareKinds,
		Name: func(r *runner.Record) string {
			if r.Task.Owner == nil {
				return c.kind(0, r.Task.Kind)
			}
			return c.kind(r.Task.Owner.UID, r.Task.Kind)
		},
	}
}

// kind is what a kind is called here: each user's own, for whoever runs a program says what
// it is, and how much it uses follows from arguments and data too.
func (c *Config) kind(uid uint32, name string) string {
	if name == "" || c.ShareKinds {
		return name
	}
	return fmt.Sprintf("%d:%s", uid, name)
}

// follow learns from what happens to a job.
func (s *Station) follow(e *runner.Event) {
	news, err := s.learner.Follow(e)
	if news != nil || e.Kind == runner.EventFinished && e.Record.Task.Profile != nil {
		s.lessons.Add(1)
	}
	if err != nil && !errors.Is(err, runner.ErrClosed) {
		s.warnOf(e, fmt.Sprintf("what was seen of job %s is not learned: %v", e.Record.Task.ID, err))
	}
}
