package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SubmitOptions is what a submission says beside the job. The zero value, or
// nil, is the documented default.
type SubmitOptions struct {
	// After are jobs that must have ended, in whatever way, before this one
	// starts.
	After []JobID
	// Hold keeps the job from starting until [Client.Release].
	Hold bool
	// Dir is the working directory; empty is the caller's, or "/" through
	// slurmrestd, which does not know the caller's.
	Dir string
}

func (o *SubmitOptions) args() []string {
	if o == nil {
		return nil
	}
	var args []string
	if len(o.After) > 0 {
		args = append(args, "--dependency="+o.dependency())
	}
	if o.Hold {
		args = append(args, "--hold")
	}
	if o.Dir != "" {
		args = append(args, "--chdir="+o.Dir)
	}
	return args
}

// dependency is After in Slurm's syntax; empty if there are none.
func (o *SubmitOptions) dependency() string {
	if len(o.After) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("afterany")
	for _, id := range o.After {
		b.WriteString(":" + strconv.FormatInt(int64(id), 10))
	}
	return b.String()
}

// Submit gives the job to Slurm: sbatch, which reads the script from its
// standard input. Nothing is written to disk. A request that no node can hold is
// [ErrImpossible]; Slurm refuses only the plainest of those, others wait for
// ever: see [Client.Test]. After [ErrNoCluster] the job may have been submitted
// all the same: look for it, by its [Comment], before submitting it again.
func (c *Client) Submit(ctx context.Context, j *Job, o *SubmitOptions) (JobID, error) {
	script, err := textOf(j)
	if err != nil {
		return 0, err
	}
	if c.config.REST != nil {
		return c.restSubmit(ctx, j, script, o)
	}
	cmd := Command{Args: append([]string{"sbatch", "--parsable"}, o.args()...), Input: script}
	out, err := c.run(ctx, cmd)
	if err != nil {
		return 0, err
	}
	// "12", or "12;cluster"
	number, _, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), ";")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 {
		return 0, unreadable(cmd.String(), fmt.Errorf("want the number of a job, got %q", clip(string(out.Stdout))))
	}
	return JobID(id), nil
}

func textOf(j *Job) (string, error) {
	if j == nil {
		return "", errors.New("slurm: submit: no job was given")
	}
	return j.Text()
}

// Forecast is when and where Slurm would start a job as things stand.
type Forecast struct {
	// Start is in UTC. Where jobs have no time limit it is far in the future.
	Start time.Time `json:"start"`
	// CPUs, Nodes and Partition are what the job would get.
	CPUs      int      `json:"cpus"`
	Nodes     []string `json:"nodes"`
	Partition string   `json:"partition"`
}

// Test asks Slurm whether and when it could run the job, without submitting it:
// sbatch --test-only. What no node can hold, however empty, is [ErrImpossible].
// It always runs the command: slurmrestd does not offer it.
func (c *Client) Test(ctx context.Context, j *Job, o *SubmitOptions) (Forecast, error) {
	script, err := textOf(j)
	if err != nil {
		return Forecast{}, err
	}
	cmd := Command{Args: append([]string{"sbatch", "--test-only"}, o.args()...), Input: script}
	out, err := c.run(ctx, cmd)
	if err != nil {
		return Forecast{}, err
	}
	f, err := parseForecast(string(out.Stderr) + "\n" + string(out.Stdout))
	if err != nil {
		return Forecast{}, unreadable(cmd.String(), err)
	}
	return f, nil
}

// parseForecast reads "sbatch: Job 15 to start at 2026-11-21T07:19:13 using 1
// processors on nodes g2 in partition main".
func parseForecast(printed string) (Forecast, error) {
	var f Forecast
	for line := range strings.Lines(printed) {
		_, rest, ok := strings.Cut(line, " to start at ")
		if !ok {
			continue
		}
		w := strings.Fields(rest)
		for i := 1; i < len(w); i++ {
			var err error
			switch w[i-1] {
			case "using":
				f.CPUs = int(min(digits(w[i]), maxCount))
			case "nodes":
				f.Nodes, err = ExpandNodes(w[i])
			case "partition":
				f.Partition = w[i]
			}
			if err != nil {
				return f, err
			}
		}
		if len(w) > 0 {
			f.Start = slurmTime(w[0])
		}
		return f, nil
	}
	return f, errors.New("no line says when the job would start")
}

// Cancel ends jobs, waiting or running: scancel. Jobs that have ended, and
// those that Slurm does not know, are no error, as to Slurm itself. No jobs are
// no command.
func (c *Client) Cancel(ctx context.Context, ids ...JobID) error {
	if len(ids) == 0 {
		return nil
	}
	args := []string{"scancel"}
	for _, id := range ids {
		if id <= 0 {
			return fmt.Errorf("slurm: cancel: %d is no job", id)
		}
		args = append(args, strconv.FormatInt(int64(id), 10))
	}
	if c.config.REST != nil {
		return c.restCancel(ctx, ids)
	}
	_, err := c.run(ctx, Command{Args: args})
	return err
}

// Release lets a job start that was submitted with Hold: scontrol release.
func (c *Client) Release(ctx context.Context, id JobID) error {
	_, err := c.run(ctx, Command{Args: []string{"scontrol", "release", strconv.FormatInt(int64(id), 10)}})
	return err
}
