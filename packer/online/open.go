package online

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
)

// NewSession starts a session on gpus, whose residents run already: they may
// finish and count like tasks that arrived first. The errors are those of
// [packer.Problem.Validate] and of the Model.
//
// Tasks share by time-slicing or MPS. A session does not cut GPUs: whoever comes
// first would settle the layout, because instances cannot change size under
// running tasks. A MIG instance is a GPU of its own; where a GPU is to be cut
// anew, Fail its empty instances and AddGPU others.
func NewSession(gpus []packer.GPU, model packer.Model, limits packer.Limits, o *SessionOptions) (*Session, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	threshold := o.Threshold.Or(DefaultThreshold)
	if !(threshold >= 0 && threshold <= 1) {
		return nil, fmt.Errorf("packer: session: Threshold is %v; want a fraction in [0, 1]", threshold)
	}
	s := &Session{
		p:         packer.Problem{Model: model, Limits: limits},
		threshold: threshold,
		stays:     o.Stays,
		jobs:      map[string]*job{},
		kinds:     map[kindKey]*kind{},
	}
	if err := check(gpus, model, limits); err != nil {
		return nil, err
	}
	_, s.batch = model.(packer.BatchModel)
	_, s.paced = model.(packer.PaceModel)
	for g := range gpus {
		if err := s.addCard(&gpus[g]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// check reports what is wrong with new GPUs.
func check(gpus []packer.GPU, model packer.Model, limits packer.Limits) error {
	if err := (&packer.Problem{GPUs: gpus, Model: model, Limits: limits}).Validate(); err != nil {
		return err
	}
	for i := range gpus {
		if slices.Contains(gpus[i].Mechanisms, profile.MIG) {
			return fmt.Errorf("packer: session: GPU %q: a session does not make MIG instances; list those that there are as GPUs of their own", gpus[i].ID)
		}
	}
	return nil
}

// addCard appends a valid GPU with its residents.
func (s *Session) addCard(gpu *packer.GPU) error {
	g := len(s.cards)
	s.p.GPUs = append(s.p.GPUs, packer.GPU{})
	k := s.enroll(g, gpu)
	s.cards = append(s.cards, card{class: int32(k), lead: none})
	s.open = append(s.open, 0)
	c := &s.cards[g]
	for i := range gpu.Residents {
		j := s.newJob(&gpu.Residents[i])
		j.gpu = int32(g)
		c.set = append(c.set, j)
		c.used += j.task.Memory
	}
	return s.refresh(g)
}

// AddGPU takes a new GPU into service, with residents that run already, and
// returns the tasks of the queue that start on it. Its index is the number of
// GPUs before. The slice is valid until the next call. Where the Model fails for
// the residents the GPU is there and takes no tasks, see [Session.Finish].
func (s *Session) AddGPU(gpu packer.GPU) ([]Decision, error) {
	s.out = s.out[:0]
	if err := check([]packer.GPU{gpu}, s.p.Model, s.p.Limits); err != nil {
		return s.out, err
	}
	for g := range s.p.GPUs {
		if s.p.GPUs[g].ID == gpu.ID {
			return s.out, fmt.Errorf("packer: session: GPU %q is there already, with index %d", gpu.ID, g)
		}
	}
	for i := range gpu.Residents {
		if id := gpu.Residents[i].ID; s.jobs[id] != nil {
			return s.out, fmt.Errorf("packer: session: GPU %q: resident %q runs or waits already", gpu.ID, id)
		}
	}
	err := s.addCard(&gpu)
	return s.out, errors.Join(err, s.drain(int32(len(s.cards)-1)))
}

// ChangeGPU makes a GPU another one from now on, at its old index: its product, memory,
// mechanisms or labels changed, as when an empty MIG instance is made anew with another
// size. What runs there stays and runs on, within the limits or not. gpu has no
// residents, and its ID is the old one or a new one. It returns the tasks of the queue
// that start on it; the slice is valid until the next call. A GPU that a gang takes
// cannot change: gangs run on equal ones. On such an error nothing changes; where the
// Model fails see [Session.Finish].
func (s *Session) ChangeGPU(index int, gpu packer.GPU) ([]Decision, error) {
	s.out = s.out[:0]
	if index < 0 || index >= len(s.cards) {
		return s.out, s.noGPU(index)
	}
	if err := check([]packer.GPU{gpu}, s.p.Model, s.p.Limits); err != nil {
		return s.out, err
	}
	c := &s.cards[index]
	if len(gpu.Residents) > 0 {
		return s.out, fmt.Errorf("packer: session: GPU %q: a GPU that changes lists no residents; what runs there stays", gpu.ID)
	}
	if c.lead != none || len(c.more) > 0 {
		return s.out, fmt.Errorf("packer: session: GPU %q: a gang takes it; finish that first", s.p.GPUs[index].ID)
	}
	for g := range s.p.GPUs {
		if g != index && s.p.GPUs[g].ID == gpu.ID {
			return s.out, fmt.Errorf("packer: session: GPU %q is there already, with index %d", gpu.ID, g)
		}
	}
	was := &s.classes[c.class]
	was.members = slices.DeleteFunc(was.members, func(g int) bool { return g == index })
	if s.isEmpty(int32(index)) {
		s.empty[c.class][index/64] &^= 1 << (index % 64)
		s.vacant[c.class]--
	}
	k := s.enroll(index, &gpu)
	s.cards[index].class = int32(k)
	return s.out, errors.Join(s.refresh(index), s.drain(int32(index)))
}

// enroll puts a GPU at an index and into its class.
func (s *Session) enroll(g int, gpu *packer.GPU) int {
	bare := *gpu
	bare.Residents, bare.Mechanisms, bare.Labels = nil, slices.Clone(gpu.Mechanisms), slices.Clone(gpu.Labels)
	s.p.GPUs[g] = bare
	k := slices.IndexFunc(s.classes, func(c class) bool { return c.gpu.Alike(&bare) })
	if k < 0 {
		k = len(s.classes)
		s.classes = append(s.classes, class{gpu: &bare, usable: s.p.Limits.Usable(bare.Total()), mechs: bare.Sharing()})
		s.empty, s.vacant = append(s.empty, nil), append(s.vacant, 0)
	}
	at, _ := slices.BinarySearch(s.classes[k].members, g)
	s.classes[k].members = slices.Insert(s.classes[k].members, at, g)
	words := (len(s.p.GPUs) + 63) / 64
	for i := range s.empty {
		s.empty[i] = append(s.empty[i], make([]uint64, words-len(s.empty[i]))...)
	}
	return k
}

// Model returns what the session judges by.
func (s *Session) Model() packer.Model {
	if s == nil {
		return nil
	}
	return s.p.Model
}

// Renew lets the session judge by another model from now on: one that has learned. What
// runs stays where it is, as it shares, and its speeds are asked for anew; the tasks of
// the queue that may start now do, and are returned. The slice is valid until the next
// call. Where the new Model fails for what runs see [Session.Finish]. No event before or
// after rests on two models. It costs what Rebalance costs to look around: every set and
// every Kind is asked about again.
func (s *Session) Renew(model packer.Model) ([]Decision, error) {
	s.out = s.out[:0]
	if model == nil {
		return s.out, errors.New("packer: session: Model is nil; it predicts the speeds that packing compares")
	}
	queue := s.queue()
	for _, j := range queue {
		s.dequeue(j)
	}
	s.p.Model = model
	_, s.batch = model.(packer.BatchModel)
	_, s.paced = model.(packer.PaceModel)
	clear(s.kinds)
	var errs error
	renew := func(j *job) {
		old := j.kind
		j.kind = s.kindOf(&j.task)
		s.release(old)
	}
	for g := range s.cards {
		for _, j := range s.cards[g].set {
			renew(j)
		}
		if len(s.cards[g].set) > 0 {
			errs = errors.Join(errs, s.refresh(g))
		}
	}
	for _, j := range queue {
		renew(j)
		s.enqueue(j)
	}
	return s.out, errors.Join(errs, s.sweep())
}

// Reweigh gives every task, running or waiting, the weight that a policy wants it
// to have from now on, sorts the queue anew, and returns the tasks that start.
// The slice is valid until the next call. A weight outside [0, 1e9] is an error
// and changes nothing; 0 means 1, as in [packer.Task].
//
// O(tasks · log tasks), and for each kind of task that waits the cost of an
// arrival.
func (s *Session) Reweigh(weight func(*packer.Task) float64) ([]Decision, error) {
	s.out = s.out[:0]
	queue := s.queue()
	all := make([]*job, 0, len(s.jobs))
	for g := range s.cards {
		all = append(all, s.cards[g].set...)
	}
	all = append(all, queue...)
	weights := make([]float64, len(all))
	for i, j := range all {
		weights[i] = weight(&j.task)
		if w := weights[i]; !(w >= 0 && w <= packer.MaxWeight) {
			return s.out, fmt.Errorf("packer: session: the weight of %q would be %v; want 0 to %g (only ratios matter: divide all by the same number)", j.task.ID, w, float64(packer.MaxWeight))
		}
	}
	for _, j := range queue {
		s.dequeue(j)
	}
	var errs error
	for i, j := range all {
		if old := j.kind; j.task.Weight != weights[i] {
			j.task.Weight = weights[i]
			j.kind = s.kindOf(&j.task)
			s.release(old)
			if j.gpu != none {
				errs = errors.Join(errs, s.revalue(int(j.gpu)))
			}
		}
	}
	for _, j := range queue {
		s.enqueue(j)
	}
	return s.out, errors.Join(errs, s.sweep())
}

// revalue takes new weights into account on a card.
func (s *Session) revalue(gpu int) (err error) {
	c := &s.cards[gpu]
	c.value = 0
	for _, j := range c.set {
		if j.worth, err = s.worthOn(j, c.class); err != nil {
			c.blind = true
			break
		}
		c.value += float64(j.worth * j.speed)
	}
	s.touch(gpu)
	return err
}

// sweep starts every waiting task that may start anywhere, in policy order.
func (s *Session) sweep() error {
	s.sweeps++
	for i := 0; i < len(s.waiting); {
		k := s.waiting[i]
		if k.swept == s.sweeps {
			i++
			continue
		}
		d, err := s.settle(k.first)
		if err != nil {
			return err
		}
		if !d.Placed {
			k.swept = s.sweeps
			continue
		}
		s.out = append(s.out, d)
		// Those that found no place before may find one on the GPU that changed.
		if err := s.drain(int32(d.GPU)); err != nil {
			return err
		}
		i = 0
	}
	return nil
}

// Snapshot returns the session as a problem and its solution: what runs are
// residents of the GPUs in service, what waits are tasks, and each of those has a
// Reason. [packer.Problem.Check] accepts the pair, and any [packer.Method] can answer the
// problem anew.
func (s *Session) Snapshot() (*packer.Problem, *packer.Solution, error) {
	p, _ := s.problem(true)
	for _, j := range s.queue() {
		p.Tasks = append(p.Tasks, j.task)
	}
	d, err := packer.Compile(p)
	if err != nil {
		return nil, nil, err
	}
	sol, err := d.Answer(context.Background(), instance.NewPlan(d.Instance), nil, "session")
	if err != nil {
		return nil, nil, err
	}
	for i := range sol.Reasons {
		if err := s.below(&sol.Reasons[i]); err != nil {
			return nil, nil, err
		}
	}
	return p, sol, nil
}

// below rewrites the reason of a task that could join others but for the
// threshold.
func (s *Session) below(r *packer.Reason) error {
	j, partner := s.jobs[r.ID], s.jobs[r.Partner]
	if r.Sharing != packer.NoPartner || partner == nil || partner.gpu == none {
		return nil
	}
	c := &s.cards[partner.gpu]
	least, err := s.least(j, c.class)
	if err != nil {
		return err
	}
	v, err := s.join(partner.gpu, j, 0)
	if v.gain > 0 {
		r.Sharing, r.Shared = packer.NoGain, v.total
		r.Apart = c.value + float64(j.task.EffectiveWeight()*j.kind.scale*float64(least)/instance.Resolution)
	}
	return err
}

// problem returns the GPUs in service with what runs as residents, and the
// session's index of each; with or without those for which the model failed.
func (s *Session) problem(blind bool) (p *packer.Problem, at []int) {
	p = &packer.Problem{Model: s.p.Model, Limits: s.p.Limits}
	for g := range s.cards {
		c := &s.cards[g]
		if c.down || c.lead != none || c.blind && !blind {
			continue
		}
		gpu := s.p.GPUs[g]
		for _, j := range c.set {
			gpu.Residents = append(gpu.Residents, j.task)
		}
		if len(c.set) > 1 {
			gpu.Mechanisms = s.mechanisms(c)
			if gpu.Mechanisms == nil { // the residents of a GPU that nobody may join
				gpu.Mechanisms = []profile.Mechanism{profile.Exclusive}
			}
		}
		p.GPUs = append(p.GPUs, gpu)
		at = append(at, g)
	}
	return p, at
}

// queue returns the waiting jobs in policy order.
func (s *Session) queue() []*job {
	var all []*job
	for _, k := range s.waiting {
		for j := k.first; j != nil; j = j.next {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.kind.key.weight, a.kind.key.weight), cmp.Compare(a.arrival, b.arrival))
	})
	return all
}
