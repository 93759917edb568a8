package ledger

import (
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Config says what a Ledger keeps books about and what it enforces. GPUs
// and Now are required, every other zero is a documented default.
type Config struct {
	// GPUs are the cards; [Ledger.AddGPU] adds more. Their Residents run already: they enter the books as
	// committed, each with its Reserved. What runs stays, even if it is more
	// than the limits below allow; nothing is added until it fits again.
	GPUs []colloc.GPU
	// Headroom is the fraction of GPU memory that stays free, in [0, 1);
	// missing means [packer.DefaultHeadroom]. Use that of [colloc.Config].
	Headroom profile.Opt[float64]
	// Together is what tasks that share a GPU need beyond their reservations, for each
	// beyond the first, in bytes: [packer.Limits] says how. 0 is nothing. Use that of
	// [colloc.Planner.Together].
	Together profile.Bytes
	// MaxSet is the largest number of tasks on one GPU; 0 means
	// [colloc.DefaultMaxSet]. Use that of [colloc.Config].
	MaxSet int
	// LeaseTime is how long a reservation holds that is not committed, at most
	// [MaxLeaseTime]; 0 means one minute.
	LeaseTime time.Duration
	// StartTime is how long after its commit a task may take to show up on its GPU
	// before [Ledger.Reconcile] reports it as absent. It is at most [MaxLeaseTime];
	// 0 means five minutes, time to pull an image.
	StartTime time.Duration
	// Overhead is the memory in use on a card that no process accounts for and
	// that is no fault: what the driver keeps for itself. The headroom bears
	// it. Missing means 512 MiB.
	Overhead profile.Opt[profile.Bytes]
	// ForeignResidents makes a [Snapshot] list what foreign processes use of a card,
	// those that [Ledger.Reconcile] found in nobody's name, as one resident that is
	// [colloc.Task.Foreign]: a [colloc.Planner] then lets nothing join it, or, with its
	// ShareForeign, predicts what company costs both. Without it their memory counts and
	// nothing else: right where they are small, such as the windows of a desktop.
	ForeignResidents bool
	// Now is the clock, usually [time.Now]. It is called while the books are
	// locked and must not call the Ledger.
	Now func() time.Time
}

// Defaults and bounds of Config.
const (
	DefaultLeaseTime = time.Minute
	DefaultStartTime = 5 * time.Minute
	DefaultOverhead  = 512 * profile.MiB

	// MaxLeaseTime is the longest time that can be configured.
	MaxLeaseTime = 30 * 24 * time.Hour

	maxMemory profile.Bytes = 1 << 56 // as packer
)

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	headroom, overhead := c.Headroom.Or(0), c.Overhead.Or(0)
	span := fmt.Sprintf("0 for the default or up to %v", MaxLeaseTime)
	check(c.Now != nil, "Now", nil, "a clock such as time.Now")
	check(headroom >= 0 && headroom < 1, "Headroom", headroom, "0 up to, not including, 1")
	check(c.Together >= 0 && c.Together <= maxMemory, "Together", c.Together, fmt.Sprintf("0 to %v", maxMemory))
	check(c.MaxSet >= 0 && c.MaxSet <= colloc.LargestSet, "MaxSet", c.MaxSet, fmt.Sprintf("0 for the default or 1 to %d", colloc.LargestSet))
	check(c.LeaseTime >= 0 && c.LeaseTime <= MaxLeaseTime, "LeaseTime", c.LeaseTime, span)
	check(c.StartTime >= 0 && c.StartTime <= MaxLeaseTime, "StartTime", c.StartTime, span)
	check(overhead >= 0 && overhead <= maxMemory, "Overhead", overhead, fmt.Sprintf("0 to %v", maxMemory))
	return errors.Join(errs...)
}

// fill replaces what is missing by its default.
func (c *Config) fill() {
	c.Headroom = profile.Some(c.Headroom.Or(packer.DefaultHeadroom))
	c.Overhead = profile.Some(c.Overhead.Or(DefaultOverhead))
	if c.MaxSet == 0 {
		c.MaxSet = colloc.DefaultMaxSet
	}
	if c.LeaseTime == 0 {
		c.LeaseTime = DefaultLeaseTime
	}
	if c.StartTime == 0 {
		c.StartTime = DefaultStartTime
	}
}
