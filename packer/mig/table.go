package mig

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Placement is one instance.
type Placement struct {
	// Profile is an index into the GPUModel's MIG list.
	Profile int `json:"profile"`
	// Start is the first memory slice.
	Start int `json:"start"`
}

// Layout is a set of instances that do not overlap, by ascending Start.
type Layout []Placement

// maxSlices bounds the geometry that a Table accepts; real GPUs have 4 or 8.
const maxSlices = 16

// Table holds the layouts of one product.
type Table struct {
	profiles []profile.MIGProfile
	slices   int
	layouts  []Layout
	maximal  []Layout
}

// New enumerates the layouts of gpu. It returns an error if gpu has no MIG
// profiles or one of them is no geometry: a size below 1, a start below 0, an
// end beyond 16 slices. O(layouts).
func New(gpu *profile.GPUModel) (*Table, error) {
	if gpu == nil || len(gpu.MIG) == 0 {
		return nil, errors.New("packer/mig: the GPU has no MIG profiles")
	}
	t := &Table{profiles: slices.Clone(gpu.MIG)}
	for i, p := range t.profiles {
		for _, s := range p.Starts {
			if p.Size < 1 || s < 0 || s+p.Size > maxSlices {
				return nil, fmt.Errorf("packer/mig: %s: MIG[%d] (%s): size %d from slice %d; want 1 to %d slices", gpu.Name, i, p.Name, p.Size, s, maxSlices)
			}
			t.slices = max(t.slices, s+p.Size)
		}
	}
	t.enumerate(0, nil)
	for _, l := range t.layouts {
		if t.full(l) {
			t.maximal = append(t.maximal, l)
		}
	}
	return t, nil
}

// enumerate adds all layouts that extend l by instances from slice at on.
func (t *Table) enumerate(at int, l Layout) {
	if at >= t.slices {
		t.layouts = append(t.layouts, slices.Clone(l))
		return
	}
	t.enumerate(at+1, l)
	for i := range t.profiles {
		p := Placement{i, at}
		if slices.Contains(t.profiles[i].Starts, at) && t.room(l, p) {
			t.enumerate(at+t.profiles[i].Size, append(l, p))
		}
	}
}

// room reports whether p may join l.
func (t *Table) room(l Layout, p Placement) bool {
	count := 0
	for _, q := range l {
		if q.Profile == p.Profile {
			count++
		}
		if p.Start < q.Start+t.profiles[q.Profile].Size && q.Start < p.Start+t.profiles[p.Profile].Size {
			return false
		}
	}
	limit := t.profiles[p.Profile].Max
	return limit == 0 || count < limit
}

// full reports whether no instance at all may join l.
func (t *Table) full(l Layout) bool {
	for i := range t.profiles {
		for _, s := range t.profiles[i].Starts {
			if t.room(l, Placement{i, s}) {
				return false
			}
		}
	}
	return true
}

// Layouts returns all layouts, the empty one first. The caller must not modify
// them.
func (t *Table) Layouts() []Layout { return slices.Clone(t.layouts) }

// Maximal returns the layouts to which no instance can be added. The caller
// must not modify them.
func (t *Table) Maximal() []Layout { return slices.Clone(t.maximal) }

// Check reports why l is not a layout of this GPU: an unknown profile, a start
// that the profile does not have, an overlap, too many of a kind, wrong order.
func (t *Table) Check(l Layout) error {
	for i, p := range l {
		switch {
		case p.Profile < 0 || p.Profile >= len(t.profiles):
			return fmt.Errorf("packer/mig: layout[%d]: no profile %d; there are %d", i, p.Profile, len(t.profiles))
		case !slices.Contains(t.profiles[p.Profile].Starts, p.Start):
			return fmt.Errorf("packer/mig: layout[%d]: %s cannot start at slice %d; it can at %v", i, t.profiles[p.Profile].Name, p.Start, t.profiles[p.Profile].Starts)
		case i > 0 && p.Start <= l[i-1].Start:
			return fmt.Errorf("packer/mig: layout[%d]: start %d after %d; want ascending starts", i, p.Start, l[i-1].Start)
		case !t.room(l[:i], p):
			return fmt.Errorf("packer/mig: layout[%d]: %s at slice %d overlaps another instance or is one too many", i, t.profiles[p.Profile].Name, p.Start)
		}
	}
	return nil
}

// Reachable returns the layouts that contain every instance of running: those
// that can be had by creating instances only. It returns an error if running is
// no layout.
func (t *Table) Reachable(running Layout) ([]Layout, error) {
	if err := t.Check(running); err != nil {
		return nil, err
	}
	return containing(t.layouts, running), nil
}

func containing(layouts []Layout, part Layout) []Layout {
	var out []Layout
	for _, l := range layouts {
		if !slices.ContainsFunc(part, func(p Placement) bool { return !slices.Contains(l, p) }) {
			out = append(out, l)
		}
	}
	return out
}
