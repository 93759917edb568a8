package simulate

import (
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/trace"
)

// options are what the command line asks for.
type options struct {
	trace, nodes, pairs string
	gpus                string
	policies            string
	seeds, firstSeed    int
	tasks               int
	load, inflate       float64
	fresh               bool
	diurnal             float64
	contention          float64
	contentions         string
	told                float64
	baseline            string
	startup             time.Duration
	checkpoint          time.Duration
	checkpointCost      time.Duration
	losses, repair      time.Duration
	profiling           time.Duration
	learn               bool
	unknownLengths      bool
	users               int
	quota               string
	quotas              map[string]int
	urgent              float64
	cpus, taskCPUs      float64
	mps                 float64
	pace                bool
	services            int
	serviceUp           time.Duration
	published           string
	estimator           string
	speedError          float64
	observeError        float64
	lengthError         float64
	until               time.Duration
	html                string
	json                bool
	bound               bool
	boundSet            int
	proofs              string
	ablation            bool
}

const help = `Simulate replays a trace on a cluster under scheduling policies.

usage: colloc simulate -trace FILE [-gpus 4xA100-40GB] [-policies all] [-seeds 10] [-html report.html]

Traces, told apart by how they begin: task files whose tasks say how long they run
(solo.run_time, or steps and step_time), AEGIS' days (beside solo_a100.csv), CARMA's and Muri's (true run times and memory),
Alibaba openb's (-nodes names its file of machines, -inflate 1.3 fills them up),
Gavel's job types (a workload is drawn from them), Philly's and Helios' logs, and
colloc's own JSON lines. With -pairs alone the workload is drawn from the types
that were measured. The truth about sharing is what fits the trace: measured pairs
if -pairs names some, colloc's own predictions for task files and AEGIS' days, Muri's stages, assumed contention for CARMA's classes, none
between openb's shares, and else tasks divide a GPU evenly.

Policies: `

