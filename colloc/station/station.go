package station

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/colloc/station/internal/keep"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Station is the queue of one machine. It is safe for concurrent use.
type Station struct {
	config  Config
	since   time.Time
	runner  *runner.Runner
	planner *colloc.Planner
	turns   *turns
	keeper  *keep.File[kept]
	names   peer.Names

	requests *peer.Turns

	decider     http.Handler // nil where nobody may ask
	learner     *solo.Learner
	kindsKeeper *keep.File[map[string]solo.Kind]
	lessons     atomic.Int64 // what was learned since New: measurements, kinds

	submitting   sync.Mutex          // guards what follows
	last         int                 // the number of the last job
	environments map[uint32][]string // of each user's last task

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	warnings []warning
}

// warning is what people should know: all of them, or root and whose job it concerns.
type warning struct {
	api.Warning

	uid profile.Opt[uint32]
}

// kept is what survives the daemon beside the queue.
type kept struct {
	Turns keptTurns `json:"turns"`
}

// Run starts jobs as GPUs have room until ctx is done, and returns ctx.Err() then; what
// runs goes on.
func (s *Station) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	counted := make(chan struct{})
	go func() { defer close(counted); s.count(ctx) }()
	learned := make(chan struct{})
	go func() { defer close(learned); s.keepLearned(ctx) }()
	err := s.runner.Run(ctx)
	stop()
	<-counted
	<-learned
	return err
}

// saveEvery is how often what users had and what was learned is written.
const saveEvery = time.Minute

// count counts who has GPUs until ctx is done.
func (s *Station) count(ctx context.Context) {
	waiter := s.config.Clock.NewWaiter()
	defer waiter.Stop()
	saved := s.config.Clock.Now()
	for {
		now := s.config.Clock.Now()
		s.turns.Charge(now, s.tenants())
		s.learner.Look(now, s.follow)
		if now.Sub(saved) >= s.config.saveEvery {
			saved = now
			if err := s.save(); err != nil {
				s.warn(now, err.Error())
			}
		}
		if waiter.Wait(ctx, now.Add(s.config.Watch)) != nil {
			return
		}
	}
}

// tenants are the jobs on each GPU.
func (s *Station) tenants() map[nvmlx.DeviceID][]tenant {
	on := make(map[nvmlx.DeviceID][]tenant)
	gpus := s.runner.GPUs()
	for i := range gpus {
		for _, id := range gpus[i].Tasks {
			r, ok := s.runner.Record(id)
			if !ok {
				continue
			}
			speed := r.Speed.Or(1)
			if r.Speed.IsZero() && r.Predicted.Confidence > 0 {
				speed = r.Predicted.Value
			}
			on[gpus[i].Device.ID] = append(on[gpus[i].Device.ID], tenant{uid: uidOf(&r), speed: speed, since: r.Started})
		}
	}
	return on
}

// change returns a channel that is closed with the next event.
func (s *Station) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// maxWarnings is how many are kept; maxOfUser, of them about one user's jobs: the others are told all the same.
const maxWarnings, maxOfUser = 50, 10

// warn keeps what all should know, the latest.
func (s *Station) warn(at time.Time, text string) {
	s.keepWarning(warning{Warning: api.Warning{At: at, Text: text}})
}

// warnOf keeps what an event tells: what is said of a job is for its user and root.
func (s *Station) warnOf(e *runner.Event, text string) {
	w := warning{Warning: api.Warning{At: e.At, Text: text}}
	if e.Record.Task.ID != "" {
		w.uid = profile.Some(uidOf(&e.Record))
	}
	s.keepWarning(w)
}

func (s *Station) keepWarning(w warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = slices.DeleteFunc(s.warnings, func(old warning) bool { return old.Text == w.Text && old.uid == w.uid })
	of := 1
	for i, old := range slices.Backward(s.warnings) {
		if w.uid.IsZero() || old.uid != w.uid {
			continue
		}
		if of++; of > maxOfUser {
			s.warnings = slices.Delete(s.warnings, i, i+1)
		}
	}
	if n := len(s.warnings); n >= maxWarnings {
		s.warnings = append(s.warnings[:0], s.warnings[n-maxWarnings+1:]...)
	}
	s.warnings = append(s.warnings, w)
}

// warningsFor are those that a user may see; none is nil.
func (s *Station) warningsFor(u peer.User) (all []api.Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.warnings {
		if s.governs(u) || w.uid.Or(u.UID) == u.UID {
			all = append(all, w.Warning)
		}
	}
	return all
}

// save writes what must survive the daemon beside the queue.
func (s *Station) save() error {
	if err := s.keeper.Write(kept{Turns: s.turns.Keep()}); err != nil {
		return fmt.Errorf("station: %w", err)
	}
	return nil
}
