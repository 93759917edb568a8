package colloc

import (
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// scale is what paces are relative to in one call.
type scale struct {
	// equal says that all GPUs are of one kind: every pace is 1, and none is told.
	equal bool
	// reference is the card whose pace is 1; nil is that of the predictor.
	reference *profile.GPUModel
	// itself says that a GPU is judged on its own: its mechanism is chosen as though
	// all paces on it were 1.
	itself bool
}

// onItsOwn is the scale of a question about one GPU.
func (s scale) onItsOwn() scale {
	s.itself = true
	return s
}

// scale is that of answers about one GPU: always the same, so that they compare.
func (p *Planner) scale() scale {
	if p.config.Reference.Name == "" {
		return scale{}
	}
	return scale{reference: &p.config.Reference}
}

// unit is the pace where all GPUs are of one kind.
//
//nolint:gochecknoglobals // read-only
var unit = predict.Estimate{Value: 1, Lo: 1, Hi: 1}

// paceValue is the Value of pace, quicker; of is that of the GPU's card.
func (p *Planner) paceValue(t *Task, g *GPU, by scale, of *pace.Comparison) float64 {
	if by.equal {
		return 1
	}
	if len(t.Elsewhere) > 0 || g.slice() != nil {
		return p.pace(t, g, by).Value
	}
	return of.Value(t.known())
}

// pace is the solo throughput of a task on a GPU over that on the reference.
func (p *Planner) pace(t *Task, g *GPU, by scale) predict.Estimate {
	if by.equal {
		return unit
	}
	e := p.cardPace(t, &g.Model, by.reference)
	if slice := g.slice(); slice != nil {
		if speed, err := p.config.MIGSpeed.Speed(t.on(&g.Model), &g.Model, *slice); err == nil { // GPU.Validate asked
			e = times(e, speed)
		}
	}
	return e
}

// ratio is what the predictor says of a whole card.
func (p *Planner) ratio(t *Task, gpu, reference *profile.GPUModel) predict.Estimate {
	if reference == nil {
		return p.config.Pace.Pace(t.known(), gpu)
	}
	return p.config.Pace.Ratio(t.known(), gpu, reference)
}

// repeatNoise is the half width of the logarithm of the ratio of two measured
// throughputs: 90 % of repeated runs agree better.
const repeatNoise = 0.1

// cardPace is ratio, but where the task's profiles tell its throughput on the
// card, they decide how the cards that they were taken on compare: with the
// reference if that is among them, else about the middle of what is predicted.
func (p *Planner) cardPace(t *Task, gpu, reference *profile.GPUModel) predict.Estimate {
	e := p.ratio(t, gpu, reference)
	here, ok := rateOf(t.on(gpu), gpu)
	if !ok || len(t.Elsewhere) == 0 {
		return e
	}
	var level, n, below, above float64
	kind := predict.Measured
	for i := range len(t.Elsewhere) + 1 {
		m := t.known()
		if i > 0 {
			m = t.Elsewhere[i-1]
		}
		rate, ok := rateOf(m, &m.GPU)
		if !ok {
			continue
		}
		one := p.ratio(t, &m.GPU, reference)
		if one.Value == 1 && one.Lo == one.Hi { // the reference itself
			level, n, below, above, kind = math.Log(rate), 1, repeatNoise, repeatNoise, predict.Measured
			break
		}
		level, n, kind = level+math.Log(rate/one.Value), n+1, min(kind, one.Source.Kind)
		below, above = max(below, math.Log(one.Value/one.Lo)), max(above, math.Log(one.Hi/one.Value))
	}
	e.Value = here / math.Exp(level/max(n, 1))
	e.Lo, e.Hi, e.Source.Kind = e.Value*math.Exp(-below), e.Value*math.Exp(above), kind
	return e
}

// rateOf is the throughput that a profile tells of a product; one that was taken on
// a MIG slice tells none.
func rateOf(m *profile.Profile, gpu *profile.GPUModel) (float64, bool) {
	step, ok := m.Vector.Get(profile.MedianStepTime)
	if !ok || step <= 0 || m.GPU.Name == "" || m.GPU.Sliced() || m.GPU.Canonical() != gpu.Canonical() {
		return 0, false
	}
	return float64(max(1, m.Spec.Training.BatchSize)) / step, true
}

// times multiplies estimates whose errors are independent.
func times(a, b predict.Estimate) predict.Estimate {
	below := math.Hypot(math.Log(a.Value/a.Lo), math.Log(b.Value/b.Lo))
	above := math.Hypot(math.Log(a.Hi/a.Value), math.Log(b.Hi/b.Value))
	e := predict.Estimate{Value: a.Value * b.Value, Confidence: min(a.Confidence, b.Confidence)}
	e.Lo, e.Hi = e.Value*math.Exp(-below), e.Value*math.Exp(above)
	e.Source = predict.Source{Kind: min(a.Source.Kind, b.Source.Kind), Distance: max(a.Source.Distance, b.Source.Distance)}
	return e
}

// kind is a kind of GPU in a round: a product, or a slice of one.
type kind struct {
	name  string
	gpu   *GPU    // one of them
	total float64 // how fast it is for the tasks of the round
}

// paceKey names what paces are kept by: tasks that share a Profile have one.
type paceKey struct {
	task *profile.Profile
	kind int
}

// paces are those of a round.
type paces struct {
	scale scale
	kinds []kind
	of    map[*profile.GPUModel]int // kind of a GPU, by its Type
	tasks map[paceKey]predict.Estimate
}

// kindOf notes the kind of a GPU and returns its Type for the packer.
func (ps *paces) kindOf(g *GPU) *profile.GPUModel {
	name, model := g.Model.Canonical(), &g.Model
	if slice := g.slice(); slice != nil {
		sliced := g.Model
		sliced.Name += " MIG " + slice.Name // slices of one memory differ
		name, model = name+" MIG "+slice.Name, &sliced
	}
	k := slices.IndexFunc(ps.kinds, func(o kind) bool { return o.name == name })
	if k < 0 {
		k = len(ps.kinds)
		ps.kinds = append(ps.kinds, kind{name: name, gpu: g})
	}
	ps.of[model] = k
	return model
}

// get returns the pace of a task on a GPU of the round.
func (ps *paces) get(t *packer.Task, g *packer.GPU) predict.Estimate {
	if ps.scale.equal {
		return unit
	}
	return ps.tasks[paceKey{t.Profile, ps.of[g.Type]}]
}

// within maps a gain in pace to [0, 1]: as it is up to 0.9, then ever closer to 1,
// so that what is more stays more.
func within(gain float64) float64 {
	const knee = 0.9
	if gain <= knee {
		return max(0, gain)
	}
	over := (gain - knee) / (1 - knee)
	return knee + (1-knee)*over/(1+over)
}
