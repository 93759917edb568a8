package dispatch

import (
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
)

// Mind is what predicts: what jobs need, how fast they are together, what GPUs offer. A
// [colloc.Planner] is one, a simulator's truth another. The same questions must have the same
// answers, until Learned is told.
type Mind interface {
	// Scheduler makes the one that decides about GPUs.
	Scheduler(gpus []colloc.GPU, o *online.SchedulerOptions) (*online.Scheduler, error)
	// Packed and PackedGPU put a task and a GPU into its words; their errors say what is wrong
	// with them.
	Packed(task colloc.Task) (packer.Task, error)
	PackedGPU(gpu colloc.GPU) (packer.GPU, error)
	// Relearn lets it predict by what was observed since.
	Relearn(s *online.Scheduler, gpus []colloc.GPU) error
}

var _ Mind = (*colloc.Planner)(nil)

// Options are the choices of a Dispatcher; nil is the zero value.
type Options struct {
	// Scheduler says how jobs are placed. Its Machines is not looked at.
	Scheduler online.SchedulerOptions
	// Lease is how long a start may take to be answered; 0 is DefaultLease.
	Lease time.Duration
	// Shun is for how long a job waits that was refused; 0 is DefaultShun. Each further time at
	// one place it is twice as long, a day at most.
	Shun time.Duration
	// HalfLife is after how long GPU time that a user had counts half when it is decided who is next:
	// jobs of one class then go in the order of what their users had, compared with what is due to them,
	// see Limits.Weight. 0: users do not matter for the order.
	HalfLife time.Duration
	// Window is how long GPU time counts for Limits.Quota, an hour at least; 0 is DefaultWindow.
	Window time.Duration
	// AtOnce says that actions are carried out when they are asked for, and are not answered: as in
	// a simulator. Otherwise Started or Refused answers a start, and Ended a stop. Until then
	// nothing starts in the place of what is to stop.
	AtOnce bool
}

// Defaults and bounds of Options.
const (
	DefaultLease = time.Minute
	DefaultShun  = time.Minute
	// DefaultWindow is a week.
	DefaultWindow = 7 * 24 * time.Hour

	maxShun  = 24 * time.Hour
	maxLease = 30 * 24 * time.Hour
	maxSpan  = 10 * 366 * 24 * time.Hour
)

func (o *Options) fill() error {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Shun == 0 {
		o.Shun = DefaultShun
	}
	if o.Lease < 0 || o.Lease > maxLease {
		return fmt.Errorf("dispatch: Lease is %v; want 0 to %v", o.Lease, maxLease)
	}
	if o.Shun < 0 || o.Shun > maxShun {
		return fmt.Errorf("dispatch: Shun is %v; want 0 to %v", o.Shun, maxShun)
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Window < time.Hour || o.Window > maxSpan {
		return fmt.Errorf("dispatch: Window is %v; want %v to %v, or 0", o.Window, time.Hour, maxSpan)
	}
	if o.HalfLife < 0 || o.HalfLife > maxSpan {
		return fmt.Errorf("dispatch: HalfLife is %v; want 0 to %v", o.HalfLife, maxSpan)
	}
	o.Scheduler.Machines = nil
	return nil
}
