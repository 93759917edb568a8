package simulate

import (
	"fmt"
	"math"
	"strings"
)

// verdict is how one of our policies compares in one figure of which less is
// better: with the baseline, and with the best peer.
type verdict struct {
	Policy, Figure string
	Baseline       comparison
	Peer           comparison // Other is empty if there is no peer
}

// comparison is the mean ratio of a figure over that of another policy, seed by
// seed, with its 95 % interval; without several seeds the interval is empty.
type comparison struct {
	Other        string
	Ratio        float64
	Lo, Hi       float64
	hasInterval  bool
	differsBelow bool // the interval lies below 1
	differsAbove bool
}

// isOurs reports whether a policy is colloc's own.
func isOurs(name string) bool { return name == "colloc" || strings.HasPrefix(name, "colloc-") }

// verdicts compares our policies with a baseline and the best peer, in makespan, completion
// time, its 99th percentile, and the longest wait. The best peer is the one with the least mean
// over seeds, for each figure anew; a policy with tasks that did not finish is no peer.
func verdicts(all []summary, baseline string) []verdict {
	ours := func(s *summary) bool { return isOurs(s.Policy) }
	base := least(all, 0, func(s *summary) bool { return s.Policy == baseline })
	var out []verdict
	for i := range all {
		if !ours(&all[i]) || all[i].Unfinished > 0 {
			continue
		}
		for k, c := range columns()[:judged] {
			v := verdict{Policy: all[i].Policy, Figure: c.Name}
			if base != nil && base.Policy != v.Policy {
				v.Baseline = compare(&all[i], base, c.weighed())
			}
			if peer := least(all, k, func(s *summary) bool { return !ours(s) }); peer != nil {
				v.Peer = compare(&all[i], peer, c.weighed())
			}
			out = append(out, v)
		}
	}
	return out
}

// weighed is a figure as ratios are taken of it: a wait counts as a minute, a start-up, at
// least, as it may be nothing.
func (c *column) weighed() func(*outcome) float64 {
	if c.Name != "longest wait" {
		return c.value
	}
	return func(o *outcome) float64 { return max(1./60, c.value(o)) }
}

// sentences are the verdicts, how ours compare with the best peer of each seed, and with what
// is proven.
func sentences(all []summary, baseline string) []string {
	var out []string
	for _, v := range verdicts(all, baseline) {
		if s := v.String(); s != "" {
			out = append(out, s)
		}
	}
	return append(out, remarks(all)...)
}

// remarks are the sentences that are no verdicts.
func remarks(all []summary) []string {
	var out []string
	for i := range all {
		if s := &all[i]; isOurs(s.Policy) && s.Unfinished == 0 {
			if line := eachSeed(all, s); line != "" {
				out = append(out, line)
			}
		}
	}
	return append(out, distances(all)...)
}

// eachSeed says how a policy compares with the best peer of each seed, which is a
// different one from seed to seed; empty without several seeds or without peers.
func eachSeed(all []summary, ours *summary) string {
	n, first := len(ours.Runs), 0
	var logs [2]float64
	for run := range n {
		wins := true
		for k, c := range columns()[:2] { // makespan and mean JCT
			best := math.Inf(1)
			for i := range all {
				if s := &all[i]; !isOurs(s.Policy) && s.Unfinished == 0 && run < len(s.Runs) {
					best = min(best, c.value(&s.Runs[run]))
				}
			}
			x := c.value(&ours.Runs[run])
			logs[k] += math.Log(x / best)
			wins = wins && x <= best
		}
		if wins {
			first++
		}
	}
	makespan, jct := math.Exp(logs[0]/float64(n)), math.Exp(logs[1]/float64(n))
	if n < 2 || !(makespan > 0 && jct > 0) || math.IsInf(makespan+jct, 0) {
		return ""
	}
	return fmt.Sprintf("%s: makespan %.3f and mean JCT %.3f of the best peer of each seed; first in both on %d of %d", ours.Policy, makespan, jct, first, n)
}

