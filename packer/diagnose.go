package packer

import (
	"cmp"
	"slices"
)

// A diagnosis tries up to maxPartners partners for each task; where there are
// so many tasks that this exceeds maxTries pairs, fewer, but minPartners.
const (
	maxPartners = 64
	minPartners = 4
	maxTries    = 1 << 18
)

// diagnosis finds the reasons for a plan.
type diagnosis struct {
	*evaluator
	pl       *plan
	pair     [2]*Task
	partners []int32   // tasks that might share, least memory first
	single   [][]int64 // value of each partner alone on each free class, once asked
	waiting  bool      // some task that fits a GPU is not placed
}

// reasons explains every task that pl leaves out or alone; if stopped, with no
// questions about partners. O(tasks · classes ·
// maxPartners) questions to the model at most.
func (e *evaluator) reasons(pl *plan, stopped bool) ([]Reason, error) {
	d := &diagnosis{evaluator: e, pl: pl}
	in := e.in
	for i, t := range in.tasks {
		if !t.Alone {
			d.partners = append(d.partners, int32(i))
		}
		d.waiting = d.waiting || pl.gpu[i] == none && in.fitsSomewhere(t)
	}
	slices.SortStableFunc(d.partners, func(a, b int32) int { return cmp.Compare(in.tasks[a].Memory, in.tasks[b].Memory) })
	limit := max(minPartners, min(maxPartners, maxTries/max(1, len(in.tasks))))
	d.partners = d.partners[:min(len(d.partners), limit+1)]
	d.single = make([][]int64, in.free)
	company := pl.company(in)
	var out []Reason
	for i := range in.tasks {
		if g := pl.gpu[i]; g != none && (company[g] > 1 || stopped) {
			continue
		}
		r, err := d.explain(i, stopped)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Compare(a.Task, b.Task) })
	return out, nil
}

func (in *instance) fitsSomewhere(t *Task) bool {
	return slices.ContainsFunc(in.classes, func(c class) bool { return t.Memory <= c.usable-c.used && c.gpu.hosts(t) })
}

func (d *diagnosis) explain(i int, stopped bool) (Reason, error) {
	in, t := d.in, d.in.tasks[i]
	r := Reason{Task: in.origin[i], ID: t.ID, Memory: t.Memory, Placed: d.pl.gpu[i] != none}
	hosted := false
	for k := range in.classes {
		if c := &in.classes[k]; c.gpu.hosts(t) {
			r.Largest, hosted = max(r.Largest, c.usable-c.used), true
		}
	}
	if r.Placed {
		return r, d.whyAlone(i, &r)
	}
	switch {
	case len(in.classes) == 0:
		r.Code, r.GPUs = NoGPU, 1
	case !hosted:
		r.Code = WrongGPU
	case !in.fitsSomewhere(t):
		r.Code, r.Short = TooLarge, t.Memory-r.Largest
	case stopped:
		r.Code = Stopped
	default:
		return r, d.whyWaiting(i, &r)
	}
	return r, nil
}

// whyWaiting explains a task that would fit a GPU and has none.
func (d *diagnosis) whyWaiting(i int, r *Reason) error {
	t := d.in.tasks[i]
	var best verdict
	runs, short := false, false
	for k := range d.in.free {
		v, err := d.alone(&d.in.classes[k], t)
		if err != nil {
			return err
		}
		runs = runs || v.code == 0
		short = short || v.code == TooFewGPUs
		if v.code == SpeedLimit && v.speed >= best.speed {
			best = v
		}
	}
	if missing := t.gpus() - d.in.mostAlike(t); !runs && short && missing > 0 {
		r.Code, r.GPUs = TooFewGPUs, missing
		return nil
	}
	if !runs && best.code == SpeedLimit {
		r.Code, r.Speed, r.Limit, r.Slow = SpeedLimit, best.speed, t.MinSpeed, t.ID
		return nil
	}
	r.Code, r.GPUs = GPUsTaken, t.gpus()
	s, err := d.nearest(i, 0, len(d.in.classes))
	if err != nil {
		return err
	}
	r.Sharing = s.code
	s.fill(d.in, r)
	if s.code == 0 {
		r.Sharing = NoPartner
	}
	return nil
}

