package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// writeTable prints the figures of every policy for people.
func writeTable(w io.Writer, all []summary, baseline string) error {
	for _, line := range sentences(all, baseline) {
		fmt.Fprintln(w, line)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "policy\t")
	cs, ks := columns(), present(all)
	for _, k := range ks {
		c := cs[k]
		name := c.Name
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		fmt.Fprint(t, name+"\t")
	}
	fmt.Fprintln(t)
	unfinished := false
	for i := range all {
		name := all[i].Policy
		if all[i].Unfinished > 0 {
			name, unfinished = name+" *", true
		}
		fmt.Fprint(t, name+"\t")
		for _, k := range ks {
			fmt.Fprint(t, all[i].Figures[k].format(cs[k])+"\t")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if unfinished {
		fmt.Fprintln(w, "* has tasks that did not finish, and whose times are in no mean")
	}
	return nil
}

// format prints a mean, with its interval if there are several seeds.
func (v interval) format(c column) string {
	s := strconv.FormatFloat(v.Mean, 'f', c.Digits, 64)
	half := strconv.FormatFloat(v.Half, 'f', c.Digits, 64)
	if strings.Trim(half, "0.") != "" {
		s += "±" + half
	}
	return s
}

// record is one run as a line of JSON. Makespan and completion times are null where a task did
// not finish: they would be those of the others.
type record struct {
	Trace      string   `json:"trace"`
	Contention float64  `json:"contention"`
	Policy     string   `json:"policy"`
	Seed       uint64   `json:"seed"`
	Tasks      int      `json:"tasks"`
	Finished   int      `json:"finished"`
	Makespan   *float64 `json:"makespan_s"`
	MeanJCT    *float64 `json:"mean_jct_s"`
	P50JCT     *float64 `json:"p50_jct_s"`
	P99JCT     *float64 `json:"p99_jct_s"`
	MeanWait   float64  `json:"mean_wait_s"`
	Longest    float64  `json:"longest_wait_s"`
	Energy     float64  `json:"energy_j"`
	OOM        int      `json:"oom"`
	Recoveries int      `json:"recoveries"`
	Allocated  float64  `json:"allocated_pct"`
	Busy       float64  `json:"busy_pct"`
	Unfairness float64  `json:"finish_time_ratio"`
	Spread     float64  `json:"finish_time_spread"`
	Late       float64  `json:"late_s"`
	UserSpread float64  `json:"user_spread,omitempty"`
	UrgentJCT  float64  `json:"urgent_jct_s,omitempty"`
	Decisions  int      `json:"decisions"`
	// what no policy comes below, if asked for
	BoundMakespan *float64 `json:"bound_makespan_s,omitempty"`
	BoundJCT      *float64 `json:"bound_mean_jct_s,omitempty"`
}

// writeJSON prints one object for each run.
func writeJSON(w io.Writer, trace string, contention float64, outcomes []outcome) error {
	e := json.NewEncoder(w)
	for i := range outcomes {
		o := &outcomes[i]
		whole := func(d time.Duration) *float64 {
			if o.Unfinished+o.Failed > 0 {
				return nil
			}
			seconds := d.Seconds()
			return &seconds
		}
		r := record{
			Trace: trace, Contention: contention, Policy: o.Policy, Seed: o.Seed, Tasks: o.Tasks, Finished: o.Finished,
			Makespan: whole(o.Makespan), MeanJCT: whole(o.MeanJCT), P50JCT: whole(o.P50JCT),
			P99JCT: whole(o.P99JCT), MeanWait: o.MeanWait.Seconds(), Longest: longest(o.Result).Seconds(), Energy: o.Energy, OOM: o.OutOfMemory,
			Recoveries: o.Recoveries, Allocated: 100 * allocated(o.Result), Busy: 100 * o.Busy,
			Unfairness: o.Fairness.Mean, Spread: spread(o.Result), Late: o.Late.Seconds(),
			UserSpread: byUser(o.Result), UrgentJCT: urgent(o.Result).Seconds(), Decisions: o.Decisions,
		}
		if o.Bound != nil {
			makespan, mean := o.Bound.Makespan.Seconds(), o.Bound.MeanJCT.Seconds()
			r.BoundMakespan, r.BoundJCT = &makespan, &mean
		}
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
