package interference

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"example.com/colloc/examples/evaluate/internal/protocol"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// draw is a choice of tasks on one GPU product, of which some pairs were measured
// and scored in one fold: one model says how fast they are.
type draw struct {
	fold  int
	gpu   string
	tasks []*profile.Profile
	truth pairTable
	seed  uint64 // of what breaks the ties of equal guesses
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

// draws chooses 24 tasks (or all, if fewer) of the rows that a fold scores, 40
// times per GPU.
func (t *speedTable) draws(pairs []pairGuess, folds int) []draw {
	var out []draw
	for f := range folds {
		for _, gpu := range t.gpus {
			out = append(out, t.drawsOf(pairs, f, gpu)...)
		}
	}
	return out
}

func (t *speedTable) drawsOf(pairs []pairGuess, fold int, gpu string) []draw {
	truth := pairTable{}
	var tasks []*profile.Profile
	for _, p := range pairs {
		o := &t.rows[p.row].Observation
		x, okX := o.Speeds[0].Get()
		y, okY := o.Speeds[1].Get()
		if p.fold != fold || o.GPU != gpu || !okX || !okY || o.Set[0] == o.Set[1] {
			continue
		}
		truth.put(o.Set[0], o.Set[1], x, y)
		for _, task := range o.Set {
			if !slices.Contains(tasks, task) {
				tasks = append(tasks, task)
			}
		}
	}
	if len(tasks) < 2 {
		return nil
	}
	rng := rand.New(rand.NewPCG(protocol.Seed, 5))
	var out []draw
	for k := range drawCount {
		d := draw{fold: fold, gpu: gpu, truth: truth, seed: uint64(k)}
		for _, i := range rng.Perm(len(tasks))[:min(drawTasks, len(tasks))] {
			d.tasks = append(d.tasks, tasks[i])
		}
		if d.measured() { // tasks that were never paired pay nothing, whoever pairs them
			out = append(out, d)
		}
	}
	return out
}

// measured reports that some pair of the draw was measured.
func (d *draw) measured() bool {
	for i, a := range d.tasks {
		for _, b := range d.tasks[:i] {
			if _, ok := d.truth[[2]*profile.Profile{a, b}]; ok {
				return true
			}
		}
	}
	return false
}

// tieBreak is far below what any model can tell, and above what the packer
// rounds speeds to: the order of the tasks must not decide between equal guesses.
const tieBreak = 1e-4

// guesses is what the model of the draw's fold said of its pairs, ties broken at
// random.
func (d *draw) guesses(t *speedTable, pairs []pairGuess) pairTable {
	guess := pairTable{}
	rng := rand.New(rand.NewPCG(protocol.Seed, 6+d.seed))
	for _, p := range pairs {
		if o := &t.rows[p.row].Observation; p.fold == d.fold && o.GPU == d.gpu {
			guess.put(o.Set[0], o.Set[1], p.said[0].Value+tieBreak*rng.Float64(), p.said[1].Value)
		}
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
	pairs, err := d.pairs(by)
	var total float64
	for _, p := range pairs {
		v := d.truth[p]
		total += v[0] + v[1]
	}
	return total, err
}

// pairs is the pairing that is best by the given table.
func (d *draw) pairs(by pairTable) ([][2]*profile.Profile, error) {
	p := packer.Problem{Model: measuredPairs{by, d.truth}, Limits: packer.Limits{MaxSet: 2}}
	for i, task := range d.tasks {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i), Profile: task})
	}
	for i := range (len(d.tasks) + 1) / 2 {
		p.GPUs = append(p.GPUs, packer.GPU{ID: strconv.Itoa(i), Memory: profile.GiB})
	}
	plan, err := solve.Matching{}.Pack(context.Background(), &p)
	if err != nil {
		return nil, err
	}
	var out [][2]*profile.Profile
	for _, s := range plan.Sets {
		if len(s.Tasks) != 2 {
			continue
		}
		pair := [2]*profile.Profile{d.tasks[s.Tasks[0]], d.tasks[s.Tasks[1]]}
		if _, ok := d.truth[pair]; ok {
			out = append(out, pair)
		}
	}
	return out, nil
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
