package interference

import (
	"fmt"

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
// want of what the task leaves free; where the curve from loss to speed is bent,
// costs are scaled in proportion.
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
	total := r.loss(members, i, true)
	var out []Attribution
	var sum float64
	add := func(j int, what Resource, loss float64) {
		if loss != 0 {
			out = append(out, Attribution{j, what, loss})
			sum += loss
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
			r.addExcess(&parts, &members[i], &members[j], &c)
		}
		for what, loss := range parts {
			add(j, Resource(what), loss)
		}
	}
	add(i, Reference, r.ownLoss(&members[i], c.present))
	lost := 1 - max(predict.LeastSpeed, speedOf(total))
	var positive float64
	for _, a := range out {
		positive += max(0, a.Loss)
	}
	if positive == 0 { // nothing but gains, of which the curve is straight
		return out, nil
	}
	scale := 1 + (lost-sum)/positive
	for k := range out {
		if out[k].Loss > 0 {
			out[k].Loss *= scale
		}
	}
	return out, nil
}

// addExcess adds to what a neighbour costs its share in the excess of the whole
// company over its pairs.
func (r *regime) addExcess(parts *[4]float64, own, other *member, c *company) {
	var one company
	one.add(own, other)
	sm, dram := c.excess(own)
	if sm > 0 {
		parts[SMTime] += r.post.Coef[termColumns+smOverflow] * sm * one.sm / c.sm
	}
	if dram > 0 {
		parts[MemoryTraffic] += r.post.Coef[termColumns+dramOverflow] * dram * one.dram / c.dram
	}
}

// pairParts splits what a neighbour costs by resource.
func (r *regime) pairParts(own, other *member) [4]float64 {
	var parts [4]float64
	all := r.pairLoss(own, other, r.treeLoss(own, other))
	for k, v := range pairTerms(&own.load, &other.load) {
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
