package predict

import (
	"errors"
	"fmt"

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
// losses sum to 1 − speed with the speed of [Interference.Ratios], rounding
// apart: where the curve from loss to speed is bent, and where three tasks
// together exceed the GPU, parts are scaled in proportion.
//
// It returns an error for an index outside set and for what Speeds refuses.
// O(k · terms).
func (m *Interference) Explain(gpu *profile.GPUModel, mech profile.Mechanism, set []*profile.Profile, i int) ([]Attribution, error) {
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
		if j == i {
			continue
		}
		parts := r.pairParts(&members[i], &members[j])
		for what, loss := range parts {
			add(j, Resource(what), loss)
		}
		c.add(&members[i], &members[j])
	}
	if max(c.known, c.strange) == 0 {
		return nil, nil
	}
	add(i, Reference, r.ownLoss(&members[i], &c))
	lost := 1 - speedOf(total)
	var positive float64
	for _, a := range out {
		positive += max(0, a.Loss)
	}
	if positive == 0 {
		return out, nil
	}
	// What is missing or too much goes to the costs in proportion.
	scale := 1 + (lost-sum)/positive
	for k := range out {
		if out[k].Loss > 0 {
			out[k].Loss *= scale
		}
	}
	return out, nil
}

var errIndex = errors.New("no such task in the set")

// pairParts splits what a neighbour costs by resource.
func (r *regime) pairParts(own, other *member) [4]float64 {
	var parts [4]float64
	all := r.pairLoss(own, other, r.treeLoss(own, other))
	for k, v := range pairTerms(&own.load, &other.load) {
		v *= r.post.coef[termColumns+k]
		switch k {
		case dramSteal, dramOverflow, dramVictim, dramMeeting:
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
