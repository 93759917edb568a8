package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"example.com/colloc/examples/measure/internal/stats"
	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/profile"
)

// Print prints what a tidy table says.
func Print(w io.Writer, rows []table.Row) error {
	p := &page{Writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	sets := group(rows)
	p.heading(rows)
	p.noise(rows)
	p.throughput(sets)
	p.mechanisms(sets)
	p.memory(sets)
	p.context(rows)
	if p.err != nil {
		return p.err
	}
	return p.Flush()
}

// page prints lines of cells; the first error stays.
type page struct {
	*tabwriter.Writer
	title string // printed before the next line
	err   error
}

// section begins a part, which is left out if no line follows.
func (p *page) section(title string) { p.title = "\n" + title + "\n" }

func (p *page) line(format string, args ...any) {
	_, err := fmt.Fprintf(p, "%s"+format+"\n", append([]any{p.title}, args...)...)
	p.title = ""
	if err != nil && p.err == nil {
		p.err = err
	}
}

// run is the rows of one cell.
type run []table.Row

// group collects the rows of each cell, in order.
func group(rows []table.Row) []run {
	var runs []run
	for i := range rows {
		if i > 0 && rows[i].Cell == rows[i-1].Cell && rows[i].Member.Or(0) > 0 {
			runs[len(runs)-1] = append(runs[len(runs)-1], rows[i])
			continue
		}
		runs = append(runs, run{rows[i]})
	}
	return runs
}

// throughput is the sum of the speeds, if all are known.
func (r run) throughput() (float64, bool) {
	sum := 0.0
	for i := range r {
		s, ok := r[i].Speed.Get()
		if !ok {
			return 0, false
		}
		sum += s
	}
	return sum, true
}

// memory is what the set took: the sum over its processes, as the driver counts
// them, else the growth of the device's use if nobody else was there.
func (r run) memory() (float64, bool) {
	sum, known := 0.0, 0
	for i := range r {
		if peak, ok := r[i].Peak.Get(); ok {
			sum += peak
			known++
		}
	}
	if known == len(r) {
		return sum, true
	}
	device, ok1 := r[0].DevicePeak.Get()
	before, ok2 := r[0].Baseline.Get()
	return device - before, ok1 && ok2 && r[0].Idle.Or(1) == 0 && r[0].SetStatus == string(workload.OK)
}

// regime names mechanism and whether thread caps were set.
func (r run) regime() string {
	if !r[0].Threads.IsZero() {
		return r[0].Mechanism + ", capped"
	}
	return r[0].Mechanism
}

// regimes are the ways to share, in the order of printing.
var regimes = []string{profile.TimeSlice.String(), profile.MPS.String(), profile.MPS.String() + ", capped"}

func (p *page) heading(rows []table.Row) {
	if len(rows) == 0 {
		p.line("nothing was measured")
		return
	}
	r := &rows[0]
	if r.Simulated == "true" {
		p.line("SIMULATED: nothing here was measured")
	}
	p.line("%s, driver %s, PyTorch %s", r.GPU, r.Driver, r.Torch)
	ends := make(map[string]int)
	for i := range rows {
		ends[rows[i].Status]++
	}
	var parts []string
	for _, s := range []workload.Status{workload.OK, workload.OOM, workload.Short, workload.Crash, workload.Timeout, workload.Garbage} {
		if n := ends[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	p.line("%d task runs: %s", len(rows), strings.Join(parts, ", "))
}

// noise prints how much repetitions differ: the pooled standard deviation of
// the speeds of the same task in the same set.
func (p *page) noise(rows []table.Row) {
	p.section("noise floor\truns\trepeated\tstandard deviation of speed")
	for _, regime := range append([]string{profile.Exclusive.String()}, regimes...) {
		speeds := make(map[string][]float64)
		var keys []string
		for i := range rows {
			r := &rows[i]
			s, ok := r.Speed.Get()
			if !ok || (run{*r}).regime() != regime {
				continue
			}
			key := fmt.Sprint(r.Set, " ", r.Member)
			if speeds[key] == nil {
				keys = append(keys, key)
			}
			speeds[key] = append(speeds[key], s)
		}
		squares, degrees, n := 0.0, 0, 0
		for _, key := range keys {
			m, _ := stats.Mean(speeds[key])
			n += len(speeds[key])
			for _, s := range speeds[key] {
				squares += (s - m) * (s - m)
			}
			degrees += len(speeds[key]) - 1
		}
		if degrees > 0 {
			p.line("%s\t%d\t%d\t%.4f", regime, n, degrees, math.Sqrt(squares/float64(degrees)))
		}
	}
}

// throughputs prints sums of speeds: exclusive use of one GPU is 1.
func (p *page) throughput(sets []run) {
	p.section("set throughput (exclusive = 1)\ttasks\tsets\tmedian\tbest\tworst\tslowest task, median")
	for _, regime := range regimes {
		for size := 2; size <= 4; size++ {
			var sums, slowest []float64
			for _, r := range sets {
				sum, ok := r.throughput()
				if !ok || len(r) != size || r.regime() != regime {
					continue
				}
				sums = append(sums, sum)
				low := math.Inf(1)
				for i := range r {
					low = min(low, r[i].Speed.Or(low))
				}
				slowest = append(slowest, low)
			}
			if len(sums) == 0 {
				continue
			}
			mid, _ := stats.Median(sums)
			low := slices.Min(sums)
			high := slices.Max(sums)
			slow, _ := stats.Median(slowest)
			p.line("%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f", regime, size, len(sums), mid, high, low, slow)
		}
	}
}

// mechanisms compares the same set under time-slicing and MPS.
func (p *page) mechanisms(sets []run) {
	sums := make(map[string][]float64)
	var keys []string
	for _, r := range sets {
		sum, ok := r.throughput()
		if !ok || len(r) < 2 || r.regime() == regimes[2] {
			continue
		}
		key := r[0].Set
		if sums[key+regimes[0]] == nil && sums[key+regimes[1]] == nil {
			keys = append(keys, key)
		}
		sums[key+r.regime()] = append(sums[key+r.regime()], sum)
	}
	var ratios []float64
	better := 0
	for _, key := range keys {
		slice, ok1 := stats.Mean(sums[key+regimes[0]])
		shared, ok2 := stats.Mean(sums[key+regimes[1]])
		if ok1 && ok2 {
			ratios = append(ratios, shared/slice)
			if shared > slice {
				better++
			}
		}
	}
	if mid, ok := stats.Median(ratios); ok {
		low := slices.Min(ratios)
		high := slices.Max(ratios)
		p.section("MPS over time-slicing, throughput of the same set\tsets\tmedian\tworst\tbest\tMPS better")
		p.line("\t%d\t%.3f\t%.3f\t%.3f\t%d", len(ratios), mid, low, high, better)
	}
}

// memory compares what processes take in pairs with what they take alone.
func (p *page) memory(sets []run) {
	alone := make(map[string][]float64)
	for _, r := range sets {
		if need, ok := r[0].Need().Get(); ok && len(r) == 1 && r[0].Mechanism == profile.Exclusive.String() {
			alone[r[0].Task] = append(alone[r[0].Task], need)
		}
	}
	p.section("memory of a pair less the sum alone\tpairs\tmedian\t99 %\tlargest")
	for _, regime := range regimes {
		var excess []float64
		for _, r := range sets {
			if len(r) != 2 || r.regime() != regime {
				continue
			}
			a, ok1 := stats.Median(alone[r[0].Task])
			b, ok2 := stats.Median(alone[r[1].Task])
			if both, ok := r.memory(); ok && ok1 && ok2 {
				excess = append(excess, both-a-b)
			}
		}
		if mid, ok := stats.Median(excess); ok {
			slices.Sort(excess)
			tail := stat.Quantile(0.99, stat.Empirical, excess, nil)
			p.line("%s\t%d\t%.0f MiB\t%.0f MiB\t%.0f MiB", regime, len(excess), mid/(1<<20), tail/(1<<20), slices.Max(excess)/(1<<20))
		}
	}
}

// context prints what a process costs before it does anything.
func (p *page) context(rows []table.Row) {
	p.section("CUDA context\tprocesses\tmedian")
	for _, mechanism := range []profile.Mechanism{profile.Exclusive, profile.MPS} {
		var values []float64
		for i := range rows {
			r := &rows[i]
			if c, ok := r.Context.Get(); ok && r.Runs.Or(1) == 0 && (r.Mechanism == profile.MPS.String()) == (mechanism == profile.MPS) {
				values = append(values, c)
			}
		}
		if mid, ok := stats.Median(values); ok {
			name := "without MPS"
			if mechanism == profile.MPS {
				name = "with MPS"
			}
			p.line("%s\t%d\t%.0f MiB", name, len(values), mid/(1<<20))
		}
	}
}