// least is the policy with the least mean of column k among some that finished all
// tasks, or nil.
func least(all []summary, k int, among func(*summary) bool) *summary {
	var best *summary
	for i := range all {
		s := &all[i]
		if s.Unfinished == 0 && among(s) && (best == nil || s.Figures[k].Mean < best.Figures[k].Mean) {
			best = s
		}
	}
	return best
}

// compare pairs the runs of two policies by seed; logarithms make "half as long"
// and "twice as long" weigh the same.
func compare(a, b *summary, value func(*outcome) float64) comparison {
	c := comparison{Other: b.Policy}
	n := min(len(a.Runs), len(b.Runs))
	logs := make([]float64, 0, n)
	sum := 0.0
	for i := range n {
		x, y := value(&a.Runs[i]), value(&b.Runs[i])
		if x > 0 && y > 0 {
			logs = append(logs, math.Log(x/y))
			sum += logs[len(logs)-1]
		}
	}
	if len(logs) == 0 {
		return comparison{}
	}
	mean := sum / float64(len(logs))
	c.Ratio = math.Exp(mean)
	if len(logs) < 2 {
		return c
	}
	squares := 0.0
	for _, x := range logs {
		squares += (x - mean) * (x - mean)
	}
	m := float64(len(logs))
	half := student(len(logs)-1) * math.Sqrt(squares/(m-1)/m)
	c.Lo, c.Hi, c.hasInterval = math.Exp(mean-half), math.Exp(mean+half), true
	c.differsBelow, c.differsAbove = c.Hi < 1, c.Lo > 1
	return c
}

// String says it in words, such as "12.1 % below fifo (10.0 to 14.2)".
func (c comparison) String() string {
	percent := func(x float64) float64 { return 100 * math.Abs(x-1) }
	switch {
	case c.Other == "":
		return ""
	case c.Ratio == 1 && c.Lo == c.Hi || math.Abs(c.Lo-1) < 5e-4 && math.Abs(c.Hi-1) < 5e-4:
		return "as " + c.Other
	case !c.hasInterval && c.Ratio <= 1:
		return fmt.Sprintf("%.1f %% below %s", percent(c.Ratio), c.Other)
	case !c.hasInterval:
		return fmt.Sprintf("%.1f %% above %s", percent(c.Ratio), c.Other)
	case c.differsBelow:
		return fmt.Sprintf("%.1f %% below %s (%.1f to %.1f)", percent(c.Ratio), c.Other, percent(c.Hi), percent(c.Lo))
	case c.differsAbove:
		return fmt.Sprintf("%.1f %% above %s (%.1f to %.1f)", percent(c.Ratio), c.Other, percent(c.Lo), percent(c.Hi))
	}
	return fmt.Sprintf("not told apart from %s (%+.1f to %+.1f %%)", c.Other, 100*(c.Lo-1), 100*(c.Hi-1))
}

// String is a sentence.
func (v verdict) String() string {
	parts := []string{}
	if s := v.Baseline.String(); s != "" {
		parts = append(parts, s)
	}
	if s := v.Peer.String(); s != "" && v.Peer.Other != v.Baseline.Other {
		parts = append(parts, s+", the best peer")
	}
	if len(parts) == 0 {
		return ""
	}
	return v.Policy + ": " + v.Figure + " " + strings.Join(parts, "; ")
}

// distances say how far our policies are above what is proven, and the nearest peers.
func distances(all []summary) []string {
	var out []string
	for i := range all {
		ours := &all[i]
		if !isOurs(ours.Policy) || ours.Unfinished > 0 {
			continue
		}
		line := ours.Policy + ":"
		for n, f := range []struct {
			name  string
			value func(*outcome) float64
		}{{"makespan", aboveMakespan}, {"mean JCT", aboveJCT}} {
			has := meanOf(ours.Runs, f.value).Mean
			if has == 0 {
				line = ""
				break
			}
			line += fmt.Sprintf("%s %s %.1f %% above what no policy comes below", [2]string{"", ","}[n], f.name, 100*(has-1))
			if peer := least(all, n, func(s *summary) bool { return !isOurs(s.Policy) }); peer != nil {
				line += fmt.Sprintf(" (%s %.1f %%)", peer.Policy, 100*(meanOf(peer.Runs, f.value).Mean-1))
			}
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
