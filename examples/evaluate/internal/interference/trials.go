package interference

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"time"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// trialTable is AEGIS' sets of four and five trainings on one A100.
type trialTable struct {
	trials []dataset.TrialRow
	solo   []dataset.SoloRow
}

func openTrials(folder, base string) (*trialTable, error) {
	t := &trialTable{}
	var err error
	if t.trials, err = protocol.OpenFile(folder, base, dataset.ReadTrials); err != nil {
		return nil, err
	}
	// What the trainings are like alone; beside rows to test there may be none.
	t.solo, err = protocol.OpenFile(folder, "aegis/solo_a100", dataset.ReadSolo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return t, nil
}

func (t *trialTable) Size() int { return len(t.trials) }

// Splits scores each trial by models that saw none.
func (t *trialTable) Splits() []protocol.Split { return protocol.Unfitted("trial", t.Size()) }

// stagger is how long after the one before each training started.
const stagger = 45 * time.Second

// speedsOf says how fast each task of a set runs.
type speedsOf func(set []*profile.Profile) ([]float64, error)

// played is what came of a trial.
type played struct{ gain, mean, worst float64 }

// play starts the trainings one after the other and lets them run at the speeds of
// whatever set is there.
func play(row *dataset.TrialRow, set []*profile.Profile, speeds speedsOf) (played, error) {
	left := make([]float64, len(set))
	var out played
	for i, d := range row.Solo {
		left[i] = d.Seconds()
	}
	var now, alone float64
	started := func(i int) float64 { return float64(i) * stagger.Seconds() }
	for {
		var at []int
		var running []*profile.Profile
		step := math.Inf(1)
		for i := range set {
			switch {
			case left[i] <= 0:
			case started(i) > now:
				step = min(step, started(i)-now)
			default:
				at, running = append(at, i), append(running, set[i])
			}
		}
		if len(at) == 0 && math.IsInf(step, 1) {
			break
		}
		v, err := speeds(running)
		if err != nil {
			return out, err
		}
		for k, i := range at {
			step = min(step, left[i]/v[k])
		}
		now += step
		for k, i := range at {
			if left[i] -= step * v[k]; left[i] <= 1e-9 {
				left[i] = 0
				slowdown := (now - started(i)) / row.Solo[i].Seconds()
				alone += row.Solo[i].Seconds()
				out.mean += slowdown / float64(len(set))
				out.worst = max(out.worst, slowdown)
			}
		}
	}
	out.gain = alone / now
	return out, nil
}

// trialModel plays trials at its speeds, and at the ends of their intervals.
type trialModel struct {
	name          string
	value, lo, hi speedsOf
}

func (t *trialTable) Score(train *trialTable, folds []protocol.Fold) ([]protocol.Result, error) {
	solo := slices.Concat(t.solo, train.solo)
	models, err := trialModels()
	if err != nil {
		return nil, err
	}
	var out []protocol.Result
	for _, m := range models {
		var off played
		var covered float64
		for _, i := range folds[0].Test {
			set, err := t.trials[i].Set(solo)
			if err != nil {
				return nil, err
			}
			if err := m.score(&t.trials[i], set, &off, &covered); err != nil {
				return nil, err
			}
		}
		r := protocol.Result{Model: m.name, N: len(folds[0].Test)}
		n := float64(max(1, r.N))
		r.Add("gain_off_pct", 100*off.gain/n)
		r.Add("mean_slowdown_off_pct", 100*off.mean/n)
		r.Add("worst_slowdown_off_pct", 100*off.worst/n)
		r.Add("coverage_pct", 100*covered/n)
		out = append(out, r)
	}
	return out, nil
}

// score adds how far off a model is on one trial, and which share of what was measured
// lies between what it says at the two ends of its intervals.
func (m *trialModel) score(row *dataset.TrialRow, set []*profile.Profile, off *played, covered *float64) error {
	got, err := play(row, set, m.value)
	if err != nil {
		return err
	}
	off.gain += math.Abs(got.gain/row.Gain - 1)
	off.mean += math.Abs(got.mean/row.MeanSlowdown - 1)
	off.worst += math.Abs(got.worst/row.WorstSlowdown - 1)
	if m.lo == nil {
		return nil
	}
	slow, err := play(row, set, m.lo)
	if err != nil {
		return err
	}
	fast, err := play(row, set, m.hi)
	if err != nil {
		return err
	}
	for _, in := range [3]bool{
		slow.gain <= row.Gain && row.Gain <= fast.gain,
		fast.mean <= row.MeanSlowdown && row.MeanSlowdown <= slow.mean,
		fast.worst <= row.WorstSlowdown && row.WorstSlowdown <= slow.worst,
	} {
		if in {
			*covered += 1. / 3
		}
	}
	return nil
}

// trialModels are this library under both mechanisms, because the source does not say
// which of them it was, and what shares in proportion to SM activity or not at all.
func trialModels() ([]trialModel, error) {
	ours, err := pretrained.Interference()
	if err != nil {
		return nil, err
	}
	return []trialModel{
		ourTrials("colloc", ours, profile.TimeSlice), ourTrials("colloc_mps", ours, profile.MPS),
		{name: "proportional", value: func(set []*profile.Profile) ([]float64, error) {
			var use float64
			for _, p := range set {
				use += p.Vector.Or(profile.MeanSMActive, 1)
			}
			return constant(len(set), 1/max(1, use)), nil
		}},
		{name: "undisturbed", value: func(set []*profile.Profile) ([]float64, error) { return constant(len(set), 1), nil }},
	}, nil
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func ourTrials(name string, m *interference.Predictor, mech profile.Mechanism) trialModel {
	end := func(of func(value, lo, hi float64) float64) speedsOf {
		return func(set []*profile.Profile) ([]float64, error) {
			if len(set) == 0 {
				return nil, nil
			}
			estimates, err := m.Speeds(&set[0].GPU, mech, set, nil)
			out := make([]float64, len(estimates))
			for i, e := range estimates {
				out[i] = of(e.Value, e.Lo, e.Hi)
			}
			return out, err
		}
	}
	return trialModel{
		name, end(func(v, _, _ float64) float64 { return v }), end(func(_, lo, _ float64) float64 { return lo }),
		end(func(_, _, hi float64) float64 { return hi }),
	}
}
