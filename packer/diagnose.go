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
	d        *compiled
	pl       *plan
	pair     [2]int32
	partners []int32   // tasks that might share, least memory first
	single   [][]int64 // value of each partner alone on each free class, once asked
	waiting  bool      // some task that fits a GPU is not placed
}

// reasons explains every task that pl leaves out or alone; if stopped, with no
// questions about partners. O(tasks · classes ·
// maxPartners) questions to the model at most.
func (d *compiled) reasons(e *evaluator, pl *plan, stopped bool) ([]Reason, error) {
	x := &diagnosis{evaluator: e, d: d, pl: pl}
	in := d.instance
	for i := range in.tasks {
		if !in.tasks[i].alone {
			x.partners = append(x.partners, int32(i))
		}
		x.waiting = x.waiting || pl.gpu[i] == none && fitsSomewhere(in, int32(i))
	}
	slices.SortStableFunc(x.partners, func(a, b int32) int { return cmp.Compare(in.tasks[a].memory, in.tasks[b].memory) })
	limit := max(minPartners, min(maxPartners, maxTries/max(1, len(in.tasks))))
	x.partners = x.partners[:min(len(x.partners), limit+1)]
	x.single = make([][]int64, in.free)
	company := d.company(pl)
	var out []Reason
	for i := range in.tasks {
		if g := pl.gpu[i]; g != none && (company[g] > 1 || stopped) {
			continue
		}
		r, err := x.explain(int32(i), stopped)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Compare(a.Task, b.Task) })
	return out, nil
}

func fitsSomewhere(in *instance, i int32) bool {
	return slices.ContainsFunc(in.classes, func(c class) bool { return in.tasks[i].memory <= c.usable-c.used && in.hosts(&c, i) })
}

func (x *diagnosis) explain(i int32, stopped bool) (Reason, error) {
	in, t := x.in, x.d.who[i]
	r := Reason{Task: in.origin[i], ID: t.ID, Memory: t.Memory, Placed: x.pl.gpu[i] != none}
	hosted := false
	for k := range in.classes {
		if c := &in.classes[k]; in.hosts(c, i) {
			r.Largest, hosted = max(r.Largest, c.usable-c.used), true
		}
	}
	if r.Placed {
		return r, x.whyAlone(i, &r)
	}
	switch {
	case len(in.classes) == 0:
		r.Code, r.GPUs = NoGPU, 1
	case !hosted:
		r.Code = WrongGPU
	case !fitsSomewhere(in, i):
		r.Code, r.Short = TooLarge, t.Memory-r.Largest
	case stopped:
		r.Code = Stopped
	default:
		return r, x.whyWaiting(i, &r)
	}
	return r, nil
}

// whyWaiting explains a task that would fit a GPU and has none.
func (x *diagnosis) whyWaiting(i int32, r *Reason) error {
	t := x.d.who[i]
	var best verdict
	runs, short := false, false
	for k := range x.in.free {
		v, err := x.alone(&x.in.classes[k], i)
		if err != nil {
			return err
		}
		runs = runs || v.code == 0
		short = short || v.code == tooFewGPUs
		if v.code == tooSlow && v.speed >= best.speed {
			best = v
		}
	}
	if missing := t.gpus() - x.d.mostAlike(t); !runs && short && missing > 0 {
		r.Code, r.GPUs = TooFewGPUs, missing
		return nil
	}
	if !runs && best.code == tooSlow {
		r.Code, r.Speed, r.Limit, r.Slow = SpeedLimit, best.speed, t.MinSpeed, t.ID
		return nil
	}
	r.Code, r.GPUs = GPUsTaken, t.gpus()
	s, err := x.nearest(i, 0, len(x.in.classes))
	if err != nil {
		return err
	}
	r.Sharing = s.reason()
	s.fill(x.d, r)
	if s.code == 0 {
		r.Sharing = NoPartner
	}
	return nil
}

