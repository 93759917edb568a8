package sim

import (
	"slices"

	"example.com/colloc/colloc/sim/internal/agenda"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// turn is a GPU that fails, returns, or has a new layout.
func (s *simulation) turn(w worldEvent) {
	switch w.kind {
	case GPULoss:
		s.gpus[w.gpu].down++
		s.tell(Event{Kind: GPULoss, Index: -1, GPUs: []int{w.gpu}})
		s.up(w.gpu)
	case GPUReturn:
		s.gpus[w.gpu].down--
		s.tell(Event{Kind: GPUReturn, Index: -1, GPUs: []int{w.gpu}})
		s.up(w.gpu)
	case Repartition:
		s.cut(w.gpu)
	default: // a wake-up
	}
}

// up works out whether a GPU and its instances are up; tasks of one that is not
// are lost.
func (s *simulation) up(g int) {
	gpu := &s.gpus[g]
	v := gpu.view
	was := v.Up
	v.Up = gpu.down == 0 && !gpu.cut && (gpu.parent < 0 || s.gpus[gpu.parent].down == 0)
	if v.Up != was {
		s.state.turned = append(s.state.turned, v)
	}
	if !v.Up {
		for len(v.Set) > 0 {
			s.stop(v.Set[0].Index, GPULoss)
		}
	}
	s.state.freed = s.state.freed || v.Up
	s.state.setIdle(v)
	for _, child := range gpu.children {
		s.up(child)
	}
}

// Repartition cuts a card into the MIG instances of a layout, or makes it whole
// again with an empty one. The card and its instances must have no tasks. It is
// away for [Options].Repartition; then the instances follow as new GPUs at the
// end of [State.GPUs], and the card itself is up only while it is whole.
func (s *State) Repartition(gpu int, layout mig.Layout) {
	if !s.did("repartition", -1, []int{gpu}) {
		return
	}
	if gpu < 0 || gpu >= len(s.gpus) || s.sim.gpus[gpu].parent >= 0 {
		s.refuse("GPU %d is no card", gpu)
		return
	}
	card := &s.sim.gpus[gpu]
	busy := len(card.view.Set) > 0 || card.down > 0 || card.cutting
	for _, child := range card.children {
		busy = busy || len(s.gpus[child].Set) > 0
	}
	if busy {
		s.refuse("GPU %d has tasks, is not up, or is being cut already", gpu)
		return
	}
	if len(layout) > 0 {
		table, err := mig.New(&card.view.Model)
		if err == nil {
			err = table.Check(layout)
		}
		if err != nil {
			s.refuse("GPU %d: %v", gpu, err)
			return
		}
	}
	s.sim.beginCut(gpu, layout)
}

func (s *simulation) beginCut(g int, layout mig.Layout) {
	card := &s.gpus[g]
	card.cut, card.cutting, card.layout = true, true, slices.Clone(layout)
	for _, child := range card.children {
		s.charge(child)
		s.gpus[child].cut, s.gpus[child].weight = true, 0
	}
	s.charge(g)
	card.weight = 1
	s.up(g)
	card.children = nil
	s.tell(Event{Kind: Repartition, Index: -1, GPUs: []int{g}})
	s.schedule(worldEvent{at: agenda.Later(s.now, s.o.Repartition), gpu: g, kind: Repartition})
}

// cut is the end of a repartition.
func (s *simulation) cut(g int) {
	s.charge(g)
	s.gpus[g].cutting = false
	layout := s.gpus[g].layout
	if s.gpus[g].cut = len(layout) > 0; s.gpus[g].cut {
		s.gpus[g].weight = 0
	}
	for i := range layout {
		card := s.gpus[g].view
		p := &card.Model.MIG[layout[i].Profile]
		instance := instanceOf(card.GPU, p)
		view := s.addGPU(instance, card.Node, instance.Compute())
		s.state.turned = append(s.state.turned, view)
		s.gpus[view.Index].parent = g
		s.gpus[g].children = append(s.gpus[g].children, view.Index)
	}
	s.up(g)
	s.tell(Event{Kind: GPUReturn, Index: -1, GPUs: []int{g}})
}

// instanceOf describes a MIG instance: its memory, and its part of the card's
// power.
func instanceOf(card *GPU, p *profile.MIGProfile) *GPU {
	g := &GPU{Model: card.Model, Memory: p.Memory, Slice: p}
	g.IdleWatts, g.BusyWatts = card.watts(0)*g.Compute(), card.watts(1)*g.Compute()
	return g
}
