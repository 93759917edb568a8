package gain

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/colloc/internal/plain"
	"example.com/colloc/predict"
)

// String says it in lines, each of which ends in a newline.
func (r *Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	t := &r.Total
	if t.Jobs == 0 {
		line("no job ran on a GPU: there is nothing to share")
		if n := r.Known.Outside; n > 0 {
			line("%d jobs %s", n, leftOut)
		}
		return b.String()
	}
	line("%d jobs, %v GPU hours on %d GPUs, %v to %v", t.Jobs, number(t.Recorded.GPUHours), t.GPUs, r.From.Format(time.DateTime), r.Until.Format(time.DateTime))
	line("")
	line("with sharing     %s GPU hours less occupied, %s of all", between(t.SavedHours, 1, ""), between(t.SavedShare, 100, " %"))
	line("                 %s hours less waiting, %s a job", between(t.SavedWaiting, 1, ""), perJob(t.SavedWaiting, t.Jobs))
	line("                 jobs end %s earlier on average", perJob(t.EndedEarlier, t.Jobs))
	line("                 %.0f %% of the jobs share; these run %.2f times as long; %.1f %% of all end later", 100*t.Shared, t.Slowdown, 100*t.Later)
	if t.Died > 0 {
		line("                 %.0f runs die for lack of memory, and start again", t.Died*float64(t.Jobs))
	}
	line("")
	r.table(&b)
	if len(r.Together) > 0 {
		line("\nwho would have shared most, in GPU hours")
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, x := range r.Together[:min(len(r.Together), 10)] {
			_, _ = fmt.Fprintf(w, "  %s\t%d times\t%s\t%s\n", number(x.Hours), x.Times, plain.Text(x.A), plain.Text(x.B))
		}
		_ = w.Flush() // a strings.Builder does not fail
	}
	line("\nassumed")
	for _, s := range r.Assumed {
		line("  %s", s)
	}
	return b.String()
}

// table compares the pools.
func (r *Report) table(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "GPUs\t\tjobs\tGPU hours\twith\tsaved\twaited\tas replayed\twith\t")
	row := func(name string, g *Gain) {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%.1f %%\t%s\t%s\t%s\t\n", g.GPUs, name, g.Jobs, number(g.Without.GPUHours), number(g.With.GPUHours),
			100*g.SavedShare.Value, hours(g.Recorded.Waited), hours(g.Without.Waited), hours(g.With.Waited))
	}
	for i := range r.Pools {
		row(plain.Text(r.Pools[i].Name), &r.Pools[i].Gain)
	}
	if len(r.Pools) > 1 {
		row("all", &r.Total)
	}
	_ = w.Flush() // a strings.Builder does not fail
}

// between is a value with its interval.
func between(e predict.Estimate, scale float64, unit string) string {
	return fmt.Sprintf("%s%s (%s to %s)", number(scale*e.Value), unit, number(scale*e.Lo), number(scale*e.Hi))
}

// perJob is a sum of hours for each job.
func perJob(e predict.Estimate, jobs int) string {
	n := float64(jobs)
	return fmt.Sprintf("%s (%s to %s)", hours(e.Value/n), hours(e.Lo/n), hours(e.Hi/n))
}

// number has as many decimals as three digits take.
func number(x float64) string {
	switch size := math.Abs(x); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case size == 0:
		return "0"
	}
	return fmt.Sprintf("%.2f", x)
}

// hours prints a time such as "1h12m0s" as "1h12m".
func hours(h float64) string {
	d := time.Duration(h * float64(time.Hour))
	if s := d.Round(time.Second); s.Abs() < time.Minute {
		return s.String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