// whyAlone explains a task that has a GPU to itself.
func (x *diagnosis) whyAlone(i int32, r *Reason) error {
	k := x.in.byGPU[x.pl.gpu[i]]
	s, err := x.nearest(i, k, k+1)
	if err != nil {
		return err
	}
	r.Code = s.reason()
	s.fill(x.d, r)
	switch {
	case s.partner == none || s.code != 0:
	case x.waiting:
		r.Code = NoPartner
	default:
		r.Code = OwnGPU
		r.Shared, r.Apart = x.in.value(s.total), x.in.value(s.apart)
	}
	return nil
}

// sharingChance is the best way found for a task to share.
type sharingChance struct {
	verdict
	partner int32 // none: the task has none
	apart   int64 // value of both alone
}

// reason returns the limit that binds as those who read a Reason know it; 0 is none.
func (s *sharingChance) reason() ReasonCode {
	if s.partner == none && s.code == 0 {
		return NoPartner
	}
	return [...]ReasonCode{0, WrongGPU, TooFewGPUs, GangSize, SetFull, MustBeAlone, Incompatible, MemoryLimit, SpeedLimit, NoGain}[s.code]
}

func (s *sharingChance) fill(d *compiled, r *Reason) {
	if s.partner != none {
		r.Partner = d.who[s.partner].ID
	}
	r.Short = s.short
	switch s.code {
	case tooSlow:
		r.Slow, r.Speed, r.Limit = d.who[s.member].ID, s.speed, s.limit
	case noGain:
		r.Shared, r.Apart = d.value(s.total), d.value(s.ref)
	default:
	}
}

// nearest returns the pair of task i with another task on a free class of
// [from, to), or with the residents of an occupied one, that comes nearest to
// being allowed.
func (x *diagnosis) nearest(i int32, from, to int) (sharingChance, error) {
	in, best := x.in, sharingChance{partner: none}
	if in.tasks[i].alone {
		best.code = mustBeAlone
		return best, nil
	}
	for k := from; k < to; k++ {
		c := &in.classes[k]
		if k >= in.free {
			v, err := x.together(c, []int32{i}, c.base)
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, c.residents[0], 0})
			continue
		}
		single, err := x.alone(c, i)
		if err != nil {
			return best, err
		}
		others, err := x.singlesOf(k)
		if err != nil {
			return best, err
		}
		for n, j := range x.partners {
			if j == i {
				continue
			}
			x.pair[0], x.pair[1] = i, j
			v, err := x.together(c, x.pair[:], max(single.units, others[n]))
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, j, single.units + others[n]})
		}
	}
	return best, nil
}

// singlesOf returns what each partner is worth alone on free class k.
func (x *diagnosis) singlesOf(k int) ([]int64, error) {
	if x.single[k] == nil {
		x.single[k] = make([]int64, len(x.partners))
		for n, j := range x.partners {
			v, err := x.alone(&x.in.classes[k], j)
			if err != nil {
				return nil, err
			}
			x.single[k][n] = v.units
		}
	}
	return x.single[k], nil
}

// offer keeps the better of two chances; the earlier on ties.
func (s *sharingChance) offer(o sharingChance) {
	if s.partner == none || o.near() > s.near() || o.near() == s.near() && o.closer(s) {
		*s = o
	}
}

// near says how near the set is to being allowed.
func (s *sharingChance) near() refusal {
	if s.code == 0 {
		return noGain + 1
	}
	return s.code
}

func (s *sharingChance) closer(o *sharingChance) bool {
	switch s.code {
	case noMemory:
		return s.short < o.short
	case tooSlow:
		return s.speed-s.limit > o.speed-o.limit
	default:
		return s.total-s.ref > o.total-o.ref
	}
}

// mostAlike returns how many GPUs there are of one type that hosts t, whatever
// runs there.
func (d *compiled) mostAlike(t *Task) int {
	most := 0
	for _, gpu := range d.cards {
		n := 0
		for o, other := range d.cards {
			if other.Type == gpu.Type && other.memory() == gpu.memory() && other.hosts(t) {
				n += len(d.classes[o].members)
			}
		}
		most = max(most, n)
	}
	return most
}
