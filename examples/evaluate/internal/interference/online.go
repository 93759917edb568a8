package interference

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// OnlineSets are sets of pairs to learn from: how fast do models learn of a family that
// was left out?
func OnlineSets() []protocol.Set {
	var out []protocol.Set
	for _, title := range []string{"interference_lucid", "interference_gavel", "interference_mps"} {
		out = append(out, setOf(title, "_online", func(t speedTable) *onlineTable { return &onlineTable{t} }))
	}
	return out
}

// setOf is a set of what is made of the pairs of a file.
func setOf[T protocol.Rows[T]](file, suffix string, of func(t speedTable) T) protocol.Set {
	s := protocol.NewSet(file+suffix, func(folder, base string) (T, error) {
		t, err := openPairs(folder, base, dataset.ReadSpeed)
		return of(t), err
	})
	s.File = file
	return s
}

// onlineTable is one file of pairs.
type onlineTable struct{ speedTable }

func (t *onlineTable) Splits() []protocol.Split {
	return []protocol.Split{{Name: "family", Folds: t.touching()}}
}

// onlineAfter are the numbers of co-runs of the family after which models are scored
// on the others of it.
var onlineAfter = [...]int{0, 1, 3, 8, 16, 32, 64}

const (
	onlineRounds = 24
	onlineNew    = 5 // tasks of the family in a round
	onlineKnown  = 9 // and of others
)

