package packer

import (
	"math"

	"example.com/colloc/profile"
)

// verdict is what sharing one GPU would mean for a set: its value, or the
// limit that forbids it.
type verdict struct {
	units  int64 // value; 0 if the set is not allowed
	mech   profile.Mechanism
	code   refusal       // 0 if allowed
	short  profile.Bytes // noMemory: bytes missing
	member int32         // tooSlow: who is
	speed  float64       // tooSlow: the member's speed by the best mechanism
	limit  float64       // tooSlow: the speed that it accepts
	total  int64         // value of the set, ref the value to beat; both set for noGain
	ref    int64
}

// refusal says which limit forbids a set, in the order of how near the set is to
// being allowed. 0 is none.
type refusal int8

const (
	wrongGPU refusal = iota + 1
	tooFewGPUs
	gangSize
	setFull
	mustBeAlone
	incompatible
	noMemory
	tooSlow
	noGain
)

// evaluator computes verdicts. It holds the buffers of one goroutine.
type evaluator struct {
	in     *instance
	set    []int32
	speeds []float64
	best   []float64 // speeds of the last allowed set
	parts  []int64
	one    [1]int32
	out    [1]float64
}

func newEvaluator(in *instance) *evaluator {
	k := in.maxSet
	for i := range in.classes {
		k = max(k, len(in.classes[i].residents)+1)
	}
	return &evaluator{in: in, set: make([]int32, 0, k), speeds: make([]float64, k), best: make([]float64, k)}
}

// units converts weight times speed to whole units: at least one for a task
// that moves at all, so that a tiny weight is not mistaken for none.
func (in *instance) units(weight, speed float64) int64 {
	if speed <= 0 {
		return 0
	}
	return max(1, int64(math.Round(in.scaled(weight)*speed)))
}

// scaled returns a weight in units. That of a task which no GPU can take is cut
// to the largest that counts, so that its values stay numbers that fit.
func (in *instance) scaled(weight float64) float64 { return min(weight/in.unit, resolution) }

// ask asks for the speeds of set.
func (e *evaluator) ask(c *class, set []int32, mech profile.Mechanism, dst []float64) error {
	if c.cut != nil && mech == profile.MIG {
		return c.cut.ask(e.in, c, set, dst)
	}
	return e.in.oracle.speeds(c.number, set, mech, dst)
}

// alone returns the verdict on t by itself on an empty GPU of class c.
func (e *evaluator) alone(c *class, i int32) (verdict, error) {
	t := &e.in.all[i]
	if !e.in.hosts(c, i) {
		return verdict{code: wrongGPU}, nil
	}
	if t.gpus > len(c.members) {
		return verdict{code: tooFewGPUs}, nil
	}
	if t.memory > c.usable {
		return verdict{code: noMemory, short: t.memory - c.usable}, nil
	}
	e.one[0] = i
	if err := e.ask(c, e.one[:], profile.Exclusive, e.out[:]); err != nil {
		return verdict{}, err
	}
	e.best[0] = e.out[0]
	if s := e.out[0]; s < t.minSpeed || s == 0 {
		return verdict{code: tooSlow, member: i, speed: s, limit: t.minSpeed}, nil
	}
	return verdict{units: e.in.units(t.weight, e.out[0]), mech: profile.Exclusive}, nil
}

// together returns the verdict on the residents of c with tasks, none of which
// waits. ref is the value to beat: the best member alone, or the residents
// alone. The speeds of an allowed set are left in e.best.
func (e *evaluator) together(c *class, tasks []int32, ref int64) (verdict, error) {
	e.set = append(append(e.set[:0], c.residents...), tasks...)
	if v := e.in.room(c, e.set); v.code != 0 {
		return v, nil
	}
	var best verdict
	for _, mech := range c.mechs {
		dst := e.speeds[:len(e.set)]
		if err := e.ask(c, e.set, mech, dst); err != nil {
			return verdict{}, err
		}
		v := e.in.judge(e.set, dst, mech, ref)
		if better(v, best) {
			best = v
			copy(e.best, dst)
		}
	}
	return best, nil
}

// room checks what needs no model: who may share, how many, and memory.
func (in *instance) room(c *class, set []int32) verdict {
	if len(set) > 1 && (len(set) > in.maxSet || len(c.mechs) == 0) {
		return verdict{code: setFull}
	}
	var used profile.Bytes
	for n, i := range set {
		t := &in.all[i]
		if t.alone && len(set) > 1 {
			return verdict{code: mustBeAlone}
		}
		used += t.memory
		if n < len(c.residents) {
			continue
		}
		if !in.hosts(c, i) {
			return verdict{code: wrongGPU}
		}
		if len(c.residents) == 0 && t.gpus > len(c.members) {
			return verdict{code: tooFewGPUs}
		}
		if in.all[set[0]].gpus != t.gpus {
			return verdict{code: gangSize}
		}
		for _, o := range set[:n] {
			if !in.compatible(o, i) {
				return verdict{code: incompatible}
			}
		}
	}
	if used > c.usable {
		return verdict{code: noMemory, short: used - c.usable}
	}
	return verdict{}
}

