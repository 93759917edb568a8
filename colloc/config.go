package colloc

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/predict/utilization"
	"example.com/colloc/profile"
)

// Config says how a Planner predicts and what it must respect. The zero Config
// works: pretrained models, 1 % out-of-memory risk per task, 10 % headroom,
// four tasks on a GPU at most, nobody below half its solo speed.
//
// What a Planner learns is its own, also where the models are given: it teaches
// copies. Shared changes that.
type Config struct {
	// Memory predicts peak memory; nil is [pretrained.Memory].
	Memory *memory.Predictor
	// Interference predicts speeds; nil is [pretrained.Interference].
	Interference *interference.Predictor
	// Shared says that the Planner teaches Memory, Interference and Pace themselves:
	// all who hold them learn what it observes, other Planners with the same models too.
	Shared bool
	// Utilization predicts how busy a task that nobody observed keeps a GPU;
	// nil is [pretrained.Utilization].
	Utilization *utilization.Predictor
	// Pace predicts how fast a kind of GPU is for a task that has it alone, compared
	// with others; nil is [pretrained.Pace].
	Pace *pace.Predictor
	// MIGSpeed predicts how fast a MIG slice is compared with its card; nil is
	// [pretrained.MIGSpeed].
	MIGSpeed *pace.MIGSpeed
	// Reference is the card whose pace is 1, see [Planner.Score]. The zero value is that
	// of Pace, the fastest card of the catalogue. In a plan it is the kind of GPU on
	// which its tasks are fastest.
	Reference profile.GPUModel
	// Host is what was measured of the machine: the cost of a CUDA context.
	Host predict.Host
	// Risk is the probability, per task, that its peak memory exceeds what is
	// reserved for it, in (0, 0.5]; 0 means 0.01.
	Risk float64
	// Headroom is the fraction of GPU memory that stays free, in [0, 1);
	// missing means [packer.DefaultHeadroom].
	Headroom profile.Opt[float64]
	// MaxSet is the largest number of tasks on one GPU; 0 means [DefaultMaxSet], the
	// largest that was seen often on a real GPU.
	MaxSet int
	// MaxSlowdown is the limit for tasks that set none, at least 1, +Inf for no
	// limit; 0 means 2:
	// two tasks that both run slower than half speed would finish sooner one
	// after the other. In a set of three
	// and more the lower end of a task's interval keeps it: as many share as surely do.
	MaxSlowdown float64
	// MinGain is the set throughput by which sharing must beat running one
	// task alone, at least 0; 0 accepts any gain.
	MinGain float64
	// ShareForeign lets tasks join a GPU on which a foreign process runs, see [Foreign]:
	// its speed and what it costs are then predicted from what it was seen to use. By
	// default nothing joins it.
	ShareForeign bool
	// LeaveOutFaulty lets Plan go on without the tasks and GPUs that are at fault: the
	// others are planned as though these had not been given, and [Plan].LeftOut says why.
	// A resident at fault takes its GPU with it, and so does a task with a Home, for what
	// is free there is not known; a GPU takes the tasks that run there, for they must not
	// start twice. Of tasks with one ID the first stays, of GPUs none. The other calls,
	// which ask about few, return the fault as an error all the same.
	LeaveOutFaulty bool
	// Method packs; nil is [solve.Auto].
	Method packer.Method
}

// Defaults of Config.
const (
	DefaultRisk        = 0.01
	DefaultMaxSet      = packer.DefaultMaxSet
	DefaultMaxSlowdown = 2
	// LargestSet is the most that MaxSet can be.
	LargestSet = 64
)

// Planner answers Fit, Score and Plan, and learns through Observe. It is safe
// for concurrent use. Make one with [New]: the zero Planner answers with an error.
type Planner struct {
	config   Config
	limits   packer.Limits
	scratch  sync.Pool  // of *scratch
	choices  sync.Pool  // of *choice
	learning sync.Mutex // held by who teaches the models or saves them
}

