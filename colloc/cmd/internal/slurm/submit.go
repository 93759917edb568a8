package slurm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/filelock"
)

const aboutSubmit = `Submit plans like plan does and submits the jobs. What was submitted, with the
predicted speeds, is kept in a file for watch. Tasks for which no GPU is free
wait in Slurm's queue, in sets that get along, for any GPU of a kind.`

func (p *program) submit(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("submit", flag.ContinueOnError)
	in := inputFlags(f)
	dry := f.Bool("dry-run", false, "print the plan and the scripts, and submit nothing")
	if err := p.parse(f, args, aboutSubmit, 0); err != nil {
		return err
	}
	unlock, err := lock(*in.record + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
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
			return ids, errors.Join(fmt.Errorf("tasks %q: %w", j.tasks, err), p.undo(jobs, j.gpu, ids))
		}
		fmt.Fprintf(p.stdout, "job %d: %q on %s\n", id, j.tasks, j.gpu)
		for _, t := range j.tasks {
			ids[t] = id
		}
	}
	return ids, nil
}

// undo cancels what was submitted of a set whose rest was refused: half a set
// holds shares, and nobody completes it. Its tasks are planned again.
func (p *program) undo(jobs []job, gpu string, ids map[string]site.JobID) error {
	var half []site.JobID
	for _, j := range jobs {
		if j.gpu == gpu && ids[j.tasks[0]] != 0 {
			half = append(half, ids[j.tasks[0]])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), slurm.DefaultTimeout) // also when the user has had enough
	defer cancel()
	if err := p.client.Cancel(ctx, half...); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.gpu == gpu {
			for _, t := range j.tasks {
				delete(ids, t)
			}
		}
	}
	return nil
}

// lock keeps a second submit with the same record away until unlock is called,
// or the process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Take(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another submit is at work: %w", path, err)
	}
	return func() { f.Close() }, nil
}
