package plan

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// options are the command line.
type options struct {
	gpus          string
	batch, seq    int
	training      profile.Training
	config        colloc.Config
	mechanisms    []profile.Mechanism
	whatIf        []string
	compare       bool
	verbose, json bool
	html, svg     string
	within        time.Duration
	files         []string
}

// methods are the ways to pack, by name.
func methods() map[string]packer.Method {
	return map[string]packer.Method{"auto": solve.Auto{}, "matching": solve.Matching{}, "column-generation": solve.ColumnGen{}, "local-search": solve.LocalSearch{}, "greedy": solve.Greedy{}}
}

func methodNames() []string { return slices.Sorted(maps.Keys(methods())) }

// flags returns the flags, which fill o.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("plan", flag.ContinueOnError)
	f.StringVar(&o.gpus, "gpus", "", "plan for these `GPUS`: 4xA100-40GB,2xT4 or a JSON file; without it those of this host")
	f.IntVar(&o.batch, "batch", 0, "batch size `N` of model files; FILE@N says it of one; without either 1")
	f.IntVar(&o.seq, "seq", 0, "tokens in a sample of a config.json; 0 is the model's maximum, at most 512")
	f.TextVar(&o.training.Optimizer, "optimizer", profile.Adam, "update `RULE` of model files: sgd, momentum, adam, ...")
	f.TextVar(&o.training.Precision, "precision", profile.FP32, "number `FORMAT` of model files: fp32, tf32, mixed, bf16, fp16")
	number := func(name, usage string, to *float64) {
		f.Func(name, usage, func(s string) (err error) { *to, err = strconv.ParseFloat(s, 64); return err })
	}
	f.IntVar(&o.config.MaxSet, "max-set", colloc.DefaultMaxSet, "the most tasks that share a GPU")
	number("max-slowdown", "the most that a task may be slowed down, `X` times; 2 unless told, +Inf for no limit", &o.config.MaxSlowdown)
	number("risk", "probability `P`, per task, that its memory exceeds what is reserved; 0.01 unless told", &o.config.Risk)
	f.Func("headroom", "part `P` of the GPU memory that stays free; 0.1 unless told", func(s string) error {
		x, err := strconv.ParseFloat(s, 64)
		o.config.Headroom = profile.Some(x)
		return err
	})
	f.Func("mechanisms", "`LIST` of the ways to share: time-slicing, mps; time-slicing unless told", func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			m, err := profile.ParseMechanism(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			if m == profile.MIG {
				return errors.New("a MIG slice is a GPU of its own: -gpus \"7xA100-40GB MIG 1g.5gb\"")
			}
			o.mechanisms = append(o.mechanisms, m)
		}
		return nil
	})
	f.Func("method", "`NAME` of the way to pack: "+strings.Join(methodNames(), ", "), func(s string) error {
		m, ok := methods()[s]
		if o.config.Method = m; !ok {
			return fmt.Errorf("want %s", strings.Join(methodNames(), ", "))
		}
		return nil
	})
	f.Func("what-if", "also plan with a `CHANGE`: gpus+1, or \"without TASK\"; can be given again", func(s string) error {
		o.whatIf = append(o.whatIf, strings.Join(strings.Fields(s), " "))
		return nil
	})
	f.BoolVar(&o.compare, "compare", false, "also plan with one task a GPU")
	f.BoolVar(&o.verbose, "v", false, "say all: memory, speeds with intervals, each reason, warnings")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.html, "html", "", "write a page with a picture to `FILE`")
	f.StringVar(&o.svg, "svg", "", "write the picture to `FILE`")
	f.DurationVar(&o.within, "within", 30*time.Second, "take the best plan found within `TIME`; 0 is no limit")
	return f
}
