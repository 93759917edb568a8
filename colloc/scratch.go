package colloc

import (
	"example.com/colloc/predict"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// scratch is the working memory of one call of Fit, Score or the packer's
// model. It is pooled, so that a scheduler that asks thousands of times a
// second leaves no garbage.
type scratch struct {
	gpu    profile.GPUModel
	set    []*profile.Profile
	filled []profile.Profile // members of set whose use was predicted
	speeds []float64
	paces  []float64        // of set
	own    predict.Estimate // pace of the task
	card   pace.Comparison
}

func (p *Planner) acquire() *scratch {
	s, ok := p.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	return s
}

// reset forgets what the scratch points to.
func (s *scratch) reset() {
	clear(s.set)
	clear(s.filled)
	s.gpu = profile.GPUModel{}
	s.set, s.filled, s.speeds, s.paces = s.set[:0], s.filled[:0], s.speeds[:0], s.paces[:0]
}

// release empties the scratch and gives it back.
func (p *Planner) release(s *scratch) {
	s.reset()
	p.scratch.Put(s)
}

// load puts the residents of a GPU and the task into the scratch, completed
// with predicted use where nobody observed it and with their paces. It returns the
// weakest source.
func (p *Planner) load(s *scratch, task *Task, gpu *GPU, by scale) predict.SourceKind {
	s.gpu = gpu.Model
	n := len(gpu.Residents) + 1
	if cap(s.filled) < n {
		s.filled = make([]profile.Profile, n)
	}
	s.filled = s.filled[:n]
	weakest := predict.Measured
	if !by.equal {
		s.card = p.config.Pace.Compare(&s.gpu, by.reference)
	}
	for i := range n {
		t := task
		if i < len(gpu.Residents) {
			t = &gpu.Residents[i]
		}
		s.paces = append(s.paces, p.paceValue(t, gpu, by, &s.card))
		member, kind := p.complete(&s.filled[i], t.on(&s.gpu), &s.gpu)
		s.set = append(s.set, member)
		weakest = min(weakest, kind)
	}
	s.own = p.pace(task, gpu, by)
	s.paces[n-1] = s.own.Value
	return weakest
}
