package pace

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// paceTable compares cards: the ratio of the throughputs of one task on two of them.
type paceTable []dataset.PaceRow

func (t paceTable) Size() int { return len(t) }

// Splits leave out one model of a repository, one card, an eighth of the models
// and of the cards at once, and one source.
func (t paceTable) Splits() []protocol.Split {
	leave := func(limit int, of func(i int) string) []protocol.Fold {
		return protocol.LeaveOut(len(t), limit, func(i int) []string { return []string{of(i)} })
	}
	model := func(i int) string { return t[i].Observation.Group }
	card := func(i int) string { return t[i].Observation.GPU.Canonical() }
	source := func(i int) string { return t[i].Source }
	cards := leave(protocol.FamilyLimit, card)
	var both []protocol.Fold
	for _, m := range leave(protocol.FamilyLimit, model) {
		for _, c := range cards {
			both = append(both, protocol.Fold{Train: common(m.Train, c.Train), Test: common(m.Test, c.Test)})
		}
	}
	return []protocol.Split{
		{Name: "model", Folds: leave(len(t), model)},
		{Name: "card", Folds: leave(len(t), card)},
		{Name: "model and card", Folds: both},
		{Name: "source", Folds: leave(len(t), source)},
	}
}

// common returns the rows in both lists, which rise.
func common(a, b []int) []int {
	var out []int
	for _, i := range a {
		if _, in := slices.BinarySearch(b, i); in {
			out = append(out, i)
		}
	}
	return out
}

// guessedRatio is one pair of cards.
type guessedRatio struct {
	seen    float64            // log ratio
	log     map[string]float64 // predicted by each model
	covered bool
}

func (t paceTable) Score(train paceTable, folds []protocol.Fold) ([]protocol.Result, error) {
	var pairs []guessedRatio
	for _, f := range folds {
		var obs []pace.Observation
		for _, i := range f.Train {
			obs = append(obs, train[i].Observation)
		}
		m, err := pace.Fit(obs, nil)
		if err != nil {
			return nil, err
		}
		out := make(map[int]bool)
		for _, i := range f.Test {
			out[i] = true
		}
		for _, g := range t.tasks() {
			pairs = t.guess(m, g, out, pairs)
		}
	}
	return paceResults(pairs)
}

// trialRow is the rows of one card in one task, as one.
type trialRow struct {
	at  int // the first of them
	log float64
	n   int
}

// tasks groups the rows by task, and within it by card, in order of appearance.
func (t paceTable) tasks() [][]trialRow {
	var tasks [][]trialRow
	at := make(map[string]int)
	for i := range t {
		o := &t[i].Observation
		k, ok := at[o.Task]
		if !ok {
			k = len(tasks)
			at[o.Task], tasks = k, append(tasks, nil)
		}
		card := o.GPU.Canonical()
		j := slices.IndexFunc(tasks[k], func(x trialRow) bool { return t[x.at].Observation.GPU.Canonical() == card })
		if j < 0 {
			j, tasks[k] = len(tasks[k]), append(tasks[k], trialRow{at: i})
		}
		x := &tasks[k][j]
		x.n++
		x.log += (math.Log(o.Throughput) - x.log) / float64(x.n)
	}
	return tasks
}

// guess predicts the pairs of cards of one task of which at least one was left out.
func (t paceTable) guess(m *pace.Predictor, task []trialRow, out map[int]bool, pairs []guessedRatio) []guessedRatio {
	for i, x := range task {
		for _, y := range task[:i] {
			if !out[x.at] && !out[y.at] {
				continue
			}
			a, b := &t[x.at].Observation, &t[y.at].Observation
			e := m.Ratio(a.Profile, &a.GPU, &b.GPU)
			p := guessedRatio{seen: x.log - y.log}
			p.covered = p.seen >= math.Log(e.Lo)-1e-9 && p.seen <= math.Log(e.Hi)+1e-9
			flops := math.Log(peak(a) / peak(b))
			bandwidth := math.Log(a.GPU.BandwidthBytesPerSec / b.GPU.BandwidthBytesPerSec)
			p.log = map[string]float64{"colloc": math.Log(e.Value), "one": 0, "flops": flops, "bandwidth": bandwidth, "geometric_mean": (flops + bandwidth) / 2}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// peak is the card's data-sheet rate for the task: an FP32 script runs in TF32 on
// cards that have it.
func peak(o *pace.Observation) float64 {
	p := o.Profile.Spec.Training.Precision
	if p == profile.FP32 {
		p = profile.TF32
	}
	return o.GPU.Rate(p)
}

// paceModels are colloc and its rivals, in the order of the output.
func paceModels() []string { return []string{"colloc", "one", "flops", "bandwidth", "geometric_mean"} }

func paceResults(pairs []guessedRatio) ([]protocol.Result, error) {
	if len(pairs) == 0 {
		return nil, errors.New("no task was measured on two cards")
	}
	var results []protocol.Result
	for _, model := range paceModels() {
		results = append(results, paceResult(model, pairs))
	}
	return results, nil
}

// paceResult scores one model. An error is the factor between predicted and
// measured ratio, less 1, whichever is larger.
func paceResult(model string, pairs []guessedRatio) protocol.Result {
	var errs []float64
	var apart, right, covered float64
	for i := range pairs {
		p := &pairs[i]
		guess := p.log[model]
		errs = append(errs, 100*math.Expm1(math.Abs(guess-p.seen)))
		if math.Abs(p.seen) > math.Log(1.2) {
			apart++
			if guess*p.seen > 0 {
				right++
			}
		}
		if p.covered {
			covered++
		}
	}
	slices.Sort(errs)
	at := func(q float64) float64 { return stat.Quantile(q, stat.Empirical, errs, nil) }
	r := protocol.Result{Model: model, N: len(pairs)}
	r.Add("median_error_pct", at(0.5))
	r.Add("p90_error_pct", at(0.9))
	r.Add("order_accuracy", right/max(1, apart))
	if model == "colloc" {
		r.Add("coverage_pct", 100*covered/float64(len(pairs)))
	}
	return r
}
