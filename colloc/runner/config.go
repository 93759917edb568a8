package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Defaults of [Config].
const (
	DefaultGrace  = 10 * time.Second
	DefaultWatch  = time.Second
	DefaultWindow = 10 * time.Second
	DefaultInARow = 5
	DefaultSteady = 2 * time.Minute
	// DefaultLogLimit is how much room the output of a run may take on the disk.
	DefaultLogLimit = profile.GiB
	// Soon is what [Halt].InARow takes for the start of a task.
	Soon = 10 * time.Second
)

const (
	mostEvents = 1024
	diskFloor  = 64 * profile.MiB
)

// Config says where a Runner keeps its state and how it treats tasks. Dir and
// Source are required, every other zero is a documented default.
type Config struct {
	// Dir is the folder of the queue file and of the tasks' output. It is made
	// with mode 0700 if it is not there. One runner at a time uses it.
	Dir string
	// Source sees the GPUs. The runner does not close it.
	Source nvmlx.Source
	// GPUs are the devices to use; nil means all. A GPU that is cut into MIG
	// instances counts as its instances.
	GPUs []nvmlx.DeviceID
	// Planner decides where tasks fit; nil is a new one with PerGPU and Headroom
	// and the defaults of [colloc.Config].
	Planner *colloc.Planner
	// PerGPU is the largest number of tasks on one GPU; 0 means
	// [colloc.DefaultMaxSet]. A Planner's own limit applies too.
	PerGPU int
	// Headroom is the fraction of GPU memory that stays free, in [0, 1); missing
	// means that of package packer. Use that of the Planner.
	Headroom profile.Opt[float64]
	// MemoryFloor is the least memory that must be free on a GPU, after headroom
	// and reservations, for a task to start there.
	MemoryFloor profile.Bytes
	// LogLimit is how much room the output of a run may take on the disk; 0 means
	// [DefaultLogLimit], negative is without limit. Of more the beginning and the end stay
	// and what is between is left out, while the task goes on: see [Record].LogDropped.
	// Less than 256 KiB counts as that. What is written between two looks, 20 ms apart
	// where much is written, comes on top.
	LogLimit profile.Bytes
	// Mechanisms are the allowed ways to share, the preferred one first:
	// time-slicing and MPS. nil means time-slicing; a list that holds only
	// Exclusive forbids sharing. The first task on a GPU decides for those that
	// join it: a running process cannot change.
	Mechanisms []profile.Mechanism
	// MPSPipeDir names the folder where an MPS daemon listens for a GPU; nil
	// means where CUDA looks for one in Env. The runner starts no daemon; it warns
	// if none listens, or one that Mechanisms do not ask for.
	MPSPipeDir func(nvmlx.DeviceID) string
	// Gone are hosts that had the folder too and are gone for good: what ran there
	// when the queue was left is lost and runs again here. Without it Open refuses,
	// as they may still run.
	Gone []string
	// Shared is a folder, mode 0700, for the book that several runners of one user on
	// one host keep, so that none takes what another one's task has reserved and not
	// allocated yet for free; see [SharedFolder]. Empty keeps none.
	Shared string
	// Env is the environment that tasks inherit, KEY=value; nil means this
	// process's, an empty list none.
	Env []string
	// Grace is how long a task has from SIGTERM to SIGKILL; 0 means 10 s.
	Grace time.Duration
	// Watch is the time between two looks at GPUs, outputs and adopted tasks; 0
	// means 1 s.
	Watch time.Duration
	// Window is how long a set of tasks must share a GPU for its speeds to be
	// measured; 0 means 10 s.
	Window time.Duration
	// Halt says when failures end the whole queue.
	Halt Halt
	// Overrun is what becomes of a task that uses more of a GPU's memory than was reserved
	// for it. It is told of in any case. The zero leaves the task alone.
	Overrun Overrun
	// Steady is how long a task's peak must have stood for its reservation to follow it: from
	// then on that and a margin for growth, 5 %, are reserved instead of what was
	// predicted, and others may join. What a task asked for stays, see [Task].Memory, and so
	// does what it got since it ran out of memory. 0 means [DefaultSteady], negative never.
	// It takes OverrunStop, which protects the others from a task that grows later, and a
	// driver that tells whose the memory is.
	Steady time.Duration
	// Beside is the share of the largest GPU's memory, but no more than the smallest offers, that is
	// reserved for a task of which nothing is known, see [Task].Memory, in (0, 1], until it was
	// seen, see Steady, which it takes: it may run beside others. 0 gives it a GPU of its own.
	Beside float64
	// Objective is what counts where tasks must wait or share: 0 the mean time until tasks are done, 1
	// the time until the last one is, and between are mixtures. Missing means
	// online.DefaultObjective.
	Objective profile.Opt[float64]
	// Owners says that tasks run as users who may not read Dir. They may pass through it, and
	// through the folders of runs, to their outputs, and list none of them.
	Owners bool
	// Keep is how many tasks that are over stay in memory; older ones move to a history in the
	// queue file, a few at each look, so that neither start nor listing nor submitting depends
	// on how many there ever were: see [Runner.History]. Record, Retry and After find them
	// there, Records and what is done to all tasks do not. 0 keeps all.
	Keep int
	// Users say how users share; nil goes by priority and submission alone.
	Users *Users
	// Serve makes Run wait for further tasks when all are over, and for GPUs that it has seen
	// and that are gone or lost when no other is left, or a task fits no other. A task that was
	// in the queue at Open waits for a GPU that it fits, seen or not. Run then returns after
	// Drain, or when its context is done.
	Serve bool
	// Sync makes every transaction wait for the disk, so that the queue survives
	// the loss of power and not only of the process. It costs milliseconds.
	Sync bool
	// OnEvent is told everything that happens, one event after the other, from
	// one goroutine. It may call the Runner, but not Run or Close. nil listens to
	// nothing. See [Event] for what is guaranteed.
	OnEvent func(Event)
	// Noun is what people call a task, in the texts of events; empty means "task". Its plural
	// takes an s.
	Noun string
	// Clock is the time to go by; nil is nvmlx.SystemClock.
	Clock nvmlx.Clock

	floor  profile.Bytes                          // the least free space of a disk for a task to start; tests have their own
	cores  int                                    // of the host; tests have their own
	queue  int                                    // how many events may wait before no further task is started; tests have their own
	space  supervise.Space                        // where processes are numbered; tests have their own
	vmstat string                                 // the kernel's counters; tests have their own
	free   func(dir string) (profile.Bytes, bool) // of a disk; tests have their own
	whose  func(t *Task) string                   // the user of a task; tests have their own
}

