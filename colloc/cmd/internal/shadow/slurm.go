package shadow

import (
	"context"
	"strconv"
	"time"

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

// Slurm looks at a cluster, and, if it has one, at its Prometheus.
type Slurm struct {
	Client            *slurm.Client
	Models            map[string]string
	Prometheus, Match string
	Interval          time.Duration
	Now               func() time.Time
}

// Look asks Slurm for nodes and jobs, and Prometheus for what those do that run.
func (c *Slurm) Look(ctx context.Context) (*journal.Snapshot, error) {
	state, err := c.Client.State(ctx)
	if err != nil {
		return nil, err
	}
	s := &journal.Snapshot{At: c.Now().UTC().Truncate(time.Second)}
	on := map[site.JobID][]string{}
	options := &site.GPUOptions{Models: c.Models}
	for _, d := range state.Devices() {
		g := journal.GPU{ID: d.ID(), Node: d.Node, Product: d.Type, Down: !d.Up || d.Unclear}
		if model, ok := options.Model(&d, state.Node(d.Node)); ok {
			g.Product = model.Name
		}
		s.GPUs = append(s.GPUs, g)
		for _, id := range d.Jobs {
			on[id] = append(on[id], d.ID())
		}
	}
	for i := range state.Jobs {
		if j, ok := watched(&state.Jobs[i], on); ok {
			s.Jobs = append(s.Jobs, j)
		}
	}
	if c.Prometheus == "" {
		return s, nil
	}
	return s, c.use(ctx, s, state)
}

// watched is a job that has GPUs or waits for some.
func watched(j *site.JobInfo, on map[site.JobID][]string) (journal.Job, bool) {
	out := journal.Job{
		ID: strconv.FormatInt(int64(j.ID), 10), User: j.User, Name: j.Name, Partition: j.Partition, Submitted: j.Submitted,
	}
	if j.State.Holds() {
		out.On, out.Started = on[j.ID], j.Started
		out.GPUs = len(out.On)
		for _, node := range j.Held {
			n := 0
			for _, h := range node {
				if h.Name == "gpu" {
					n += h.Count
					out.Product = h.Type
				}
			}
			if len(out.On) == 0 { // Slurm does not say which
				out.GPUs += n
			}
		}
		return out, out.GPUs > 0 && !out.Started.IsZero()
	}
	out.GPUs, out.Product, _ = site.CountGPUs(j.InAll)
	return out, j.State == site.Pending && out.GPUs > 0
}

// use asks what the jobs that run did since the last round.
func (c *Slurm) use(ctx context.Context, s *journal.Snapshot, state *site.State) error {
	const points = 5
	step := max(c.Interval/points, time.Second)
	f, err := tracefile.Query(ctx, tracefile.PromQuery{BaseURL: c.Prometheus, Match: c.Match, Start: s.At.Add(-points * step), End: s.At, Step: step})
	if err != nil {
		return err
	}
	var log records.Log
	var at []int
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Started.IsZero() {
			continue
		}
		id, err := strconv.ParseInt(j.ID, 10, 64)
		info := state.Job(site.JobID(id))
		if err != nil || info == nil {
			continue
		}
		log.Jobs = append(log.Jobs, records.Job{ID: j.ID, Started: j.Started, Ended: s.At.Add(time.Second), GPUs: j.GPUs, Nodes: info.Nodes})
		at = append(at, i)
	}
	log.Attach(f.Traces)
	for k, i := range at {
		seen := &log.Jobs[k].Seen
		if !log.Jobs[k].Observed() {
			continue
		}
		busy := seen.GPUBusy
		if !seen.SMActive.IsZero() {
			busy = seen.SMActive
		}
		s.Jobs[i].Busy, s.Jobs[i].Memory = coarse(busy), seen.Memory
	}
	return nil
}

// coarse keeps the journal from growing with what means nothing.
func coarse(x profile.Opt[float64]) profile.Opt[float64] {
	if v, ok := x.Get(); ok {
		return profile.Some(float64(int(v*100+0.5)) / 100)
	}
	return x
}
