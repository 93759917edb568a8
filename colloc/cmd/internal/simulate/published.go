package simulate

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/internal/regular"
)

// replayed is one published figure and what the same experiment comes to here.
type replayed struct {
	trace, policy, figure string
	published, ours       float64
	digits                int
}

// printPublished replays the published experiments in a folder: those of Muri
// (SIGCOMM 2022), which include Tiresias, of FGD (ATC 2023), and CARMA's exclusive
// makespan.
func printPublished(ctx context.Context, w io.Writer, dir string) error {
	experiments := []func(context.Context) ([]replayed, error){}
	for _, name := range []string{"trace1", "trace1_pr", "trace3"} {
		for _, p := range []struct {
			label  string
			policy sim.Policy
		}{
			{"Tiresias_L", policy.LAS{}},
			{"SRTF", policy.Shortest{}},
			{"SRSF", policy.Shortest{Service: true}},
			{"Muri_S", policy.Muri{}},
			{"Muri_L", policy.Muri{Unaware: true}},
		} {
			experiments = append(experiments, func(ctx context.Context) ([]replayed, error) {
				return replayMuri(ctx, dir, name, p.label, p.policy)
			})
		}
	}
	experiments = append(experiments,
		func(ctx context.Context) ([]replayed, error) { return replayOpenb(ctx, dir) },
		func(ctx context.Context) ([]replayed, error) { return replayCARMA(ctx, dir) })
	out := make([][]replayed, len(experiments))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range experiments {
		group.Go(func() (err error) {
			out[i], err = e(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "trace\tpolicy\tfigure\tpublished\tours\toff by\t")
	for _, rows := range out {
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%.*f\t%.*f\t%+.2f %%\t\n", r.trace, r.policy, r.figure, r.digits, r.published, r.digits, r.ours, 100*(r.ours/r.published-1))
		}
	}
	return t.Flush()
}

// replayMuri replays one policy on one of Muri's traces, on 8 machines of 8 GPUs.
func replayMuri(ctx context.Context, dir, name, label string, p sim.Policy) ([]replayed, error) {
	want, err := readPublished(filepath.Join(dir, "muri_published_results.csv"))
	if err != nil {
		return nil, err
	}
	tr, err := readTrace(filepath.Join(dir, "muri_"+name+".csv"))
	if err != nil {
		return nil, err
	}
	c, err := sim.ParseCluster("8x8xV100")
	if err != nil {
		return nil, err
	}
	r, err := sim.Run(ctx, c, tr.Tasks, p, sim.Options{Truth: speed.Stages{}, RestartAll: true})
	if err != nil {
		return nil, err
	}
	var out []replayed
	for _, f := range []struct {
		key, name string
		ours      float64
	}{
		{"mean_jct_s", "mean JCT, s", r.MeanJCT.Seconds()},
		{"p99_jct_s", "p99 JCT, s", r.P99JCT.Seconds()},
		{"makespan_s", "makespan, s", r.Makespan.Seconds()},
	} {
		published, ok := want[[3]string{name, label, f.key}]
		if !ok {
			return nil, cli.Usage("-published: muri_published_results.csv has no %s of %s on %s", f.key, label, name)
		}
		out = append(out, replayed{"Muri's " + name, label, f.name, published, f.ours, 0})
	}
	return out, nil
}

// readPublished reads the authors' results: trace, policy, metric, value.
func readPublished(name string) (map[[3]string]float64, error) {
	f, err := regular.Found(name)
	if err != nil {
		return nil, cli.Usage("-published: %w", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, cli.Usage("-published: %s: %w", name, err)
	}
	want := map[[3]string]float64{}
	for _, row := range rows {
		if x, err := strconv.ParseFloat(row[len(row)-1], 64); err == nil && len(row) == 4 {
			want[[3]string{row[0], row[1], row[2]}] = x
		}
	}
	return want, nil
}

// replayOpenb is FGD's experiment: the part of the GPUs that is allocated when 1.3
// times as much was asked for as there is.
func replayOpenb(ctx context.Context, dir string) ([]replayed, error) {
	nodes, err := readTrace(filepath.Join(dir, "openb_node_list_gpu_node.csv"))
	if err != nil {
		return nil, err
	}
	pods, err := readTrace(filepath.Join(dir, "openb_pod_list_default.csv"))
	if err != nil {
		return nil, err
	}
	const seed = 42
	c := &sim.Cluster{Nodes: nodes.Nodes}
	tasks := trace.Inflate(pods.Tasks, 1.3*float64(c.GPUs()), seed)
	var out []replayed
	for _, p := range []struct {
		policy    sim.Policy
		published float64
	}{
		{policy.RandomNode{}, 87.5},
		{policy.BestFit{}, 93.2},
		{policy.FGD{Typical: pods.Tasks}, 95.3},
	} {
		r, err := sim.Run(ctx, c, tasks, p.policy, sim.Options{Seed: seed, Until: tasks[len(tasks)-1].Arrival})
		if err != nil {
			return nil, err
		}
		out = append(out, replayed{"openb", r.Policy, "allocated, %", p.published, 100 * r.Last.Allocated, 1})
	}
	return out, nil
}

// replayCARMA is the exclusive makespan of CARMA's trace t1.
func replayCARMA(ctx context.Context, dir string) ([]replayed, error) {
	tr, err := readTrace(filepath.Join(dir, "carma_trace_t1.csv"))
	if err != nil {
		return nil, err
	}
	c, err := sim.ParseCluster("4xA100-40GB")
	if err != nil {
		return nil, err
	}
	r, err := sim.Run(ctx, c, tr.Tasks, policy.FIFO{}, sim.Options{Truth: speed.Contention{}})
	if err != nil {
		return nil, err
	}
	return []replayed{{"CARMA's t1", "exclusive FIFO", "makespan, min", 470, r.Makespan.Minutes(), 1}}, nil
}
