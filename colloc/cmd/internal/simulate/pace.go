package simulate

import (
	"cmp"
	"fmt"
	"math"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// setPace lets GPUs of several products differ, and says so; with one product nothing
// changes. Measured pairs have their own speeds alone, see measured.
func (w *world) setPace(c *sim.Cluster) (string, error) {
	reference, several, err := fastest(c)
	if err != nil || !several {
		return "", err
	}
	if w.pairs != "" {
		return ", solo speeds measured, 1 on the " + reference.Name, nil
	}
	paces, err := pretrained.Pace()
	if err != nil {
		return "", err
	}
	w.base.Truth = speed.Paced{Model: w.base.Truth, Pace: paces, Reference: reference}
	if w.base.Predicted != nil {
		w.base.Predicted = speed.Paced{Model: w.base.Predicted, Pace: paces, Reference: reference}
	}
	return ", solo speeds predicted, 1 on the " + reference.Name, nil
}

// fastest is the product of a cluster that is fastest for a task of which nothing is
// known, and whether there are several.
func fastest(c *sim.Cluster) (best profile.GPUModel, several bool, err error) {
	paces, err := pretrained.Pace()
	if err != nil {
		return best, false, err
	}
	most := 0.0
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].GPUs {
			several = several || most > 0 && g.Model.Canonical() != best.Canonical()
			if p := paces.Pace(nil, &g.Model).Value; p > most {
				best, most = g.Model, p
			}
		}
	}
	return best, several, nil
}

// clamp lets nobody reserve more than the largest card has: a scheduler that is told
// more gives a task a card of its own, and does not let it wait for ever.
func (w *world) clamp(c *sim.Cluster) {
	var largest profile.Bytes
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].GPUs {
			memory := g.Memory
			if memory == 0 {
				memory = g.Model.Memory
			}
			if memory == 0 {
				return // as much as anybody wants
			}
			largest = max(largest, memory)
		}
	}
	w.most = largest
	for _, told := range []*func(*sim.Task) profile.Bytes{&w.base.Reserve, &w.base.Likely} {
		if says := *told; says != nil {
			*told = func(t *sim.Task) profile.Bytes { return min(says(t), largest) }
		}
	}
}

// nowhere names tasks that can never run, if there are any, and why the first of them
// cannot.
func nowhere(c *sim.Cluster, tasks []sim.Task, quotas map[string]int) []string {
	var largest profile.Bytes
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].GPUs {
			largest = max(largest, cmp.Or(g.Memory, g.Model.Memory, math.MaxInt64))
		}
	}
	first, n := "", 0
	for i := range tasks {
		t := &tasks[i]
		gpus, why := max(1, t.GPUs), ""
		quota, limited := quotas[t.User]
		if !limited {
			quota, limited = quotas[everyone]
		}
		switch {
		case t.HostOnly:
		case gpus > c.GPUs():
			why = fmt.Sprintf("it wants %d GPUs and there are %d", gpus, c.GPUs())
		case t.Memory > largest:
			why = fmt.Sprintf("it needs %v of memory and the largest GPU has %v", t.Memory, largest)
		case limited && gpus > quota:
			why = fmt.Sprintf("it wants %d GPUs and its user's quota is %d", gpus, quota)
		}
		if why == "" {
			continue
		}
		if n++; n == 1 {
			first = fmt.Sprintf("%s: %s", t.ID, why)
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("tasks that can never run here, and behind which others may wait for ever: %d, first %s", n, first)}
}
