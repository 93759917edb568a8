package front

import (
	"context"
	"embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/gain"
	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/replace"
)

//go:embed scripts
var scripts embed.FS

// sharesEach is how many shards a GPU gets: eighths of it.
const sharesEach = 8

// nodes are those that have the same GPUs.
type nodes struct {
	names []string
	kind  string // of a GPU; empty where the site gives no type
	count int
	share string // how they are shared
}

// whole is a question about the site, and not about a task.
type whole struct{ past, scripts string }

// page says on one page what a site could switch on.
func (q *whole) page(ctx context.Context, client *slurm.Client, out io.Writer) error {
	state, err := client.State(ctx)
	if err != nil {
		return err
	}
	groups := groupsOf(state)
	if len(groups) == 0 {
		return cli.Usage("this cluster has no GPUs that Slurm knows: gres.conf names none")
	}
	shared := false
	for _, g := range groups {
		fmt.Fprintf(out, "%s: %d GPUs %son each, %s\n", strings.Join(g.names, ","), g.count, word(g.kind), how(g.share))
		shared = shared || g.share != ""
	}
	if err := q.expected(ctx, shared, out); err != nil {
		return err
	}
	for _, share := range []struct{ gres, about string }{{"shard", byShards}, {"mps", byMPS}} {
		fmt.Fprint(out, share.about)
		for _, g := range groups {
			fmt.Fprint(out, g.lines(share.gres))
		}
	}
	fmt.Fprint(out, faults)
	return q.write(out)
}

func word(kind string) string {
	if kind == "" {
		return ""
	}
	return kind + " "
}

func how(share string) string {
	if share == "" {
		return "not shared: tasks that share a GPU share one job, and nobody joins them"
	}
	return "shared by gres/" + share
}

// groupsOf are the nodes of a cluster by what they have.
func groupsOf(state *site.State) []*nodes {
	of := make(map[string]*nodes)
	for _, d := range state.Devices() {
		if of[d.Node] == nil {
			of[d.Node] = &nodes{names: []string{d.Node}, kind: d.Type, share: d.Share}
		}
		of[d.Node].count++
	}
	var groups []*nodes
	for i := range state.Nodes {
		n := of[state.Nodes[i].Name]
		if n == nil {
			continue
		}
		at := slices.IndexFunc(groups, func(g *nodes) bool { return g.kind == n.kind && g.count == n.count && g.share == n.share })
		if at < 0 {
			groups = append(groups, n)
			continue
		}
		groups[at].names = append(groups[at].names, n.names...)
	}
	return groups
}

// lines are those of slurm.conf and gres.conf that share the GPUs of these nodes.
func (g *nodes) lines(share string) string {
	names, each := strings.Join(g.names, ","), sharesEach
	if share == "mps" {
		each = 100
	}
	kind := ""
	if g.kind != "" {
		kind = ":" + g.kind
	}
	return fmt.Sprintf("  slurm.conf  NodeName=%s ... Gres=gpu%s:%d,%s:%d\n  gres.conf   NodeName=%s Name=%s Count=%d\n",
		names, kind, g.count, share, each*g.count, names, share, each*g.count)
}

const (
	byShards = `
Shares of GPUs: a set is no longer one job. Each task is a job of its own, joins whoever runs, and ends by itself.
  slurm.conf  GresTypes=gpu,shard   # beside what is there; then restart slurmctld, and slurmd on these nodes
`
	byMPS = `
Or MPS, where tasks of ONE user share: the daemon serves one user at a time, and others wait for him to end.
  slurm.conf  GresTypes=gpu,mps
  slurm.conf  Prolog=/etc/slurm/mps_prolog.sh   # or call them from yours
  slurm.conf  Epilog=/etc/slurm/mps_epilog.sh
`
	faults = `
What could go wrong:
  - nothing but MPS fences device memory: a task that takes more than it said may end its neighbours with it
  - a fatal fault of one task under MPS ends all of that daemon's
  - slurmctld 22.05 forgets at its restart who has which shares; the jobs of colloc see that, and are planned again
  - jobs that ask for gpu still get a GPU of their own: nobody has to change a script
`
)

// expected says what the site's own past would have gained.
func (q *whole) expected(ctx context.Context, shared bool, out io.Writer) error {
	if q.past == "" {
		fmt.Fprintln(out, "expected gain: not known without -past FILE, what sacct printed: colloc gain -h says with which columns")
		return nil
	}
	log, err := records.ReadFile(q.past, nil)
	if err != nil {
		return cli.Usage("%w", err)
	}
	for _, closed := range []bool{true, false} {
		if closed && shared {
			continue
		}
		r, err := gain.Replay(ctx, log.Jobs, gain.Options{Closed: closed})
		if err != nil {
			return err
		}
		door := "with shares or MPS"
		if closed {
			door = "as it is        "
		}
		g := &r.Total
		fmt.Fprintf(out, "expected gain, %s: of %.0f GPU hours of %d jobs %.3g (%.3g to %.3g) less occupied, %.3g (%.3g to %.3g) hours less waiting\n", door,
			g.Recorded.GPUHours, g.Jobs, g.SavedHours.Value, g.SavedHours.Lo, g.SavedHours.Hi, g.SavedWaiting.Value, g.SavedWaiting.Lo, g.SavedWaiting.Hi)
	}
	return nil
}

// write writes the scripts for MPS.
func (q *whole) write(out io.Writer) error {
	if q.scripts == "" {
		fmt.Fprintln(out, "The two scripts: colloc slurm advise -site -scripts DIR")
		return nil
	}
	for _, name := range []string{"mps_prolog.sh", "mps_epilog.sh"} {
		text, err := scripts.ReadFile("scripts/" + name)
		if err != nil {
			return err
		}
		path := filepath.Join(q.scripts, name)
		if err := replace.Shared(path, 0o755, text); err != nil {
			return err
		}
		fmt.Fprintln(out, "written:", path)
	}
	return nil
}
