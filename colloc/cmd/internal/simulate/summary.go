package simulate

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"example.com/colloc/colloc/sim"
)

// column is one figure of a run.
type column struct {
	Name, Unit string
	// Less says that less is better.
	Less bool
	// Digits after the point.
	Digits int
	value  func(*outcome) float64
	// rare is not shown where nobody has any.
	rare bool
}

// judged is how many columns verdicts are of, the first.
const judged = 4

// columns are the figures that table and report show.
func columns() []column {
	inHours := func(d func(*outcome) time.Duration) func(*outcome) float64 {
		return func(r *outcome) float64 { return d(r).Hours() }
	}
	return []column{
		{"makespan", "h", true, 2, inHours(func(r *outcome) time.Duration { return r.Makespan }), false},
		{"mean JCT", "h", true, 3, inHours(func(r *outcome) time.Duration { return r.MeanJCT }), false},
		{"p99 JCT", "h", true, 2, inHours(func(r *outcome) time.Duration { return r.P99JCT }), false},
		{"longest wait", "h", true, 2, inHours(func(r *outcome) time.Duration { return longest(r.Result) }), false},
		{"mean wait", "h", true, 3, inHours(func(r *outcome) time.Duration { return r.MeanWait }), false},
		{"unfairness", "x", true, 1, func(r *outcome) float64 { return spread(r.Result) }, false},
		{"energy", "kWh", true, 1, func(r *outcome) float64 { return r.Energy / 3.6e6 }, false},
		{"busy", "%", false, 1, func(r *outcome) float64 { return 100 * r.Busy }, false},
		{"allocated", "%", false, 1, func(r *outcome) float64 { return 100 * allocated(r.Result) }, false},
		{"OOM", "", true, 1, func(r *outcome) float64 { return float64(r.OutOfMemory) }, false},
		{"recoveries", "", true, 1, func(r *outcome) float64 { return float64(r.Recoveries) }, false},
		{"late", "h", true, 2, func(r *outcome) float64 { return r.Late.Hours() }, true}, // services beyond their latency, all together
		{"user spread", "x", true, 2, func(r *outcome) float64 { return byUser(r.Result) }, true},
		{"urgent JCT", "h", true, 3, inHours(func(r *outcome) time.Duration { return urgent(r.Result) }), true},
		{"makespan over bound", "x", true, 3, aboveMakespan, true},
		{"JCT over bound", "x", true, 3, aboveJCT, true},
	}
}

// present are the columns that are shown.
func present(all []summary) []int {
	var ks []int
	for k, c := range columns() {
		if !c.rare || slices.ContainsFunc(all, func(s summary) bool { return s.Figures[k] != interval{} }) {
			ks = append(ks, k)
		}
	}
	return ks
}

// longest is the longest that a task was without GPUs.
func longest(r *sim.Result) time.Duration {
	most := time.Duration(0)
	for i := range r.Ends {
		most = max(most, r.Ends[i].Wait)
	}
	return most
}

// spread is how differently tasks fared: the 90th percentile of their finish-time
// ratios, see [sim.Result], over the 10th; 1 is all alike, 0 nobody finished.
func spread(r *sim.Result) float64 {
	var ratios []float64
	for i := range r.Ends {
		if r.Ends[i].Finished {
			ratios = append(ratios, r.Ends[i].Ratio)
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[max(0, int(math.Ceil(q*float64(len(ratios))))-1)] }
	return at(0.9) / at(0.1)
}

// allocated is the part of the GPUs that was promised to tasks: at the end where
// tasks still run then, as when a cluster is filled up, else the mean over time.
func allocated(r *sim.Result) float64 {
	if r.Last.Running > 0 {
		return r.Last.Allocated
	}
	return r.Allocated
}

// interval is a mean over seeds with the half-width of its 95 % interval.
type interval struct {
	Mean, Half float64
}

// summary holds a policy's figures, by columns.
type summary struct {
	Policy  string
	Figures []interval
	// Unfinished tasks over all seeds: their times are in no mean.
	Unfinished int
	Runs       []outcome
}

// summarise groups outcomes, which are ordered by policy.
func summarise(outcomes []outcome) []summary {
	var out []summary
	for i := 0; i < len(outcomes); {
		j := i
		for j < len(outcomes) && outcomes[j].Policy == outcomes[i].Policy {
			j++
		}
		s := summary{Policy: outcomes[i].Policy, Runs: outcomes[i:j]}
		for _, c := range columns() {
			s.Figures = append(s.Figures, meanOf(s.Runs, c.value))
		}
		for _, r := range s.Runs {
			s.Unfinished += r.Unfinished + r.Failed
		}
		out = append(out, s)
		i = j
	}
	return out
}

// meanOf returns the mean over runs with Student's 95 % interval.
func meanOf(runs []outcome, value func(*outcome) float64) interval {
	n := float64(len(runs))
	var sum, squares float64
	for i := range runs {
		sum += value(&runs[i])
	}
	mean := sum / n
	for i := range runs {
		d := value(&runs[i]) - mean
		squares += d * d
	}
	if n < 2 {
		return interval{Mean: mean}
	}
	return interval{mean, student(len(runs)-1) * math.Sqrt(squares/(n-1)/n)}
}

// student returns the 0.975 quantile of Student's t distribution.
func student(freedom int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(0.975)
}