// judge turns the speeds of a set under one mechanism into a verdict.
func (in *instance) judge(set []int32, speeds []float64, mech profile.Mechanism, ref int64) verdict {
	v := verdict{mech: mech, ref: ref}
	for n, i := range set {
		t, s := &in.all[i], speeds[n]
		v.total += in.units(t.weight, s)
		if (s < t.minSpeed || s == 0) && (v.code == 0 || s-t.minSpeed < v.speed-v.limit) {
			v.code, v.member, v.speed, v.limit = tooSlow, i, s, t.minSpeed
		}
	}
	switch {
	case v.code != 0:
	case !in.gains(v.total, ref):
		v.code = noGain
	default:
		v.units = v.total
	}
	return v
}

// gains reports whether a shared set worth total is better than ref by what
// Limits.MinGain asks, and by one unit at least.
func (in *instance) gains(total, ref int64) bool {
	return total > ref && float64(total) >= (1+in.minGain)*float64(ref)
}

// better orders verdicts of one set under different mechanisms: the higher
// value; among refusals the one nearest to being allowed; the first on ties.
func better(a, b verdict) bool {
	switch {
	case b.code == 0 && b.mech == profile.Exclusive:
		return true // b is the zero verdict
	case a.code == 0 || b.code == 0:
		return a.units > b.units
	case a.code != b.code:
		return a.code == noGain
	case a.code == noGain:
		return a.total > b.total
	}
	return a.speed-a.limit > b.speed-b.limit
}

// baseline fills in what the residents of c are worth without company. Limits
// do not apply: they run whether or not they keep to them.
func (e *evaluator) baseline(c *class) error {
	if len(c.residents) == 0 {
		return nil
	}
	mechs := c.mechs
	if len(c.residents) == 1 && !c.sliced {
		mechs = []profile.Mechanism{profile.Exclusive}
	} else if len(mechs) == 0 {
		mechs = []profile.Mechanism{profile.TimeSlice}
	}
	c.base = -1
	dst := make([]float64, len(c.residents))
	for _, mech := range mechs {
		if err := e.ask(c, c.residents, mech, dst); err != nil {
			return err
		}
		total := int64(0)
		for n, i := range c.residents {
			total += e.in.units(e.in.all[i].weight, dst[n])
		}
		if total > c.base {
			c.base, c.baseMech = total, mech
			c.baseSpeed = append(c.baseSpeed[:0], dst...)
		}
	}
	return nil
}

// weigh returns what each member of the residents with tasks is worth at most
// over the mechanisms by which all reach their speeds, and the value of the set,
// 0 if it is not allowed. The slice is used again.
func (e *evaluator) weigh(c *class, tasks []int32, ref int64) (parts []int64, units int64, err error) {
	e.set = append(append(e.set[:0], c.residents...), tasks...)
	parts = e.parts[:0]
	for range e.set {
		parts = append(parts, 0)
	}
	e.parts = parts
	if e.in.room(c, e.set).code != 0 {
		return parts, 0, nil
	}
	for _, mech := range c.mechs {
		dst := e.speeds[:len(e.set)]
		if err := e.ask(c, e.set, mech, dst); err != nil {
			return nil, 0, err
		}
		v := e.in.judge(e.set, dst, mech, ref)
		if v.code == tooSlow {
			continue
		}
		units = max(units, v.units)
		for n, i := range e.set {
			parts[n] = max(parts[n], e.in.units(e.in.all[i].weight, dst[n]))
		}
	}
	return parts, units, nil
}

// verdict returns the verdict on tasks joining the residents of c, whatever their
// number. It asks for the members' values alone; methods keep those.
func (e *evaluator) verdict(c *class, tasks []int32) (verdict, error) {
	if len(c.residents) == 0 && len(tasks) == 1 {
		return e.alone(c, tasks[0])
	}
	ref := c.base
	if len(c.residents) == 0 {
		for _, i := range tasks {
			v, err := e.alone(c, i)
			if err != nil {
				return verdict{}, err
			}
			ref = max(ref, v.units)
		}
	}
	return e.together(c, tasks, ref)
}

// singles returns the value of each task alone on an empty GPU of class c; 0 if
// it may not run there.
func (e *evaluator) singles(c *class) ([]int64, error) {
	out := make([]int64, len(e.in.tasks))
	for i := range out {
		v, err := e.alone(c, int32(i))
		if err != nil {
			return nil, err
		}
		out[i] = v.units
	}
	return out, nil
}

// valuer knows what sets are worth: the evaluator by asking the model, a table
// by looking up.
type valuer interface {
	// singleValue returns the value of task i alone on free class k; 0 if it
	// may not run there.
	singleValue(k, i int) (int64, error)
	// setValue returns the value of tasks with the residents of class k; 0 if
	// they may not share. ref is the value to beat.
	setValue(k int, tasks []int32, ref int64) (int64, error)
	// quick reports whether it never asks the model.
	quick() bool
}

// singleValue implements valuer.
func (e *evaluator) singleValue(k, i int) (int64, error) {
	v, err := e.alone(&e.in.classes[k], int32(i))
	return v.units, err
}

// setValue implements valuer.
func (e *evaluator) setValue(k int, tasks []int32, ref int64) (int64, error) {
	v, err := e.together(&e.in.classes[k], tasks, ref)
	return v.units, err
}

// quick implements valuer.
func (e *evaluator) quick() bool { return false }
