package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim/internal/draw"
	"example.com/colloc/profile"
)

// markDirty notes that the set of a GPU changes.
func (s *simulation) markDirty(g int) {
	if !s.gpus[g].dirty {
		s.gpus[g].dirty = true
		s.dirty = append(s.dirty, g)
	}
}

// refresh asks the truth how fast the tasks of changed sets are now.
func (s *simulation) refresh() error {
	if s.fault != nil {
		return s.fault
	}
	s.affected = s.affected[:0]
	for _, g := range s.dirty {
		if err := s.speedsOf(g); err != nil {
			return err
		}
	}
	s.affectCrowd()
	for _, i := range s.affected {
		s.tasks[i].seen = false
		s.changeSpeed(i)
	}
	for _, g := range s.dirty { // those that a gang slowed down are among them by now
		s.remeter(g)
		s.gpus[g].dirty = false
	}
	s.dirty = s.dirty[:0]
	return nil
}

// speedsOf fills the speeds of a GPU's set and notes who is affected.
func (s *simulation) speedsOf(g int) error {
	gpu := &s.gpus[g]
	gpu.setSince, gpu.view.Since = s.now, s.now
	s.set = s.set[:0]
	for _, t := range gpu.view.Set {
		r := &s.tasks[t.Index]
		s.set = append(s.set, r.task)
		if !r.seen {
			r.seen = true
			s.affected = append(s.affected, t.Index)
		}
	}
	if len(s.set) == 0 {
		return nil
	}
	if err := speeds(s.o.Truth, gpu.view.GPU, gpu.view.Mechanism, s.set, gpu.speeds); err != nil {
		return err
	}
	if len(s.set) == 1 {
		gpu.solo[0] = gpu.speeds[0]
	}
	for k := range gpu.solo {
		if gpu.solo[k] < 0 {
			if err := speeds(s.o.Truth, gpu.view.GPU, profile.Exclusive, s.set[k:k+1], gpu.solo[k:k+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeSpeed gives a task the speed of its slowest GPU.
func (s *simulation) changeSpeed(i int) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	speed := math.Inf(1)
	for _, g := range v.On {
		gpu := &s.gpus[g]
		for k, t := range gpu.view.Set {
			if t == v {
				speed = min(speed, gpu.speeds[k])
			}
		}
	}
	if len(v.On) == 0 {
		speed = 1
	}
	speed *= s.cores(v)
	if speed == r.speed {
		return
	}
	fresh := r.speed == 0
	s.settle(r)
	r.speed = speed
	s.forecast(i)
	if len(v.On) > 1 || s.o.ShareCPU {
		for _, g := range v.On {
			s.markDirty(g)
		}
	}
	if !fresh || speed != 1 {
		s.tell(Event{Kind: SpeedChange, Index: i, Speed: speed})
	}
}

// crowd notes that what the tasks of a machine want of its cores changes: what was
// measured until now is told, and measured anew from now on.
func (s *simulation) crowd(n *NodeView) {
	if !s.o.ShareCPU || slices.Contains(s.crowded, n.Index) {
		return
	}
	s.crowded = append(s.crowded, n.Index)
	for g := n.First; g < n.First+n.Count; g++ {
		s.observe(g, nil)
		s.gpus[g].setSince = s.now
	}
}

// affectCrowd adds the tasks of machines whose cores are shared otherwise than before
// to those that are affected.
func (s *simulation) affectCrowd() {
	if len(s.crowded) == 0 {
		return
	}
	for i := range s.state.running.All() {
		v := &s.state.tasks[i]
		on := func(g int) bool { return slices.Contains(s.crowded, s.state.gpus[g].Node) }
		if !s.tasks[i].seen && (slices.ContainsFunc(v.On, on) || v.HostOnly && slices.Contains(s.crowded, v.Node)) {
			s.affected = append(s.affected, i)
		}
	}
	s.crowded = s.crowded[:0]
}

// cores is the part of the cores that a task wants which its machine gives it, the
// least of those of a gang.
func (s *simulation) cores(v *TaskView) float64 {
	part := 1.0
	if !s.o.ShareCPU || v.CPU == 0 {
		return part
	}
	of := func(n *NodeView) {
		if n.CPU < 0 {
			part = min(part, n.TotalCPU/(n.TotalCPU-n.CPU))
		}
	}
	if v.HostOnly {
		of(&s.state.nodes[v.Node])
	}
	for _, g := range v.On {
		of(&s.state.nodes[s.state.gpus[g].Node])
	}
	return part
}

// remeter says what a GPU uses from now on:
//
//	busy = min(1, Σ busy(i) · speed(i) / solo(i)),  watts = idle + (full - idle) · busy
func (s *simulation) remeter(g int) {
	s.charge(g)
	gpu := &s.gpus[g]
	busy, band, warps := 0.0, 0.0, 0.0
	whole := false
	for k, t := range gpu.view.Set {
		r := &s.tasks[t.Index]
		part := 1.0
		if gpu.solo[k] > 0 {
			part = min(1, r.speed/gpu.solo[k])
		}
		b := r.task.Busy
		if b == 0 {
			b = 1
		}
		busy += float64(b * part)
		band += float64(r.task.Bandwidth * part)
		warps += float64(r.task.Occupancy * part)
		whole = whole || t.Share == 0
	}
	gpu.busy = min(1, busy)
	gpu.watts = gpu.view.watts(gpu.busy)
	gpu.view.Busy, gpu.view.Bandwidth, gpu.view.Occupancy = gpu.busy, min(1, band), min(1, warps)
	gpu.occupied = len(gpu.view.Set) > 0
	gpu.taken = min(1, gpu.view.Share)
	if whole {
		gpu.taken = 1
	}
}

// charge adds to the integrals what a GPU used since it last changed.
func (s *simulation) charge(g int) {
	gpu := &s.gpus[g]
	dt := float64(s.now-gpu.since) / float64(time.Second)
	gpu.since = s.now
	m := &s.meter
	m.energy += float64(gpu.watts * dt)
	m.busy += float64(gpu.busy * dt)
	m.taken += float64(gpu.taken * dt)
	if gpu.occupied {
		m.occupied += dt
	}
}

// observe tells a learning scheduler what was measured of the set of g, which is
// about to change; died is the member that ran out of memory, or nil.
func (s *simulation) observe(g int, died *TaskView) {
	gpu := &s.gpus[g]
	ran := s.now - gpu.setSince
	if s.learner == nil || len(gpu.view.Set) == 0 || died == nil && (gpu.dirty || ran < s.o.ObserveAfter) {
		return // a dirty set did not run yet
	}
	gpu.setSince = s.now // it is told once
	s.dst = s.dst[:0]
	for k, x := range gpu.speeds {
		x *= s.cores(gpu.view.Set[k])
		if s.o.ObserveError > 0 {
			seed := s.o.Seed + uint64(s.now) + uint64(g)<<40 + uint64(k)<<56
			x *= draw.Lognormal(draw.Mix(seed), s.o.ObserveError)
		}
		s.dst = append(s.dst, x)
	}
	s.obs = CoRun{
		GPU: gpu.view, Mechanism: gpu.view.Mechanism, Set: gpu.view.Set, Speeds: s.dst, For: ran, OutOfMemory: died,
	}
	if err := s.learner.Observe(&s.obs); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("sim: policy %s at %v: %w", s.policy.Name(), s.now, err)
	}
}