// TaskThreads is how many threads a task is told to use on a host with so many
// GPUs, if it does not say so itself: an equal share of the cores, at least one.
func (c *Config) TaskThreads(gpus int) int {
	cores, tasks := cmp.Or(c.cores, runtime.NumCPU()), gpus*cmp.Or(c.PerGPU, colloc.DefaultMaxSet)
	return max(1, cores/max(1, tasks))
}

// inherited is the environment that all tasks start from.
func (c *Config) inherited() []string {
	if c.Env != nil {
		return c.Env
	}
	return os.Environ()
}

// pipeDir is where the MPS daemon of a GPU listens.
func (c *Config) pipeDir(id nvmlx.DeviceID) string {
	if c.MPSPipeDir != nil {
		return cmp.Or(c.MPSPipeDir(id), mps.DefaultPipeDir)
	}
	return mps.PipeDir(c.inherited())
}

// Halt says when failures end the queue.
type Halt struct {
	// Failures is the number of failed tasks from which on no further task
	// starts; 0 means never. Retries that are still to come do not count.
	Failures int
	// InARow is how many tasks, one after the other and none that succeeds between
	// them, must fail within [Soon] of their start for no further one to start: what
	// is wrong is then none of them. They are queued again. 0 means
	// [DefaultInARow], negative never.
	InARow int
	// Kill ends the running tasks as well.
	Kill bool
}

// Overrun is what becomes of a task that uses more of a GPU's memory than was reserved.
type Overrun int

const (
	// OverrunReport lets it go on; an event tells.
	OverrunReport Overrun = iota
	// OverrunStop stops it before its neighbours run out of memory: once it shares its GPU
	// and reservations and use together leave less than half of the headroom, at two looks
	// in a row. Of several the one that is furthest above its reservation is stopped, one at
	// each look, and never one that is not above it. It runs again with a larger reservation,
	// as one does that ran out of memory. It takes a driver that tells whose the memory is.
	OverrunStop
)

