package station

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
)

// logs is colloc station logs.
func (p *program) logs(ctx context.Context, args []string) error {
	var follow bool
	f := p.set()
	f.BoolVar(&follow, "f", false, "go on until the job is over")
	if err := p.parse(f, args, "Prints what a job of yours printed, in its present or last run.", 1, 1); err != nil {
		return err
	}
	client := p.client()
	defer client.Close()
	return client.Log(ctx, p.streams.Out, f.Arg(0), follow)
}

// wait is colloc station wait.
func (p *program) wait(ctx context.Context, args []string) error {
	f := p.set()
	if err := p.parse(f, args, "Waits until all of the jobs are over. The exit status is 0 if they succeeded, else 1.", 1, -1); err != nil {
		return err
	}
	client := p.client()
	defer client.Close()
	return p.await(ctx, client, f.Args())
}

// await waits for jobs and tells of those that did not succeed.
func (p *program) await(ctx context.Context, client *api.Client, ids []string) error {
	jobs, err := client.Wait(ctx, ids...)
	if err != nil {
		return err
	}
	if p.asJSON {
		if err := p.json(jobs); err != nil {
			return err
		}
	}
	status := exitOK
	for i := range jobs {
		j := &jobs[i]
		if j.State == queue.Succeeded {
			continue
		}
		status = exitFailed
		if !p.asJSON {
			fmt.Fprintf(p.streams.Err, "job %s %v: %s\n", j.ID, j.State, j.Err)
		}
	}
	if status != exitOK {
		return silentError{status}
	}
	return nil
}

// verb is a command that does one thing to jobs.
func (p *program) verb(ctx context.Context, args []string, about string) error {
	f := p.set()
	if err := p.parse(f, args, about, 1, -1); err != nil {
		return err
	}
	client := p.client()
	defer client.Close()
	if err := client.Do(ctx, p.command.name, f.Args()...); err != nil || !p.asJSON {
		return err
	}
	jobs, err := client.Look(ctx, f.Args()...) // as they are then
	if err != nil {
		return err
	}
	return p.json(jobs)
}

func (p *program) cancel(ctx context.Context, args []string) error {
	return p.verb(ctx, args, "Takes jobs out of the queue, and ends those that run: with SIGTERM, and with SIGKILL if\nthey do not end.")
}

func (p *program) requeue(ctx context.Context, args []string) error {
	return p.verb(ctx, args, "Queues jobs again that failed or were cancelled, with what is known of their memory forgotten.")
}

func (p *program) hold(ctx context.Context, args []string) error {
	return p.verb(ctx, args, "Keeps jobs from starting until release. One that runs goes on.")
}

func (p *program) release(ctx context.Context, args []string) error {
	return p.verb(ctx, args, "Lets jobs start that were held.")
}

func (p *program) drain(ctx context.Context, args []string) error {
	return p.closing(ctx, args, "Lets nothing start on GPUs, by number or UUID; without any, on none of them. What runs\ngoes on.")
}

func (p *program) undrain(ctx context.Context, args []string) error {
	return p.closing(ctx, args, "Takes drain and reserve back: jobs start again on the GPUs, or, without any, at all.")
}

func (p *program) closing(ctx context.Context, args []string, about string) error {
	f := p.set()
	if err := p.parse(f, args, about, 0, -1); err != nil {
		return err
	}
	return p.close(ctx, api.GPURequest{GPUs: f.Args()})
}

// close asks for what the subcommand is called, and shows with -json the GPUs as they are
// then.
func (p *program) close(ctx context.Context, r api.GPURequest) error {
	client := p.client()
	defer client.Close()
	if err := client.GPUs(ctx, p.command.name, r); err != nil || !p.asJSON {
		return err
	}
	s, err := client.State(ctx)
	if err != nil {
		return err
	}
	return p.json(s.GPUs)
}

// reserve is colloc station reserve.
func (p *program) reserve(ctx context.Context, args []string) error {
	var r api.GPURequest
	var until string
	f := p.set()
	f.StringVar(&r.User, "user", "", "for `NAME`; default is you")
	f.StringVar(&until, "until", "", "until `TIME`: 18:00, 2026-01-31, \"2026-01-31 18:00\", or a duration from now, 36h")
	if err := p.parse(f, args, "Lets only the jobs of one user start on GPUs, until a time. What runs goes on.", 1, -1); err != nil {
		return err
	}
	var err error
	if r.Until, err = parseUntil(until, p.now()); err != nil {
		return cli.Usage("%w", err)
	}
	r.GPUs = f.Args()
	return p.close(ctx, r)
}

// parseUntil reads a time to come.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	t, err := time.ParseInLocation("15:04", text, now.Location())
	if err != nil {
		return t, fmt.Errorf("-until %q: want 18:00, 2026-01-31, \"2026-01-31 18:00\" or 36h", text)
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !today.After(now) {
		today = today.AddDate(0, 0, 1)
	}
	return today, nil
}
