package simulate

import (
	"math"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
)

// made is a policy whose mean completion times over seeds are given, in hours.
func made(policy string, hours ...float64) summary {
	s := summary{Policy: policy}
	for _, h := range hours {
		d := time.Duration(h * float64(time.Hour))
		s.Runs = append(s.Runs, outcome{Policy: policy, Result: &sim.Result{MeanJCT: d, Makespan: d}})
	}
	for _, c := range columns() {
		s.Figures = append(s.Figures, meanOf(s.Runs, c.value))
	}
	return s
}

// TestVerdicts: the order is told only where the interval of the ratios, seed by
// seed, lies on one side of 1.
func TestVerdicts(t *testing.T) {
	all := []summary{
		made("fifo", 10, 20, 40),
		made("lucid", 5, 10.1, 19.8),
		made("stuck", 1, 1, 1),
		made("colloc", 4.9, 10.2, 19.9),
	}
	all[2].Unfinished = 1
	got := verdicts(all, "fifo")
	if len(got) != judged || got[1].Figure != "mean JCT" || got[3].Figure != "longest wait" {
		t.Fatalf("verdicts %+v, want makespan, mean and p99 JCT, and the longest wait of colloc", got)
	}
	v := got[1]
	if v.Peer.Other != "lucid" || v.Peer.differsBelow || v.Peer.differsAbove {
		t.Errorf("%v: the best peer is lucid, and nobody can tell the two apart", v)
	}
	if v.Baseline.Other != "fifo" || !v.Baseline.differsBelow {
		t.Errorf("%v: half as long as fifo on every seed is below", v)
	}
	// ratios .49, .51 and .4975: the geometric mean is exp((ln .49 + ln .51 + ln .4975)/3) = 0.49910
	if math.Abs(v.Baseline.Ratio-0.49910) > 1e-4 || v.Baseline.Lo >= v.Baseline.Ratio || v.Baseline.Hi <= v.Baseline.Ratio {
		t.Errorf("ratio %v from %v to %v, want 0.49910 in between", v.Baseline.Ratio, v.Baseline.Lo, v.Baseline.Hi)
	}
	want := "colloc: mean JCT 50.1 % below fifo (47.5 to 52.5); not told apart from lucid (-4.1 to +3.9 %), the best peer"
	if v.String() != want {
		t.Errorf("%q, want %q", v.String(), want)
	}
	even := verdicts([]summary{made("fifo", 10, 11), made("colloc", 10, 11)}, "fifo")
	if s := even[1].String(); s != "colloc: mean JCT as fifo" {
		t.Errorf("%q of equal runs", s)
	}
	one := verdicts([]summary{made("fifo", 10), made("colloc", 12)}, "fifo")
	if s := one[1].String(); s != "colloc: mean JCT 20.0 % above fifo" {
		t.Errorf("%q without an interval", s)
	}
}

// TestLongestWait: who waits for nothing is a minute ahead, and not without measure.
func TestLongestWait(t *testing.T) {
	all := []summary{made("fifo", 1), made("lucid", 1), made("colloc", 1)}
	for i, wait := range []time.Duration{time.Hour, 0, 2 * time.Minute} {
		all[i].Runs[0].Ends = []sim.End{{Wait: wait}, {Wait: wait / 2}}
		all[i].Figures[3] = meanOf(all[i].Runs, columns()[3].value)
	}
	want := "colloc: longest wait 96.7 % below fifo; 100.0 % above lucid, the best peer"
	if got := verdicts(all, "fifo")[3].String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSpread: of ratios 1 to 10 the 90th percentile is 9, the 10th 1.
func TestSpread(t *testing.T) {
	r := &sim.Result{}
	for i := range 10 {
		r.Ends = append(r.Ends, sim.End{Ratio: float64(10 - i), Finished: true})
	}
	r.Ends = append(r.Ends, sim.End{Ratio: 100})
	if got := spread(r); got != 9 {
		t.Errorf("spread %v, want 9", got)
	}
	if got := spread(&sim.Result{}); got != 0 {
		t.Errorf("spread %v of nothing, want 0", got)
	}
}

// TestEachSeed: the best peer is another one on each seed, and those that left tasks
// unfinished are none.
func TestEachSeed(t *testing.T) {
	all := []summary{made("fifo", 10, 40), made("lucid", 20, 10), made("stuck", 1, 1), made("colloc", 9, 10.5)}
	all[2].Unfinished = 1
	// 9/10 and 10.5/10: their geometric mean is √(.9 · 1.05) = 0.9721
	want := "colloc: makespan 0.972 and mean JCT 0.972 of the best peer of each seed; first in both on 1 of 2"
	if got := eachSeed(all, &all[3]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, few := range [][]summary{{made("fifo", 10), made("colloc", 9)}, {made("colloc-jct", 9, 9), made("colloc", 9, 9)}} {
		if got := eachSeed(few, &few[1]); got != "" {
			t.Errorf("%q without several seeds or without peers", got)
		}
	}
}
