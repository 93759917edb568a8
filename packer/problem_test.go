package packer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"example.com/colloc/profile"
)

// hashModel is a made-up model whose speeds depend on everything they may
// depend on and on nothing else.
type hashModel struct {
	seed  uint64
	steps float64 // speeds are multiples of 1/steps: few steps make many ties
	low   float64 // the lowest speed
}

func (h hashModel) hash(words ...string) float64 {
	x := h.seed
	for _, w := range words {
		for i := range len(w) {
			x = (x ^ uint64(w[i])) * 0x100000001b3
		}
		x ^= x >> 29
	}
	return float64(rand.New(rand.NewPCG(x, 7)).Float64())
}

func (h hashModel) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	for i, t := range set {
		dst[i] = 1
		for j, o := range set {
			if i != j {
				kind := fmt.Sprint(gpu.memory())
				dst[i] *= h.low + (1-h.low)*h.hash(t.ID, "|", o.ID, kind, mech.String())
			}
		}
		dst[i] = math.Round(dst[i]*h.steps) / h.steps
	}
	return nil
}

// batchHash is hashModel as a BatchModel.
type batchHash struct{ hashModel }

func (h batchHash) PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	var dst [2]float64
	for i, o := range partners {
		if err := h.Speeds([]*Task{task, o}, gpu, mech, dst[:]); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}

// drawOptions bound a random problem.
type drawOptions struct {
	tasks, gpus, kinds, residents, maxSet int
	homes                                 bool // some tasks run already and may be moved
	gangs                                 bool // some tasks need several GPUs
}

// draw makes a random problem; everything that can differ does.
func draw(rng *rand.Rand, o drawOptions) *Problem {
	p := &Problem{}
	model := hashModel{seed: rng.Uint64(), steps: []float64{4, 10, 1e6}[rng.IntN(3)], low: []float64{0, 0.3, 0.6}[rng.IntN(3)]}
	p.Model = model
	if rng.IntN(2) == 0 {
		p.Model = batchHash{model}
	}
	p.Limits.MaxSet = o.maxSet
	if rng.IntN(4) == 0 {
		p.Limits.MinGain = rng.Float64() / 2
	}
	labelled, labels := rng.IntN(4) == 0, []string{"red"}
	task := func(id string) Task {
		t := Task{ID: id, Memory: profile.Bytes(rng.IntN(12)) * profile.GiB}
		if rng.IntN(3) == 0 {
			t.Weight = float64(1 + rng.IntN(4))
		}
		if rng.IntN(4) == 0 {
			t.MinSpeed = rng.Float64()
		}
		t.Alone = rng.IntN(10) == 0
		if labelled {
			t.Labels = labels[:rng.IntN(2)]
			t.On = labels[:rng.IntN(4)/3]
			switch rng.IntN(6) {
			case 0:
				t.Only = labels[:1]
			case 1:
				t.Avoid = labels[rng.IntN(2):1]
			default:
			}
		}
		return t
	}
	for i := range rng.IntN(o.tasks + 1) {
		p.Tasks = append(p.Tasks, task(fmt.Sprintf("t%02d", i)))
	}
	residents := 0
	for g := range rng.IntN(o.gpus + 1) {
		kind := rng.IntN(o.kinds)
		gpu := GPU{ID: fmt.Sprintf("g%02d", g), Memory: profile.Bytes(10+6*kind) * profile.GiB}
		if kind%2 == 1 {
			gpu.Mechanisms = []profile.Mechanism{profile.MPS, profile.TimeSlice}
		}
		if labelled && kind == 0 {
			gpu.Labels = labels
		}
		for residents < o.residents && rng.IntN(3) == 0 {
			gpu.Residents = append(gpu.Residents, task(fmt.Sprintf("r%02d", residents)))
			residents++
		}
		p.GPUs = append(p.GPUs, gpu)
	}
	for i := range p.Tasks {
		if o.gangs {
			p.Tasks[i].GPUs = rng.IntN(4)
		}
		if o.homes && len(p.GPUs) > 0 && rng.IntN(2) == 0 {
			p.Tasks[i].Home = p.GPUs[rng.IntN(len(p.GPUs))].ID
			p.Tasks[i].MoveCost = float64(rng.IntN(4)) / 4
		}
	}
	return p
}

// brokenModel fails for one pair.
type brokenModel struct {
	hashModel
	a, b  string
	speed float64
	fail  bool
}

var errBroken = errors.New("no data")

func (m brokenModel) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	if err := m.hashModel.Speeds(set, gpu, mech, dst); err != nil {
		return err
	}
	if len(set) == 2 && (set[0].ID == m.a && set[1].ID == m.b || set[0].ID == m.b && set[1].ID == m.a) {
		if m.fail {
			return errBroken
		}
		dst[0] = m.speed
	}
	return nil
}
