package slurm

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/replace"
	"example.com/colloc/profile"
)

// job is one job of a plan.
type job struct {
	script.Job
	tasks []string
	gpu   string
}

// refusal is a task that gets no job, whatever becomes free.
type refusal struct{ task, why string }

// outline is a plan for the cluster as it is.
type outline struct {
	logs    string
	plan    dispatch.Decision // what starts now, and why the rest has no job
	jobs    []job
	gpus    map[string]profile.GPUModel
	pinned  map[string]bool // GPUs that a job can name
	skipped []site.Skipped
	queued  []colloc.Placement // what waits in Slurm for any GPU of a kind
	own     []colloc.Placement // tasks with GPUs of their own, or in one allocation
	outside int                // tasks that cannot wait in Slurm, and wait here
	refused []refusal          // what gets no job, and why
	notes   []string
}

// miscounted is what there is to say of a node of [site.State.Miscounted].
func miscounted(node string) string {
	return node + ": Slurm counts GPUs as used that no job has, as it may when slurmctld was restarted: nobody gets them until an administrator runs \"scontrol reconfigure\""
}

// input is the files that a plan is made from.
type input struct {
	path, submitted, learned *string
	again, now               *bool
	rest                     *reach
}

func inputFlags(f *flag.FlagSet) input {
	return input{
		path:      f.String("sweep", "", "`FILE` with the tasks"),
		submitted: f.String("record", "submitted.json", "`FILE` with what submit submitted; those tasks are not planned again unless they failed"),
		now:       f.Bool("now", false, "leave out tasks for which no GPU is free: they would wait in Slurm's queue"),
		again:     f.Bool("again", false, "plan tasks again, too, that were cancelled or of which nobody knows how they ended"),
		rest:      reachFlags(f),
		learned:   f.String("models", "models", "`DIR` with what watch has learned; the pretrained models if it is not there"),
	}
}

// desk is what lies on the table while a sweep is planned: its tasks, what was
// submitted, what was learned.
type desk struct {
	input
	sweep   *sweep
	record  *record
	planner *colloc.Planner // with what was learned

	impossible map[string]string   // tasks that no node takes, and why
	refusals   map[string]int      // how often a job of a task was impossible
	looks      int                 // at the cluster
	measured   time.Time           // when Slurm was last asked what jobs hold that run
	blind      bool                // it does not say that
	keeps      bool                // jobs that got no GPU are put back in their place
	placeless  map[site.JobID]bool // jobs that Slurm did not put back
	lane       int                 // of the next job, where the sweep limits how many run
	patience   int                 // looks until a job that was perhaps submitted must be listed
}

// alone opens what it writes to, which no other command does until unlock.
func (p *program) alone(in input) (d *desk, unlock func(), err error) {
	unlock, err = files.Lock(*in.submitted+".lock", false)
	if err != nil {
		return nil, nil, fmt.Errorf("%s.lock: another submit is at work, or watch: %w", *in.submitted, err)
	}
	if d, err = p.open(in); err != nil {
		unlock()
	}
	return d, unlock, err
}

func (p *program) open(in input) (*desk, error) {
	if err := p.through(in.rest); err != nil {
		return nil, err
	}
	d := &desk{input: in, impossible: make(map[string]string), refusals: make(map[string]int), placeless: make(map[site.JobID]bool)}
	var err error
	if d.sweep, err = readSweep(*in.path); err != nil {
		return nil, err
	}
	if d.record, err = files.Load(*in.submitted, readRecord, func() (*record, error) { return &record{}, nil }); err != nil {
		return nil, err
	}
	of, mine := d.record.Sweep, filepath.Base(*in.path)
	if of != "" && of != mine {
		return nil, cli.Usage("%s tells of the tasks of %s, and those of %s may have the same names: move %[3]s to a folder of its own, or give it another -record and \"log_dir\"", *in.submitted, of, mine)
	}
	d.record.Sweep = mine
	d.lane = len(d.record.tasks())
	c := colloc.Config{MaxSet: d.sweep.Most}
	d.planner, err = files.Load(d.models(), func(r io.Reader) (*colloc.Planner, error) { return colloc.Load(r, c) }, func() (*colloc.Planner, error) { return colloc.New(c) })
	return d, err
}

