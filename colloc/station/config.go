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
	// Config is how jobs run, as package runner says. What has another default here: Keep is [DefaultKeep], Beside
	// is [DefaultBeside], and without Env nothing is added to the environment of jobs, all else in which comes from who submits. In Dir is what was learned, too; with
	// Everybody nobody but root may be able to put anything there, or another folder in its place. The station says itself what its Users, Window, Steady, Halt,
	// Overrun, Owners, Serve, Noun and OnEvent are.
	runner.Config

	// Rewrite returns what to run for a command; nil leaves all as they are.
	Rewrite func(command []string) []string
	// Everybody lets all users of the machine submit; their tasks run as who submits them.
	// The daemon must be root. Without it only the daemon's user and root may, and all tasks
	// run as the daemon's user.
	Everybody bool
	// MaxQueued is how many tasks one user may have in the queue; 0 means
	// [DefaultMaxQueued].
	MaxQueued int
	// MaxGPUs is how many GPUs one user may have at once, a shared one counted for each job
	// on it; 0 is any number.
	MaxGPUs int
	// LetOverrun lets a job go on that uses more of a GPU's memory than was reserved for it, which is told of in any case.
	// Without it it is stopped before others lack memory.
	LetOverrun bool
	// HalfLife is after how long GPU time that a user had counts half when it is decided
	// who is next; 0 means [DefaultHalfLife].
	HalfLife time.Duration
	// Quota is how much GPU time one user may have in each QuotaWindow, a shared GPU counted by
	// parts: no further job of the user's starts then before some of it is longer ago. What
	// runs goes on. 0 is any. QuotaWindow is at least an hour; 0 means [DefaultWindow].
	Quota       time.Duration
	QuotaWindow time.Duration
	// Weights are how much is due to users, by their numbers, compared with others, above 0;
	// one who is not there has 1.
	Weights map[uint32]float64
	// Limits are of those for whom others hold, by their numbers.
	Limits map[uint32]Limits
	// Profiling is how long the first run of a program that nobody knows is watched, from
	// its first step on: alone on its GPU or, where Beside is less than 1, beside others. 0 means [DefaultProfiling].
	Profiling time.Duration
	// ShareKinds lets what is seen of one user's program hold for all users' jobs of that
	// kind. Whoever submits says what a job's kind is, and teaches the others: for users who
	// trust each other. Without it each user's jobs teach that user's alone.
	ShareKinds bool
	// Notify is told how jobs end, that GPU memory ran out, and that GPUs are lost and
	// found; nil is nobody. It must return at once, as notify.Notifier's Tell does.
	Notify func(notify.Message)
	// Decide lets clients ask the station's Planner about tasks and GPUs of their own, as
	// package decide says, for schedulers in other languages. Root, or who runs the station
	// for himself, may teach it so.
	Decide bool
	// Version is what the daemon was built from, for people.
	Version   string
	saveEvery time.Duration // tests do not wait for long
	lent      string        // the file of subordinate numbers
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
	if c.MaxGPUs < 0 {
		errs = append(errs, fmt.Errorf("MaxGPUs is %d, want 0 for any number or more", c.MaxGPUs))
	}
	if c.HalfLife < 0 {
		errs = append(errs, fmt.Errorf("HalfLife is %v, want 0 for the default or more", c.HalfLife))
	}
	if c.Quota < 0 || c.QuotaWindow < 0 || c.QuotaWindow > 0 && c.QuotaWindow < time.Hour {
		errs = append(errs, fmt.Errorf("field Quota is %v in a QuotaWindow of %v, want 0 or more in an hour or more", c.Quota, c.QuotaWindow))
	}
	for uid, l := range c.Limits {
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
	if c.QuotaWindow == 0 {
		c.QuotaWindow = DefaultWindow
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
	c.saveEvery, c.lent = cmp.Or(c.saveEvery, saveEvery), cmp.Or(c.lent, "/etc/subuid")
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