// flags returns the flags, which fill o.
func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.StringVar(&o.trace, "trace", "", "the trace `FILE`")
	f.StringVar(&o.nodes, "nodes", "", "`FILE` of machines in openb's layout, instead of -gpus")
	f.StringVar(&o.pairs, "pairs", "", "`FILE` of measured pairs: the truth about sharing")
	f.StringVar(&o.gpus, "gpus", "", "the cluster, COUNTxGPU or MACHINESxCOUNTxGPU, comma-separated (default: what the trace was published with)")
	f.StringVar(&o.policies, "policies", "all", "comma-separated `NAMES`, or all")
	f.BoolVar(&o.ablation, "ablation", false, "compare colloc with what it is without one of its parts each, instead of -policies and -baseline")
	f.IntVar(&o.seeds, "seeds", 1, "how often to run each policy; the first is the trace as it is, the others jitter arrivals by 60 s and lengths by 2 %; seeds also draw workloads, errors and lots")
	f.IntVar(&o.firstSeed, "first-seed", 0, "the lowest seed: 1001 with -seeds 40 plays 1001 to 1040; without -fresh only seed 0 is the trace as it is")
	f.BoolVar(&o.fresh, "fresh", false, "each seed is a day of its own: tasks of the trace drawn with replacement, arriving at random")
	f.IntVar(&o.tasks, "tasks", 0, "with job types or -fresh: how many tasks to draw (default 1000, with -fresh as many as the trace has)")
	f.Float64Var(&o.load, "load", 0, "with job types or -fresh: work that arrives over what the GPUs could do exclusively (default 1, with -fresh the trace's own rate)")
	f.Float64Var(&o.diurnal, "diurnal", 0, "with job types or -fresh: how much the rate of arrivals swings over 24 hours, 0 to 1")
	f.Float64Var(&o.inflate, "inflate", 0, "repeat the tasks in random order, never leaving, until this many times the GPUs were asked for; 0 is as recorded")
	f.StringVar(&o.contentions, "contention", "1", "scales assumed slowdowns: 0.5 is optimistic, 2 pessimistic; several, comma-separated, are studies one after the other")
	f.Float64Var(&o.told, "told", -1, "the scale of assumed slowdowns that policies are told, if it is not -contention's")
	f.DurationVar(&o.startup, "startup", time.Minute, "what every start costs, also one after a preemption or move, where the trace gives no start-up times")
	f.DurationVar(&o.profiling, "profiling", 0, "how much longer the first start of a task takes under policies that need its profile")
	f.Float64Var(&o.mps, "mps", 0, "tasks share by MPS: the part of the slowdowns of time-slicing that is left, above 0; 0 is time-slicing")
	f.BoolVar(&o.pace, "pace", false, "GPUs of several products are not equal: tasks run at measured solo speeds if -pairs has them, else at predicted ones, relative to the fastest product, where their lengths hold")
	f.DurationVar(&o.checkpoint, "checkpoint", 0, "the time between checkpoints, without which a lost GPU takes all work since the start; 0 is never")
	f.DurationVar(&o.checkpointCost, "checkpoint-cost", time.Minute, "what each checkpoint costs")
	f.IntVar(&o.services, "services", 0, "add so many invented inference services with a limit on latency, whose load swings over the day")
	f.DurationVar(&o.serviceUp, "service-up", 24*time.Hour, "how long each of them is up")
	f.DurationVar(&o.losses, "losses", 0, "the mean time between failures of each GPU; 0 is never")
	f.DurationVar(&o.repair, "repair", time.Hour, "how long a failed GPU is away")
	f.StringVar(&o.estimator, "estimator", "oracle", "who predicts memory: oracle, colloc, or one whose estimates the trace holds (horus, faketensor, gpumemnet)")
	f.Float64Var(&o.speedError, "speed-error", 0, "standard deviation of the relative error in predicted speeds")
	f.Float64Var(&o.observeError, "observe-error", 0, "standard deviation of the relative error in measured speeds, from which policies learn")
	f.Float64Var(&o.lengthError, "length-error", 0, "standard deviation of the relative error in predicted lengths")
	f.BoolVar(&o.learn, "learn", false, "nobody knows lengths, and speeds of tasks that share: they are learned on the same day, and so is memory that the -estimator is wrong about")
	f.BoolVar(&o.unknownLengths, "unknown-lengths", false, "nobody knows lengths, as with -learn, but all else is known that is without it")
	f.IntVar(&o.users, "users", 0, "deal tasks that name no user out to so many, the second of whom has half as many as the first, the third a third")
	f.StringVar(&o.quota, "quota", "", "the most `GPUS` that a user's tasks may ask for at once: 8 for each, or ann=4,*=8; tasks beyond it are held back from policies")
	f.Float64Var(&o.urgent, "urgent", 0, "the part of the tasks, drawn at random, that get a higher priority than the rest")
	f.Float64Var(&o.cpus, "cpus", 0, "how many cores each machine has, which its tasks share: when they want more, all of them run slower")
	f.Float64Var(&o.taskCPUs, "task-cpus", 0, "with -cpus: how many cores each GPU of a task wants where the trace does not say")
	f.DurationVar(&o.until, "until", 0, "stop the simulation at this time; 0 is when nothing happens any more")
	f.StringVar(&o.baseline, "baseline", "fifo", "the policy that the verdict compares with")
	f.StringVar(&o.html, "html", "", "write a report to `FILE`, one page with charts that needs no network")
	f.StringVar(&o.published, "published", "", "no trace: replay published experiments, whose traces are in the folder `DIR`, and print ours beside theirs")
	f.BoolVar(&o.bound, "bound", false, "prove for each day what no policy comes below, whatever it knows and however it stops and moves tasks, and say how far each policy is above it")
	f.IntVar(&o.boundSet, "bound-set", 4, "with -bound: the most tasks that those policies put on a GPU")
	f.StringVar(&o.proofs, "proofs", "", "with -bound: keep what proves each day in the folder `DIR`, and solve no day whose proof is there and holds")
	f.BoolVar(&o.json, "json", false, "print one JSON object per run instead of the table")
	return f
}

// parseOptions reads the command line.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := o.flags()
	switch err := cli.Parse(f, args, stdout, help+strings.Join(policyNames(), ", ")+".\n\n", "\nexit status: 0, 2 for wrong input, 1 for anything else that fails\n"); {
	case err != nil:
		return nil, err
	case f.NArg() > 0:
		return nil, cli.Usage("%q: no argument is expected; see -h", f.Arg(0))
	case o.trace == "" && o.pairs == "" && o.published == "":
		return nil, cli.Usage("no trace: name one with -trace, or measured pairs to draw tasks from with -pairs; see -h")
	case o.proofs != "" && !o.bound:
		return nil, cli.Usage("-proofs is of -bound, which is missing")
	}
	return o, o.check()
}

