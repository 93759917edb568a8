package packtest

import (
	"cmp"
	"fmt"
	"math"
	rand "math/rand/v2"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// HashModel is a made-up model whose speeds depend on everything they may
// depend on and on nothing else.
type HashModel struct {
	Seed  uint64
	Steps float64 // speeds are multiples of 1/steps: few steps make many ties
	Low   float64 // the lowest speed
}

// Hash returns a number in [0, 1) that depends on the words alone.
func (h HashModel) Hash(words ...string) float64 {
	x := h.Seed
	for _, w := range words {
		for i := range len(w) {
			x = (x ^ uint64(w[i])) * 0x100000001b3
		}
		x ^= x >> 29
	}
	return float64(rand.New(rand.NewPCG(x, 7)).Float64())
}

// Speeds implements packer.Model.
func (h HashModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	for i, t := range set {
		dst[i] = 1
		for j, o := range set {
			if i != j {
				kind := fmt.Sprint(gpu.Total())
				dst[i] *= h.Low + (1-h.Low)*h.Hash(t.ID, "|", o.ID, kind, mech.String())
			}
		}
		dst[i] = math.Round(dst[i]*h.Steps) / h.Steps
	}
	return nil
}

// batchHash is hashModel as a BatchModel.
type batchHash struct{ HashModel }

// PairSpeeds implements packer.BatchModel.
func (h batchHash) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	var dst [2]float64
	for i, o := range partners {
		if err := h.Speeds([]*packer.Task{task, o}, gpu, mech, dst[:]); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}

// DrawOptions bound a random problem.
type DrawOptions struct {
	Tasks, GPUs, Kinds, Residents, MaxSet int
	Homes                                 bool // some tasks run already and may be moved
	Gangs                                 bool // some tasks need several GPUs
}

// Draw makes a random problem; everything that can differ does.
func Draw(rng *rand.Rand, o DrawOptions) *packer.Problem {
	p := &packer.Problem{}
	model := HashModel{Seed: rng.Uint64(), Steps: []float64{4, 10, 1e6}[rng.IntN(3)], Low: []float64{0, 0.3, 0.6}[rng.IntN(3)]}
	p.Model = model
	if rng.IntN(2) == 0 {
		p.Model = batchHash{model}
	}
	p.Limits.MaxSet = cmp.Or(o.MaxSet, 2)
	if rng.IntN(4) == 0 {
		p.Limits.MinGain = rng.Float64() / 2
	}
	labelled, labels := rng.IntN(4) == 0, []string{"red"}
	task := func(id string) packer.Task {
		t := packer.Task{ID: id, Memory: profile.Bytes(rng.IntN(12)) * profile.GiB}
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
	for i := range rng.IntN(o.Tasks + 1) {
		p.Tasks = append(p.Tasks, task(fmt.Sprintf("t%02d", i)))
	}
	residents := 0
	for g := range rng.IntN(o.GPUs + 1) {
		kind := rng.IntN(o.Kinds)
		gpu := packer.GPU{ID: fmt.Sprintf("g%02d", g), Memory: profile.Bytes(10+6*kind) * profile.GiB}
		if kind%2 == 1 {
			gpu.Mechanisms = []profile.Mechanism{profile.MPS, profile.TimeSlice}
		}
		if labelled && kind == 0 {
			gpu.Labels = labels
		}
		for residents < o.Residents && rng.IntN(3) == 0 {
			gpu.Residents = append(gpu.Residents, task(fmt.Sprintf("r%02d", residents)))
			residents++
		}
		p.GPUs = append(p.GPUs, gpu)
	}
	for i := range p.Tasks {
		if o.Gangs {
			p.Tasks[i].GPUs = rng.IntN(4)
		}
		if o.Homes && len(p.GPUs) > 0 && rng.IntN(2) == 0 {
			p.Tasks[i].Home = p.GPUs[rng.IntN(len(p.GPUs))].ID
			p.Tasks[i].MoveCost = float64(rng.IntN(4)) / 4
		}
	}
	if rng.IntN(3) == 0 {
		p.Limits.Together = profile.Bytes(1+rng.IntN(5)) * profile.GiB / 2
	}
	return p
}

// Repeated makes copies of the tasks of p, up to most of each, that the model
// cannot tell apart.
func Repeated(rng *rand.Rand, p *packer.Problem, most int) *packer.Problem {
	q := *p
	q.Tasks = nil
	like := map[string]string{}
	for i := range p.Tasks {
		t := p.Tasks[i]
		t.Kind, t.Home = t.ID, ""
		for n := range 1 + rng.IntN(most) {
			t.ID = fmt.Sprintf("%s.%d", p.Tasks[i].ID, n)
			like[t.ID] = p.Tasks[i].ID
			q.Tasks = append(q.Tasks, t)
		}
	}
	rng.Shuffle(len(q.Tasks), func(i, j int) { q.Tasks[i], q.Tasks[j] = q.Tasks[j], q.Tasks[i] })
	q.Model = copyModel{Model: p.Model, like: like}
	return &q
}

// copyModel asks another model about the tasks of which these are copies.
type copyModel struct {
	packer.Model
	like map[string]string
}

// Speeds implements packer.Model.
func (m copyModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	originals := make([]*packer.Task, len(set))
	for i, t := range set {
		o := *t
		if id, ok := m.like[t.ID]; ok {
			o.ID = id
		}
		originals[i] = &o
	}
	return m.Model.Speeds(originals, gpu, mech, dst)
}
