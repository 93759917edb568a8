package instance

import (
	"math"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Verdict is what sharing one GPU would mean for a set: its value, or the
// limit that forbids it.
type Verdict struct {
	Units  int64 // value; 0 if the set is not allowed
	Mech   profile.Mechanism
	Code   Refusal       // 0 if allowed
	Short  profile.Bytes // noMemory: bytes missing
	Member int32         // tooSlow: who is
	Speed  float64       // tooSlow: the member's speed by the best mechanism
	Limit  float64       // tooSlow: the speed that it accepts
	Total  int64         // value of the set, ref the value to beat; both set for noGain
	Ref    int64
}

// Refusal says which limit forbids a set, in the order of how near the set is to
// being allowed. 0 is none.
type Refusal int8

// The refusals.
const (
	WrongGPU Refusal = iota + 1
	TooFewGPUs
	GangSize
	SetFull
	MustBeAlone
	Incompatible
	NoMemory
	TooSlow
	NoGain
)

// Evaluator computes verdicts. It holds the buffers of one goroutine.
type Evaluator struct {
	In     *Instance
	Set    []int32
	speeds []float64
	Best   []float64 // speeds of the last allowed set
	one    [1]int32
	out    [1]float64
}

// NewEvaluator returns an Evaluator with buffers of its own.
func NewEvaluator(in *Instance) *Evaluator {
	k := in.MaxSet
	for i := range in.Classes {
		k = max(k, len(in.Classes[i].Residents)+1)
	}
	return &Evaluator{In: in, Set: make([]int32, 0, k), speeds: make([]float64, k), Best: make([]float64, k)}
}

// Units converts weight (times pace) times speed to whole units: at least one for a task
// that moves at all, so that a tiny weight is not mistaken for none.
func (in *Instance) Units(weight, speed float64) int64 {
	if speed <= 0 {
		return 0
	}
	return max(1, int64(math.Round(in.Scaled(weight)*speed)))
}

// Scaled returns a weight in units. That of a task which no GPU can take is cut
// to the largest that counts, so that its values stay numbers that fit.
func (in *Instance) Scaled(weight float64) float64 { return min(weight/in.Unit, Resolution) }

// Ask asks for the speeds of set.
func (e *Evaluator) Ask(c *Class, set []int32, mech profile.Mechanism, dst []float64) error {
	if c.Cut != nil && mech == profile.MIG {
		return c.Cut.ask(e.In, c, set, dst)
	}
	return e.In.Oracle.Speeds(c.Number, set, mech, dst)
}

// Alone returns the verdict on t by itself on an empty GPU of class c.
func (e *Evaluator) Alone(c *Class, i int32) (Verdict, error) {
	t := &e.In.All[i]
	if !e.In.Hosts(c, i) {
		return Verdict{Code: WrongGPU}, nil
	}
	if t.GPUs > len(c.Members) {
		return Verdict{Code: TooFewGPUs}, nil
	}
	if t.Memory > c.Usable {
		return Verdict{Code: NoMemory, Short: t.Memory - c.Usable}, nil
	}
	e.one[0] = i
	if err := e.Ask(c, e.one[:], profile.Exclusive, e.out[:]); err != nil {
		return Verdict{}, err
	}
	e.Best[0] = e.out[0]
	if s := e.out[0]; s < t.MinSpeed || s == 0 {
		return Verdict{Code: TooSlow, Member: i, Speed: s, Limit: t.MinSpeed}, nil
	}
	return Verdict{Units: e.In.Units(e.In.Worth(c, i), e.out[0]), Mech: profile.Exclusive}, nil
}

// Together returns the verdict on the residents of c with tasks, none of which
// waits. ref is the value to beat: the best member alone, or the residents
// alone. The speeds of an allowed set are left in e.best.
func (e *Evaluator) Together(c *Class, tasks []int32, ref int64) (Verdict, error) {
	e.Set = append(append(e.Set[:0], c.Residents...), tasks...)
	if v := e.In.Room(c, e.Set); v.Code != 0 {
		return v, nil
	}
	var best Verdict
	for _, mech := range c.Mechs {
		dst := e.speeds[:len(e.Set)]
		if err := e.Ask(c, e.Set, mech, dst); err != nil {
			return Verdict{}, err
		}
		v := e.In.judge(c, e.Set, dst, mech, ref)
		if better(v, best) {
			best = v
			copy(e.Best, dst)
		}
	}
	return best, nil
}

// Room checks what needs no model: who may share, how many, and memory.
func (in *Instance) Room(c *Class, set []int32) Verdict {
	if len(set) > 1 && (len(set) > in.MaxSet || len(c.Mechs) == 0) {
		return Verdict{Code: SetFull}
	}
	var used profile.Bytes
	for n, i := range set {
		t := &in.All[i]
		if t.Alone && len(set) > 1 {
			return Verdict{Code: MustBeAlone}
		}
		used += t.Memory
		if n < len(c.Residents) {
			continue
		}
		if !in.Hosts(c, i) {
			return Verdict{Code: WrongGPU}
		}
		if len(c.Residents) == 0 && t.GPUs > len(c.Members) {
			return Verdict{Code: TooFewGPUs}
		}
		if in.All[set[0]].GPUs != t.GPUs {
			return Verdict{Code: GangSize}
		}
		for _, o := range set[:n] {
			if !in.compatible(o, i) {
				return Verdict{Code: Incompatible}
			}
		}
	}
	if offer := c.Offer(len(set)); used > offer {
		return Verdict{Code: NoMemory, Short: used - offer}
	}
	return Verdict{}
}

// judge turns the speeds of a set under one mechanism into a verdict.
func (in *Instance) judge(c *Class, set []int32, speeds []float64, mech profile.Mechanism, ref int64) Verdict {
	v := Verdict{Mech: mech, Ref: ref}
	for n, i := range set {
		t, s := &in.All[i], speeds[n]
		v.Total += in.Units(in.Worth(c, i), s)
		if (s < t.MinSpeed || s == 0) && (v.Code == 0 || s-t.MinSpeed < v.Speed-v.Limit) {
			v.Code, v.Member, v.Speed, v.Limit = TooSlow, i, s, t.MinSpeed
		}
	}
	switch {
	case v.Code != 0:
	case !in.gains(v.Total, ref):
		v.Code = NoGain
	default:
		v.Units = v.Total
	}
	return v
}

// gains reports whether a shared set worth total is better than ref by what
// Limits.MinGain asks, and by one unit at least.
func (in *Instance) gains(total, ref int64) bool {
	return total > ref && float64(total) >= (1+in.MinGain)*float64(ref)
}

// better orders verdicts of one set under different mechanisms: the higher
// value; among refusals the one nearest to being allowed; the first on ties.
func better(a, b Verdict) bool {
	switch {
	case b.Code == 0 && b.Mech == profile.Exclusive:
		return true // b is the zero verdict
	case a.Code == 0 || b.Code == 0:
		return a.Units > b.Units
	case a.Code != b.Code:
		return a.Code == NoGain
	case a.Code == NoGain:
		return a.Total > b.Total
	}
	return a.Speed-a.Limit > b.Speed-b.Limit
}

// baseline fills in what the residents of c are worth without company. Limits
// do not apply: they run whether or not they keep to them.
func (e *Evaluator) baseline(c *Class) error {
	if len(c.Residents) == 0 {
		return nil
	}
	mechs := c.Mechs
	if len(c.Residents) == 1 && !c.Sliced {
		mechs = []profile.Mechanism{profile.Exclusive}
	} else if len(mechs) == 0 {
		mechs = []profile.Mechanism{profile.TimeSlice}
	}
	c.Base = -1
	dst := make([]float64, len(c.Residents))
	for _, mech := range mechs {
		if err := e.Ask(c, c.Residents, mech, dst); err != nil {
			return err
		}
		total := int64(0)
		for n, i := range c.Residents {
			total += e.In.Units(e.In.Worth(c, i), dst[n])
		}
		if total > c.Base {
			c.Base, c.BaseMech = total, mech
			c.BaseSpeed = append(c.BaseSpeed[:0], dst...)
		}
	}
	return nil
}

// Verdict returns the verdict on tasks joining the residents of c, whatever their
// number. It asks for the members' values alone; methods keep those.
func (e *Evaluator) Verdict(c *Class, tasks []int32) (Verdict, error) {
	if len(c.Residents) == 0 && len(tasks) == 1 {
		return e.Alone(c, tasks[0])
	}
	ref := c.Base
	if len(c.Residents) == 0 {
		for _, i := range tasks {
			v, err := e.Alone(c, i)
			if err != nil {
				return Verdict{}, err
			}
			ref = max(ref, v.Units)
		}
	}
	return e.Together(c, tasks, ref)
}

// Singles returns the value of each task alone on an empty GPU of class c; 0 if
// it may not run there.
func (e *Evaluator) Singles(c *Class) ([]int64, error) {
	out := make([]int64, len(e.In.Tasks))
	for i := range out {
		v, err := e.Alone(c, int32(i))
		if err != nil {
			return nil, err
		}
		out[i] = v.Units
	}
	return out, nil
}

// Values knows what sets are worth: the evaluator by asking the model, a table
// by looking up.
type Values interface {
	// SingleValue returns the value of task i alone on free class k; 0 if it
	// may not run there.
	SingleValue(k, i int) (int64, error)
	// SetValue returns the value of tasks with the residents of class k; 0 if
	// they may not share. ref is the value to beat.
	SetValue(k int, tasks []int32, ref int64) (int64, error)
	// Quick reports whether it never asks the model.
	Quick() bool
}

// SingleValue implements Values.
func (e *Evaluator) SingleValue(k, i int) (int64, error) {
	v, err := e.Alone(&e.In.Classes[k], int32(i))
	return v.Units, err
}

// SetValue implements Values.
func (e *Evaluator) SetValue(k int, tasks []int32, ref int64) (int64, error) {
	v, err := e.Together(&e.In.Classes[k], tasks, ref)
	return v.Units, err
}

// Quick implements Values.
func (e *Evaluator) Quick() bool { return false }

// Instances returns who sits where in a set by MIG, residents first; nil where
// no layout was chosen.
func (e *Evaluator) Instances(c *Class, tasks []int32) ([]mig.Placement, error) {
	if c.Cut == nil {
		return nil, nil
	}
	set := append(slices.Clone(c.Residents), tasks...)
	if err := e.Ask(c, set, profile.MIG, make([]float64, len(set))); err != nil {
		return nil, err
	}
	return slices.Clone(c.Cut.where), nil
}

// Finish asks for what the residents are worth: the last step of compiling.
func (in *Instance) Finish() error {
	e := NewEvaluator(in)
	for k := range in.Classes {
		if err := e.baseline(&in.Classes[k]); err != nil {
			return err
		}
	}
	return nil
}
