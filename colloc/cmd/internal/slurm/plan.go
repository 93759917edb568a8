package slurm

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/slurm/decisions"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

const aboutPlan = `Plan prints which tasks of the sweep that have no job yet should share which
GPU of the cluster, and why; nothing is submitted.

With -decisions it leaves for decide, and so for the site's job_submit.lua, where
each task should go. These hold for minutes: with -every it goes on, until it is
ended, and keeps them fresh; a controller that does not answer only delays it.`

func (p *program) plan(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("plan", flag.ContinueOnError)
	in := inputFlags(f)
	scripts := f.Bool("scripts", false, "print the batch scripts, too")
	asJSON := f.Bool("json", false, "print plan and scripts as JSON")
	decisions := f.String("decisions", "", "write for decide where each task should go to `FILE`, or to UID.json in a folder")
	every := f.Duration("every", 0, "with -decisions, plan again each `TIME`")
	if err := p.parse(f, args, aboutPlan); err != nil {
		return err
	}
	if *every < 0 || *every > 0 && *decisions == "" {
		return cli.Usage("-every is %v: want more than 0, and -decisions", *every)
	}
	look, show := p, func(out *outline) error { return p.explain(out, *scripts) }
	if *asJSON {
		aside := *p
		aside.stdout = p.stderr
		look, show = &aside, func(out *outline) error { return out.writeJSON(p.stdout) }
	}
	once := func() error { return look.planOnce(ctx, in, show, *decisions) }
	var bad failures
	err := once()
	for *every > 0 && ctx.Err() == nil && bad.bears(err) { // until it is ended
		if err != nil {
			fmt.Fprintf(p.stderr, "colloc slurm plan: %v: trying again\n", err)
		}
		if rest(ctx, *every); ctx.Err() == nil {
			err = once()
		}
	}
	if *every > 0 && ctx.Err() != nil {
		return nil //nolint:nilerr // it goes on until it is ended, and was
	}
	return err
}

// planOnce reads everything anew, plans, and prints.
func (p *program) planOnce(ctx context.Context, in input, show func(*outline) error, decisions string) error {
	d, err := p.open(in)
	if err != nil {
		return err
	}
	out, err := p.outline(ctx, d)
	if err != nil {
		return err
	}
	if err := show(out); err != nil || decisions == "" {
		return err
	}
	return out.decisions(p.now()).Write(decisions)
}

// decisions are those about jobs of one task that are bound to a node.
func (o *outline) decisions(now time.Time) *decisions.File {
	all := &decisions.File{Made: now.UTC(), UID: os.Getuid(), Tasks: make(map[string]decisions.Decision)}
	for _, j := range o.jobs {
		if len(j.tasks) == 1 && len(j.Request.Gres) == 1 && j.Request.NodeList != "" {
			all.Tasks[decisions.KeyOf(j.Request.Comment)] = decisions.Decision{Node: j.Request.NodeList, Gres: j.Request.Gres[0].String()}
		}
	}
	return all
}

// outline reads the cluster and plans what is pending.
func (p *program) outline(ctx context.Context, d *desk) (*outline, error) {
	state, history, err := p.look(ctx, d)
	if err != nil {
		return nil, err
	}
	history.tell(p, d.sweep)
	return d.arrange(ctx, state, d.pending(history))
}

// look reads the cluster, and what became of the tasks.
func (p *program) look(ctx context.Context, d *desk) (*site.State, *past, error) {
	state, err := p.client.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := d.sweep.check(state); err != nil {
		return nil, nil, err
	}
	if d.sweep.home.Unlimited && d.sweep.silent > 0 { // of the partition; the site may say more
		defaults, err := p.client.Defaults(ctx)
		if err != nil {
			return nil, nil, err
		}
		d.sweep.home.MemoryPerCPU, d.sweep.home.MemoryPerNode, d.sweep.home.Unlimited = defaults.MemoryPerCPU, defaults.MemoryPerNode, defaults.Unlimited
	}
	d.looks++
	return state, p.history(ctx, d, state.Jobs), nil
}

// arrange plans tasks for the cluster as it is.
func (d *desk) arrange(ctx context.Context, state *site.State, pending []colloc.Task) (*outline, error) {
	s := d.sweep
	out := newOutline(s)
	if s.GPUMemory > 0 {
		out.notes = append(out.notes, fmt.Sprintf("GPUs with %v or more: %s", s.GPUMemory, s.kind))
	}
	if pending = s.apartFrom(out, pending); len(pending) == 0 && len(out.own) > 0 {
		return out, nil
	}
	for _, node := range state.Miscounted() {
		out.notes = append(out.notes, miscounted(node))
	}
	m, err := d.ask(out, state, pending)
	if err != nil {
		return nil, err
	}
	if s.home.Unlimited && s.silent > 0 {
		out.notes = append(out.notes, fmt.Sprintf("%d tasks state no \"memory\": here a job that states none gets all of a node (DefMemPerNode=UNLIMITED) and keeps every other job off: say how much they need", s.silent))
	}
	kinds := s.kinds(state)
	starts, err := m.start(ctx, out)
	if err != nil {
		return nil, err
	}
	if out.plan.Placements, err = m.placements(m.gpus, starts); err != nil {
		return nil, err
	}
	left := len(m.tasks) - len(starts)
	if !*d.now {
		first := len(m.gpus)
		starts, err = m.queue(ctx, out, left, kinds)
		if err != nil {
			return nil, err
		}
		if out.queued, err = m.placements(m.gpus[first:], starts); err != nil {
			return nil, err
		}
		if left -= len(starts); len(kinds) == 0 {
			out.outside = left
		}
	}
	if out.plan.Waits, err = m.waits(); err != nil {
		return nil, err
	}
	return out, m.place(out, kinds)
}

