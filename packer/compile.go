package packer

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/mig"
)

// Compiled is a Problem in the form in which methods work: numbers. Those who write a
// [Method] in this module search on the Instance, make an [instance.Plan], and let
// Answer turn that into a [Solution].
type Compiled struct {
	*instance.Instance
	door *door
}

// Compile validates p and prepares it. O(n log n + classes · GPUs).
func Compile(p *Problem) (*Compiled, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	d := newDoor(p)
	in := &instance.Instance{Oracle: d, MaxSet: p.Limits.LargestSet(), MinGain: p.Limits.MinGain}
	c := &Compiled{in, d}
	in.Origin = make([]int, len(p.Tasks))
	for i := range in.Origin {
		in.Origin[i] = i
	}
	slices.SortFunc(in.Origin, func(a, b int) int { return cmp.Compare(p.Tasks[a].ID, p.Tasks[b].ID) })
	for _, o := range in.Origin {
		c.number(&p.Tasks[o])
		in.Gangs = in.Gangs || p.Tasks[o].GPUs > 1
	}
	c.group()
	in.Tasks = in.All[:len(p.Tasks)]
	if err := c.findPaces(); err != nil {
		return nil, err
	}
	c.findHomes()
	if err := c.cutUp(); err != nil {
		return nil, err
	}
	return c, in.Finish()
}

// number adds a task to the instance.
func (d *Compiled) number(t *Task) int32 {
	d.door.who = append(d.door.who, t)
	d.All = append(d.All, instance.Task{
		Memory: t.Memory, Weight: t.EffectiveWeight(), MinSpeed: t.MinSpeed, GPUs: t.Width(),
		Alone: t.Alone, Picky: t.picky(), Asks: len(t.On) > 0,
	})
	return int32(len(d.door.who) - 1)
}

// group fills classes.
func (d *Compiled) group() {
	p, in := d.door.p, d.Instance
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
		k := slices.IndexFunc(d.door.cards, func(o *GPU) bool { return o.Alike(gpu) })
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
	gpu := &d.door.p.GPUs[g]
	c := instance.Class{Number: len(d.Classes), Members: []int{g}, Mechs: gpu.Sharing(), Usable: d.door.p.Limits.Usable(gpu.Total()), Total: gpu.Total(), Beyond: d.door.p.Limits.beyond(gpu), Sliced: len(gpu.Instances) > 0}
	for i := range gpu.Residents {
		c.Residents = append(c.Residents, d.number(&gpu.Residents[i]))
		c.Used += gpu.Residents[i].Memory
	}
	d.door.cards = append(d.door.cards, gpu)
	d.Classes = append(d.Classes, c)
}

// findPaces asks for the pace of every task on every kind of GPU, of tasks that are
// alike once, and sets the unit.
func (d *Compiled) findPaces() error {
	p := d.door.p
	kinds, of := p.paceKinds()
	if kinds == nil { // no PaceModel, or no GPU
		d.Unit = p.Unit()
		return nil
	}
	paces := make([][]float64, len(kinds))
	for k := range paces {
		paces[k] = make([]float64, len(d.All))
	}
	var err error
	like, first := d.door.Alike(), map[int32]int{}
	for i, t := range d.door.who[:len(d.Tasks)] {
		if like[i] != none {
			if o, ok := first[like[i]]; ok {
				for k := range paces {
					paces[k][i] = paces[k][o]
				}
				continue
			}
			first[like[i]] = i
		}
		for k, gpu := range kinds {
			if paces[k][i], err = AskPace(p.Model, t, gpu); err != nil {
				return err
			}
		}
	}
	for n := range d.Classes {
		c := &d.Classes[n]
		k := of[c.Members[0]]
		c.Pace = paces[k]
		for _, r := range c.Residents {
			if c.Pace[r], err = AskPace(p.Model, d.door.who[r], kinds[k]); err != nil {
				return err
			}
		}
	}
	place := make([]int, len(d.Tasks))
	for i, o := range d.Origin {
		place[o] = i
	}
	d.Unit = p.unit(kinds,
		func(i, k int) float64 { return paces[k][place[i]] },
		func(g, i int) float64 { c := &d.Classes[d.ByGPU[g]]; return c.Pace[c.Residents[i]] })
	return nil
}

func (d *Compiled) findHomes() {
	in := d.Instance
	in.Home = make([]int32, len(in.Tasks))
	in.Stay = make([]int64, len(in.Tasks))
	in.Here = make([]bool, len(d.door.p.GPUs))
	index := map[string]int{}
	for i, t := range d.door.who[:len(in.Tasks)] {
		in.Home[i] = none
		if t.Home == "" {
			continue
		}
		if len(index) == 0 {
			for g := range d.door.p.GPUs {
				index[d.door.p.GPUs[g].ID] = g
			}
		}
		g := index[t.Home]
		in.Home[i], in.Here[g], in.Homes = int32(g), true, true
		in.Stay[i] = in.Units(in.Worth(&in.Classes[in.ByGPU[g]], int32(i)), t.MoveCost)
	}
}

// cutUp prepares the classes that can be cut up. The geometry is checked by
// Validate.
func (d *Compiled) cutUp() error {
	for k, gpu := range d.door.cards {
		if sliced(d.door.p, gpu) == nil {
			continue
		}
		table, err := mig.New(gpu.Type)
		if err != nil {
			return err
		}
		choice, err := table.Choose(gpu.running())
		if err != nil {
			return err
		}
		x := &instance.Cut{Choice: choice, Taken: gpu.Instances}
		for p := range gpu.Type.MIG {
			x.Room = append(x.Room, d.door.p.Limits.Usable(gpu.Type.MIG[p].Memory))
		}
		d.Classes[k].Cut = x
	}
	return nil
}
