package slurm

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/settings"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

// sweep is the file of tasks and, in its section "slurm", how they are to run.
type sweep struct {
	settings.Settings

	tasks   []*entry
	byID    map[string]*entry
	gone    map[string]bool // tasks that were in the file and are not any more; they are in byID
	given   string          // the constraint that the file names
	kind    sizing.Kind     // the GPUs that suit, and how jobs ask for them
	name    string          // Name, or what tells this file from others
	dir     string          // of the file: jobs run there
	longest time.Duration   // limit of the partition; 0 is none
	user    string          // whose jobs these are; empty is not known

	home   site.Partition // where the tasks run, with what a job gets that states no memory
	silent int            // tasks that state no memory

	outputs map[site.JobID]told // of jobs whose output was read
}

// told is how an output of a job was when it was read, and what it told of each task.
type told struct {
	size    int64
	changed time.Time
	peaks   map[string]profile.Bytes
}

// entry is one task: what it runs, what it asks of the host, what is known of it.
type entry struct {
	taskfile.Task

	task    colloc.Task
	slowest float64 // least speed that is predicted for it where the plan put it, as a share of the one alone where it was measured; 0 is not known
}

// readSweep reads and checks the file.
func readSweep(path string) (*sweep, error) {
	if path == "" {
		return nil, cli.Usage("-sweep names no file; see -h")
	}
	file, err := taskfile.ReadFile(path)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &sweep{byID: make(map[string]*entry), gone: make(map[string]bool)}
	if err := taskfile.Section(file.Slurm, &s.Settings); err != nil {
		return nil, cli.Usage("%s: slurm: %w", path, err)
	}
	if err := s.Sound(); err != nil {
		return nil, cli.Usage("%s: slurm: %w", path, err)
	}
	s.dir, s.given = filepath.Dir(full), s.Constraint
	if me, err := user.Current(); err == nil {
		s.user = me.Username
	}
	if s.name = s.Name; s.name == "" { // the same tasks in another folder are others
		s.name = fmt.Sprintf("%s-%.4x", filepath.Base(filepath.Dir(full)), sha256.Sum256([]byte(full)))
	}
	for i := range file.Tasks {
		e := &entry{Task: file.Tasks[i]}
		if len(e.Command) == 0 {
			return nil, cli.Usage("%s: task %q: command is missing", e.Place(), e.ID)
		}
		if e.task, err = e.Colloc(); err != nil {
			return nil, cli.Usage("%s: task %q: %w", e.Place(), e.ID, err)
		}
		if e.Memory == 0 {
			s.silent++
		}
		s.tasks = append(s.tasks, e)
		s.byID[e.ID] = e
	}
	return s, nil
}

// run is the task as a script runs it.
func (s *sweep) run(e *entry) script.Task {
	return script.Task{
		Name: e.ID, Command: e.Command, Env: e.Env, Dir: e.Dir, CPUs: e.CPUs, Memory: e.Memory,
		Log: filepath.Join(s.LogDir, logName(e.ID)+".log"), Peak: e.untold(),
	}
}

// untold reports whether nothing is known of the memory that a task needs.
func (e *entry) untold() bool {
	return e.Reserved == 0 && len(e.Model.Layers) == 0 && (e.Solo == nil || e.Solo.MemUsed.IsZero())
}

// logName is an ID as a file may be called: escaped, and cut where that is too long.
func logName(id string) string {
	const most = 200
	name := url.QueryEscape(id)
	if len(name) > most {
		name = fmt.Sprintf("%s-%.8x", name[:most], sha256.Sum256([]byte(id)))
	}
	return name
}

// options are those of a job that runs these tasks: what it asks for itself, and what
// the sweep asks of every job.
func (s *sweep) options(r script.Request, tasks ...script.Task) *script.Options {
	o := s.Options()
	all := &o.Request
	all.Name, all.Comment, all.NodeList, all.Gres = r.Name, r.Comment, r.NodeList, r.Gres
	all.Nodes, all.TasksPerNode = r.Nodes, r.TasksPerNode
	all.Output = s.output("%j") // what the script says; the tasks have logs of their own
	for _, t := range tasks {
		all.Time = max(all.Time, s.limit(s.byID[t.Name]))
	}
	return &o
}

// slow keeps what a plan says of its tasks' speeds on a product.
func (s *sweep) slow(planner *colloc.Planner, p *colloc.Placement, product profile.GPUModel) {
	for _, m := range p.Members {
		if e := s.byID[m.Task]; e != nil {
			e.slowest = m.Speed.Lo * e.pace(planner, product)
		}
	}
}

// pace is how fast a task is alone on a product at least, compared with the one on which it was measured; 1 where
// nothing is known of either.
func (e *entry) pace(planner *colloc.Planner, product profile.GPUModel) float64 {
	if e.Solo == nil {
		return 1
	}
	alone, known := e.Solo.Product()
	if !known || alone.Canonical() == product.Canonical() {
		return 1
	}
	t := e.task
	t.Reserved, t.On = 1, nil // it is not about what fits
	here, err1 := planner.Fit(t, colloc.GPU{ID: "here", Model: product})
	there, err2 := planner.Fit(t, colloc.GPU{ID: "there", Model: alone})
	if err1 != nil || err2 != nil || !(here.Pace.Lo > 0 && there.Pace.Value > 0) {
		return 1
	}
	return here.Pace.Lo / there.Pace.Value
}