// place writes the jobs of a plan: one per task where the site shares GPUs, else one per set.
func (m *mind) place(out *outline, kinds []kind) error {
	s := m.sweep
	for _, p := range slices.Concat(out.plan.Placements, out.queued) {
		s.slow(m.planner, &p, out.gpus[p.GPU])
		d, here := m.devices[p.GPU]
		if here && d.Share != "" {
			jobs, err := s.apart(&colloc.Plan{Placements: []colloc.Placement{p}}, &d)
			if err != nil {
				return err
			}
			out.jobs = append(out.jobs, jobs...)
			continue
		}
		k, node := m.kinds[p.GPU], ""
		if here {
			k, node = kind{gres: d.Type}, d.Node
			if i := slices.IndexFunc(kinds, func(k kind) bool { return k.gres == d.Type }); i >= 0 {
				k, node = kinds[i], "" // any such GPU will do: Slurm knows best which is free
			} else if n := m.state.Node(d.Node); n != nil {
				k.cpus, k.memory = n.CPUs, n.Memory
			}
		}
		if err := s.whole(out, &p, k, node); err != nil {
			return err
		}
	}
	return nil
}

// apart writes one job for each task, with its shares of the GPU.
func (s *sweep) apart(one *colloc.Plan, d *site.Device) ([]job, error) {
	placed, err := slurm.Place(one, []site.Device{*d}, &slurm.PlaceOptions{Sweep: s.name, Busy: s.busy})
	if err != nil {
		return nil, err
	}
	var jobs []job
	for _, m := range placed {
		t := s.run(s.byID[m.Task])
		t.GPUMemory = m.Reserved
		alone := script.Set{Mechanism: one.Placements[0].Mechanism, Tasks: []script.Task{t}, Neighbours: m.Request.Gres[0].Name != "gpu"}
		if !alone.Neighbours {
			alone.Mechanism = profile.Exclusive
		}
		j, err := s.write(alone, m.GPU, m.Request)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// busy is how busy a task keeps a GPU alone, as its sweep says.
func (s *sweep) busy(task string) profile.Opt[float64] {
	e := s.byID[task]
	if e == nil || e.Solo == nil {
		return profile.Opt[float64]{}
	}
	return e.Solo.GPUBusy
}

// write writes one job.
func (s *sweep) write(set script.Set, gpu string, r script.Request) (job, error) {
	j := job{gpu: gpu}
	for _, t := range set.Tasks {
		j.tasks = append(j.tasks, t.Name)
	}
	r.Comment = slurm.Comment(s.name, j.tasks...)
	var err error
	j.Job, err = script.Shared([]script.Set{set}, s.options(r, set.Tasks...))
	return j, err
}

// tell says who shares which GPU, with the predicted speeds.
func tell(w io.Writer, placements []colloc.Placement) {
	for _, p := range placements {
		fmt.Fprintf(w, "%s, %v of %v reserved, %s:\n", p.GPU, p.Reserved, p.Usable, p.Mechanism)
		for _, m := range p.Members {
			word := ""
			if m.Resident {
				word = ", runs there"
			}
			fmt.Fprintf(w, "  %q at %.2f [%.2f, %.2f] of its speed alone%s\n", m.Task, m.Speed.Value, m.Speed.Lo, m.Speed.Hi, word)
		}
	}
}

// explain prints the plan and, if asked for, the scripts.
func (p *program) explain(out *outline, scripts bool) error {
	for _, s := range out.skipped {
		fmt.Fprintf(p.stdout, "not used: %s: %s\n", s.GPU, s.Why)
	}
	tell(p.stdout, out.plan.Placements)
	if len(out.queued) > 0 {
		fmt.Fprintf(p.stdout, "In Slurm's queue, for any GPU of the kind:\n")
		tell(p.stdout, out.queued)
	}
	for _, r := range out.plan.Waits {
		fmt.Fprintf(p.stdout, "%q waits: %s\n", r.Job, r.String())
	}
	for _, j := range out.jobs {
		if strings.HasPrefix(j.gpu, ownPrefix) {
			fmt.Fprintf(p.stdout, "In Slurm's queue, with GPUs of its own: %q: %d nodes, %v each\n", j.tasks, j.Request.Nodes, j.Request.Gres)
		}
	}
	for _, line := range out.notes {
		fmt.Fprintf(p.stdout, "note: %s\n", line)
	}
	for _, r := range out.refused {
		fmt.Fprintf(p.stdout, "no job: %q %s\n", r.task, r.why)
	}
	if out.outside > 0 {
		fmt.Fprintf(p.stdout, "no job: %d tasks wait here and not in Slurm: no type that a job can ask for means one product: submit again when GPUs are free, or submit -wait\n", out.outside)
	}
	for _, j := range out.jobs {
		if !scripts {
			break
		}
		text, err := j.Text()
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "\n--- %q on %s\n%s", j.tasks, j.gpu, text)
	}
	return nil
}
