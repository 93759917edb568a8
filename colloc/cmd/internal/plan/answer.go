package plan

import (
	"context"
	"errors"
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/cli"
)

// answer is the plan and what else was asked for.
type answer struct {
	Plan     *colloc.Plan `json:"plan"`
	Alone    *colloc.Plan `json:"without_sharing,omitempty"`
	WhatIf   []variant    `json:"what_if,omitempty"`
	Warnings []string     `json:"warnings"`
	Stopped  bool         `json:"stopped,omitempty"` // before all was tried

	models map[string]string // the products of the GPUs, by ID
}

// variant is a plan of a changed question.
type variant struct {
	Change string       `json:"change"`
	Plan   *colloc.Plan `json:"plan"`
}

// answer plans what is asked for.
func (o *options) answer(ctx context.Context, in *input) (*answer, error) {
	if o.within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.within)
		defer stop()
	}
	o.config.Host = in.host
	planner, err := colloc.New(o.config)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	a := &answer{models: make(map[string]string)}
	for i := range in.gpus {
		a.models[in.gpus[i].ID] = in.gpus[i].Model.Name
	}
	plan := func(p *colloc.Planner, tasks []colloc.Task, gpus []colloc.GPU) (*colloc.Plan, error) {
		made, err := p.Plan(ctx, tasks, gpus)
		if made != nil && err != nil && errors.Is(err, ctx.Err()) {
			a.Stopped = true
			return made, nil
		}
		return made, err
	}
	if a.Plan, err = plan(planner, in.tasks, in.gpus); err != nil {
		return nil, err
	}
	if a.Stopped && a.Plan.Throughput == 0 {
		return nil, fmt.Errorf("nothing was planned within %v: %d tasks on %d GPUs are much for one plan; name those that could start next, or give more time with -within", o.within, len(in.tasks), len(in.gpus))
	}
	a.Warnings = append([]string{}, a.Plan.Warnings()...)
	for _, change := range o.whatIf {
		tasks, gpus, err := in.changed(change)
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		v := variant{Change: change}
		if v.Plan, err = plan(planner, tasks, gpus); err != nil {
			return nil, err
		}
		a.WhatIf = append(a.WhatIf, v)
	}
	if o.compare {
		alone := o.config
		alone.MaxSet = 1
		if planner, err = colloc.New(alone); err != nil {
			return nil, err
		}
		if a.Alone, err = plan(planner, in.tasks, in.gpus); err != nil {
			return nil, err
		}
	}
	return a, nil
}
