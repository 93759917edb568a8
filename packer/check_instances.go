package packer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// speeds asks the model for the speeds of a set: together, or each on its
// instance.
func (c *checker) speeds(set *Set, gpu *GPU, members []*Task, dst []float64) error {
	m := sliced(c.p, gpu)
	if set.Mechanism != profile.MIG || m == nil {
		if len(set.Instances) > 0 {
			return errors.New("there are Instances, and no SliceModel for this GPU")
		}
		return c.p.Model.Speeds(members, gpu, set.Mechanism, dst)
	}
	if len(set.Instances) != len(members) {
		return fmt.Errorf("%d Instances for %d members; want one each", len(set.Instances), len(members))
	}
	table, err := mig.New(gpu.Type)
	if err != nil {
		return err
	}
	layout := mig.Layout(slices.Clone(set.Instances))
	slices.SortFunc(layout, func(a, b mig.Placement) int { return a.Start - b.Start })
	if err := table.Check(layout); err != nil {
		return err
	}
	for k, at := range set.Instances {
		if err := c.instance(gpu, members[k], k, at); err != nil {
			return err
		}
		all := make([]float64, len(gpu.Type.MIG))
		if err := m.SliceSpeeds(members[k], gpu, all); err != nil {
			return err
		}
		dst[k] = all[at.Profile]
	}
	return nil
}

// instance checks that the k-th member can be where it is.
func (c *checker) instance(gpu *GPU, t *Task, k int, at mig.Placement) error {
	if k < len(gpu.Instances) {
		if at != gpu.Instances[k] {
			return fmt.Errorf("%q is on instance %+v; it runs on %+v, and residents stay", t.ID, at, gpu.Instances[k])
		}
		return nil
	}
	size := gpu.Type.MIG[at.Profile]
	if room := float64(size.Memory) * (1 - c.p.Limits.headroom()); float64(t.Memory) > math.Ceil(room) {
		return fmt.Errorf("%q needs %v; headroom leaves %v of %s", t.ID, t.Memory, profile.BytesOf(room), size.Name)
	}
	return nil
}
