package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// result scores one model: errors of single speeds, decisions about pairs, the
// share of rows within the interval, and the matching.
func (t *speedTable) result(g *speedGuesses, draws []draw) (result, error) {
	metrics, n, err := t.errors(g, "")
	if err != nil {
		return result{}, err
	}
	guess := guessTable(t, g.pairs)
	sum := map[string]float64{}
	count := map[string]float64{}
	for _, d := range draws {
		share, err := d.fraction(guess)
		if err != nil {
			return result{}, err
		}
		for _, key := range []string{"", d.gpu} {
			sum[key] += share
			count[key]++
		}
	}
	metrics = append(metrics, metric{"matching_fraction", sum[""] / max(1, count[""])})
	out := result{model: g.model, n: n, metrics: metrics, picture: t.picture(g)}
	if len(t.gpus) < 2 {
		return out, nil
	}
	for _, gpu := range t.gpus {
		one, _, err := t.errors(g, gpu)
		if err != nil {
			return result{}, err
		}
		out.metrics = append(out.metrics, metric{"mae_" + gpu, one[0].value}, metric{"matching_fraction_" + gpu, sum[gpu] / max(1, count[gpu])})
	}
	return out, nil
}

// picture is what is drawn of the model with intervals.
func (t *speedTable) picture(g *speedGuesses) picture {
	if !g.interval {
		return picture{}
	}
	p := picture{unit: "speed beside the other", interval: true}
	for _, guess := range g.pairs {
		for i, s := range t.rows[guess.row].Observation.Speeds {
			if v, ok := s.Get(); ok {
				p.points = append(p.points, guessed{v, guess.speed[i], v >= guess.lo[i] && v <= guess.hi[i]})
			}
		}
	}
	return p
}

// errors are the metrics of single speeds and of decisions about pairs, on one
// GPU or, with "", on all.
func (t *speedTable) errors(g *speedGuesses, gpu string) ([]metric, int, error) {
	var seen, predicted []float64
	var covered, pairs, min85, sum18 float64
	for _, p := range g.pairs {
		o := &t.rows[p.row].Observation
		if gpu != "" && o.GPU != gpu {
			continue
		}
		var truth [2]float64
		both := true
		for i := range p.speed {
			v, ok := o.Speeds[i].Get()
			truth[i], both = v, both && ok
			if !ok {
				continue
			}
			seen, predicted = append(seen, v), append(predicted, p.speed[i])
			if v >= p.lo[i] && v <= p.hi[i] {
				covered++
			}
		}
		if !both {
			continue
		}
		pairs++
		if (min(truth[0], truth[1]) >= 0.85) == (min(p.speed[0], p.speed[1]) >= 0.85) {
			min85++
		}
		if (truth[0]+truth[1] >= 1.8) == (p.speed[0]+p.speed[1] >= 1.8) {
			sum18++
		}
	}
	r, err := predict.Score(seen, predicted, nil)
	if err != nil {
		return nil, 0, err
	}
	pairs = max(1, pairs)
	m := []metric{{"mae", r.MAE}, {"rmse", r.RMSE}, {"r2", r.R2}, {"acc_min85", min85 / pairs}, {"acc_sum18", sum18 / pairs}}
	coverage := 0.0 // the baselines promise nothing
	if g.interval {
		coverage = 100 * covered / float64(max(1, r.N))
	}
	return append(m, metric{"coverage_pct", coverage}), r.N, nil
}

// draw is a choice of tasks on one GPU product, of which some pairs were measured.
type draw struct {
	gpu   string
	tasks []*profile.Profile
	truth pairTable
}

// pairTable holds both speeds of measured pairs; the order of a pair matters.
type pairTable map[[2]*profile.Profile][2]float64

func (t pairTable) put(a, b *profile.Profile, x, y float64) {
	t[[2]*profile.Profile{a, b}], t[[2]*profile.Profile{b, a}] = [2]float64{x, y}, [2]float64{y, x}
}

const (
	drawCount = 40
	drawTasks = 24
)

// draws chooses 24 tasks (or all, if fewer) of the scored rows 40 times per GPU.
func (t *speedTable) draws(pairs []pairGuess) []draw {
	var out []draw
	for _, gpu := range t.gpus {
		truth := pairTable{}
		var tasks []*profile.Profile
		for _, p := range pairs {
			o := &t.rows[p.row].Observation
			x, okX := o.Speeds[0].Get()
			y, okY := o.Speeds[1].Get()
			if o.GPU != gpu || !okX || !okY || o.Set[0] == o.Set[1] {
				continue
			}
			truth.put(o.Set[0], o.Set[1], x, y)
			for _, task := range o.Set {
				if !slices.Contains(tasks, task) {
					tasks = append(tasks, task)
				}
			}
		}
		rng := rand.New(rand.NewPCG(foldSeed, 5))
		for range drawCount {
			d := draw{gpu: gpu, truth: truth}
			for _, i := range rng.Perm(len(tasks))[:min(drawTasks, len(tasks))] {
				d.tasks = append(d.tasks, tasks[i])
			}
			if len(d.tasks) > 1 {
				out = append(out, d)
			}
		}
	}
	return out
}

// guessTable averages what a model said of each pair over the folds.
func guessTable(t *speedTable, pairs []pairGuess) pairTable {
	guess, n := pairTable{}, map[[2]*profile.Profile]float64{}
	for _, p := range pairs {
		o := &t.rows[p.row].Observation
		key := [2]*profile.Profile{o.Set[0], o.Set[1]}
		n[key]++
		was := guess[key]
		guess.put(key[0], key[1], was[0]+(p.speed[0]-was[0])/n[key], was[1]+(p.speed[1]-was[1])/n[key])
	}
	return guess
}

// fraction pairs the tasks by what the model says, pays the pairs with their
// measured speeds, and returns its share of what the best pairing is paid. Only
// measured pairs can be formed; a task left over counts nothing.
func (d *draw) fraction(guess pairTable) (float64, error) {
	got, err := d.paid(guess)
	if err != nil {
		return 0, err
	}
	best, err := d.paid(d.truth)
	if err != nil {
		return 0, err
	}
	return got / best, nil
}

// paid is the measured sum of speeds of the pairing that is best by the given
// table.
func (d *draw) paid(by pairTable) (float64, error) {
	p := packer.Problem{Model: measuredPairs{by, d.truth}}
	for i, task := range d.tasks {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i), Profile: task})
	}
	for i := range (len(d.tasks) + 1) / 2 {
		p.GPUs = append(p.GPUs, packer.GPU{ID: strconv.Itoa(i), Memory: profile.GiB})
	}
	plan, err := solve.Matching{}.Pack(context.Background(), &p)
	if err != nil {
		return 0, err
	}
	var total float64
	for _, s := range plan.Sets {
		if len(s.Tasks) == 2 {
			v := d.truth[[2]*profile.Profile{d.tasks[s.Tasks[0]], d.tasks[s.Tasks[1]]}]
			total += v[0] + v[1]
		}
	}
	return total, nil
}

// measuredPairs is the packer's model: pairs that were never measured stand still.
type measuredPairs struct{ by, truth pairTable }

// Speeds implements packer.Model.
func (m measuredPairs) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	if len(set) == 1 {
		dst[0] = 1e-3
		return nil
	}
	key := [2]*profile.Profile{set[0].Profile, set[1].Profile}
	if _, ok := m.truth[key]; !ok {
		dst[0], dst[1] = 0, 0
		return nil
	}
	v := m.by[key]
	dst[0], dst[1] = max(0, v[0]), max(0, v[1])
	return nil
}