// whyAlone explains a task that has a GPU to itself.
func (d *diagnosis) whyAlone(i int, r *Reason) error {
	k := d.in.classOf(int(d.pl.gpu[i]))
	s, err := d.nearest(i, k, k+1)
	if err != nil {
		return err
	}
	r.Code = s.code
	s.fill(d.in, r)
	switch {
	case s.code != 0:
	case d.waiting:
		r.Code = NoPartner
	default:
		r.Code = OwnGPU
		r.Shared, r.Apart = d.in.value(s.total), d.in.value(s.apart)
	}
	return nil
}

// sharingChance is the best way found for a task to share.
type sharingChance struct {
	verdict
	partner *Task
	apart   int64 // value of both alone
}

func (s *sharingChance) fill(in *instance, r *Reason) {
	if s.partner != nil {
		r.Partner = s.partner.ID
	}
	r.Short = s.short
	switch s.code {
	case SpeedLimit:
		r.Slow, r.Speed, r.Limit = s.member.ID, s.speed, s.member.MinSpeed
	case NoGain:
		r.Shared, r.Apart = in.value(s.total), in.value(s.ref)
	default:
	}
}

// nearest returns the pair of task i with another task on a free class of
// [from, to), or with the residents of an occupied one, that comes nearest to
// being allowed.
func (d *diagnosis) nearest(i, from, to int) (sharingChance, error) {
	in, t := d.in, d.in.tasks[i]
	best := sharingChance{verdict: verdict{code: NoPartner}}
	if t.Alone {
		return sharingChance{verdict: verdict{code: MustBeAlone}}, nil
	}
	for k := from; k < to; k++ {
		c := &in.classes[k]
		if k >= in.free {
			v, err := d.together(c, []*Task{t}, c.base)
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, c.residents[0], 0})
			continue
		}
		single, err := d.alone(c, t)
		if err != nil {
			return best, err
		}
		others, err := d.singlesOf(k)
		if err != nil {
			return best, err
		}
		for n, j := range d.partners {
			if int(j) == i {
				continue
			}
			d.pair[0], d.pair[1] = t, in.tasks[j]
			v, err := d.together(c, d.pair[:], max(single.units, others[n]))
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, in.tasks[j], single.units + others[n]})
		}
	}
	return best, nil
}

// singlesOf returns what each partner is worth alone on free class k.
func (d *diagnosis) singlesOf(k int) ([]int64, error) {
	if d.single[k] == nil {
		d.single[k] = make([]int64, len(d.partners))
		for n, j := range d.partners {
			v, err := d.alone(&d.in.classes[k], d.in.tasks[j])
			if err != nil {
				return nil, err
			}
			d.single[k][n] = v.units
		}
	}
	return d.single[k], nil
}

// offer keeps the better of two chances; the earlier on ties.
func (s *sharingChance) offer(o sharingChance) {
	if s.partner == nil || rank(o.code) > rank(s.code) || rank(o.code) == rank(s.code) && o.closer(s) {
		*s = o
	}
}

func (s *sharingChance) closer(o *sharingChance) bool {
	switch s.code {
	case MemoryLimit:
		return s.short < o.short
	case SpeedLimit:
		return s.speed-s.member.MinSpeed > o.speed-o.member.MinSpeed
	default:
		return s.total-s.ref > o.total-o.ref
	}
}

// rank orders limits by how near a set is to being allowed.
func rank(code ReasonCode) int {
	return slices.Index([]ReasonCode{WrongGPU, TooFewGPUs, GangSize, SetFull, MustBeAlone, Incompatible, MemoryLimit, SpeedLimit, NoGain, 0}, code)
}
