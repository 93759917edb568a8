package front

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/slurm/sizing"
)

const aboutAdvise = `Advise says what a task should ask the cluster for: how many GPUs of which kind, on
how many nodes, with which CPUs, memory, time limit, constraint and partition, what
that costs, and when Slurm would start it. Each -point is what was measured:

  colloc slurm advise -point a100:1=210 -point a100:2=400 -price a100=1.80 -work 5e6

that is 210 samples a second on one a100. Where points are missing it says which to
measure next; it does not guess how a task scales.

With -site it says on one page what the site could switch on so that jobs share GPUs: lines for
slurm.conf and gres.conf, scripts for MPS, what the site's own past would have gained, and what
could go wrong:

  colloc slurm advise -site -past jobs.txt -scripts /etc/slurm`

// question is what advise was asked.
type question struct {
	need   sizing.Need
	prices map[string]float64
	points []advise.ScalingPoint

	site bool
	whole
}

func (q *question) flags() *flag.FlagSet {
	f := flag.NewFlagSet("advise", flag.ContinueOnError)
	f.Func("point", "`TYPE:GPUS=THROUGHPUT` as measured, in any unit that is the same for all; may be given several times", func(s string) error {
		where, rate, ok := cut(s, '=')
		kind, count, counted := cut(where, ':')
		n, err := strconv.Atoi(count)
		v, err2 := strconv.ParseFloat(rate, 64)
		if !ok || !counted || err != nil || err2 != nil {
			return errors.New("want TYPE:GPUS=THROUGHPUT, such as a100:2=400")
		}
		q.points = append(q.points, advise.ScalingPoint{GPU: kind, GPUs: n, Throughput: v})
		return nil
	})
	f.Func("price", "`TYPE=PRICE` of one GPU for one hour, in any currency; may be given several times", func(s string) error {
		kind, price, ok := cut(s, '=')
		v, err := strconv.ParseFloat(price, 64)
		if !ok || err != nil {
			return errors.New("want TYPE=PRICE, such as a100=1.80")
		}
		if q.prices == nil {
			q.prices = make(map[string]float64)
		}
		q.prices[kind] = v
		return nil
	})
	f.Float64Var(&q.need.Work, "work", 0, "how `MUCH` there is to do, in the unit of throughput times seconds")
	f.Float64Var(&q.need.MinGain, "gain", 0, fmt.Sprintf("the `SHARE` of the first GPU's work that each further one must add; default %v", advise.DefaultScalingGain))
	f.IntVar(&q.need.CPUs, "cpus", 0, "`N` CPUs for each GPU")
	cli.Bytes(f, &q.need.Memory, "memory", "host memory in `BYTES` for each GPU")
	cli.Bytes(f, &q.need.GPUMemory, "gpu-memory", "what the task allocates on each GPU, in `BYTES`")
	f.BoolVar(&q.site, "site", false, "say what the site could switch on so that jobs share GPUs")
	f.StringVar(&q.past, "past", "", "with -site: what that would have gained, from `FILE` of sacct, as colloc gain reads it")
	f.StringVar(&q.scripts, "scripts", "", "with -site: write the prolog and the epilog for MPS into `DIR`")
	f.StringVar(&q.need.Partition, "partition", "", "consider the partition `NAME` alone")
	return f
}

// cut splits at the last sep.
func cut(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// Advise is the command advise.
func Advise(ctx context.Context, parse cli.Parser, args []string, client *slurm.Client, now time.Time, out io.Writer) error {
	q := &question{}
	f := q.flags()
	if err := parse(f, args, "", aboutAdvise); err != nil {
		return err
	}
	if f.NArg() > 0 || q.site == (len(q.points) > 0) || !q.site && q.past+q.scripts != "" {
		return cli.Usage("want -point, or -site, and nothing after the flags; see -h")
	}
	if q.site {
		return q.page(ctx, client, out)
	}
	q.need.Scaling = slices.Clone(q.points)
	for i := range q.need.Scaling {
		q.need.Scaling[i].Price = q.prices[q.need.Scaling[i].GPU]
	}
	state, err := client.State(ctx)
	if err != nil {
		return err
	}
	cluster := state.Cluster()
	a, err := sizing.Advise(q.need, cluster)
	if err != nil {
		return cli.Usage("%w", err)
	}
	fmt.Fprint(out, a)
	for _, line := range q.missing(a, &cluster) {
		fmt.Fprintln(out, line)
	}
	q.cost(out, a)
	return starts(ctx, client, a, cluster.Partitions, now, out)
}

// missing says what to measure next: the next powers of two beyond what was, as far as
// the site has GPUs, where the last point still paid.
func (q *question) missing(a *sizing.Advice, c *site.Cluster) []string {
	most := 0
	for _, n := range c.Nodes {
		if n.GPU == a.GPU || a.GPU == "" {
			most = max(most, n.Count*n.GPUs)
		}
	}
	largest := 0
	for _, p := range q.points {
		if strings.EqualFold(p.GPU, a.GPU) || p.GPU == "" || a.GPU == "" {
			largest = max(largest, p.GPUs)
		}
	}
	if a.GPUs < largest { // more did not pay
		return nil
	}
	var next []string
	for n := 2 * largest; n <= most && len(next) < 2 && n > 0; n *= 2 {
		next = append(next, strconv.Itoa(n))
	}
	if len(next) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("measure %s GPUs next: %d is the most that was measured, and how it scales beyond is not known", strings.Join(next, " and "), largest)}
}

// cost says what the work costs, where price and work are known.
func (q *question) cost(out io.Writer, a *sizing.Advice) {
	hours := a.Expected.Hours() * float64(a.GPUs)
	if a.Expected == 0 {
		fmt.Fprintln(out, "cost: not known without -work")
		return
	}
	fmt.Fprintf(out, "cost: %.1f GPU hours", hours)
	if price := q.prices[a.GPU]; price > 0 {
		fmt.Fprintf(out, ", %.2f at %v an hour", hours*price, price)
	}
	fmt.Fprintln(out)
}

// starts says when Slurm would start the job, in each partition that could run it.
func starts(ctx context.Context, client *slurm.Client, a *sizing.Advice, partitions []site.Partition, now time.Time, out io.Writer) error {
	for _, p := range partitions {
		r := a.Request
		r.Partition = p.Name
		if p.MaxTime > 0 && r.Time > p.MaxTime {
			continue
		}
		f, err := client.Test(ctx, &script.Job{Request: r, Body: "true\n"}, nil)
		switch {
		case errors.Is(err, site.ErrImpossible), errors.Is(err, site.ErrPartition), errors.Is(err, site.ErrPermission):
			continue
		case err != nil:
			return err
		}
		wait := max(0, f.Start.Sub(now)).Round(time.Minute)
		fmt.Fprintf(out, "starts: in partition %s in %v, on %s, as the queue stands\n", p.Name, wait, strings.Join(f.Nodes, ","))
	}
	return nil
}
