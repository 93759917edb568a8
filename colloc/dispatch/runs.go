package dispatch

import (
	"time"

	"example.com/colloc/profile"
)

// Run is a run that is not over.
type Run struct {
	Job    string
	Number uint64
	// GPUs are where it is; the caller must not change them.
	GPUs []string
	// Code is Clears, Starts, Runs or Stops.
	Code Code
	// Since is when it began, if it has.
	Since profile.Opt[time.Duration]
	// Mechanism is how it was told to share its GPUs. Speed is what was predicted then, as a share of its
	// speed alone. Nobody knows them of one that was adopted.
	Mechanism profile.Mechanism
	Speed     float64
}

// Runs are all runs that are not over, by number. O(runs), whatever GPUs there are.
func (d *Dispatcher) Runs() []Run {
	all := make([]Run, 0, len(d.lives))
	for _, n := range d.numbers() {
		all = append(all, d.lives[n].public())
	}
	return all
}

// On are the runs on a GPU, in no order that means anything; none if there is no such GPU.
func (d *Dispatcher) On(gpu string) []Run {
	c := d.cards[gpu]
	if c == nil {
		return nil
	}
	all := make([]Run, len(c.runs))
	for i, r := range c.runs {
		all[i] = r.public()
	}
	return all
}

func (r *run) public() Run {
	x := Run{Job: r.job, Number: r.number, GPUs: r.gpus, Mechanism: r.mechanism, Speed: r.speed}
	switch r.phase {
	case granted, ended:
		x.Code = Clears
	case starting:
		x.Code = Starts
	case running:
		x.Code = Runs
	case stopping:
		x.Code = Stops
	}
	if r.charged() {
		x.Since = profile.Some(r.since)
	}
	return x
}
