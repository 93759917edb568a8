package interference

import (
	"fmt"
	"slices"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Resource is what a task loses speed to.
type Resource int

// The resources of an [Attribution].
const (
	// SMTime is time on the multiprocessors.
	SMTime Resource = iota
	// MemoryTraffic is bandwidth to device memory.
	MemoryTraffic
	// Turns is waiting for a neighbour with longer steps.
	Turns
	// Learned is what measurements say beyond the physical terms: the effects
	// of types and the trees. It may be a gain.
	Learned
	// Reference is the part that no neighbour causes: how far the task's own
	// solo measurement is off.
	Reference
)

// String returns "sm time", "memory traffic", "turns", "learned" or "reference".
func (r Resource) String() string {
	switch r {
	case SMTime:
		return "sm time"
	case MemoryTraffic:
		return "memory traffic"
	case Turns:
		return "turns"
	case Learned:
		return "learned"
	case Reference:
		return "reference"
	}
	return fmt.Sprintf("resource(%d)", int(r))
}

// Attribution is one reason for a task's predicted slowdown.
type Attribution struct {
	// Neighbour is the index in the set of who causes it; the task's own index
	// for Reference.
	Neighbour int
	// Resource is what is short.
	Resource Resource
	// Loss is the speed lost to it; negative for a gain.
	Loss float64
}

// Explain splits what task i of set loses beside the others into neighbours and
// resources, by neighbour and then by resource, zero entries left out. The
// losses sum to 1 − speed with the speed of [Predictor.Ratios], rounding
// apart. Where three and more tasks exceed the GPU by more than their pairs do, the
// excess counts as SM time and memory traffic of the neighbours, by how much they
// want of what the task leaves free; parts of a slowdown count in proportion to what
// they add to the time of a step.
//
// It returns an error for an index outside set and for what Speeds refuses.
// O(k · terms).
func (m *Predictor) Explain(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, i int) ([]Attribution, error) {
	if i < 0 || i >= len(set) {
		return nil, fmt.Errorf("predict: interference: task %d of %d: %w", i, len(set), errIndex)
	}
	if len(set) < 2 {
		return nil, nil
	}
	if err := checkSharing(mech); err != nil {
		return nil, err
	}
	r, _ := m.load().regime(gpuName(gpu), mech)
	members := r.members(set)
	var out []Attribution
	add := func(j int, what Resource, loss float64) {
		if loss != 0 {
			out = append(out, Attribution{j, what, loss})
		}
	}
	var c company
	for j := range members {
		if j != i {
			c.add(&members[i], &members[j])
		}
	}
	if c.present == 0 {
		return nil, nil
	}
	for j := range members {
		if j == i {
			continue
		}
		parts := r.pairParts(&members[i], &members[j])
		if len(members) > 2 {
			r.addUp(&parts, &members[i], &members[j], &c)
		}
		for what, loss := range parts {
			add(j, Resource(what), loss)
		}
	}
	own, curve, loss := r.ownLoss(&members[i], c.present), r.curve(), r.loss(members, i, true)
	lost := 1 - max(predict.LeastSpeed, curve.speed(loss))
	if len(members) == 2 {
		add(i, Reference, own)
		scaleLosses(out, lost)
		return out, nil
	}
	add(i, Reference, curve.slowdown(own))
	if d := curve.slowdown(loss); d != 0 {
		scaleLosses(out, d)
		for k := range out {
			out[k].Loss *= lost / d
		}
	}
	return out, nil
}

// scaleLosses makes the costs of one neighbour sum to what is lost, where the curve
// from loss to speed is bent, or gains where nothing costs; of more, where what they add
// is bounded.
func scaleLosses(parts []Attribution, lost float64) {
	var sum, positive float64
	for _, a := range parts {
		sum += a.Loss
		positive += max(0, a.Loss)
	}
	for k := range parts {
		switch {
		case parts[k].Loss > 0:
			parts[k].Loss *= 1 + (lost-sum)/positive
		case positive == 0:
			parts[k].Loss *= lost / sum
		}
	}
}

// addUp turns what a neighbour costs beside no other into parts of the slowdown of a
// larger set, as setLoss adds them up, with its share in the excess of the whole company.
func (r *regime) addUp(parts *[4]float64, own, other *member, c *company) {
	var loss float64
	for _, v := range parts {
		loss += v
	}
	full, curve := r.ownLoss(own, 1), r.curve()
	times := curve.slowdownSlope(full)
	if cost := curve.slowdown(loss+full) - curve.slowdown(full); cost != 0 && loss != 0 {
		times = cost / loss
	}
	for k := range parts {
		parts[k] *= times
	}
	var one company
	one.add(own, other)
	sm, dram := c.excess(own)
	if sm > 0 {
		parts[SMTime] += excessCost * r.post.Coef[termColumns+smOverflow] * sm * one.sm / c.sm
	}
	if dram > 0 {
		parts[MemoryTraffic] += excessCost * r.post.Coef[termColumns+dramOverflow] * dram * one.dram / c.dram
	}
}

// pairParts splits what a neighbour costs by resource.
func (r *regime) pairParts(own, other *member) [4]float64 {
	var parts [4]float64
	all := r.pairLoss(own, other, r.treeLoss(own, other))
	for k, v := range r.terms(&own.load, &other.load) {
		v *= r.post.Coef[termColumns+k]
		switch k {
		case dramSteal, dramOverflow, dramMeeting:
			parts[MemoryTraffic] += v
		case turnShare:
			parts[Turns] += v
		default:
			parts[SMTime] += v
		}
	}
	parts[Learned] = all - parts[SMTime] - parts[MemoryTraffic] - parts[Turns]
	return parts
}

// Regime is what [Predictor.Observe] was told of one GPU and mechanism.
type Regime struct {
	// GPU is the product's name in the catalogue, or as it was given; Mechanism how
	// the tasks shared it.
	GPU       string            `json:"gpu"`
	Mechanism profile.Mechanism `json:"mechanism"`
	// CoRuns is how many co-runs are kept for the next refit. Types is how many types of
	// tasks have effects of their own, those of the fit among them.
	CoRuns int `json:"co_runs"`
	Types  int `json:"types"`
	// Drift is how well intervals held.
	Drift Drift `json:"drift"`
}

// Regimes tells, for each GPU and mechanism on which a speed was observed, in the
// order in which they were first seen, what was learned. O(types).
func (m *Predictor) Regimes() []Regime {
	var out []Regime
	for _, r := range m.load().regimes {
		if r.drift.Seen == 0 && len(r.runs) == 0 {
			continue
		}
		l := Regime{GPU: r.gpu, Mechanism: r.mechanism, CoRuns: len(r.runs), Drift: m.Drift(r.gpu, r.mechanism)}
		for i := range r.roster.effects {
			if !r.roster.effects[i].all {
				l.Types++
			}
		}
		out = append(out, l)
	}
	return out
}

// Seen is what was learned of one type of task on one GPU and mechanism.
type Seen struct {
	GPU       string            `json:"gpu"`
	Mechanism profile.Mechanism `json:"mechanism"`
	// CoRuns is in how many of the co-runs that are kept such a task took part, once
	// or more.
	CoRuns int `json:"co_runs"`
	// Fitted says that the type was among the data of the fit.
	Fitted bool `json:"fitted,omitempty"`
	// Own is what such a task loses of its speed beyond what its use of the GPU says,
	// Others what each neighbour loses beside it beyond that; negative is a gain. They
	// are the effects of the type and of its model.
	Own    float64 `json:"own_loss"`
	Others float64 `json:"others_loss"`
}

// Seen tells what is known of tasks like p, same model, data set, batch and precision,
// for each GPU and mechanism that knows such tasks; nil where none does. O(co-runs).
func (m *Predictor) Seen(p *profile.Profile) []Seen {
	t, named := typeOf(p)
	if !named {
		return nil
	}
	var out []Seen
	for _, r := range m.load().regimes {
		at := r.roster.find(t)
		if at == noEffect {
			continue
		}
		s := Seen{GPU: r.gpu, Mechanism: r.mechanism, Fitted: r.roster.effects[at].trained}
		for _, e := range [2]int32{at, r.roster.find(t.whole())} {
			if e != noEffect {
				s.Own += r.post.Coef[ownColumn(e)]
				s.Others += r.post.Coef[otherColumn(e)]
			}
		}
		for _, o := range r.runs {
			if slices.ContainsFunc(o.Set, func(p *profile.Profile) bool { k, ok := typeOf(p); return ok && k == t }) {
				s.CoRuns++
			}
		}
		out = append(out, s)
	}
	return out
}

// Trials returns what was measured on a GPU product under a mechanism. O(co-runs) the
// first time after each [Predictor.Observe], O(1) then.
func (m *Predictor) Trials(gpu *profile.GPUModel, mech profile.Mechanism) Trials {
	r, known := m.load().regime(gpuName(gpu), mech)
	if !known || len(r.runs)+len(r.rows) == 0 {
		return Trials{}
	}
	r.trials.once.Do(func() { r.trials.Trials = trialsOf(r.rows, r.runs) })
	return r.trials.Trials
}