// check refuses numbers that make no sense.
func (o *options) check() error {
	for _, n := range []struct {
		flag   string
		value  float64
		lo, hi float64
	}{
		{"seeds", float64(o.seeds), 1, 1000},
		{"first-seed", float64(o.firstSeed), 0, 1e9},
		{"tasks", float64(o.tasks), 0, 1e7},
		{"bound-set", float64(o.boundSet), 1, 16},
		{"load", o.load, 0, 100},
		{"diurnal", o.diurnal, 0, 1},
		{"told", o.told, -1, 100},
		{"mps", o.mps, 0, 10},
		{"services", float64(o.services), 0, 1e4},
		{"inflate", o.inflate, 0, 100},
		{"speed-error", o.speedError, 0, 4},
		{"length-error", o.lengthError, 0, 4},
		{"observe-error", o.observeError, 0, 4},
		{"users", float64(o.users), 0, 1e4},
		{"urgent", o.urgent, 0, 1},
		{"cpus", o.cpus, 0, 1e6},
		{"task-cpus", o.taskCPUs, 0, 1e6},
	} {
		if !(n.value >= n.lo && n.value <= n.hi) {
			return cli.Usage("-%s is %v, want %v to %v", n.flag, n.value, n.lo, n.hi)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"until", o.until},
		{"startup", o.startup},
		{"profiling", o.profiling},
		{"service-up", o.serviceUp},
		{"checkpoint", o.checkpoint},
		{"checkpoint-cost", o.checkpointCost},
		{"losses", o.losses},
		{"repair", o.repair},
	} {
		if d.value < 0 {
			return cli.Usage("-%s is %v, want 0 or more", d.flag, d.value)
		}
	}
	switch {
	case o.services > 0 && o.serviceUp == 0:
		return cli.Usage("-service-up is 0, want more")
	case o.services > 0 && o.pairs != "":
		return cli.Usage("-services: nobody measured the invented services in pairs: leave out -pairs")
	case o.checkpoint > 0 && o.checkpoint <= o.checkpointCost:
		return cli.Usage("-checkpoint is %v, want more than -checkpoint-cost, %v", o.checkpoint, o.checkpointCost)
	case o.losses > 0 && o.losses < time.Hour:
		return cli.Usage("-losses is %v, want an hour or more", o.losses)
	case o.taskCPUs > 0 && o.cpus == 0:
		return cli.Usage("-task-cpus says what tasks want of the cores of -cpus, which is missing")
	case o.losses > 0 && o.repair == 0:
		return cli.Usage("-repair is 0, want more: a GPU that fails is away for a while")
	}
	return o.readQuota()
}

// choose finds the policies. FGD goes by the tasks of the trace; where tasks ask
// for parts of GPUs all means it and those it was compared with.
func (o *options) choose(tr *trace.Trace) ([]sim.Policy, error) {
	if o.ablation {
		return policy.Ablation(), nil
	}
	fgd := policy.FGD{Typical: tr.Tasks}
	if o.policies == "all" {
		if tr.Layout == "openb" {
			return []sim.Policy{policy.RandomNode{}, policy.BestFit{}, fgd, policy.Colloc{}}, nil
		}
		return policy.All(), nil
	}
	var out []sim.Policy
	for name := range strings.SplitSeq(o.policies, ",") {
		p, ok := policy.ByName(strings.TrimSpace(name))
		if strings.TrimSpace(name) == fgd.Name() {
			p, ok = fgd, len(tr.Tasks) > 0
		}
		if !ok {
			return nil, cli.Usage("-policies: there is no %q for this trace; there are %s", name, strings.Join(policyNames(), ", "))
		}
		if slices.ContainsFunc(out, func(q sim.Policy) bool { return q.Name() == p.Name() }) {
			return nil, cli.Usage("-policies: %q is named twice", name)
		}
		out = append(out, p)
	}
	return out, nil
}

func policyNames() []string {
	var names []string
	for _, p := range policy.All() {
		names = append(names, p.Name())
	}
	return append(names, policy.FGD{}.Name())
}
