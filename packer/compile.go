package packer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Compiled is a Problem with the instance that the methods work on. It is the
// door between the two: on this side tasks have names, profiles and labels, on the
// other they are numbers.
type Compiled struct {
	*instance.Instance
	p      *Problem
	who    []*Task // as instance.all
	cards  []*GPU  // of each class the first member, which stands for all
	set    []*Task // asked about
	batch  BatchModel
	slices SliceModel
	mono   MonotoneModel
	add    AdditiveModel
}

// Compile validates p and prepares it. O(n log n + classes · GPUs).
func Compile(p *Problem) (*Compiled, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	d := &Compiled{p: p}
	d.batch, _ = p.Model.(BatchModel)
	d.slices, _ = p.Model.(SliceModel)
	d.mono, _ = p.Model.(MonotoneModel)
	d.add, _ = p.Model.(AdditiveModel)
	in := &instance.Instance{Oracle: d, MaxSet: p.Limits.LargestSet(), MinGain: p.Limits.MinGain, Unit: UnitOf(p)}
	d.Instance = in
	in.Origin = make([]int, len(p.Tasks))
	for i := range in.Origin {
		in.Origin[i] = i
	}
	slices.SortFunc(in.Origin, func(a, b int) int { return cmp.Compare(p.Tasks[a].ID, p.Tasks[b].ID) })
	for _, o := range in.Origin {
		d.number(&p.Tasks[o])
		in.Gangs = in.Gangs || p.Tasks[o].GPUs > 1
	}
	d.group()
	in.Tasks = in.All[:len(p.Tasks)]
	d.findHomes()
	if err := d.cutUp(); err != nil {
		return nil, err
	}
	return d, in.Finish()
}

// number adds a task to the instance.
func (d *Compiled) number(t *Task) int32 {
	d.who = append(d.who, t)
	d.All = append(d.All, instance.Task{
		Memory: t.Memory, Weight: t.EffectiveWeight(), MinSpeed: t.MinSpeed, Gpus: t.Width(),
		Alone: t.Alone, Picky: t.picky(), Asks: len(t.On) > 0,
	})
	return int32(len(d.who) - 1)
}

// group fills classes.
func (d *Compiled) group() {
	p, in := d.p, d.Instance
	order := make([]int, len(p.GPUs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.GPUs[a].ID, p.GPUs[b].ID) })
	var occupied []int
	for _, g := range order {
		gpu := &p.GPUs[g]
		if len(gpu.Residents) > 0 {
			occupied = append(occupied, g)
			continue
		}
		k := slices.IndexFunc(d.cards, func(o *GPU) bool { return SameClass(o, gpu) })
		if k < 0 {
			d.addClass(g)
			continue
		}
		in.Classes[k].Members = append(in.Classes[k].Members, g)
	}
	in.Free = len(in.Classes)
	for _, g := range occupied {
		d.addClass(g)
	}
	in.ByGPU = make([]int, len(p.GPUs))
	for k := range in.Classes {
		for _, g := range in.Classes[k].Members {
			in.ByGPU[g] = k
		}
	}
}

func (d *Compiled) addClass(g int) {
	gpu := &d.p.GPUs[g]
	c := instance.Class{Number: len(d.Classes), Members: []int{g}, Mechs: Sharing(gpu), Usable: d.p.Limits.Usable(gpu.Total()), Sliced: len(gpu.Instances) > 0}
	for i := range gpu.Residents {
		c.Residents = append(c.Residents, d.number(&gpu.Residents[i]))
		c.Used += gpu.Residents[i].Memory
	}
	d.cards = append(d.cards, gpu)
	d.Classes = append(d.Classes, c)
}

func (d *Compiled) findHomes() {
	in := d.Instance
	in.Home = make([]int32, len(in.Tasks))
	in.Stay = make([]int64, len(in.Tasks))
	in.Here = make([]bool, len(d.p.GPUs))
	index := map[string]int{}
	for i, t := range d.who[:len(in.Tasks)] {
		in.Home[i] = none
		if t.Home == "" {
			continue
		}
		if len(index) == 0 {
			for g := range d.p.GPUs {
				index[d.p.GPUs[g].ID] = g
			}
		}
		g := index[t.Home]
		in.Home[i], in.Here[g], in.Any = int32(g), true, true
		in.Stay[i] = in.Units(t.EffectiveWeight(), t.MoveCost)
	}
}

// cutUp prepares the classes that can be cut up. The geometry is checked by
// Validate.
func (d *Compiled) cutUp() error {
	for k, gpu := range d.cards {
		if Sliced(d.p, gpu) == nil {
			continue
		}
		table, err := mig.New(gpu.Type)
		if err != nil {
			return err
		}
		choice, err := table.Choose(gpu.Running())
		if err != nil {
			return err
		}
		x := &instance.Cut{Choice: choice, Taken: gpu.Instances}
		for p := range gpu.Type.MIG {
			x.Room = append(x.Room, d.p.Limits.Usable(gpu.Type.MIG[p].Memory))
		}
		d.Classes[k].Cut = x
	}
	return nil
}

// Speeds implements oracle.
func (d *Compiled) Speeds(class int, set []int32, mech profile.Mechanism, dst []float64) error {
	return Ask(d.p.Model, d.named(set), d.cards[class], mech, dst)
}

