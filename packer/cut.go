package packer

import (
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// cut finds the best layouts of the GPUs of one class.
type cut struct {
	choice *mig.Choice
	room   []profile.Bytes // of an instance of each profile, after headroom
	taken  []mig.Placement // by the residents
	known  [][]float64     // speeds of each task by profile, once asked
	value  [][]float64     // of the tasks at hand by profile
	where  []mig.Placement // of the members of the last set, residents first
}

// speeds asks the model about a task once.
func (x *cut) speeds(in *instance, c *class, i int32) ([]float64, error) {
	if len(x.known) == 0 {
		x.known = make([][]float64, len(in.all))
	}
	if x.known[i] == nil {
		s := make([]float64, len(x.room))
		if err := in.oracle.sliceSpeeds(c.number, i, s); err != nil {
			return nil, err
		}
		x.known[i] = s
	}
	return x.known[i], nil
}

// ask fills dst with the speeds of set, residents first, under the layout that
// is worth most, and where with its instances. Without one that holds them all
// the new tasks have speed 0.
func (x *cut) ask(in *instance, c *class, set []int32, dst []float64) error {
	clear(dst)
	x.where = append(x.where[:0], x.taken...)
	residents := len(x.taken)
	x.value = x.value[:0]
	for n, i := range set {
		s, err := x.speeds(in, c, i)
		if err != nil {
			return err
		}
		if n < residents {
			dst[n] = s[x.taken[n].Profile]
			continue
		}
		t, row := &in.all[i], make([]float64, len(s))
		for p, v := range s {
			if v >= t.minSpeed && t.memory <= x.room[p] {
				row[p] = t.weight * v
			}
		}
		x.value = append(x.value, row)
	}
	if len(x.value) > maxInstances {
		return nil
	}
	best, ok, err := x.choice.Best(x.value)
	if err != nil || !ok {
		return err
	}
	for n, at := range best.Instance {
		p := best.Layout[at]
		x.where = append(x.where, p)
		dst[residents+n] = x.known[set[residents+n]][p.Profile]
	}
	return nil
}

// maxInstances is more than any GPU can be cut into.
const maxInstances = 8

// instances returns who sits where in a set by MIG, residents first; nil where
// no layout was chosen.
func (e *evaluator) instances(c *class, tasks []int32) ([]mig.Placement, error) {
	if c.cut == nil {
		return nil, nil
	}
	set := append(slices.Clone(c.residents), tasks...)
	if err := e.ask(c, set, profile.MIG, make([]float64, len(set))); err != nil {
		return nil, err
	}
	return slices.Clone(c.cut.where), nil
}
