package sim

// turn is a GPU that fails or returns.
func (s *simulation) turn(w worldEvent) {
	gpu := &s.gpus[w.gpu]
	switch w.kind {
	case GPULoss:
		gpu.down++
	case GPUReturn:
		gpu.down--
	default: // a wake-up
		return
	}
	s.tell(Event{Kind: w.kind, Index: -1, GPUs: []int{w.gpu}})
	v := gpu.view
	was := v.Up
	v.Up = gpu.down == 0
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
}
