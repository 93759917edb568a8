package station

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/guest"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
	"example.com/colloc/profile"
)

// submission are the flags of submit.
type submission struct {
	grid  grammar.Grid
	task  api.Task
	time  time.Duration
	share string
	any   bool
	after []string
	wait  bool
}

// submit is colloc station submit.
func (p *program) submit(ctx context.Context, args []string) error {
	o := submission{}
	f := p.set()
	f.IntVar(&o.task.GPUs, "gpus", 1, "it takes `N` GPUs at once, to itself, as with torchrun")
	cli.Bytes(f, &o.task.Memory, "mem", "reserve `BYTES` of each GPU; without it the first job of a program runs alone for a moment, and is measured")
	f.DurationVar(&o.time, "time", 0, "end a run that takes longer than `TIME`")
	f.StringVar(&o.share, "share", "yes", "no: share a GPU with nobody; `yes`: where that gains")
	f.Float64Var(&o.task.MaxSlowdown, "slowdown", 0, "bear at most `X` times the time that it takes alone; default is the station's")
	f.StringVar(&o.task.Name, "name", "", "call it `NAME`")
	f.StringVar(&o.task.Kind, "kind", "", "what is known of jobs of kind `NAME` holds for it; default is its program and script")
	f.StringVar(&o.task.Class, "class", "normal", "priority `CLASS`: low, normal or high")
	f.Func("after", "start after the jobs `LIST` of numbers succeeded", func(s string) error {
		o.after = append(o.after, strings.Split(s, ",")...)
		return nil
	})
	f.BoolVar(&o.any, "any", false, "with -after: however they ended")
	f.IntVar(&o.task.CPUs, "cpus", 0, "tell its libraries to use `N` threads; default is a fair share")
	f.IntVar(&o.task.Retries, "retries", 0, "run it up to `N` times more if it fails")
	cli.Restart(f, func(cost time.Duration) { o.task.Restart = profile.Some(api.Duration(cost)) })
	f.BoolVar(&o.task.Held, "hold", false, "keep it from starting until it is released")
	f.StringVar(&o.task.Progress.Pattern, "step", solo.Steps, "`REGEXP` with the group (?P<step>...) finds the number of a step in its output")
	f.Int64Var(&o.task.Progress.Total, "steps", 0, "it takes `N` steps, if it does not say so itself")
	f.BoolVar(&o.wait, "wait", false, "wait until it is over, as colloc station wait")
	o.grid.Flags(f, nil)
	f.BoolVar(&o.grid.Shell, "shell", false, "let a shell read the command")
	f.Lookup("step").DefValue = "" // the usual ways to write them
	if err := p.parse(f, args, "Queues a job, which runs in this folder with this environment, and prints its number.\n\n  colloc station submit -mem 8GiB -- python train.py\n  colloc station submit -p lr=1e-4..1e-1:x10 -- python train.py --lr {lr}", 0, -1); err != nil {
		return err
	}
	tasks, err := o.tasks(f.Args(), p)
	if err != nil {
		return cli.Usage("%w", err)
	}
	client := p.client()
	defer client.Close()
	ids, err := client.Submit(ctx, tasks...)
	if err != nil {
		return err
	}
	if p.asJSON {
		err = p.json(api.IDs{IDs: ids})
	} else {
		_, err = fmt.Fprintln(p.streams.Out, strings.Join(ids, "\n"))
	}
	if err != nil || !o.wait {
		return err
	}
	return p.await(ctx, client, ids)
}

// tasks are the jobs that the flags ask for.
func (o *submission) tasks(words []string, p *program) ([]api.Task, error) {
	switch {
	case o.share != "yes" && o.share != "no":
		return nil, fmt.Errorf("-share %q: want yes or no", o.share)
	case math.IsNaN(o.task.MaxSlowdown) || math.IsInf(o.task.MaxSlowdown, 0): // JSON has neither
		return nil, fmt.Errorf("-slowdown %v: want a number of at least 1, or 0 for the station's", o.task.MaxSlowdown)
	}
	jobs, err := o.grid.Of(words, p.streams.In)
	if err != nil {
		return nil, err
	}
	if err := guest.Here(&o.task); err != nil {
		return nil, err
	}
	number := make(map[string]int, len(jobs))
	tasks := make([]api.Task, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		number[j.ID] = i + 1
		t := o.task
		t.Command, t.Shell = j.Command, o.grid.Shell
		t.Alone, t.Time = o.share == "no", api.Duration(o.time)
		if t.Name == "" && len(jobs) > 1 {
			t.Name = j.ID
		}
		if t.Kind == "" {
			t.Kind = guest.KindOf(j.Command, t.Dir, o.grid.Shell)
		}
		for _, id := range o.after {
			t.After = append(t.After, queue.Dependency{Task: strings.TrimSpace(id), Any: o.any})
		}
		tasks[i] = t
	}
	for i := range jobs {
		for _, id := range jobs[i].After {
			tasks[i].After = append(tasks[i].After, queue.Dependency{Task: fmt.Sprintf("#%d", number[id])})
		}
	}
	if program := jobs[0].Command[0]; !guest.Elsewhere(program, o.grid.Shell) {
		return tasks, guest.Found(program)
	}
	return tasks, nil
}
