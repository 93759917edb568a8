package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
)

// Submit gives the job to Slurm: sbatch, which reads the script from its
// standard input. Nothing is written to disk. A request that no node can hold is
// [site.ErrImpossible]; Slurm refuses only the plainest of those, others wait for
// ever: see [Client.Test]. After [site.ErrNoCluster] the job may have been submitted
// all the same: look for it, by its [Comment], before submitting it again.
func (c *Client) Submit(ctx context.Context, j *script.Job, o *SubmitOptions) (site.JobID, error) {
	script, err := textOf(j)
	if err != nil {
		return 0, err
	}
	if c.config.REST != nil {
		return c.config.REST.submit(ctx, c.config.Timeout, j, script, o)
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
		return 0, site.Unreadable(cmd.String(), fmt.Errorf("want the number of a job, got %q", site.Clip(string(out.Stdout))))
	}
	return site.JobID(id), nil
}

func textOf(j *script.Job) (string, error) {
	if j == nil {
		return "", errors.New("slurm: submit: no job was given")
	}
	return j.Text()
}

// Test asks Slurm whether and when it could run the job, without submitting it:
// sbatch --test-only. What no node can hold, however empty, is [site.ErrImpossible].
// It always runs the command: slurmrestd does not offer it.
func (c *Client) Test(ctx context.Context, j *script.Job, o *SubmitOptions) (site.Forecast, error) {
	script, err := textOf(j)
	if err != nil {
		return site.Forecast{}, err
	}
	cmd := Command{Args: append([]string{"sbatch", "--test-only"}, o.args()...), Input: script}
	out, err := c.run(ctx, cmd)
	if err != nil {
		return site.Forecast{}, err
	}
	f, err := site.ParseForecast(string(out.Stderr) + "\n" + string(out.Stdout))
	if err != nil {
		return site.Forecast{}, site.Unreadable(cmd.String(), err)
	}
	return f, nil
}

// Cancel ends jobs, waiting or running: scancel. Jobs that have ended, and
// those that Slurm does not know, are no error, as to Slurm itself. No jobs are
// no command.
func (c *Client) Cancel(ctx context.Context, ids ...site.JobID) error {
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
		return c.config.REST.cancel(ctx, c.config.Timeout, ids)
	}
	_, err := c.run(ctx, Command{Args: args})
	return err
}

// Release lets a job start that was submitted with Hold: scontrol release.
func (c *Client) Release(ctx context.Context, id site.JobID) error {
	_, err := c.run(ctx, Command{Args: []string{"scontrol", "release", strconv.FormatInt(int64(id), 10)}})
	return err
}

// Requeue puts a job that ended back into the queue, where it keeps its place, and lets it start when some time, in whole
// seconds, has passed: scontrol requeue. After an error that is not [site.ErrNoCluster] it is not there, or Slurm starts
// it after two minutes.
func (c *Client) Requeue(ctx context.Context, id site.JobID, after time.Duration) error {
	name := strconv.FormatInt(int64(id), 10)
	if _, err := c.run(ctx, Command{Args: []string{"scontrol", "requeue", name}}); err != nil {
		return err
	}
	_, err := c.run(ctx, Command{Args: []string{"scontrol", "update", "jobid=" + name, fmt.Sprintf("starttime=now+%d", int(after.Seconds()))}})
	return err
}

// Withdraw takes jobs out of the queue that have not started, so that they never run, and
// returns which. A job that starts in the same moment runs on and is not among them, nor
// is one that is over: each is held first, looked at, and cancelled only if it still
// waits. Those that Slurm does not know are passed over. After an error nobody knows
// which jobs are left: ask again.
func (c *Client) Withdraw(ctx context.Context, ids ...site.JobID) ([]site.JobID, error) {
	var known []site.JobID
	for _, id := range ids {
		if id <= 0 {
			return nil, fmt.Errorf("slurm: withdraw: %d is no job", id)
		}
		switch _, err := c.run(ctx, Command{Args: []string{"scontrol", "hold", strconv.FormatInt(int64(id), 10)}}); {
		case err == nil:
			known = append(known, id)
		case errors.Is(err, site.ErrNoCluster), errors.Is(err, site.ErrPermission):
			return nil, err
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	jobs, err := c.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var gone []site.JobID
	for _, j := range jobs {
		switch {
		case !slices.Contains(known, j.ID):
		case j.State == site.Pending && strings.HasPrefix(j.Reason, "JobHeld"):
			gone = append(gone, j.ID)
		case !j.State.Over():
			err = errors.Join(err, c.Release(ctx, j.ID)) // else it would be held if it is put back
		}
	}
	return gone, errors.Join(err, c.Cancel(ctx, gone...))
}
