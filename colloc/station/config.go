package station

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Config says what a Station runs on. Dir and Source are required, every other zero is a
// documented default.
type Config struct {
	// Dir is the folder of queue, logs and what was learned. It is made with mode 0700 if
	// it is not there. One station at a time uses it.
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
	// PerGPU is the largest number of tasks on one GPU; 0 means [DefaultPerGPU].
	PerGPU int
	// Headroom is the fraction of GPU memory that stays free, in [0, 1); missing means that
	// of package packer.
	Headroom profile.Opt[float64]
	// Mechanisms are the allowed ways to share, the preferred one first; nil means
	// time-slicing, a list that holds only Exclusive forbids sharing.
	Mechanisms []profile.Mechanism
	// MaxQueued is how many tasks one user may have in the queue; 0 means
	// [DefaultMaxQueued].
	MaxQueued int
	// MaxGPUs is how many GPUs one user may have at once, a shared one counted for each job
	// on it; 0 is any number.
	MaxGPUs int
	// Overrun is what becomes of a job that uses more of a GPU's memory than was reserved
	// for it, beside being told of; missing means [runner.OverrunStop].
	Overrun profile.Opt[runner.Overrun]
	// HalfLife is after how long GPU time that a user had counts half when it is decided
	// who is next; 0 means [DefaultHalfLife].
	HalfLife time.Duration
	// Weights are how much is due to users, by their numbers, compared with others, above 0;
	// one who is not there has 1.
	Weights map[uint32]float64
	// Gone are hosts that had the folder too and are gone for good.
	Gone []string
	// Sync makes every change wait for the disk, so that the queue survives the loss of
	// power and not only of the process.
	Sync bool
	// Watch is the time between two looks at GPUs and tasks; 0 means 1 s.
	Watch time.Duration
	// Profiling is how long the first run of a program that nobody knows is watched alone on
	// its GPU, from its first step on; 0 means [DefaultProfiling].
	Profiling time.Duration
	// Grace is how long a task has from SIGTERM to SIGKILL; 0 means 10 s.
	Grace time.Duration
	// Decide lets clients ask the station's Planner about tasks and GPUs of their own, as
	// package decide says, for schedulers in other languages. Root, or who runs the station
	// for himself, may teach it so.
	Decide bool
	// Version is what the daemon was built from, for people.
	Version string
	// Clock is the time to go by; nil is nvmlx.SystemClock.
	Clock nvmlx.Clock
}

// Defaults of [Config].
const (
	DefaultPerGPU    = 4
	DefaultMaxQueued = 100_000
	DefaultHalfLife  = 7 * 24 * time.Hour
	DefaultProfiling = 30 * time.Second
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
	if c.MaxGPUs < 0 {
		errs = append(errs, fmt.Errorf("MaxGPUs is %d, want 0 for any number or more", c.MaxGPUs))
	}
	if c.HalfLife < 0 {
		errs = append(errs, fmt.Errorf("HalfLife is %v, want 0 for the default or more", c.HalfLife))
	}
	for uid, w := range c.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			errs = append(errs, fmt.Errorf("weight of user %d is %v, want more than 0", uid, w))
		}
	}
	if c.MaxQueued < 0 {
		errs = append(errs, fmt.Errorf("MaxQueued is %d, want 0 for the default or more", c.MaxQueued))
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
		c.PerGPU = DefaultPerGPU
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = DefaultMaxQueued
	}
	if c.HalfLife == 0 {
		c.HalfLife = DefaultHalfLife
	}
	if c.Profiling <= 0 {
		c.Profiling = DefaultProfiling
	}
	if c.Watch == 0 {
		c.Watch = time.Second
	}
	c.Headroom = profile.Some(c.Headroom.Or(packer.DefaultHeadroom))
	if c.Clock == nil {
		c.Clock = nvmlx.SystemClock()
	}
	return os.MkdirAll(c.Dir, 0o700)
}
