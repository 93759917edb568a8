package slurm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"

	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
)

const aboutSubmit = `Submit plans like plan does and submits the jobs. What was submitted, with the
predicted speeds, is kept in a file for watch. Tasks for which no GPU is free
wait in Slurm's queue, in sets that get along, for any GPU of a kind.

With -wait it stays until every task is over, and needs nobody: it plans again
what failed and what a drained node or a limit of the site kept back, takes jobs
out of the queue where one of the sweep's GPUs has room beside its tasks, and
learns from each set that is over. It can be ended and started again at any
time, on any machine that sees the same files. A task that ended well never runs
again; one whose job somebody cancelled is left alone without -again.`

func (p *program) submit(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("submit", flag.ContinueOnError)
	in := inputFlags(f)
	dry := f.Bool("dry-run", false, "print the plan and the scripts, and submit nothing")
	wait := f.Bool("wait", false, "stay until every task is over, planning again what still waits")
	retries := f.Int("retries", 1, "with -wait, `HOW` often a task that failed is run again")
	if err := p.parse(f, args, aboutSubmit); err != nil {
		return err
	}
	d, unlock, err := p.alone(in)
	if err != nil {
		return err
	}
	defer unlock()
	if *wait && !*dry {
		return p.stay(ctx, d, *retries)
	}
	out, err := p.outline(ctx, d)
	if err != nil {
		return err
	}
	if err := p.explain(out, *dry); err != nil || *dry {
		return err
	}
	return p.submitJobs(ctx, d, out)
}

// submitJobs submits the jobs of a plan, set by set, and records each set at once. A
// set that the site refuses is taken back, and the next one is tried: three refused
// in a row, or a cluster that does not answer, end it.
func (p *program) submitJobs(ctx context.Context, d *desk, out *outline) error {
	// The jobs see the same files: a folder that home directories share.
	if err := os.MkdirAll(files.Under(d.sweep.dir, out.logs), 0o755); err != nil {
		return err
	}
	const patience = 3
	var refused []error
	inRow := 0
	for first := 0; first < len(out.jobs) && inRow < patience; {
		n := 1
		for first+n < len(out.jobs) && out.jobs[first+n].gpu == out.jobs[first].gpu {
			n++
		}
		set := out.jobs[first : first+n]
		first += n
		d.record.Sets = append(d.record.Sets, out.set(set, p.now()))
		if err := d.save(); err != nil {
			return err
		}
		ids, err := p.submitSet(ctx, d, set)
		d.record.sent(ids, err)
		if unkept := d.save(); unkept != nil {
			return errors.Join(fmt.Errorf("the jobs %v were submitted, but not recorded: %w", ids, unkept), err)
		}
		if err != nil && len(ids) > 0 { // half a set holds shares, and nobody completes it
			err = errors.Join(err, p.withdraw(d))
		}
		if inRow++; err == nil {
			inRow = 0
			continue
		}
		refused = append(refused, err)
		d.hopeless(set, err)
		if errors.Is(err, site.ErrNoCluster) || errors.Is(err, site.ErrPermission) || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(refused...)
}

// hopeless notes which tasks no node takes. A node that has not registered since
// slurmctld began offers no shares: what that refuses it may take a moment later.
func (d *desk) hopeless(set []job, err error) {
	const patience = 5 // refusals
	if !errors.Is(err, site.ErrImpossible) && !errors.Is(err, site.ErrPartition) {
		return
	}
	for _, j := range set {
		for _, t := range j.tasks {
			if d.refusals[t]++; d.refusals[t] >= patience || errors.Is(err, site.ErrPartition) {
				d.impossible[t] = err.Error()
			}
		}
	}
}

// submitSet submits the jobs of one set and returns their numbers by task.
func (p *program) submitSet(ctx context.Context, d *desk, jobs []job) (map[string]site.JobID, error) {
	ids := make(map[string]site.JobID)
	for _, j := range jobs {
		o := &slurm.SubmitOptions{Dir: d.sweep.dir}
		if limit := d.sweep.Limit; limit > 0 { // of each name Slurm runs one at a time
			o.Singleton, j.Request.Name = true, fmt.Sprintf("%s.%d", url.QueryEscape(d.sweep.name), d.lane%limit)
			d.lane++
		}
		id, err := p.client.Submit(ctx, &j.Job, o)
		if err != nil {
			return ids, fmt.Errorf("tasks %q: %w", j.tasks, err)
		}
		fmt.Fprintf(p.stdout, "job %d: %q on %s\n", id, j.tasks, j.gpu)
		for _, t := range j.tasks {
			ids[t] = id
		}
	}
	return ids, nil
}

// withdraw takes out of the queue the jobs that the record marks as taken, so that their
// tasks are planned anew; those that have started meanwhile lose the mark.
func (p *program) withdraw(d *desk) error {
	marked := make(map[site.JobID]bool)
	var ids []site.JobID
	for m := range d.record.members() {
		if m.Taken && m.End == fresh && !m.Gone && !marked[m.Job] {
			marked[m.Job], ids = true, append(ids, m.Job)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*slurm.DefaultTimeout) // also when the user has had enough
	defer cancel()
	gone, err := p.client.Withdraw(ctx, ids...)
	if err != nil {
		return err
	}
	for m := range d.record.members() {
		if marked[m.Job] {
			m.Gone = slices.Contains(gone, m.Job)
			m.Taken = m.Gone
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return d.save()
}
