package simulate

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/regular"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// study reads the files and decides what is simulated.
func (o *options) study() (*study, error) {
	s := &study{trace: filepath.Base(o.trace), seeds: o.seeds, first: uint64(o.firstSeed), baseline: o.baseline, timeline: o.html != ""}
	if o.bound {
		s.boundSet, s.proofs = o.boundSet, o.proofs
	}
	if o.ablation {
		s.baseline = policy.Colloc{}.Name()
	}
	tr, err := o.read()
	if err != nil {
		return nil, err
	}
	if o.trace == "" {
		s.trace = filepath.Base(o.pairs)
	}
	if s.policies, err = o.choose(tr); err != nil {
		return nil, err
	}
	if s.cluster, err = o.cluster(tr.Layout); err != nil {
		return nil, err
	}
	w := world{options: o, trace: tr, gpus: s.cluster.GPUs()}
	what, err := w.truth(s.cluster)
	if err != nil {
		return nil, err
	}
	for i := range s.cluster.Nodes {
		if o.cpus > 0 {
			s.cluster.Nodes[i].CPU = o.cpus
		}
	}
	if o.mps > 0 {
		w.share()
		what += fmt.Sprintf(", of which MPS leaves %v", o.mps)
	}
	if o.pace {
		said, err := w.setPace(s.cluster)
		if err != nil {
			return nil, err
		}
		what += said
	}
	if o.learn && w.base.Predicted == nil {
		w.base.Predicted = speed.Guess{Model: w.base.Truth, Slowdown: guessedSlowdown}
	}
	if err := w.reserve(); err != nil {
		return nil, err
	}
	w.clamp(s.cluster)
	s.told = what
	d, err := w.draw(0)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	s.draw = w.draw
	s.world = fmt.Sprintf("%d tasks on %d GPUs; truth: %s; memory predicted by %s; errors of predicted speeds %.0f %%, lengths %.0f %%; %s.",
		len(d.tasks), w.gpus, what, o.estimator, 100*o.speedError, 100*o.lengthError, w.costs())
	s.left = append(s.left, nowhere(s.cluster, d.tasks, o.quotas)...)
	o.leaveOut(s, d.tasks)
	return s, nil
}

// leaveOut drops policies that lack their input, if all were asked for, and names
// them; one that was asked for by name stays and is named, too.
func (o *options) leaveOut(s *study, tasks []sim.Task) {
	names := map[string][]string{}
	var reasons []string
	s.policies = slices.DeleteFunc(s.policies, func(p sim.Policy) bool {
		why := policy.Lacks(p, tasks)
		if why == "" {
			return false
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], p.Name())
		return o.policies == "all"
	})
	what := "left out"
	if o.policies != "all" {
		what = "not what the name says"
	}
	for _, why := range reasons {
		s.left = append(s.left, fmt.Sprintf("%s: %s, as the tasks do not say %s", strings.Join(names[why], ", "), what, why))
	}
}

// read reads the trace; without one the types of the measured pairs stand in.
func (o *options) read() (*trace.Trace, error) {
	if o.trace == "" {
		return &trace.Trace{Layout: "pairs"}, nil
	}
	return readTrace(o.trace)
}

func readTrace(name string) (*trace.Trace, error) {
	f, err := regular.Named(name)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, taskfile.SniffLength)
	head, _ := in.Peek(taskfile.SniffLength) // fails for short ones
	switch {
	case taskfile.Sniff(head):
		return readDescribed(name)
	case bytes.HasPrefix(head, []byte("job,arrival_s,workload")):
		return readMeasured(name)
	}
	tr, err := trace.Read(in)
	if err != nil {
		return nil, cli.Usage("%s: %w", name, err)
	}
	return tr, nil
}

// cluster is the one asked for, else the one that the trace was published with.
func (o *options) cluster(layout string) (*sim.Cluster, error) {
	if o.nodes != "" {
		tr, err := readTrace(o.nodes)
		if err != nil {
			return nil, err
		}
		c := &sim.Cluster{Nodes: tr.Nodes}
		if c.GPUs() == 0 {
			return nil, cli.Usage("-nodes: %s holds no machines with GPUs", o.nodes)
		}
		return c, nil
	}
	spec := o.gpus
	if spec == "" {
		switch layout {
		case "carma":
			spec = "4xA100-40GB"
		case "muri":
			spec = "8x8xV100"
		case "gavel", "pairs":
			spec = "32xV100"
		default:
			return nil, cli.Usage("no cluster: name one with -gpus or -nodes")
		}
	}
	c, err := sim.ParseCluster(spec)
	if err != nil {
		return nil, cli.Usage("-gpus: %w", err)
	}
	return c, nil
}

