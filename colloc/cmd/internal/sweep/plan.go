package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/screen"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// plan prints what the sweep would do first, and with what it would reckon.
func (s *sweep) plan(ctx context.Context, w io.Writer) error {
	used := s.host.Use(s.o.gpus)
	fmt.Fprintf(w, "%s on %s; nothing is run\n\n", screen.Plural(len(s.jobs), "task"), screen.Plural(len(used), "GPU"))
	s.planTasks(w)
	unknown := make(map[string]int)
	for i := range s.jobs {
		if k := s.kinds[s.jobs[i].Kind]; k.Profile == nil {
			unknown[s.jobs[i].Kind]++
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
	starts, err := s.decide(ctx, used)
	if err != nil || len(starts) == 0 {
		return err
	}
	fmt.Fprintf(w, "\nThe first %s to start, if the GPUs are free:\n\n", screen.Plural(len(starts), "task"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TASK\tGPU\tRESERVED\tSPEED\tBY")
	for _, a := range starts {
		fmt.Fprintf(t, "%s\t%s\t%v\t%.2f\t%v\n", a.Job, strings.Join(a.GPUs, ","), a.Reserve, a.Speed, a.Mechanism)
	}
	return errors.Join(t.Flush(), s.planEnvironment(w, starts))
}

// decide asks what the runner asks: which of the tasks of which something is known start on GPUs that are free.
func (s *sweep) decide(ctx context.Context, used []nvmlx.DeviceInfo) ([]dispatch.Action, error) {
	planner, err := s.o.newPlanner()
	if err != nil {
		return nil, err
	}
	d, err := dispatch.New(planner, &dispatch.Options{Scheduler: online.SchedulerOptions{Objective: profile.Some(objective)}, AtOnce: true})
	if err != nil {
		return nil, err
	}
	var events []dispatch.Event
	for i := range used {
		ways := runner.Sharing(used[i], s.o.mechanisms)
		ways = ways[:min(1, len(ways))] // the preferred one
		events = append(events, dispatch.GPUAdded{GPU: colloc.GPU{ID: string(used[i].ID), Model: s.host.Models[used[i].ID], Memory: used[i].Memory.Or(0), Mechanisms: ways}})
	}
	for i := range s.jobs {
		j := &s.jobs[i]
		if k := s.kinds[j.Kind]; k.Profile != nil && len(j.After) == 0 {
			events = append(events, dispatch.Submitted{Job: dispatch.Job{Restart: s.o.restart, Task: colloc.Task{
				ID: j.ID, Kind: j.Kind, Profile: k.Profile, Reserved: s.o.memory, GPUs: s.o.taskGPUs, Priority: j.Priority,
			}}})
		}
	}
	if err := d.Tell(0, events...); err != nil {
		return nil, err
	}
	return d.Decide(ctx, 0)
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
func (s *sweep) planEnvironment(out io.Writer, starts []dispatch.Action) error {
	config := s.config(nil)
	fmt.Fprintf(out, "\nEnvironment, beside what is inherited, COLLOC_TASK, COLLOC_RUN, COLLOC_PROGRESS,\n"+
		"and PYTHONUNBUFFERED, OMP_NUM_THREADS=%d and the like where nobody set them:\n\n", config.TaskThreads(len(s.host.Use(s.o.gpus))))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, a := range starts {
		env := []string{"CUDA_VISIBLE_DEVICES=" + strings.Join(a.GPUs, ",")}
		if a.Mechanism == profile.MPS {
			var err error
			if env, err = (mps.Share{Device: nvmlx.DeviceID(a.GPUs[0]), Memory: a.Reserve, PipeDir: mps.PipeDir(s.host.Env)}).Env(); err != nil {
				return err
			}
		}
		env = append(env, s.o.groupEnv()...)
		fmt.Fprintf(w, "  %s\t%s\n", a.Job, grammar.QuoteWords(env))
	}
	return w.Flush()
}
