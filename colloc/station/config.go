package station

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/station/internal/peer"
	"example.com/colloc/colloc/station/notify"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Config says what a Station runs on. Dir and Source are required, every other zero is a
// documented default.
type Config struct {
	// Dir is the folder of queue, logs and what was learned. It is made with mode 0700 if
	// it is not there. One station at a time uses it. With Everybody nobody but root may be able to put
	// anything there, or another folder in its place.
	Dir string
	// Source sees the GPUs. The station does not close it.
	Source nvmlx.Source
	// GPUs are the devices to use; nil means all.
	GPUs []nvmlx.DeviceID
	// Env is added to the environment of every task, KEY=value; the task's own wins. All
	// else in it comes from who submits.
	Env []string
	// Rewrite returns what to run for a command; nil leaves all as they are.
	Rewrite func(command []string) []string
	// Everybody lets all users of the machine submit; their tasks run as who submits them.
	// The daemon must be root. Without it only the daemon's user and root may, and all tasks
	// run as the daemon's user.
	Everybody bool
	// PerGPU is the largest number of tasks on one GPU; 0 means [colloc.DefaultMaxSet].
	PerGPU int
	// Headroom is the fraction of GPU memory that stays free, in [0, 1); missing means that
	// of package packer.
	Headroom profile.Opt[float64]
	// Mechanisms are the allowed ways to share, the preferred one first; nil means
	// time-slicing, a list that holds only Exclusive forbids sharing.
	Mechanisms []profile.Mechanism
	// MPSPipeDir names the folder where an MPS daemon listens for a GPU, see [runner.Config].
	MPSPipeDir func(nvmlx.DeviceID) string
	// MaxQueued is how many tasks one user may have in the queue; 0 means
	// [DefaultMaxQueued].
	MaxQueued int
	// MaxGPUs is how many GPUs one user may have at once, a shared one counted for each job
	// on it; 0 is any number.
	MaxGPUs int
	// Keep is how many jobs that are over stay in memory, see [runner.Config]; 0 means
	// [DefaultKeep].
	Keep int
	// Overrun is what becomes of a job that uses more of a GPU's memory than was reserved
	// for it. It is told of in any case. Missing means [runner.OverrunStop].
	Overrun profile.Opt[runner.Overrun]
	// HalfLife is after how long GPU time that a user had counts half when it is decided
	// who is next; 0 means [DefaultHalfLife].
	HalfLife time.Duration
	// Quota is how much GPU time one user may have in each Window, a shared GPU counted by
	// parts: no further job of the user's starts then before some of it is longer ago. What
	// runs goes on. 0 is any. Window is at least an hour; 0 means [DefaultWindow].
	Quota  time.Duration
	Window time.Duration
	// Weights are how much is due to users, by their numbers, compared with others, above 0;
	// one who is not there has 1.
	Weights map[uint32]float64
	// Users are those for whom other limits hold, by their numbers.
	Users map[uint32]Limits
	// Gone are hosts that had the folder too and are gone for good.
	Gone []string
	// Sync makes every change wait for the disk, so that the queue survives the loss of
	// power and not only of the process.
	Sync bool
	// Watch is the time between two looks at GPUs and tasks; 0 means 1 s.
	Watch time.Duration
	// Profiling is how long the first run of a program that nobody knows is watched, from
	// its first step on: alone on its GPU or, see Beside, with all that is free there. 0 means [DefaultProfiling].
	Profiling time.Duration
	// Beside is the share of the largest GPU's memory, but no more than the smallest offers, that is
	// reserved for a job of which nothing is known until it was seen, in (0, 1]: it may run beside
	// others. 0 means [DefaultBeside]; with 1 it gets a GPU to itself, and so it does unless
	// Overrun stops jobs.
	Beside float64
	// Objective is what counts where jobs must wait or share, see [runner.Config].
	Objective profile.Opt[float64]
	// ShareKinds lets what is seen of one user's program hold for all users' jobs of that
	// kind. Whoever submits says what a job's kind is, and teaches the others: for users who
	// trust each other. Without it each user's jobs teach that user's alone.
	ShareKinds bool
	// Grace is how long a task has from SIGTERM to SIGKILL; 0 means 10 s.
	Grace time.Duration
	// Notify is told how jobs end, that GPU memory ran out, and that GPUs are lost and
	// found; nil is nobody. It must return at once, as notify.Notifier's Tell does.
	Notify func(notify.Message)
	// Decide lets clients ask the station's Planner about tasks and GPUs of their own, as
	// package decide says, for schedulers in other languages. Root, or who runs the station
	// for himself, may teach it so.
	Decide bool
	// Version is what the daemon was built from, for people.
	Version string
	// Clock is the time to go by; nil is nvmlx.SystemClock.
	Clock nvmlx.Clock

	saveEvery time.Duration // tests do not wait for long
	patience  patience
}