// check reports every fault of the Config.
func (c *Config) check() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(c.Dir != "", "Dir", "empty", "a folder")
	check(c.Source != nil, "Source", "nil", "a source of GPUs")
	check(c.PerGPU >= 0, "PerGPU", c.PerGPU, "0 for the default or more")
	headroom := c.Headroom.Or(0)
	check(headroom >= 0 && headroom < 1, "Headroom", headroom, "0 up to, not including, 1")
	check(c.MemoryFloor >= 0, "MemoryFloor", int64(c.MemoryFloor), "0 bytes or more")
	check(c.Grace >= 0, "Grace", c.Grace, "0 for the default or more")
	check(c.Watch >= 0, "Watch", c.Watch, "0 for the default or more")
	check(c.Window >= 0, "Window", c.Window, "0 for the default or more")
	check(c.Overrun == OverrunReport || c.Overrun == OverrunStop, "Overrun", int(c.Overrun), "OverrunReport or OverrunStop")
	check(c.Beside >= 0 && c.Beside <= 1, "Beside", c.Beside, "0 for never, up to 1")
	check(c.Objective.Or(0) >= 0 && c.Objective.Or(0) <= 1, "Objective", c.Objective.Or(0), "0 to 1")
	check(c.Keep >= 0, "Keep", c.Keep, "0 for all or more")
	check(c.Halt.Failures >= 0, "Halt.Failures", c.Halt.Failures, "0 for never or more")
	for _, m := range c.Mechanisms {
		check(m == profile.Exclusive || m == profile.TimeSlice || m == profile.MPS, "Mechanisms", m, "exclusive, time-slicing or mps")
	}
	return errors.Join(errs...)
}

// fleet is what the fleet goes by.
func (c *Config) fleet() fleet.Config {
	return fleet.Config{
		PerGPU: c.PerGPU, Headroom: c.Headroom.Or(packer.DefaultHeadroom), MemoryFloor: c.MemoryFloor,
		Mechanisms: c.Mechanisms, Window: c.Window, Steady: c.steady(), Beside: c.beside(),
	}
}

// beside is Beside where what was seen of a task makes room again; 0 is never.
func (c *Config) beside() float64 {
	if c.steady() == 0 {
		return 0
	}
	return c.Beside
}

// steady is Steady where a task that grows later is stopped; 0 is never.
func (c *Config) steady() time.Duration {
	if c.Overrun != OverrunStop {
		return 0
	}
	return max(0, c.Steady)
}

// fill replaces what is missing by its default.
func (c *Config) fill() (err error) {
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	c.Headroom = profile.Some(c.Headroom.Or(packer.DefaultHeadroom))
	c.PerGPU = cmp.Or(c.PerGPU, colloc.DefaultMaxSet)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.Watch = cmp.Or(c.Watch, DefaultWatch)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Noun = cmp.Or(c.Noun, "task")
	c.Steady = cmp.Or(c.Steady, DefaultSteady)
	c.queue = cmp.Or(c.queue, mostEvents)
	c.floor = cmp.Or(c.floor, diskFloor)
	c.LogLimit = cmp.Or(c.LogLimit, DefaultLogLimit)
	c.Halt.InARow = cmp.Or(c.Halt.InARow, DefaultInARow)
	if len(c.Mechanisms) == 0 {
		c.Mechanisms = []profile.Mechanism{profile.TimeSlice}
	}
	if c.Clock == nil {
		c.Clock = nvmlx.SystemClock()
	}
	c.vmstat = cmp.Or(c.vmstat, "/proc/vmstat")
	if c.free == nil {
		c.free = supervise.FreeSpace
	}
	c.space = cmp.Or(c.space, supervise.ThisSpace())
	return nil
}

// SharedFolder is where the runners of this user keep their book unless they are told
// otherwise: in XDG_RUNTIME_DIR, or a folder of the user's own for temporary files.
func SharedFolder() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "colloc")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("colloc-%d", os.Getuid()))
}