// limit is the time limit of a task where the plan put it: what it needs alone,
// over the least speed that is predicted, and what a restart costs, in whole minutes. The partition's own
// limit caps what is added.
func (s *sweep) limit(e *entry) time.Duration {
	alone := time.Duration(cmp.Or(e.Time, s.Time))
	slowed, again := e.slowest > 0 && e.slowest < 1, time.Duration(s.Restart)
	if !slowed && again == 0 || alone == 0 || alone > 1000*time.Hour {
		return alone
	}
	longer := alone + again
	if slowed {
		longer = time.Duration(float64(longer) / max(e.slowest, 0.1))
	}
	longer = longer.Truncate(time.Minute) + time.Minute
	if s.longest > 0 {
		longer = min(longer, s.longest)
	}
	return max(alone, longer)
}

// check holds what the sweep names against the cluster.
func (s *sweep) check(state *site.State) error {
	names := make([]string, len(state.Partitions))
	for i, p := range state.Partitions {
		names[i] = p.Name
		if mine := strings.Split(s.Partition, ","); slices.Contains(mine, p.Name) || s.Partition == "" && p.Default {
			s.longest, s.home = max(s.longest, p.MaxTime), p
		}
	}
	for _, e := range s.tasks {
		if alone := time.Duration(cmp.Or(e.Time, s.Time)); s.longest > 0 && alone > s.longest && !strings.Contains(s.Partition, ",") {
			return cli.Usage("%s: task %q: time is %v, but the partition ends jobs after %v: it would wait for ever", e.Place(), e.ID, alone, s.longest)
		}
	}
	for name := range strings.SplitSeq(s.Partition, ",") {
		if s.Partition != "" && !slices.Contains(names, name) {
			return cli.Usage("%w %q: the cluster has %s", site.ErrPartition, name, strings.Join(names, ", "))
		}
	}
	if strings.ContainsAny(s.Constraint, "[]()*,") {
		return cli.Usage("constraint %q: want features joined by & and |", s.Constraint)
	}
	if n := slices.IndexFunc(state.Nodes, func(n site.Node) bool { return s.Suits(&n) }); n < 0 && s.Constraint != "" && len(state.Nodes) > 0 {
		return cli.Usage("constraint %q: no node of the partition has these features", s.Constraint)
	}
	if s.Constraint = s.given; s.GPUMemory > 0 || s.own() {
		var err error
		if s.kind, err = s.Kind(state); err != nil {
			return cli.Usage("gpu_memory: %w", err)
		}
		s.Constraint = settings.Both(s.given, s.kind.Constraint)
	}
	for kind, product := range s.Models {
		if _, ok := profile.LookupGPU(product); !ok {
			return cli.Usage("models: %q stands for %q, which is not in the catalogue", kind, product)
		}
	}
	return nil
}

// needs are the CPUs and the memory of a task on a node: what it states, or what the
// site gives to a job that states nothing.
func (s *sweep) needs(e *entry, n *site.Node) (cpus int, memory profile.Bytes) {
	cpus = max(1, e.CPUs)
	switch {
	case e.Memory > 0:
		return cpus, e.Memory
	case s.home.MemoryPerCPU > 0:
		return cpus, profile.Bytes(cpus) * s.home.MemoryPerCPU
	case s.home.Unlimited:
		return cpus, n.Memory
	default:
		return cpus, s.home.MemoryPerNode
	}
}

// resident tells which task of the sweep a running job is.
func (s *sweep) resident(j *site.JobInfo) (colloc.Task, bool) {
	tasks := slurm.TasksOf(j)
	if len(tasks) != 1 || s.byID[tasks[0]] == nil || !s.mine(j) {
		return colloc.Task{}, false
	}
	return s.byID[tasks[0]].task, true
}

// output is where the script of a job writes, as seen from the sweep's folder.
func (s *sweep) output(id string) string { return filepath.Join(s.logDir(), "colloc-"+id+".out") }

// logDir is LogDir where a header can say it, else the folder of the sweep.
func (s *sweep) logDir() string {
	if strings.ContainsFunc(s.LogDir, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\#$%", r) }) {
		return ""
	}
	return s.LogDir
}

// mine reports whether a job is of this sweep and of this user. A source that
// does not tell users is believed.
func (s *sweep) mine(j *site.JobInfo) bool {
	return slurm.SweepOf(j) == s.name && (j.User == "" || s.user == "" || j.User == s.user)
}

// large reports whether a GPU has the memory that the sweep wants.
func (s *sweep) large(m profile.GPUModel) bool { return s.GPUMemory == 0 || m.Memory >= s.GPUMemory }

// ownGPUs reports whether a task shares its GPUs with nobody by its form: it takes
// several, or is a step of an allocation.
func (s *sweep) ownGPUs(e *entry) bool { return s.Steps || s.Nodes > 1 || e.GPUs > 1 }

// own reports whether some task has GPUs of its own.
func (s *sweep) own() bool { return slices.ContainsFunc(s.tasks, s.ownGPUs) }