// New returns a Planner. It reports every fault of the Config in one error.
func New(c Config) (*Planner, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("colloc: config: %w", err)
	}
	c.own()
	if err := c.fill(); err != nil {
		return nil, fmt.Errorf("colloc: pretrained models: %w", err)
	}
	together, err := c.Memory.Together().Margin(2, c.Risk)
	if err != nil {
		return nil, fmt.Errorf("colloc: config: %w", err)
	}
	return &Planner{
		config: c,
		limits: packer.Limits{Headroom: c.Headroom, Together: together, MaxSet: c.MaxSet, MinGain: c.MinGain},
	}, nil
}

// Together is what tasks that share a GPU need beyond the sum of their reservations,
// for each beyond the first, in bytes: see [memory.Together] and
// [packer.Limits].
func (p *Planner) Together() profile.Bytes {
	if p == nil {
		return 0
	}
	return p.limits.Together
}

// Config returns what the Planner was made with, each default filled in. The
// models are those that [Planner.Observe] teaches.
func (p *Planner) Config() Config {
	if p == nil {
		return Config{}
	}
	return p.config
}

var errZero = errors.New("colloc: the Planner is zero; make one with New")

// ready reports whether the Planner was made with New.
func (p *Planner) ready() error {
	if p == nil || p.config.Method == nil {
		return errZero
	}
	return nil
}

func (c *Config) validate() error {
	var errs []error
	check := func(name string, x, lo, hi float64, why string) {
		if math.IsNaN(x) || x < lo || x > hi {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", name, x, why))
		}
	}
	check("Risk", c.Risk, 0, 0.5, "0 for the default or more than 0 up to 0.5")
	headroom := c.Headroom.Or(packer.DefaultHeadroom)
	check("Headroom", headroom, 0, math.Nextafter(1, 0), "0 up to, not including, 1")
	check("MaxSet", float64(c.MaxSet), 0, LargestSet, fmt.Sprintf("0 for the default or 1 to %d", LargestSet))
	check("MinGain", c.MinGain, 0, math.MaxFloat64, "0 or more")
	if c.MaxSlowdown != 0 {
		check("MaxSlowdown", c.MaxSlowdown, 1, math.Inf(1), "0 for the default or at least 1")
	}
	return errors.Join(errs...)
}

// own replaces the models that learn by copies, unless they are shared.
func (c *Config) own() {
	if c.Shared {
		return
	}
	if c.Memory != nil {
		c.Memory = c.Memory.Clone()
	}
	if c.Interference != nil {
		c.Interference = c.Interference.Clone()
	}
	if c.Pace != nil {
		c.Pace = c.Pace.Clone()
	}
}

// fill replaces what is zero by its default.
func (c *Config) fill() (err error) {
	if c.Memory == nil {
		if c.Memory, err = pretrained.Memory(); err != nil {
			return err
		}
	}
	if c.Interference == nil {
		if c.Interference, err = pretrained.Interference(); err != nil {
			return err
		}
	}
	if c.Utilization == nil {
		if c.Utilization, err = pretrained.Utilization(); err != nil {
			return err
		}
	}
	if c.Pace == nil {
		if c.Pace, err = pretrained.Pace(); err != nil {
			return err
		}
	}
	if c.MIGSpeed == nil {
		if c.MIGSpeed, err = pretrained.MIGSpeed(); err != nil {
			return err
		}
	}
	c.Headroom = profile.Some(c.Headroom.Or(packer.DefaultHeadroom))
	if c.Risk == 0 {
		c.Risk = DefaultRisk
	}
	if c.MaxSet == 0 {
		c.MaxSet = DefaultMaxSet
	}
	if c.MaxSlowdown == 0 {
		c.MaxSlowdown = DefaultMaxSlowdown
	}
	if c.Method == nil {
		c.Method = solve.Auto{}
	}
	return nil
}
