package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/colloc/profile"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// report prints what a tidy table says.
func report(w io.Writer, rows []row) error {
	t := &table{Writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	sets := group(rows)
	t.heading(rows)
	t.noise(rows)
	t.throughput(sets)
	t.mechanisms(sets)
	t.memory(sets)
	t.context(rows)
	if t.err != nil {
		return t.err
	}
	return t.Flush()
}

// table prints lines of cells; the first error stays.
type table struct {
	*tabwriter.Writer
	title string // printed before the next line
	err   error
}

// section begins a part, which is left out if no line follows.
func (t *table) section(title string) { t.title = "\n" + title + "\n" }

func (t *table) line(format string, args ...any) {
	_, err := fmt.Fprintf(t, "%s"+format+"\n", append([]any{t.title}, args...)...)
	t.title = ""
	if err != nil && t.err == nil {
		t.err = err
	}
}

// run is the rows of one cell.
type run []row

// group collects the rows of each cell, in order.
func group(rows []row) []run {
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
	return device - before, ok1 && ok2 && r[0].Idle.Or(1) == 0 && r[0].SetStatus == string(statusOK)
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

func (t *table) heading(rows []row) {
	if len(rows) == 0 {
		t.line("nothing was measured")
		return
	}
	r := &rows[0]
	if r.Simulated == "true" {
		t.line("SIMULATED: nothing here was measured")
	}
	t.line("%s, driver %s, PyTorch %s", r.GPU, r.Driver, r.Torch)
	ends := make(map[string]int)
	for i := range rows {
		ends[rows[i].Status]++
	}
	var parts []string
	for _, s := range []status{statusOK, statusOOM, statusShort, statusCrash, statusTimeout, statusGarbage} {
		if n := ends[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	t.line("%d task runs: %s", len(rows), strings.Join(parts, ", "))
}

// noise prints how much repetitions differ: the pooled standard deviation of
// the speeds of the same task in the same set.
func (t *table) noise(rows []row) {
	t.section("noise floor\truns\trepeated\tstandard deviation of speed")
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
			m, _ := mean(speeds[key])
			n += len(speeds[key])
			for _, s := range speeds[key] {
				squares += (s - m) * (s - m)
			}
			degrees += len(speeds[key]) - 1
		}
		if degrees > 0 {
			t.line("%s\t%d\t%d\t%.4f", regime, n, degrees, math.Sqrt(squares/float64(degrees)))
		}
	}
}

// throughputs prints sums of speeds: exclusive use of one GPU is 1.
func (t *table) throughput(sets []run) {
	t.section("set throughput (exclusive = 1)\ttasks\tsets\tmedian\tbest\tworst\tslowest task, median")
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
			mid, _ := median(sums)
			low := quantile(sums, 0)
			high := quantile(sums, 1)
			slow, _ := median(slowest)
			t.line("%s\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f", regime, size, len(sums), mid, high, low, slow)
		}
	}
}

// mechanisms compares the same set under time-slicing and MPS.
func (t *table) mechanisms(sets []run) {
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
		slice, ok1 := mean(sums[key+regimes[0]])
		shared, ok2 := mean(sums[key+regimes[1]])
		if ok1 && ok2 {
			ratios = append(ratios, shared/slice)
			if shared > slice {
				better++
			}
		}
	}
	if mid, ok := median(ratios); ok {
		low := quantile(ratios, 0)
		high := quantile(ratios, 1)
		t.section("MPS over time-slicing, throughput of the same set\tsets\tmedian\tworst\tbest\tMPS better")
		t.line("\t%d\t%.3f\t%.3f\t%.3f\t%d", len(ratios), mid, low, high, better)
	}
}

// memory compares what processes take in pairs with what they take alone.
func (t *table) memory(sets []run) {
	alone := make(map[string][]float64)
	for _, r := range sets {
		if need, ok := r[0].need().Get(); ok && len(r) == 1 && r[0].Mechanism == profile.Exclusive.String() {
			alone[r[0].Task] = append(alone[r[0].Task], float64(need))
		}
	}
	t.section("memory of a pair less the sum alone\tpairs\tmedian\t99 %\tlargest")
	for _, regime := range regimes {
		var excess []float64
		for _, r := range sets {
			if len(r) != 2 || r.regime() != regime {
				continue
			}
			a, ok1 := median(alone[r[0].Task])
			b, ok2 := median(alone[r[1].Task])
			if both, ok := r.memory(); ok && ok1 && ok2 {
				excess = append(excess, both-a-b)
			}
		}
		if mid, ok := median(excess); ok {
			tail := quantile(excess, 0.99)
			high := quantile(excess, 1)
			t.line("%s\t%d\t%.0f MiB\t%.0f MiB\t%.0f MiB", regime, len(excess), mid/(1<<20), tail/(1<<20), high/(1<<20))
		}
	}
}

// context prints what a process costs before it does anything.
func (t *table) context(rows []row) {
	t.section("CUDA context\tprocesses\tmedian")
	for _, mechanism := range []profile.Mechanism{profile.Exclusive, profile.MPS} {
		var values []float64
		for i := range rows {
			r := &rows[i]
			if c, ok := r.Context.Get(); ok && r.Runs.Or(1) == 0 && (r.Mechanism == profile.MPS.String()) == (mechanism == profile.MPS) {
				values = append(values, c)
			}
		}
		if mid, ok := median(values); ok {
			name := "without MPS"
			if mechanism == profile.MPS {
				name = "with MPS"
			}
			t.line("%s\t%d\t%.0f MiB", name, len(values), mid/(1<<20))
		}
	}
}
