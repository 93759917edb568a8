package sim

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim/internal/agenda"
	"example.com/colloc/profile"
)

// start places a task; the placement is possible.
func (s *simulation) start(v *TaskView, p *Launch) {
	st, r := &s.state, &s.tasks[v.Index]
	st.waiting.Remove(v.Index)
	st.running.Push(v.Index)
	r.waited += s.now - v.Since
	v.status, v.Since = running, s.now
	v.On = append(v.On[:0], p.GPUs...)
	r.last, r.ready, r.speed = s.now, s.now, 0
	mech, reserve := p.Mechanism, p.Reserve.Or(v.Reserve)
	if mech == profile.Exclusive {
		mech = profile.TimeSlice
	}
	over := false
	for _, g := range p.GPUs {
		gpu := &s.gpus[g]
		s.observe(g, nil)
		s.markDirty(g)
		view := gpu.view
		view.Set = append(view.Set, v)
		gpu.speeds, gpu.solo = append(gpu.speeds, 0), append(gpu.solo, -1)
		view.Mechanism, view.Reserved, view.Share = mech, view.Reserved+reserve, view.Share+v.Share
		gpu.used = addBytes(gpu.used, r.task.Memory)
		view.Used = min(gpu.used, view.Total)
		over = over || gpu.used > view.Total
		st.setIdle(view)
	}
	v.reserved = reserve
	v.Node = p.Node
	s.takeHost(v, -1)
	kind := Start
	if r.lost {
		kind, r.lost = Recovery, false
	}
	if r.first < 0 {
		r.first = s.now
	}
	if over {
		r.oom = agenda.Later(s.now, s.o.OOMAfter)
	}
	if s.o.Checkpoint > 0 {
		r.checkpoint = agenda.Later(s.now, s.o.Checkpoint)
	}
	if !s.o.RestartAll {
		s.pause(v.Index)
	}
	if v.HostOnly {
		r.speed = 1
	}
	s.forecast(v.Index)
	s.tell(Event{Kind: kind, Index: v.Index})
}

// addBytes adds without wrapping around.
func addBytes(a, b profile.Bytes) profile.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// takeHost gives (sign 1) or takes (-1) CPU and host memory.
func (s *simulation) takeHost(v *TaskView, sign float64) {
	if v.CPU == 0 && v.HostMemory == 0 {
		return
	}
	take := func(n *NodeView, part float64) {
		s.crowd(n)
		if n.CPU < math.MaxFloat64 {
			n.CPU += float64(sign * float64(v.CPU*part))
		}
		if n.Memory < math.MaxInt64 {
			n.Memory += profile.Bytes(sign * math.Ceil(float64(v.HostMemory)*part))
		}
	}
	if v.HostOnly {
		take(&s.state.nodes[v.Node], 1)
		return
	}
	for _, g := range v.On {
		take(&s.state.nodes[s.state.gpus[g].Node], 1/float64(len(v.On)))
	}
}

// pause lets a task that starts make no progress during its start-up; where
// every decision restarts all, during that of its whole set.
func (s *simulation) pause(i int) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	startup := r.task.Startup
	if r.first == s.now && !s.o.RestartAll {
		startup = agenda.Later(startup, r.task.Profiling)
	}
	if s.o.RestartAll && len(v.On) > 0 {
		startup = 0
		for _, t := range s.state.gpus[v.On[0]].Set {
			startup = agenda.Later(startup, s.tasks[t.Index].task.Startup)
		}
	}
	r.ready = agenda.Later(s.now, startup)
	s.forecast(i)
}

// leave takes a running task off its GPUs.
func (s *simulation) leave(i int) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	s.settle(r)
	s.state.running.Remove(i)
	v.Attained += (s.now - v.Since) * time.Duration(max(1, len(v.On)))
	for _, g := range v.On {
		gpu := &s.gpus[g]
		s.observe(g, nil)
		s.markDirty(g)
		view := gpu.view
		k := slices.Index(view.Set, v)
		view.Set = append(view.Set[:k], view.Set[k+1:]...)
		gpu.speeds = append(gpu.speeds[:k], gpu.speeds[k+1:]...)
		gpu.solo = append(gpu.solo[:k], gpu.solo[k+1:]...)
		view.Reserved -= v.reserved
		view.Share = max(0, view.Share-v.Share)
		gpu.used = 0
		for _, t := range view.Set {
			gpu.used = addBytes(gpu.used, s.tasks[t.Index].task.Memory)
		}
		view.Used = min(gpu.used, view.Total)
		if len(view.Set) == 0 {
			view.Share = 0
		}
		s.state.setIdle(view)
	}
	s.takeHost(v, 1)
	s.state.freed = true
	r.speed, r.finish, r.oom = 0, agenda.Never, agenda.Never
	s.timers.Set(i, agenda.Never)
}

// end is the end of a task's life.
func (s *simulation) end(i int, as status, kind EventKind) {
	v := &s.state.tasks[i]
	if v.status == running {
		s.leave(i)
	} else { // it was about to wait again
		s.state.waiting.Remove(i)
		s.state.arrived = slices.DeleteFunc(s.state.arrived, func(t *TaskView) bool { return t == v })
	}
	s.tell(Event{Kind: kind, Index: i})
	v.status = as
	v.On = v.On[:0]
	s.state.ended = append(s.state.ended, v)
	s.meter.gone(s.now, &s.tasks[i].integral)
	s.record(i)
	for _, held := range s.gate.End(v.User, s.tasks[i].task.gpus()) {
		s.admit(held)
	}
}

// stop takes a task off its GPUs to wait again.
func (s *simulation) stop(i int, kind EventKind) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	s.leave(i)
	switch kind {
	case Preemption:
		r.saved = r.done
	default:
		s.meter.wasted += r.done - r.saved
		r.done, r.lost = r.saved, true
	}
	s.tell(Event{Kind: kind, Index: i, Memory: s.needed, Total: s.total})
	s.needed, s.total = 0, 0
	v.On = v.On[:0]
	s.wait(i)
}

// checkpoint saves a task's progress.
func (s *simulation) checkpoint(i int) {
	r := &s.tasks[i]
	s.settle(r)
	r.saved = r.done
	r.ready = max(r.ready, agenda.Later(s.now, s.o.CheckpointCost))
	r.checkpoint = agenda.Later(s.now, s.o.Checkpoint)
	s.tell(Event{Kind: Checkpoint, Index: i})
	s.forecast(i)
}

// outOfMemory lets a task die if its memory still does not fit.
func (s *simulation) outOfMemory(i int) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	r.oom = agenda.Never
	for _, g := range v.On {
		gpu := &s.gpus[g]
		if gpu.used <= gpu.view.Total {
			continue
		}
		s.observe(g, v)
		v.Deaths++
		s.needed, s.total = gpu.used, gpu.view.Total
		s.stop(i, OutOfMemory)
		if v.Deaths >= s.o.MaxFailures {
			s.end(i, failed, Failure)
		}
		return
	}
	s.rearm(i)
}