// Ask asks a model and checks what it says.
func Ask(m Model, set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	if err := m.Speeds(set, gpu, mech, dst); err != nil {
		return modelError(set, gpu, mech, err)
	}
	for i, s := range dst {
		if !(s >= 0 && s <= instance.MaxSpeed) {
			return modelError(set, gpu, mech, noSpeed(set[i], "", s))
		}
	}
	return nil
}

// noSpeed is the error for a number that is no speed of a task.
func noSpeed(t *Task, where string, s float64) error {
	return fmt.Errorf("the speed of %q%s is %s; want a finite number in [0, %d]", t.ID, where, checkSpeed(s), instance.MaxSpeed)
}

// modelError names the set for which the model failed.
func modelError(set []*Task, gpu *GPU, mech profile.Mechanism, err error) error {
	names := make([]string, len(set))
	for i, t := range set {
		names[i] = strconv.Quote(t.ID)
	}
	return fmt.Errorf("packer: model: %s on GPU %q (%v): %w", strings.Join(names, " with "), gpu.ID, mech, err)
}

// PairSpeeds implements oracle.
func (d *Compiled) PairSpeeds(class int, task int32, partners []int32, mech profile.Mechanism, own, other []float64) error {
	return AskPairs(d.p.Model, d.batch, d.who[task], d.named(partners), d.cards[class], mech, own, other)
}

// named returns the tasks with the numbers given, which often follow each other.
func (d *Compiled) named(tasks []int32) []*Task {
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

// AskPairs asks a model about a task beside each of some partners and checks what
// it says. batch is the model if it is a BatchModel.
func AskPairs(m Model, batch BatchModel, t *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	if batch != nil {
		if err := batch.PairSpeeds(t, partners, gpu, mech, own, other); err != nil {
			return locate(m, t, partners, gpu, mech, err)
		}
	} else {
		pair, dst := [2]*Task{t}, [2]float64{}
		for n, o := range partners {
			pair[1] = o
			if err := m.Speeds(pair[:], gpu, mech, dst[:]); err != nil {
				return modelError(pair[:], gpu, mech, err)
			}
			own[n], other[n] = dst[0], dst[1]
		}
	}
	for n, a := range own {
		if b := other[n]; !(a >= 0 && a <= instance.MaxSpeed && b >= 0 && b <= instance.MaxSpeed) {
			who, s := t, a
			if checkSpeed(a) == "" {
				who, s = partners[n], b
			}
			return modelError([]*Task{t, partners[n]}, gpu, mech, noSpeed(who, "", s))
		}
	}
	return nil
}

// locate names the pair for which a whole row failed.
func locate(m Model, t *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, err error) error {
	var dst [2]float64
	for _, o := range partners {
		if one := Ask(m, []*Task{t, o}, gpu, mech, dst[:]); one != nil {
			return one
		}
	}
	return fmt.Errorf("packer: model: %q beside %d partners on GPU %q (%v): %w", t.ID, len(partners), gpu.ID, mech, err)
}

// SliceSpeeds implements oracle.
func (d *Compiled) SliceSpeeds(class int, task int32, dst []float64) error {
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

// Hosts implements oracle.
func (d *Compiled) Hosts(class int, task int32) bool { return d.cards[class].Hosts(d.who[task]) }

// Accepts implements oracle.
func (d *Compiled) Accepts(a, b int32) bool { return Compatible(d.who[a], d.who[b]) }

// SameModel implements oracle.
func (d *Compiled) SameModel(a, b int) bool { return sameModel(d.cards[a], d.cards[b]) }

// Monotone implements oracle.
func (d *Compiled) Monotone(class int) bool {
	return d.mono != nil && !slices.ContainsFunc(d.Classes[class].Mechs, func(mech profile.Mechanism) bool {
		return !d.mono.Monotone(d.cards[class], mech)
	})
}

// Additive implements oracle.
func (d *Compiled) Additive(class int, task int32, mech profile.Mechanism) (once, least float64, ok bool) {
	if d.add == nil {
		return 0, 0, false
	}
	return d.add.Additive(d.who[task], d.cards[class], mech)
}

// typeKey holds what is quick to compare of tasks that may be alike.
type typeKey struct {
	kind        string
	profile     *profile.Profile
	memory      profile.Bytes
	weight, min float64
}

// Alike implements oracle: two tasks are alike if Weight and all fields of [Task]
// but ID and Home are equal, Profile is the same pointer, and Kind or Profile is set.
func (d *Compiled) Alike() []int32 {
	first := map[typeKey][]int32{} // of the groups that agree in the key
	out := make([]int32, len(d.Tasks))
	for i, t := range d.who[:len(out)] {
		if out[i] = none; t.Kind == "" && t.Profile == nil {
			continue
		}
		key := typeKey{t.Kind, t.Profile, t.Memory, t.EffectiveWeight(), t.MinSpeed}
		at := slices.IndexFunc(first[key], func(o int32) bool { return Alike(d.who[o], t) })
		if at < 0 {
			at = len(first[key])
			first[key] = append(first[key], int32(i))
		}
		out[i] = first[key][at]
	}
	return out
}

// Alike reports whether two tasks are equal in all but ID, Kind, Weight and Home.
func Alike(a, b *Task) bool {
	return a.Profile == b.Profile && a.Memory == b.Memory && a.MinSpeed == b.MinSpeed && a.Alone == b.Alone && a.GPUs == b.GPUs && a.MoveCost == b.MoveCost &&
		slices.Equal(a.Labels, b.Labels) && slices.Equal(a.Avoid, b.Avoid) && slices.Equal(a.Only, b.Only) && slices.Equal(a.On, b.On)
}
