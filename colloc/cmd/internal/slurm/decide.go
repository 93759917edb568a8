package slurm

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

const aboutDecide = `Decide prints where the plan wants a task: "node=g1 gres=shard:a100i1:4", or
nothing if the plan has no wish. It reads one file, asks Slurm nothing, and ends
within milliseconds: job_submit.lua calls it while slurmctld holds its locks, and
a command such as squeue would wait for the same locks.`

// decision is where a task should go.
type decision struct {
	Node string `json:"node"`
	Gres string `json:"gres"`
}

// decisions are those of jobs with one task.
func (o *outline) decisions() map[string]decision {
	all := make(map[string]decision)
	for _, j := range o.jobs {
		if len(j.tasks) == 1 && len(j.Request.Gres) == 1 {
			all[j.tasks[0]] = decision{Node: j.Request.NodeList, Gres: j.Request.Gres[0].String()}
		}
	}
	return all
}

func (p *program) decide(_ context.Context, args []string) error {
	f := flag.NewFlagSet("decide", flag.ContinueOnError)
	path := f.String("decisions", "", "`FILE` that plan -decisions wrote")
	if err := p.parse(f, args, aboutDecide, 1); err != nil {
		return err
	}
	data, err := os.ReadFile(*path)
	if err != nil {
		return usageError{err}
	}
	all := make(map[string]decision)
	if err := json.Unmarshal(data, &all); err != nil {
		return wrong("%s: %w", *path, err)
	}
	if d, ok := all[f.Arg(0)]; ok {
		fmt.Fprintf(p.stdout, "node=%s gres=%s\n", d.Node, d.Gres)
	}
	return nil
}
