package gain

import (
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// Options say what a history does not. The zero value is ready to use.
type Options struct {
	// From and Until cut the history; zero is its beginning and its end. Of a job that
	// runs over an edge the part within counts.
	From, Until time.Time
	// Models says which product stands behind a type of the site's, such as
	// "a100": "A100-80GB"; "" is for jobs that name none. Types that the catalogue of
	// GPUs knows need no entry.
	Models map[string]string
	// Cluster are the site's GPUs; nil is as many as were ever in use at once, node by node.
	Cluster *sim.Cluster
	// Prior is what is assumed of a job that nobody watched; nil keeps it alone.
	Prior *profile.Solo
	// MaxSet is the largest set, 2 to 4; 0 means [packer.DefaultMaxSet]. MaxSlowdown is the most that a job
	// may be slowed down by prediction, at least 1; 0 means 2.
	MaxSet      int
	MaxSlowdown float64
	// SameUser lets only jobs of one user share a GPU.
	SameUser bool
	// NoGangs lets only jobs on one GPU share.
	NoGangs bool
	// Closed says that the site offers no shares of a GPU, by gres/shard or MPS: a set is one job
	// there. It starts as a whole, nobody joins it, and the GPU is its own until the last has ended.
	Closed bool
	// Replications is how many worlds are drawn, at most 1000; 0 means 8.
	Replications int
	// Sample is how many jobs a replication plays at most; 0 means as many as take about
	// a minute in all on one core.
	Sample int
	// Seed chooses the worlds.
	Seed uint64
	// Interference predicts speeds; nil is package pretrained's.
	Interference *interference.Predictor
}

const (
	defaultSlowdown     = 2.0
	defaultReplications = 8
)

// Validate reports every option that makes no sense.
func (o *Options) Validate() error {
	var errs []error
	want := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	want(o.MaxSet == 0 || o.MaxSet >= 2 && o.MaxSet <= 4, "MaxSet", o.MaxSet, "2 to 4")
	want(o.MaxSlowdown == 0 || o.MaxSlowdown >= 1, "MaxSlowdown", o.MaxSlowdown, "1 or more")
	want(o.Replications >= 0 && o.Replications <= 1000, "Replications", o.Replications, "0 to 1000")
	want(o.Sample >= 0, "Sample", o.Sample, "0 or more")
	want(o.From.IsZero() || o.Until.IsZero() || o.From.Before(o.Until), "From", o.From, "before Until")
	if o.Prior != nil {
		if _, ok := o.Prior.Memory.Get(); !ok || o.Prior.SMActive.IsZero() && o.Prior.GPUBusy.IsZero() {
			errs = append(errs, errors.New("the Prior lacks Memory, or SMActive and GPUBusy: want both"))
		}
	}
	if o.Cluster != nil {
		errs = append(errs, o.Cluster.Validate())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gain: %w", err)
	}
	return nil
}
