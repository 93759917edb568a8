package gain

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// options are the command line.
type options struct {
	gain.Options
	use                []string
	prometheus, match  string
	step               time.Duration
	zone, from, until  string
	gpus, prior, pairs string
	json               bool
	location           *time.Location
	files              []string
}

const help = `Gain says what sharing GPUs would have gained a site, from what it wrote down of its
past: it replays the jobs with sharing and without. It only reads.

usage: colloc gain [flags] FILE...

  sacct --allusers --parsable2 --starttime 2026-01-01 --format JobID,JobIDRaw,User,JobName,\
Partition,State,Submit,Eligible,Start,End,ElapsedRaw,AllocTRES,ReqTRES,NodeList,\
TRESUsageInMax,TRESUsageInTot,TRESUsageInAve >jobs.txt
  colloc gain jobs.txt                                    as sacct saw the GPUs in use
  colloc gain -prometheus http://prometheus:9090 jobs.txt as dcgm-exporter did
  colloc gain -use dcgm.json -use node7.csv jobs.txt      as files say that colloc describe reads

FILE is what sacct prints, as above or by --json, a CSV of another scheduler with the
columns job, start, end, gpus and, if known, user, name, queue, state, submitted, gpu, nodes,
sm_active, dram_active, gpu_busy, mem_busy, memory, or what colloc station list -json prints; -
is standard input. Who is on which GPU Slurm does not keep: a GPU's utilisation is a
job's if its series names the job (hpc_job), or if the job had its node to itself.

`

// flags returns the flags, which fill o.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("gain", flag.ContinueOnError)
	several := func(to *[]string) func(string) error {
		return func(s string) error { *to = append(*to, s); return nil }
	}
	f.Func("use", "a log of the GPUs' use, `FILE`: Prometheus' answer, nvidia-smi, dcgmi; may come again", several(&o.use))
	f.StringVar(&o.prometheus, "prometheus", "", "ask the server at `URL` for the GPUs' use meanwhile")
	f.StringVar(&o.match, "match", "", "with -prometheus: narrow the series down, such as cluster=\"a\"")
	f.DurationVar(&o.step, "step", 5*time.Minute, "with -prometheus: the time between two points")
	f.StringVar(&o.zone, "zone", "UTC", "where times without a zone were written, such as Europe/Berlin or Local")
	f.StringVar(&o.from, "from", "", "leave out what was before, such as 2026-01-31 or 2026-01-31T12:00:00")
	f.StringVar(&o.until, "until", "", "leave out what came after")
	cli.Products(f, &o.Models, "gpu", "`TYPE=PRODUCT` behind a type of the site's, such as a100=A100-80GB, or =V100 for jobs that name none; may come again")
	f.StringVar(&o.gpus, "gpus", "", "the GPUs of the site, such as 16x8xV100,4x4xT4 (default: as many as were ever in use at once, node by node)")
	f.StringVar(&o.prior, "prior", "", "what is assumed of a job that nobody watched, such as sm=0.4,memory=8GiB (default: it runs alone)")
	f.IntVar(&o.MaxSet, "max-set", colloc.DefaultMaxSet, "the most jobs that share a GPU, 2 to 4")
	f.Float64Var(&o.MaxSlowdown, "max-slowdown", 2, "the most that a job may be slowed down, by prediction")
	f.BoolVar(&o.SameUser, "same-user", false, "only jobs of one user share a GPU")
	f.BoolVar(&o.Closed, "no-shares", false, "the site offers no shares of a GPU (gres/shard, MPS): a set is one job, and nobody joins it once it runs")
	f.BoolVar(&o.NoGangs, "no-gangs", false, "only jobs on one GPU share")
	f.IntVar(&o.Replications, "replications", 8, "how many worlds are replayed")
	f.IntVar(&o.Sample, "sample", 0, "how many jobs each replication plays (default: as many as take a minute in all on one core)")
	f.Uint64Var(&o.Seed, "seed", 0, "another `SEED` draws other worlds")
	f.StringVar(&o.pairs, "pairs", "", "write which jobs would have shared to `FILE`, as CSV")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return f
}

// parse reads the command line.
func (o *options) parse(args []string, w io.Writer) error {
	f := o.flags()
	if err := cli.Parse(f, args, w, help, "\nexit status: 0, 2 for wrong input, 1 for anything else that fails\n"); err != nil {
		return err
	}
	o.files = f.Args()
	if len(o.files) == 0 {
		return cli.Usage("no history: name a file of sacct --parsable2; see -h")
	}
	var errs [5]error
	o.location, errs[0] = time.LoadLocation(o.zone)
	o.From, errs[1] = o.when("from", o.from)
	o.Until, errs[2] = o.when("until", o.until)
	o.Prior, errs[3] = prior(o.prior)
	if o.gpus != "" {
		o.Cluster, errs[4] = sim.ParseCluster(o.gpus)
	}
	if o.step <= 0 {
		return cli.Usage("-step is %v, want more than 0", o.step)
	}
	if err := cmp.Or(errors.Join(errs[:]...), o.Validate(), cli.Overwrites("pairs", o.pairs, slices.Concat(o.files, o.use)...)); err != nil {
		return cli.Usage("%w", err)
	}
	return nil
}

// when reads a time.
func (o *options) when(name, s string) (time.Time, error) {
	if s == "" || o.location == nil {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, o.location); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("-%s is %q, want such as 2026-01-31 or 2026-01-31T12:00:00", name, s)
}

// prior reads -prior.
func prior(s string) (*profile.Solo, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // none is given
	}
	solo := &profile.Solo{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		if name == "memory" {
			n, err := profile.ParseBytes(value)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("-prior: memory is %q, want such as 8GiB", value)
			}
			solo.Memory = profile.Some(n)
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("-prior: %s is %q, want 0 to 1", name, value)
		}
		switch name {
		case "sm":
			solo.SMActive = profile.Some(v)
		case "dram":
			solo.DRAMActive = profile.Some(v)
		case "busy":
			solo.GPUBusy = profile.Some(v)
		default:
			return nil, fmt.Errorf("-prior: there is no %q: want sm, dram, busy, memory", name)
		}
	}
	return solo, nil
}
