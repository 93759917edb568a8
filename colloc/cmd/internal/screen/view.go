package screen

import (
	"time"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/profile"
)

// View is the sweep at one moment.
type View struct {
	Now     time.Time
	Elapsed time.Duration
	Left    profile.Opt[time.Duration] // missing as long as nothing tells
	Records []runner.Record
	GPUs    []runner.GPUState
	Count   counts
	// Throughput is the sum of the speeds of the tasks that run: how many tasks'
	// worth of work is done at a time.
	Throughput float64
	// Recoveries is how often memory ran out, Retries how often a task was run
	// again after a failure.
	Recoveries, Retries int
}

// counts are how many tasks are in which state.
type counts struct {
	OK, Failed, Cancelled, Running, Waiting int
}

func (c *counts) Add(s runner.State) {
	switch s {
	case runner.Succeeded:
		c.OK++
	case runner.Failed:
		c.Failed++
	case runner.Cancelled:
		c.Cancelled++
	case runner.Starting, runner.Running:
		c.Running++
	default:
		c.Waiting++
	}
}

// done are those that need no further run.
func (c *counts) done() int { return c.OK + c.Failed }

func (c *counts) over() int { return c.OK + c.Failed + c.Cancelled }

func (c *counts) total() int { return c.over() + c.Running + c.Waiting }