func (t *onlineTable) Score(train *onlineTable, folds []protocol.Fold) ([]protocol.Result, error) {
	var results []protocol.Result
	for _, l := range learners() {
		r, err := t.learned(train, &l, folds)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// learned scores one learner over all folds.
func (t *onlineTable) learned(train *onlineTable, l *learner, folds []protocol.Fold) (protocol.Result, error) {
	r := protocol.Result{Model: l.name}
	var after [len(onlineAfter)]protocol.Tally
	var regret, runs float64
	for k, f := range folds {
		obs := train.observations(f.Train)
		if l.name != "random" {
			if err := t.curve(l, obs, f, k, &after); err != nil {
				return r, err
			}
		}
		for _, gpu := range t.gpus {
			lost, ok, err := t.regret(l, obs, train, f, gpu)
			if err != nil {
				return r, err
			}
			if ok {
				regret += lost
				runs++
			}
		}
	}
	r.N = int(after[0].Rows)
	for at, k := range onlineAfter {
		if a := &after[at]; a.Rows > 0 {
			r.Add(fmt.Sprintf("mae_after_%d", k), a.Mean())
			if a.Width > 0 {
				r.Add(fmt.Sprintf("cover_after_%d", k), a.Cover())
				r.Add(fmt.Sprintf("worst_cover_after_%d", k), a.WorstCover())
				r.Add(fmt.Sprintf("width_after_%d", k), a.Span())
			}
		}
	}
	r.Add(fmt.Sprintf("regret_%d", onlineRounds), regret/max(1, runs))
	return r, nil
}

// curve adds the errors on the pairs of a fold that are not seen yet, after so many
// as onlineAfter says.
func (t *onlineTable) curve(l *learner, obs []interference.Observation, f protocol.Fold, k int, to *[len(onlineAfter)]protocol.Tally) error {
	m, err := l.fit(obs)
	if err != nil {
		return err
	}
	obs = slices.Clone(obs)
	order := rand.New(rand.NewPCG(protocol.Seed, 8+uint64(k))).Perm(len(f.Test))
	seen := 0
	for at, after := range onlineAfter {
		if after >= len(order) {
			return nil
		}
		for _, i := range order[seen:after] {
			obs = append(obs, t.rows[f.Test[i]].Observation)
		}
		if after > seen {
			if m, err = l.learn(m, obs, after-seen); err != nil {
				return err
			}
		}
		seen = after
		for _, i := range order[seen:] {
			row := &t.rows[f.Test[i]]
			var g pairGuess
			if err := m.guess(row, &g); err != nil {
				return err
			}
			for j, s := range row.Observation.Speeds {
				if v, ok := s.Get(); ok {
					to[at].Estimate(k, row.Observation.GPU, v, g.said[j])
				}
			}
		}
	}
	return nil
}

// regret lets a model pair tasks of the family with others and learn from what it
// paired, and sums up over the rounds what share of the best pairing it missed.
func (t *onlineTable) regret(l *learner, obs []interference.Observation, train *onlineTable, f protocol.Fold, gpu string) (float64, bool, error) {
	fresh, known, rows := t.cast(train, f, gpu)
	if len(fresh) == 0 || len(known) < 2 {
		return 0, false, nil
	}
	m, err := l.fit(obs)
	if err != nil {
		return 0, false, err
	}
	obs = slices.Clone(obs)
	rng := rand.New(rand.NewPCG(protocol.Seed, 9))
	var lost float64
	for round := range onlineRounds {
		d := draw{gpu: gpu, truth: pairTable{}, seed: uint64(round)}
		d.tasks = append(pick(rng, fresh, onlineNew), pick(rng, known, onlineKnown)...)
		guess, err := d.ask(m, rows)
		if err != nil {
			return 0, false, err
		}
		if !d.measured() {
			continue
		}
		share, err := d.fraction(guess)
		if err != nil {
			return 0, false, err
		}
		lost += 1 - share
		pairs, err := d.pairs(guess)
		if err != nil {
			return 0, false, err
		}
		for _, p := range pairs {
			obs = append(obs, rows[p].Observation)
		}
		if m, err = l.learn(m, obs, len(pairs)); err != nil {
			return 0, false, err
		}
	}
	return lost, true, nil
}

// ask notes what was measured of the pairs of a draw and returns what a model says
// of them.
func (d *draw) ask(m speedModel, rows map[[2]*profile.Profile]*dataset.SpeedRow) (pairTable, error) {
	guess := pairTable{}
	ties := rand.New(rand.NewPCG(protocol.Seed, 6+d.seed))
	for i, a := range d.tasks {
		for _, b := range d.tasks[:i] {
			row, ok := rows[[2]*profile.Profile{a, b}]
			if !ok {
				continue
			}
			var g pairGuess
			if err := m.guess(row, &g); err != nil {
				return nil, err
			}
			o := &row.Observation
			x, _ := o.Speeds[0].Get()
			y, _ := o.Speeds[1].Get()
			d.truth.put(o.Set[0], o.Set[1], x, y)
			guess.put(o.Set[0], o.Set[1], g.said[0].Value+tieBreak*ties.Float64(), g.said[1].Value)
		}
	}
	return guess, nil
}

// pick draws so many of the tasks, or all.
func pick(rng *rand.Rand, tasks []*profile.Profile, n int) []*profile.Profile {
	var out []*profile.Profile
	for _, i := range rng.Perm(len(tasks))[:min(n, len(tasks))] {
		out = append(out, tasks[i])
	}
	return out
}

// cast returns the tasks of one GPU that the training rows of a fold lack, the
// others, and the row of every pair of both with both speeds.
func (t *onlineTable) cast(train *onlineTable, f protocol.Fold, gpu string) (fresh, known []*profile.Profile, rows map[[2]*profile.Profile]*dataset.SpeedRow) {
	trained := make(map[string]bool)
	for _, i := range f.Train {
		for _, p := range train.rows[i].Observation.Set {
			trained[p.Spec.Type()] = true
		}
	}
	rows = make(map[[2]*profile.Profile]*dataset.SpeedRow)
	for i := range t.rows {
		o := &t.rows[i].Observation
		if o.GPU != gpu || o.Set[0] == o.Set[1] || o.Speeds[0].IsZero() || o.Speeds[1].IsZero() {
			continue
		}
		rows[[2]*profile.Profile{o.Set[0], o.Set[1]}], rows[[2]*profile.Profile{o.Set[1], o.Set[0]}] = &t.rows[i], &t.rows[i]
		for _, p := range o.Set {
			switch {
			case trained[p.Spec.Type()] && !slices.Contains(known, p):
				known = append(known, p)
			case !trained[p.Spec.Type()] && !slices.Contains(fresh, p):
				fresh = append(fresh, p)
			}
		}
	}
	return fresh, known, rows
}
