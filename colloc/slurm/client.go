package slurm

import (
	"context"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// Config says how a [Client] reaches the cluster. The zero Config runs Slurm's
// commands from PATH.
type Config struct {
	// Runner runs the commands; nil is [Exec]. Tests put their own here.
	Runner Runner
	// Timeout is how long one command, or one request to slurmrestd, may take;
	// 0 means 30 s. Slurm's commands themselves try for about 10 s to reach a
	// controller that is down.
	Timeout time.Duration
	// REST, if set, is asked instead of the commands for jobs, nodes, partitions,
	// to submit and to cancel. What slurmrestd does not offer, or package slurm
	// does not ask of it, still runs as a command: Job, Test, Release, Accounting.
	REST *REST
}

// DefaultTimeout is that of [Config].
const DefaultTimeout = 30 * time.Second

// Client reads the state of a Slurm cluster and submits jobs to it, with the
// rights of the user who runs it. A failure is an [site.Error] that tells what kind it is.
// It is safe for concurrent use.
type Client struct {
	config Config
}

// NewClient returns a Client. It does not contact the cluster.
func NewClient(c Config) *Client {
	if c.Runner == nil {
		c.Runner = Exec{}
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return &Client{config: c}
}

// Through returns a Client of the same cluster that asks slurmrestd, as [Config].REST
// says; nil asks the commands again.
func (c *Client) Through(r *REST) *Client {
	other := *c
	other.config.REST = r
	return &other
}

// run runs a command and turns a status other than 0 into an Error.
func (c *Client) run(ctx context.Context, cmd Command) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	out, err := c.config.Runner.Run(ctx, cmd)
	switch {
	case err != nil:
		return out, unreachable(cmd, err)
	case out.Code != 0:
		return out, failed(cmd, out)
	default:
		return out, nil
	}
}

// read runs a command and parses what it prints.
func read[T any](ctx context.Context, c *Client, parse func([]byte) (T, error), args ...string) (T, error) {
	cmd := Command{Args: args}
	out, err := c.run(ctx, cmd)
	var parsed T
	if err == nil {
		parsed, err = parse(out.Stdout)
		err = during(cmd.String(), err)
	}
	return parsed, err
}

// Jobs returns all jobs that the controller knows, those that ended in the last
// minutes included (MinJobAge, five by default), in Slurm's order: squeue --json.
func (c *Client) Jobs(ctx context.Context) ([]site.JobInfo, error) {
	if c.config.REST != nil {
		return restRead(ctx, c.config.REST, c.config.Timeout, "jobs", site.ParseJobs)
	}
	// 22.05 lists jobs in every state and ignores filters with --json; later
	// versions leave out those that ended unless asked.
	return read(ctx, c, site.ParseJobs, "squeue", "--json", "--states=all")
}

// Nodes returns the machines in Slurm's order: sinfo --json.
func (c *Client) Nodes(ctx context.Context) ([]site.Node, error) {
	if c.config.REST != nil {
		return restRead(ctx, c.config.REST, c.config.Timeout, "nodes", site.ParseNodes)
	}
	return read(ctx, c, site.ParseNodes, "sinfo", "--json", "--Node")
}

// Partitions returns the queues in the site's order: scontrol show partition.
// slurmrestd after 22.05 does not say which is the default one.
func (c *Client) Partitions(ctx context.Context) ([]site.Partition, error) {
	if c.config.REST != nil {
		return restRead(ctx, c.config.REST, c.config.Timeout, "partitions", site.ParsePartitionsJSON)
	}
	parse := func(printed []byte) ([]site.Partition, error) { return site.ParsePartitions(string(printed)), nil }
	return read(ctx, c, parse, "scontrol", "show", "partition")
}

// Defaults returns what a job gets that states no memory, in partitions that say nothing
// of their own: scontrol show config.
func (c *Client) Defaults(ctx context.Context) (site.Partition, error) {
	parse := func(printed []byte) (site.Partition, error) { return site.ParseDefaults(string(printed)), nil }
	return read(ctx, c, parse, "scontrol", "show", "config")
}

// State returns jobs, nodes and partitions. Slurm answers three requests, so
// that a job may have started in between; the jobs are asked for last: what
// they hold is what decides.
func (c *Client) State(ctx context.Context) (*site.State, error) {
	var s site.State
	var err error
	if s.Partitions, err = c.Partitions(ctx); err != nil {
		return nil, err
	}
	if s.Nodes, err = c.Nodes(ctx); err != nil {
		return nil, err
	}
	if s.Jobs, err = c.Jobs(ctx); err != nil {
		return nil, err
	}
	return &s, nil
}

// Ended returns how jobs ended that the controller does not list any more, in the order of
// ids, as the accounts say: [site.Forgotten] where there are none, or where they know of
// no end. It asks once, and does not wait.
func (c *Client) Ended(ctx context.Context, ids ...site.JobID) []site.JobInfo {
	jobs := make([]site.JobInfo, len(ids))
	for i, id := range ids {
		jobs[i] = site.JobInfo{ID: id, State: site.Forgotten}
	}
	c.askAccounts(ctx, jobs)
	return jobs
}

// askAccounts replaces what is forgotten by what the accounts have, if they can
// be asked.
func (c *Client) askAccounts(ctx context.Context, lost []site.JobInfo) {
	if len(lost) == 0 {
		return
	}
	ids := make([]site.JobID, len(lost))
	for i := range lost {
		ids[i] = lost[i].ID
	}
	records, err := read(ctx, c, site.ParseAccounting, "sacct", "--json", "--jobs="+joined(ids))
	if err != nil {
		return // Forgotten is the answer then
	}
	recorded := byID(records)
	for i := range lost {
		j := &lost[i]
		r := recorded[j.ID]
		switch {
		case r == nil || !r.State.Over():
		case j.Submitted.IsZero():
			*j = *r // it was never seen
		default:
			j.State, j.Reason, j.Ended, j.Exit, j.Signal = r.State, r.Reason, r.Ended, r.Exit, r.Signal
		}
	}
}

// byID returns where each job is.
func byID(jobs []site.JobInfo) map[site.JobID]*site.JobInfo {
	at := make(map[site.JobID]*site.JobInfo, len(jobs))
	for i := range jobs {
		at[jobs[i].ID] = &jobs[i]
	}
	return at
}

// Usage returns the most GPU memory that each of these jobs, which run, was seen to hold until now, where
// jobacct_gather watches GPUs: sstat. Jobs of which it says nothing are not there.
func (c *Client) Usage(ctx context.Context, ids ...site.JobID) (map[site.JobID]profile.Bytes, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // nothing was asked
	}
	return read(ctx, c, site.ParseUsage, "sstat", "--noheader", "--parsable2", "--allsteps", "--format=JobID,TRESUsageInMax", "--jobs="+joined(ids))
}

// joined are numbers as Slurm's commands list them.
func joined(ids []site.JobID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(int64(id), 10)
	}
	return strings.Join(words, ",")
}
