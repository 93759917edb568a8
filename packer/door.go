package packer

import (
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// door is where tasks with names, profiles and labels turn into numbers and back: it
// answers what an instance asks about them.
type door struct {
	p      *Problem
	who    []*Task // by number: those to be placed, and then the residents
	cards  []*GPU  // of each class the first member, which stands for all
	set    []*Task // asked about
	slices SliceModel
	like   []int32 // see Alike; nil before it was asked
}

func newDoor(p *Problem) *door {
	d := &door{p: p}
	d.slices, _ = p.Model.(SliceModel)
	return d
}

// Speeds implements instance.Oracle.
func (d *door) Speeds(class int, set []int32, mech profile.Mechanism, dst []float64) error {
	return Ask(d.p.Model, d.named(set), d.cards[class], mech, dst)
}

// PairSpeeds implements instance.Oracle.
func (d *door) PairSpeeds(class int, task int32, partners []int32, mech profile.Mechanism, own, other []float64) error {
	return AskPairs(d.p.Model, d.who[task], d.named(partners), d.cards[class], mech, own, other)
}

// named returns the tasks with the numbers given, which often follow each other.
func (d *door) named(tasks []int32) []*Task {
	n := 0
	for n < len(tasks) && tasks[n] == tasks[0]+int32(n) {
		n++
	}
	if n > 0 && n == len(tasks) {
		return d.who[tasks[0] : int(tasks[0])+n]
	}
	d.set = d.set[:0]
	for _, i := range tasks {
		d.set = append(d.set, d.who[i])
	}
	return d.set
}

// SliceSpeeds implements instance.Oracle.
func (d *door) SliceSpeeds(class int, task int32, dst []float64) error {
	t, gpu := d.who[task], d.cards[class]
	if err := d.slices.SliceSpeeds(t, gpu, dst); err != nil {
		return modelError([]*Task{t}, gpu, profile.MIG, err)
	}
	for p, s := range dst {
		if !(s >= 0 && s <= instance.MaxSpeed) {
			return modelError([]*Task{t}, gpu, profile.MIG, noSpeed(t, " on "+gpu.Type.MIG[p].Name, s))
		}
	}
	return nil
}

// Hosts implements instance.Oracle.
func (d *door) Hosts(class int, task int32) bool { return d.cards[class].Hosts(d.who[task]) }

// Accepts implements instance.Oracle.
func (d *door) Accepts(a, b int32) bool { return d.who[a].Accepts(d.who[b]) }

// typeKey holds what is quick to compare of tasks that may be alike.
type typeKey struct {
	kind        string
	profile     *profile.Profile
	memory      profile.Bytes
	weight, min float64
}

// Alike implements instance.Oracle: two tasks are alike if Weight and all fields of [Task]
// but ID and Home are equal, Profile is the same pointer, and Kind or Profile is set.
func (d *door) Alike() []int32 {
	if d.like != nil {
		return d.like
	}
	first := map[typeKey][]int32{} // of the groups that agree in the key
	out := make([]int32, len(d.p.Tasks))
	for i, t := range d.who[:len(out)] {
		if out[i] = none; t.Kind == "" && t.Profile == nil {
			continue
		}
		key := typeKey{t.Kind, t.Profile, t.Memory, t.EffectiveWeight(), t.MinSpeed}
		at := slices.IndexFunc(first[key], func(o int32) bool { return d.who[o].Alike(t) })
		if at < 0 {
			at = len(first[key])
			first[key] = append(first[key], int32(i))
		}
		out[i] = first[key][at]
	}
	d.like = out
	return out
}