// models is the file of what was learned; empty is none.
func (d *desk) models() string {
	if *d.learned == "" {
		return ""
	}
	return filepath.Join(*d.learned, "learned.json")
}

// keepModels writes what was learned.
func (d *desk) keepModels() error {
	if err := os.MkdirAll(*d.learned, 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := d.planner.Save(&text); err != nil {
		return err
	}
	return replace.Text(d.models(), text.Bytes())
}

func (d *desk) save() error { return files.WriteJSON(*d.submitted, d.record) }

func newOutline(s *sweep) *outline {
	return &outline{logs: s.LogDir, gpus: make(map[string]profile.GPUModel), pinned: make(map[string]bool)}
}

// offered are the GPUs that a plan may use now.
func (o *outline) offered(s *sweep, state *site.State) ([]colloc.GPU, map[string]site.Device) {
	gpus, skipped := state.GPUs(&site.GPUOptions{Models: s.Models, Residents: s.resident})
	o.skipped = skipped
	elsewhere := func(id string) bool {
		node, _, _ := strings.Cut(id, "/")
		n := state.Node(node)
		return n == nil || !s.Suits(n)
	}
	gpus = slices.DeleteFunc(gpus, func(g colloc.GPU) bool { return elsewhere(g.ID) || !s.large(g.Model) })
	o.skipped = slices.DeleteFunc(o.skipped, func(k site.Skipped) bool { return elsewhere(k.GPU) })
	devices := make(map[string]site.Device)
	for _, d := range state.Devices() {
		devices[d.ID()] = d
	}
	for i := range gpus {
		o.gpus[gpus[i].ID] = gpus[i].Model
		o.pinned[gpus[i].ID] = devices[gpus[i].ID].Pinned
		if devices[gpus[i].ID].Share == "" {
			gpus[i].Mechanisms = nil // in one job the tasks share what they like
		}
	}
	return gpus, devices
}

// set is what the record keeps of jobs for one GPU that are about to be submitted:
// whatever happens then, it is known that they may have been.
func (o *outline) set(jobs []job, now time.Time) set {
	placements := slices.Concat(o.plan.Placements, o.own, o.queued)
	n := set{GPU: jobs[0].gpu, Sent: now.UTC()}
	n.Learned = slices.ContainsFunc(o.own, func(p colloc.Placement) bool { return p.GPU == n.GPU }) // nobody shared
	for _, pl := range placements {
		if pl.GPU != n.GPU {
			continue
		}
		n.Product, n.Mechanism, n.Pinned = o.gpus[n.GPU].Name, pl.Mechanism, o.pinned[n.GPU]
		for _, m := range pl.Members {
			doubt := slices.ContainsFunc(jobs, func(j job) bool { return slices.Contains(j.tasks, m.Task) })
			n.Members = append(n.Members, member{Task: m.Task, Speed: m.Speed, Reserved: m.Reserved, Doubt: doubt})
		}
	}
	return n
}

// writeJSON writes the plan for programs: who shares which GPU, the jobs with their
// scripts, and which tasks get none.
func (o *outline) writeJSON(w io.Writer) error {
	type shown struct {
		GPU    string   `json:"gpu"`
		Tasks  []string `json:"tasks"`
		Script string   `json:"script"`
	}
	all := struct {
		Plan    dispatch.Decision  `json:"plan"`
		Queued  []colloc.Placement `json:"queued,omitempty"`
		Jobs    []shown            `json:"jobs"`
		NotUsed []site.Skipped     `json:"not_used,omitempty"`
		NoJob   map[string]string  `json:"no_job,omitempty"`
		Outside int                `json:"outside,omitempty"`
		Notes   []string           `json:"notes,omitempty"`
	}{Plan: o.plan, Queued: o.queued, Jobs: []shown{}, NotUsed: o.skipped, NoJob: make(map[string]string), Outside: o.outside, Notes: o.notes}
	for _, j := range o.jobs {
		text, err := j.Text()
		if err != nil {
			return err
		}
		all.Jobs = append(all.Jobs, shown{j.gpu, j.tasks, text})
	}
	for _, r := range o.refused {
		all.NoJob[r.task] = r.why
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}
