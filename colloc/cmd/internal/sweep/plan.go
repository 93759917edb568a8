package sweep

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// plan prints what the sweep would do first, and with what it would reckon.
func (s *sweep) plan(ctx context.Context, w io.Writer) error {
	used := s.host.used(s.o)
	fmt.Fprintf(w, "%s on %s; nothing is run\n\n", screen.Plural(len(s.jobs), "task"), screen.Plural(len(used), "GPU"))
	s.planTasks(w)
	var ready []colloc.Task
	unknown := make(map[string]int)
	for i := range s.jobs {
		j := &s.jobs[i]
		k := s.kinds[j.Kind]
		if k.Profile == nil {
			unknown[j.Kind]++
			continue
		}
		if most := 2 * len(used) * s.o.perGPU; len(j.After) == 0 && len(ready) < most { // more cannot start at once
			ready = append(ready, colloc.Task{ID: j.ID, Profile: k.Profile, Reserved: s.o.memory, GPUs: s.o.taskGPUs})
		}
	}
	for _, j := range s.jobs {
		if n := unknown[j.Kind]; n > 0 {
			fmt.Fprintf(w, "\nNothing is known of %s %q yet: the first to start has a GPU to itself for %v after\n"+
				"its first step; from then on others join it as far as memory and speeds allow.\n"+
				"-known FILE takes what an earlier sweep measured.\n", screen.Plural(n, "task"), j.Kind, s.o.profiling)
			delete(unknown, j.Kind)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	gpus := make([]colloc.GPU, len(used))
	for i, d := range used {
		gpus[i] = colloc.GPU{ID: string(d.ID), Model: s.host.models[d.ID], Memory: d.Memory.Or(0), Mechanisms: runner.Sharing(d, s.o.mechanisms)}
	}
	planner, err := s.o.newPlanner()
	if err != nil {
		return err
	}
	p, err := planner.Plan(ctx, ready, gpus)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe first %s to start, if the GPUs are free:\n\n", screen.Plural(len(ready), "task"))
	if err := p.Explain(w); err != nil {
		return err
	}
	return s.planEnvironment(w, p)
}

// planTasks lists the tasks.
func (s *sweep) planTasks(out io.Writer) {
	const most = 20
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tPRIORITY\tAFTER\tCOMMAND")
	for i := range s.jobs {
		if i == most {
			fmt.Fprintf(w, "and %d more\t\t\t\n", len(s.jobs)-most)
			break
		}
		j := &s.jobs[i]
		command := grammar.QuoteWords(j.Command)
		if s.o.grid.Shell {
			command = j.Command[0]
		}
		after := strings.Join(j.After, " ")
		if after == "" {
			after = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", j.ID, j.Priority, after, command)
	}
	_ = w.Flush() // what out does not take shows in the exit of the program
}

// planEnvironment lists the variables that tell each task what it may use.
func (s *sweep) planEnvironment(out io.Writer, p *colloc.Plan) error {
	config := s.config(nil)
	fmt.Fprintf(out, "\nEnvironment, beside what is inherited, COLLOC_TASK, COLLOC_RUN, COLLOC_PROGRESS,\n"+
		"and PYTHONUNBUFFERED, OMP_NUM_THREADS=%d and the like where nobody set them:\n\n", config.TaskThreads(len(s.host.used(s.o))))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, place := range p.Placements {
		for _, m := range place.Members {
			env := []string{"CUDA_VISIBLE_DEVICES=" + place.GPU}
			if place.Mechanism == profile.MPS {
				var err error
				if env, err = (mps.Share{Device: nvmlx.DeviceID(place.GPU), Memory: m.Reserved, PipeDir: mps.PipeDir(s.host.env)}).Env(); err != nil {
					return err
				}
			}
			if s.o.group != "" {
				env = append(env, "WANDB_RUN_GROUP="+s.o.group)
			}
			fmt.Fprintf(w, "  %s\t%s\n", m.Task, grammar.QuoteWords(env))
		}
	}
	return w.Flush()
}