// Limits are what holds for one user; a zero is what holds for all, see [Config].
type Limits struct {
	MaxQueued int
	MaxGPUs   int
	Quota     time.Duration
	// High says that the user may submit in class high, as root may: it comes before all
	// others' jobs.
	High bool
}

// Defaults of [Config].
const (
	DefaultWindow    = 7 * 24 * time.Hour
	DefaultKeep      = 1000
	DefaultMaxQueued = 100_000
	DefaultHalfLife  = 7 * 24 * time.Hour
	DefaultProfiling = 30 * time.Second
	DefaultBeside    = 0.5
)

// patience is how long clients may take: to send a head; to wait for their turn and send a
// body; to take the answer, or a piece of an output.
type patience struct{ header, body, read time.Duration }

const (
	headerPatience = 10 * time.Second
	bodyPatience   = time.Minute
	readPatience   = time.Minute
)

// check reports every fault of the Config.
func (c *Config) check() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("no Dir, want a folder"))
	}
	if c.Source == nil {
		errs = append(errs, errors.New("no Source, want a source of GPUs"))
	}
	if c.PerGPU < 0 {
		errs = append(errs, fmt.Errorf("PerGPU is %d, want 0 for the default or more", c.PerGPU))
	}
	if c.Keep < 0 {
		errs = append(errs, fmt.Errorf("field Keep is %d, want 0 for the default or more", c.Keep))
	}
	if c.MaxGPUs < 0 {
		errs = append(errs, fmt.Errorf("MaxGPUs is %d, want 0 for any number or more", c.MaxGPUs))
	}
	if c.HalfLife < 0 {
		errs = append(errs, fmt.Errorf("HalfLife is %v, want 0 for the default or more", c.HalfLife))
	}
	if c.Quota < 0 || c.Window < 0 || c.Window > 0 && c.Window < time.Hour {
		errs = append(errs, fmt.Errorf("field Quota is %v in a Window of %v, want 0 or more in an hour or more", c.Quota, c.Window))
	}
	for uid, l := range c.Users {
		if l.MaxQueued < 0 || l.MaxGPUs < 0 || l.Quota < 0 {
			errs = append(errs, fmt.Errorf("limits of user %d are %+v, want 0 or more", uid, l))
		}
	}
	for uid, w := range c.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			errs = append(errs, fmt.Errorf("weight of user %d is %v, want more than 0", uid, w))
		}
	}
	if c.MaxQueued < 0 {
		errs = append(errs, fmt.Errorf("MaxQueued is %d, want 0 for the default or more", c.MaxQueued))
	}
	if !(c.Beside >= 0 && c.Beside <= 1) {
		errs = append(errs, fmt.Errorf("field Beside is %v, want 0 for the default, up to 1", c.Beside))
	}
	if c.Everybody && os.Geteuid() != 0 {
		errs = append(errs, errors.New("for Everybody the daemon must be root: nobody else may run tasks as other users"))
	}
	return errors.Join(errs...)
}

// fill replaces what is missing by its default.
func (c *Config) fill() (err error) {
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	if c.PerGPU == 0 {
		c.PerGPU = colloc.DefaultMaxSet
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = DefaultMaxQueued
	}
	if c.HalfLife == 0 {
		c.HalfLife = DefaultHalfLife
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.Profiling <= 0 {
		c.Profiling = DefaultProfiling
	}
	if c.Beside == 0 {
		c.Beside = DefaultBeside
	}
	if c.Watch == 0 {
		c.Watch = time.Second
	}
	c.Headroom = profile.Some(c.Headroom.Or(packer.DefaultHeadroom))
	c.saveEvery = cmp.Or(c.saveEvery, saveEvery)
	c.patience.header = cmp.Or(c.patience.header, headerPatience)
	c.patience.body = cmp.Or(c.patience.body, bodyPatience)
	c.patience.read = cmp.Or(c.patience.read, readPatience)
	if c.Clock == nil {
		c.Clock = nvmlx.SystemClock()
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil || !c.Everybody {
		return err
	}
	return peer.Keeps(c.Dir)
}
