package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/mailbox"
	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Open opens the queue in [Config].Dir, or begins one, and takes over the tasks
// of a runner that died: those that run are adopted, those that ended meanwhile
// are recorded, runs that had not begun are queued again. No task starts before
// [Runner.Run].
//
// It returns every fault of the Config in one error; [ErrInUse] and [ErrCorrupt] are told apart with errors.Is.
func Open(ctx context.Context, c Config) (*Runner, error) {
	if err := supervise.Supported(); err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("runner: config: %w", err)
	}
	if err := c.fill(); err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if c.Planner == nil {
		var err error
		if c.Planner, err = colloc.New(colloc.Config{Headroom: c.Headroom, MaxSet: c.PerGPU}); err != nil {
			return nil, fmt.Errorf("runner: %w", err)
		}
	}
	return openWith(ctx, c, c.Planner)
}

// openWith opens a queue with a configuration that is checked and complete.
func openWith(ctx context.Context, c Config, p fleet.Planner) (*Runner, error) {
	r := &Runner{
		config: c, warned: make(map[string]bool), disks: newDisks(c.free),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), children: make(map[*supervise.Supervisor]bool),
	}
	if err := r.open(ctx, p); err != nil {
		return nil, err
	}
	r.look(ctx) // what other programs hold counts from the first placement on
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopWatch = stop
	r.work.Go(func() { r.watch(watching) })
	return r, nil
}

// open opens what has to be closed, and closes it when something fails.
func (r *Runner) open(ctx context.Context, p fleet.Planner) (err error) {
	cards, leftOut, err := fleet.Find(ctx, r.config.Source, r.config.GPUs)
	if err != nil {
		return err
	}
	if r.fleet, err = fleet.New(r.config.fleet(), p, cards); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if err := os.MkdirAll(r.config.Dir, 0o700); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if err := linksWork(r.config.Dir); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if err := r.lockDir(ctx); err != nil {
		return fmt.Errorf("runner: %s: %w", r.config.Dir, err)
	}
	supervise.SweepGroups()
	var entries []*backlog.Entry
	if r.store, entries, err = backlog.Open(r.config.Dir, r.config.Sync); err != nil {
		return errors.Join(err, r.lock.Close())
	}
	if err := os.MkdirAll(filepath.Join(r.config.Dir, r.store.Runs), 0o700); err != nil { // somebody may have tidied up
		return errors.Join(fmt.Errorf("runner: %w", err), r.store.Close(), r.lock.Close())
	}
	if r.config.Owners {
		if err := r.openDoors(); err != nil {
			return errors.Join(fmt.Errorf("runner: %w", err), r.store.Close(), r.lock.Close())
		}
	}
	if len(entries) == 0 && !r.config.Serve { // numbers begin anew there: a task that looks like an old one is another
		if r.left, err = r.leftRuns(); err != nil {
			return errors.Join(fmt.Errorf("runner: %w", err), r.store.Close(), r.lock.Close())
		}
	}
	if r.config.Shared != "" {
		if r.shared, err = shared.Open(r.config.Shared); err != nil {
			return errors.Join(fmt.Errorf("runner: Config.Shared: %w", err), r.store.Close(), r.lock.Close())
		}
	}
	r.events = mailbox.New(r.config.OnEvent, r.poke)
	for _, text := range leftOut {
		r.warn(text, nil, text)
	}
	if err := r.takeOver(entries); err != nil {
		r.events.Close()
		return errors.Join(err, r.store.Close(), r.lock.Close())
	}
	return nil
}

// openDoors lets owners pass through to their outputs.
func (r *Runner) openDoors() error {
	const pass = 0o711
	return errors.Join(os.Chmod(r.config.Dir, pass), os.Chmod(filepath.Join(r.config.Dir, r.store.Runs), pass))
}

// linksWork makes a symbolic link, as every run does.
func linksWork(dir string) error {
	probe := filepath.Join(dir, "probe-"+strconv.Itoa(os.Getpid()))
	if err := os.Symlink("probe", probe); err != nil {
		return fmt.Errorf("runs need symbolic links, which the file system of %s does not make: choose a folder on another one: %w", dir, err)
	}
	return os.Remove(probe)
}

// lockDir keeps other runners out. A runner that was killed while it started a
// process can hold the lock a moment longer, through the copy of the descriptor
// in the process that is not yet the other program.
func (r *Runner) lockDir(ctx context.Context) (err error) {
	const longest, pause = time.Second, 10 * time.Millisecond
	waiter := r.config.Clock.NewWaiter()
	defer waiter.Stop()
	for began := r.now(); ; {
		r.lock, err = supervise.Lock(r.config.Dir)
		if now := r.now(); !errors.Is(err, ErrInUse) || now.Sub(began) >= longest || waiter.Wait(ctx, now.Add(pause)) != nil {
			return err
		}
	}
}

// takeOver makes the queue from the records.
func (r *Runner) takeOver(entries []*backlog.Entry) error {
	r.queue = backlog.New(entries)
	r.queue.Last = max(r.queue.Last, r.store.Past.Last)
	r.checkSharing()
	if err := r.adopt(entries); err != nil {
		return err
	}
	o := dispatch.Options{Scheduler: online.SchedulerOptions{Objective: r.config.Objective}}
	var limits map[string]dispatch.Limits
	if u := r.config.Users; u != nil {
		o.HalfLife, o.Window, limits = u.HalfLife, u.Window, u.Limits
	}
	var err error
	if r.body, err = body.New(r.fleet, r.fleet.Planner(), &o, r.now(), r.config.userOf, limits); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return nil
}

// checkSharing warns of GPUs that will be shared in another way than was asked
// for: by MPS without a daemon, by time-slicing where CUDA finds one, or not at
// all.
func (r *Runner) checkSharing() {
	asked := slices.Contains(r.config.Mechanisms, profile.MPS)
	for _, c := range r.fleet.Cards {
		if fleet.Exclusive(&c.Info) && !asked && r.config.Mechanisms[0] != profile.Exclusive {
			r.warn("mode "+string(c.Info.ID), nil, fmt.Sprintf("GPU %s takes one process at a time: its %ss share it by MPS only, or after nvidia-smi -c DEFAULT, which is root's", c.Info.ID, r.config.Noun))
		}
		dir := r.config.pipeDir(c.Info.ID)
		switch {
		case asked && !mps.Running(dir):
			r.warn("mps "+string(c.Info.ID), nil, fmt.Sprintf("no MPS daemon listens in %s for GPU %s: its %ss will share by time-slicing", dir, c.Info.ID, r.config.Noun))
		case !asked && mps.Running(dir):
			r.warn("mps "+dir, nil, fmt.Sprintf("an MPS daemon listens in %s: %ss will go through it; allow MPS, so that this counts, or stop the daemon", dir, r.config.Noun))
		}
	}
}

// Supervise turns this process into the supervisor of one task if a Runner
// started it for that, and then does not return. Otherwise it does nothing. Call
// it first in main, before flags are read, and in TestMain. The packages that the
// program imports are initialised before, for each run anew: two milliseconds of
// a CPU for a lean program, more for one that links much.
func Supervise() { supervise.Main() }