// world is what does not depend on the seed.
type world struct {
	*options
	trace *trace.Trace
	gpus  int
	base  sim.Options
	most  profile.Bytes // that anybody reserves; 0 is no limit
	alike func(*sim.Task) string
}

// truth chooses how tasks slow each other down, and says it in words.
func (w *world) truth(c *sim.Cluster) (string, error) {
	w.base = sim.Options{
		Until: w.until, LengthError: w.lengthError, RestartAll: w.trace.Layout == "muri",
		Checkpoint: w.checkpoint, CheckpointCost: w.checkpointCost, ObserveError: w.observeError,
		Quotas: w.quotas, ShareCPU: w.cpus > 0,
	}
	switch {
	case w.pairs != "":
		return "pairs measured in " + filepath.Base(w.pairs), w.measured(c)
	case w.trace.Layout == described:
		fitted, err := pretrained.Interference()
		w.base.Truth = speed.Fitted{Interference: fitted}
		return "speeds of described tasks as colloc predicts them", err
	case w.trace.Layout == "muri":
		w.base.Truth = speed.Stages{}
		return "Muri's stages", nil
	case w.trace.Layout == "carma" || classed(w.trace.Tasks):
		w.base.Truth, w.alike = speed.Contention{Scale: w.contention}, func(t *sim.Task) string { return t.Class }
		text := fmt.Sprintf("assumed contention of tasks by class, scaled by %v", w.contention)
		if w.told >= 0 {
			w.base.Predicted = speed.Contention{Scale: w.told}
			text += fmt.Sprintf(" (policies are told %v)", w.told)
		}
		return text, nil
	case len(w.trace.Types) > 0:
		return "", cli.Usage("job types say nothing about sharing: name measured pairs with -pairs")
	case w.trace.Layout == "openb":
		w.base.Truth = sim.Constant{1}
		return "shares of a GPU do not disturb each other", nil
	}
	w.base.Truth = sim.Constant(nil)
	return "tasks divide a GPU evenly", nil
}

// share lets tasks share by MPS.
func (w *world) share() {
	w.base.Truth = speed.MPS{Model: w.base.Truth, Left: w.mps, Always: true}
	if w.base.Predicted != nil {
		w.base.Predicted = speed.MPS{Model: w.base.Predicted, Left: w.mps, Always: true}
	}
}

// classed reports whether every task has a class of contention.
func classed(tasks []sim.Task) bool {
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t sim.Task) bool { return t.Class == "" })
}

// first is the first GPU of a cluster that has one.
func first(c *sim.Cluster) *sim.GPU {
	n := slices.IndexFunc(c.Nodes, func(n sim.Node) bool { return len(n.GPUs) > 0 })
	return &c.Nodes[n].GPUs[0]
}

// measured reads pairs; their types are what is drawn if there is no trace.
func (w *world) measured(c *sim.Cluster) error {
	gpu, reference := first(c).Model.Name, ""
	if w.pace {
		best, _, err := fastest(c)
		if err != nil {
			return err
		}
		reference = best.Name
	}
	f, err := regular.Named(w.pairs)
	if err != nil {
		return cli.Usage("-pairs: %w", err)
	}
	defer f.Close()
	pairs, err := trace.Pairs(f, reference)
	if err != nil {
		return cli.Usage("-pairs: %s: %w", w.pairs, err)
	}
	w.base.Truth = pairs
	if w.options.trace != "" {
		return nil
	}
	for _, name := range pairs.Types(gpu) {
		w.trace.Types = append(w.trace.Types, trace.Type{Name: name})
	}
	if len(w.trace.Types) == 0 {
		return cli.Usage("-pairs: %s has no pairs on the %s", w.pairs, gpu)
	}
	return nil
}

