package packer

import (
	"cmp"
	"slices"

	"example.com/colloc/packer/internal/instance"
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
	*instance.Evaluator
	d        *Compiled
	pl       *instance.Plan
	pair     [2]int32
	partners []int32   // tasks that might share, least memory first
	single   [][]int64 // value of each partner alone on each free class, once asked
	waiting  bool      // some task that fits a GPU is not placed
}

// reasons explains every task that pl leaves out or alone; if stopped, with no
// questions about partners. O(tasks · classes ·
// maxPartners) questions to the model at most.
func (d *Compiled) reasons(e *instance.Evaluator, pl *instance.Plan, stopped bool) ([]Reason, error) {
	x := &diagnosis{Evaluator: e, d: d, pl: pl}
	in := d.Instance
	for i := range in.Tasks {
		if !in.Tasks[i].Alone {
			x.partners = append(x.partners, int32(i))
		}
		x.waiting = x.waiting || pl.Gpu[i] == none && fitsSomewhere(in, int32(i))
	}
	slices.SortStableFunc(x.partners, func(a, b int32) int { return cmp.Compare(in.Tasks[a].Memory, in.Tasks[b].Memory) })
	limit := max(minPartners, min(maxPartners, maxTries/max(1, len(in.Tasks))))
	x.partners = x.partners[:min(len(x.partners), limit+1)]
	x.single = make([][]int64, in.Free)
	company := d.company(pl)
	var out []Reason
	for i := range in.Tasks {
		if g := pl.Gpu[i]; g != none && (company[g] > 1 || stopped) {
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

func fitsSomewhere(in *instance.Instance, i int32) bool {
	return slices.ContainsFunc(in.Classes, func(c instance.Class) bool { return in.Tasks[i].Memory <= c.Usable-c.Used && in.Hosts(&c, i) })
}

func (x *diagnosis) explain(i int32, stopped bool) (Reason, error) {
	in, t := x.In, x.d.door.who[i]
	r := Reason{Task: in.Origin[i], ID: t.ID, Memory: t.Memory, Placed: x.pl.Gpu[i] != none}
	hosted := false
	for k := range in.Classes {
		if c := &in.Classes[k]; in.Hosts(c, i) {
			r.Largest, hosted = max(r.Largest, c.Usable-c.Used), true
		}
	}
	if r.Placed {
		return r, x.whyAlone(i, &r)
	}
	switch {
	case len(in.Classes) == 0:
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
	t := x.d.door.who[i]
	var best instance.Verdict
	runs, short := false, false
	for k := range x.In.Free {
		v, err := x.Alone(&x.In.Classes[k], i)
		if err != nil {
			return err
		}
		runs = runs || v.Code == 0
		short = short || v.Code == instance.TooFewGPUs
		if v.Code == instance.TooSlow && v.Speed >= best.Speed {
			best = v
		}
	}
	if missing := t.Width() - x.d.mostAlike(t); !runs && short && missing > 0 {
		r.Code, r.GPUs = TooFewGPUs, missing
		return nil
	}
	if !runs && best.Code == instance.TooSlow {
		r.Code, r.Speed, r.Limit, r.Slow = SpeedLimit, best.Speed, t.MinSpeed, t.ID
		return nil
	}
	r.Code, r.GPUs = GPUsTaken, t.Width()
	s, err := x.nearest(i, 0, len(x.In.Classes))
	if err != nil {
		return err
	}
	r.Sharing = s.reason()
	s.fill(x.d, r)
	if s.Code == 0 {
		r.Sharing = NoPartner
	}
	return nil
}

// whyAlone explains a task that has a GPU to itself.
func (x *diagnosis) whyAlone(i int32, r *Reason) error {
	k := x.In.ByGPU[x.pl.Gpu[i]]
	s, err := x.nearest(i, k, k+1)
	if err != nil {
		return err
	}
	r.Code = s.reason()
	s.fill(x.d, r)
	switch {
	case s.partner == none || s.Code != 0:
	case x.waiting:
		r.Code = NoPartner
	default:
		r.Code = OwnGPU
		r.Shared, r.Apart = x.In.Value(s.Total), x.In.Value(s.apart)
	}
	return nil
}

// sharingChance is the best way found for a task to share.
type sharingChance struct {
	instance.Verdict
	partner int32 // none: the task has none
	apart   int64 // value of both alone
	tried   bool  // they ran together, and lost
}

// reason returns the limit that binds as those who read a Reason know it; 0 is none.
func (s *sharingChance) reason() ReasonCode {
	if s.partner == none && s.Code == 0 {
		return NoPartner
	}
	if s.tried {
		return MeasuredSlow
	}
	return [...]ReasonCode{0, WrongGPU, TooFewGPUs, GangSize, SetFull, MustBeAlone, Incompatible, MemoryLimit, SpeedLimit, NoGain}[s.Code]
}

func (s *sharingChance) fill(d *Compiled, r *Reason) {
	if s.partner != none {
		r.Partner = d.door.who[s.partner].ID
	}
	r.Short = s.Short
	switch s.Code {
	case instance.TooSlow:
		r.Slow, r.Speed, r.Limit = d.door.who[s.Member].ID, s.Speed, s.Limit
	case instance.NoGain:
		r.Shared, r.Apart = d.Value(s.Total), d.Value(s.Ref)
	default:
	}
}

// nearest returns the pair of task i with another task on a free class of
// [from, to), or with the residents of an occupied one, that comes nearest to
// being allowed.
func (x *diagnosis) nearest(i int32, from, to int) (sharingChance, error) {
	in, best := x.In, sharingChance{partner: none}
	if in.Tasks[i].Alone {
		best.Code = instance.MustBeAlone
		return best, nil
	}
	for k := from; k < to; k++ {
		c := &in.Classes[k]
		if k >= in.Free {
			v, err := x.Together(c, []int32{i}, c.Base)
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, c.Residents[0], 0, x.tried(c, &v)})
			continue
		}
		single, err := x.Alone(c, i)
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
			v, err := x.Together(c, x.pair[:], max(single.Units, others[n]))
			if err != nil {
				return best, err
			}
			best.offer(sharingChance{v, j, single.Units + others[n], x.tried(c, &v)})
		}
	}
	return best, nil
}

// tried reports that the set that was judged last is refused for what was measured of it.
func (x *diagnosis) tried(c *instance.Class, v *instance.Verdict) bool {
	m, ok := x.d.door.p.Model.(TriedModel)
	return ok && (v.Code == instance.TooSlow || v.Code == instance.NoGain) && m.Tried(x.d.door.named(x.Set), x.d.door.cards[c.Number], v.Mech)
}

// singlesOf returns what each partner is worth alone on free class k.
func (x *diagnosis) singlesOf(k int) ([]int64, error) {
	if x.single[k] == nil {
		x.single[k] = make([]int64, len(x.partners))
		for n, j := range x.partners {
			v, err := x.Alone(&x.In.Classes[k], j)
			if err != nil {
				return nil, err
			}
			x.single[k][n] = v.Units
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
func (s *sharingChance) near() instance.Refusal {
	if s.Code == 0 {
		return instance.NoGain + 1
	}
	return s.Code
}

func (s *sharingChance) closer(o *sharingChance) bool {
	switch s.Code {
	case instance.NoMemory:
		return s.Short < o.Short
	case instance.TooSlow:
		return s.Speed-s.Limit > o.Speed-o.Limit
	default:
		return s.Total-s.Ref > o.Total-o.Ref
	}
}

// mostAlike returns how many GPUs there are of one type that hosts t, whatever
// runs there.
func (d *Compiled) mostAlike(t *Task) int {
	most := 0
	for _, gpu := range d.door.cards {
		n := 0
		for o, other := range d.door.cards {
			if other.Type == gpu.Type && other.Total() == gpu.Total() && other.Hosts(t) {
				n += len(d.Classes[o].Members)
			}
		}
		most = max(most, n)
	}
	return most
}

// company counts the tasks on each GPU, residents included.
func (d *Compiled) company(pl *instance.Plan) []int {
	n := make([]int, len(d.door.p.GPUs))
	for g := range n {
		n[g] = len(d.door.p.GPUs[g].Residents)
	}
	for _, g := range pl.Gpu {
		if g != none {
			n[g]++
		}
	}
	return n
}
