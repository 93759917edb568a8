package slurm

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
)

const aboutSubmit = `Submit plans like plan does and submits the jobs. What was submitted, with the
predicted speeds, is kept in a file for watch. Tasks that the plan leaves waiting
get no job: submit again when GPUs are free.`

func (p *program) submit(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("submit", flag.ContinueOnError)
	in := inputFlags(f)
	dry := f.Bool("dry-run", false, "print the plan and the scripts, and submit nothing")
	if err := p.parse(f, args, aboutSubmit, 0); err != nil {
		return err
	}
	out, err := p.outline(ctx, in)
	if err != nil {
		return err
	}
	if err := p.explain(out, *dry); err != nil || *dry {
		return err
	}
	dir, err := filepath.Abs(filepath.Dir(*in.sweep))
	if err != nil {
		return err
	}
	// The jobs see the same files: a folder that home directories share.
	if err := os.MkdirAll(under(dir, out.logs), 0o755); err != nil {
		return err
	}
	ids, err := p.submitJobs(ctx, out.jobs, dir)
	// What was submitted is kept, whatever stopped the rest.
	out.submitted.add(out, ids)
	if unkept := writeJSON(*in.record, out.submitted); unkept != nil {
		return fmt.Errorf("the jobs %v were submitted, but not recorded: %w", ids, unkept)
	}
	return err
}

// submitJobs submits the jobs and returns their numbers by task.
func (p *program) submitJobs(ctx context.Context, jobs []job, dir string) (map[string]site.JobID, error) {
	ids := make(map[string]site.JobID)
	for _, j := range jobs {
		id, err := p.client.Submit(ctx, &j.Job, &slurm.SubmitOptions{Dir: dir})
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
