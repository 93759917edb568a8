package slurm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// sweep is the file of tasks.
type sweep struct {
	Name      string            `json:"name"`
	Models    map[string]string `json:"models"`
	Partition string            `json:"partition"`
	Account   string            `json:"account"`
	Time      duration          `json:"time"`
	LogDir    string            `json:"log_dir"`
	Setup     string            `json:"setup"`
	Tasks     []*entry          `json:"tasks"`

	byID    map[string]*entry
	name    string        // Name, or what tells this file from others
	dir     string        // of the file: jobs run there
	longest time.Duration // limit of the partition; 0 is none
	user    string        // whose jobs these are; empty is not known
}

// entry is one task: what it runs, what it asks of the host, what is known of it.
type entry struct {
	ID          string           `json:"id"`
	Command     []string         `json:"command"`
	Env         []string         `json:"env"`
	Dir         string           `json:"dir"`
	CPUs        int              `json:"cpus"`
	Memory      profile.Bytes    `json:"memory"`
	Time        duration         `json:"time"`
	Model       profile.Model    `json:"model"`
	Dataset     profile.Dataset  `json:"dataset"`
	Training    profile.Training `json:"training"`
	Solo        *solo            `json:"solo"`
	Weight      float64          `json:"weight"`
	MaxSlowdown float64          `json:"max_slowdown"`
	Alone       bool             `json:"alone"`

	task    colloc.Task
	slowest float64 // least speed that the plan predicts for it; 0 is not known
}

// solo is what was seen of a task alone on a GPU.
type solo struct {
	GPU      string                     `json:"gpu"`
	GPUBusy  profile.Opt[float64]       `json:"gpu_busy"`
	MemBusy  profile.Opt[float64]       `json:"mem_busy"`
	MemUsed  profile.Opt[profile.Bytes] `json:"mem_used"`
	StepTime duration                   `json:"step_time"`
	RunTime  duration                   `json:"run_time"`
}

// duration is written as Go writes it, "1h30m"; 0 is not given.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v <= 0 {
		err = fmt.Errorf("%q is not more than 0", text)
	}
	*d = duration(v)
	return err
}

// readSweep reads and checks the file.
func readSweep(path string) (*sweep, error) {
	if path == "" {
		return nil, wrong("-sweep names no file; see -h")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{err}
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &sweep{byID: make(map[string]*entry)}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		at := decoder.InputOffset()
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return nil, wrong("%s:%d: %w", path, 1+bytes.Count(data[:min(len(data), int(at))], []byte("\n")), err)
	}
	s.dir = filepath.Dir(full)
	if me, err := user.Current(); err == nil {
		s.user = me.Username
	}
	if s.name = s.Name; s.name == "" { // the same tasks in another folder are others
		s.name = fmt.Sprintf("%s-%.4x", filepath.Base(filepath.Dir(full)), sha256.Sum256([]byte(full)))
	}
	if len(s.Tasks) == 0 {
		return nil, wrong("%s: no tasks", path)
	}
	for i, e := range s.Tasks {
		switch {
		case e == nil || e.ID == "":
			return nil, wrong("%s: tasks[%d]: id is missing", path, i)
		case s.byID[e.ID] != nil:
			return nil, wrong("%s: tasks[%d]: id %q was used before", path, i, e.ID)
		case len(e.Command) == 0:
			return nil, wrong("%s: task %q: command is missing", path, e.ID)
		}
		if err := e.describe(); err != nil {
			return nil, wrong("%s: task %q: %w", path, e.ID, err)
		}
		s.byID[e.ID] = e
	}
	return s, nil
}

// describe makes the task that the planner sees.
func (e *entry) describe() error {
	var trace profile.Trace
	var gpu profile.GPUModel
	if o := e.Solo; o != nil {
		var ok bool
		if gpu, ok = profile.LookupGPU(o.GPU); !ok {
			return fmt.Errorf("solo: gpu %q is not in the catalogue", o.GPU)
		}
		sample := profile.Sample{GPUBusy: o.GPUBusy, MemBusy: o.MemBusy, MemUsed: o.MemUsed}
		if o.StepTime > 0 {
			sample.StepTime = profile.Some(time.Duration(o.StepTime))
		}
		trace.Samples = []profile.Sample{sample}
	}
	p, err := profile.New(profile.Spec{Model: e.Model, Dataset: e.Dataset, Training: e.Training}, trace, gpu)
	if err != nil {
		return err
	}
	e.task = colloc.Task{ID: e.ID, Profile: &p, Weight: e.Weight, MaxSlowdown: e.MaxSlowdown, Alone: e.Alone}
	return nil
}

// run is the task as a script runs it.
func (s *sweep) run(e *entry) script.Task {
	return script.Task{
		Name: e.ID, Command: e.Command, Env: e.Env, Dir: e.Dir, CPUs: e.CPUs, Memory: e.Memory,
		Log: filepath.Join(s.LogDir, url.QueryEscape(e.ID)+".log"),
	}
}

// request adds what the sweep asks of every job that runs these tasks.
func (s *sweep) request(r script.Request, tasks ...script.Task) script.Request {
	r.Partition, r.Account = s.Partition, s.Account
	r.Output = s.output("%j") // what the script says; the tasks have logs of their own
	for _, t := range tasks {
		r.Time = max(r.Time, s.limit(s.byID[t.Name]))
	}
	return r
}

// slow keeps what a plan says of its tasks' speeds.
func (s *sweep) slow(p *colloc.Placement) {
	for _, m := range p.Members {
		if e := s.byID[m.Task]; e != nil {
			e.slowest = m.Speed.Lo
		}
	}
}

// limit is the time limit of a task where the plan put it: what it needs alone,
// over the least speed that is predicted, in whole minutes. The partition's own
// limit caps what is added.
func (s *sweep) limit(e *entry) time.Duration {
	alone := time.Duration(cmp.Or(e.Time, s.Time))
	if !(e.slowest > 0 && e.slowest < 1) || alone > 1000*time.Hour {
		return alone
	}
	longer := time.Duration(float64(alone)/max(e.slowest, 0.1)).Truncate(time.Minute) + time.Minute
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
		if mine := strings.Split(s.Partition, ","); p.MaxTime > 0 && (slices.Contains(mine, p.Name) || s.Partition == "" && p.Default) {
			s.longest = max(s.longest, p.MaxTime)
		}
	}
	for name := range strings.SplitSeq(s.Partition, ",") {
		if s.Partition != "" && !slices.Contains(names, name) {
			return wrong("%w %q: the cluster has %s", site.ErrPartition, name, strings.Join(names, ", "))
		}
	}
	for kind, product := range s.Models {
		if _, ok := profile.LookupGPU(product); !ok {
			return wrong("models: %q stands for %q, which is not in the catalogue", kind, product)
		}
	}
	return nil
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