// reserve chooses who predicts memory.
func (w *world) reserve() error {
	switch w.estimator {
	case "oracle":
		return nil
	case "colloc":
		memory, err := pretrained.Memory()
		if err != nil {
			return err
		}
		w.base.Reserve = policy.Predicted(memory, predict.Host{}, colloc.DefaultRisk)
		w.base.Likely = policy.Predicted(memory, predict.Host{}, likelyRisk)
		return nil
	}
	var known []string
	for i := range w.trace.Tasks {
		t := &w.trace.Tasks[i]
		for name := range t.Estimates {
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
		if _, ok := t.Estimates[w.estimator]; !ok {
			slices.Sort(known)
			return cli.Usage("-estimator: task %q of the trace has no estimate of %q; there are oracle, colloc and %q", t.ID, w.estimator, known)
		}
	}
	w.base.Reserve = policy.Estimate(w.estimator)
	return nil
}

// guessedSlowdown is what each neighbour is believed to cost where nothing was measured
// yet: an assumption, such that sharing is tried at all.
const guessedSlowdown = 0.5

// likelyRisk is the probability with which a task exceeds the memory that is expected
// of it: what dies of it costs less than what waits for a bound.
const likelyRisk = 0.5

// What seeds change of a trace: see -seeds.
const (
	jitterArrival = time.Minute
	jitterLength  = 0.02
)

// draw returns what happens under one seed.
func (w *world) draw(seed uint64) (day, error) {
	d := day{options: w.base, profiling: w.profiling, learn: w.learn, unknown: w.unknownLengths, most: w.most, alike: w.alike}
	if w.pace {
		d.alike = nil // paces go by more
	}
	if w.speedError > 0 {
		told := d.options.Predicted
		if told == nil {
			told = d.options.Truth
		}
		d.options.Predicted = speed.Noisy{Model: told, SD: w.speedError, Seed: seed}
	}
	var err error
	switch {
	case len(w.trace.Types) > 0:
		d.tasks, err = trace.Generate(w.workload(seed))
	case len(w.trace.Tasks) == 0:
		err = fmt.Errorf("%s holds no tasks", w.options.trace)
	case w.inflate > 0:
		d.tasks = trace.Inflate(w.trace.Tasks, w.inflate*float64(w.gpus), seed)
		d.options.Until = d.tasks[len(d.tasks)-1].Arrival
	case w.trace.Untimed:
		err = fmt.Errorf("%s has no times: fill the GPUs up with -inflate 1.3, which needs none", w.options.trace)
	case w.fresh:
		d.tasks, err = trace.Day{Tasks: w.tasks, Load: w.load, GPUs: w.gpus, Diurnal: w.diurnal, Seed: seed}.Fresh(w.trace.Tasks)
	default:
		d.tasks = trace.Jitter(w.trace.Tasks, jitterArrival, jitterLength, seed)
	}
	if err != nil {
		return day{}, err
	}
	for i := range w.services {
		d.tasks = append(slices.Clip(d.tasks), invented(i, w.serviceUp, w.startup))
	}
	if w.losses > 0 {
		d.losses = trace.Losses{GPUs: w.gpus, Every: w.losses, For: w.repair, Seed: seed}.Until(horizon(d.tasks))
	}
	d.tasks = slices.Clone(d.tasks)
	w.deal(d.tasks, seed)
	if !d.options.RestartAll {
		for i := range d.tasks {
			if d.tasks[i].Startup == 0 && !d.tasks[i].HostOnly {
				d.tasks[i].Startup = w.startup
			}
		}
	}
	return d, nil
}

// horizon is when tasks are done at the latest, for all that matters: when the last
// has come, and then one after the other, a year at most.
func horizon(tasks []sim.Task) time.Duration {
	last, work := time.Duration(0), 0.0
	for i := range tasks {
		last = max(last, tasks[i].Arrival)
		work += tasks[i].Work.Hours()
	}
	return last + time.Duration(min(work, 24*365)*float64(time.Hour))
}

// workload is what is drawn from job types: log-normal lengths of an hour on
// average, arriving at random so often that the GPUs, each running one task at a
// time, would be busy for load of the time.
func (w *world) workload(seed uint64) trace.Workload {
	const length = time.Hour
	tasks, load := w.tasks, w.load
	if tasks == 0 {
		tasks = 1000
	}
	if load == 0 {
		load = 1
	}
	return trace.Workload{
		Tasks: tasks, Seed: seed, Types: w.trace.Types, MeanLength: length, Diurnal: w.diurnal,
		Between: time.Duration(float64(length) / load / float64(w.gpus)),
	}
}
