package follow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/shadow"
	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/colloc/sim"
)

const (
	format  = "colloc shadow report"
	version = 1
)

// Summary is what was found of a site. Its JSON form is stable: Version grows when a field
// changes its meaning.
type Summary struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Rounds counts them; Strangers are starts of jobs of which nothing was known.
	Rounds    int `json:"rounds"`
	Strangers int `json:"strangers"`
	// Decisions compares what colloc would have done with what the site did.
	Decisions shadow.Report `json:"decisions"`
	// Use compares what jobs did with the earlier ones of their kind.
	Use Use `json:"use"`
	// Gain is what sharing would have gained.
	Gain *gain.Report `json:"gain"`
	// Damage is what of the journal cannot be read.
	Damage journal.Damage `json:"damage"`
}

// Report follows a journal from its beginning and says what was found. Errors are those of
// [journal.Read], [Follower.Take] and [gain.Replay].
func Report(ctx context.Context, path string, c Config) (*Summary, error) {
	f, err := New(c)
	if err != nil {
		return nil, err
	}
	damage, err := f.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	s, err := f.Summary(ctx)
	if err != nil {
		return nil, err
	}
	s.Damage = damage
	return s, nil
}

// Read follows a journal. Rounds that [Follower.Take] refuses, as when a clock was set back, count as damage.
func (f *Follower) Read(ctx context.Context, path string) (journal.Damage, error) {
	back := 0
	damage, err := journal.Read(path, func(s *journal.Snapshot) error {
		if f.late(s) {
			back++
			return nil
		}
		_, err := f.Take(ctx, s)
		return err
	})
	damage.Rounds += back
	return damage, err
}

// Summary says what was found until now. Of the time of a job the part between the first round
// and the last counts, and nothing of it after one round alone.
func (f *Follower) Summary(ctx context.Context) (*Summary, error) {
	jobs := slices.Clone(f.past)
	for _, id := range slices.Sorted(maps.Keys(f.tracked)) {
		if t := f.tracked[id]; t.running && f.last.After(t.Started) {
			jobs = append(jobs, *f.still(t))
		}
	}
	o := gain.Options{Models: f.config.Models, Cluster: f.cluster(), From: f.from}
	if f.last.Sub(f.from) > Kept {
		o.From = f.last.Add(-Kept)
	}
	if f.from.Before(f.last) {
		o.Until = f.last
	}
	g, err := gain.Replay(ctx, jobs, o)
	if err != nil {
		return nil, err
	}
	u := f.use
	n := float64(max(1, u.Seen))
	u.MAE, u.Bias = u.MAE/n, u.Bias/n
	return &Summary{Format: format, Version: version, Rounds: f.rounds, Strangers: f.strange, Decisions: f.shadow.Report(), Use: u, Gain: g}, nil
}

// still is a job that runs, as if it ended now.
func (f *Follower) still(t *tracked) *records.Job {
	j := t.past(f.last)
	f.place(j, t.On)
	return j
}

// cluster are the GPUs that were there in the last round; nil if a product is not known.
func (f *Follower) cluster() *sim.Cluster {
	var c sim.Cluster
	at := map[string]int{}
	for _, g := range f.gpus {
		model, ok := f.model(g.Product)
		if !ok {
			return nil
		}
		i, ok := at[g.Node]
		if !ok {
			i = len(c.Nodes)
			at[g.Node] = i
			c.Nodes = append(c.Nodes, sim.Node{Name: g.Node})
		}
		c.Nodes[i].GPUs = append(c.Nodes[i].GPUs, sim.GPU{Model: model, Memory: g.Memory})
	}
	if len(c.Nodes) == 0 {
		return nil
	}
	return &c
}

// String says it in lines.
func (s *Summary) String() string {
	var b strings.Builder
	b.WriteString(s.Decisions.String())
	fmt.Fprintf(&b, "%d rounds were seen; of %d starts nothing was known of the job\n", s.Rounds, s.Strangers)
	if s.Use.Seen > 0 {
		fmt.Fprintf(&b, "use of GPUs: %d jobs, foretold from earlier ones of their kind; off by %.2f, %+.2f on average\n", s.Use.Seen, s.Use.MAE, s.Use.Bias)
	}
	if s.Damage != (journal.Damage{}) {
		fmt.Fprintf(&b, "of the journal %d lines cannot be read, and %d rounds after them\n", s.Damage.Lines, s.Damage.Rounds)
	}
	b.WriteString("\nwhat sharing would have gained meanwhile\n\n")
	b.WriteString(s.Gain.String())
	return b.String()
}
