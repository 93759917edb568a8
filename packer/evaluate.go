package packer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// verdict is what sharing one GPU would mean for a set: its value, or the
// limit that forbids it.
type verdict struct {
	units  int64 // value; 0 if the set is not allowed
	mech   profile.Mechanism
	code   ReasonCode    // 0 if allowed
	short  profile.Bytes // MemoryLimit: bytes missing
	member *Task         // SpeedLimit: who is too slow
	speed  float64       // SpeedLimit: the member's speed by the best mechanism
	total  int64         // value of the set, ref the value to beat; both set for NoGain
	ref    int64
}

// evaluator computes verdicts. It holds the buffers of one goroutine.
type evaluator struct {
	in     *instance
	set    []*Task
	speeds []float64
	best   []float64 // speeds of the last allowed set
	joined []*Task
	parts  []int64
	one    [1]*Task
	out    [1]float64
}

func newEvaluator(in *instance) *evaluator {
	k := in.maxSet
	for i := range in.classes {
		k = max(k, len(in.classes[i].residents)+1)
	}
	return &evaluator{in: in, set: make([]*Task, 0, k), speeds: make([]float64, k), best: make([]float64, k)}
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

// ask calls the model for set and checks what it says.
func (e *evaluator) ask(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	if x := e.in.cuts[gpu]; x != nil && mech == profile.MIG {
		return x.ask(set, gpu, dst)
	}
	if err := e.in.p.Model.Speeds(set, gpu, mech, dst); err != nil {
		return modelError(set, gpu, mech, err)
	}
	for i, s := range dst {
		if what := checkSpeed(s); what != "" {
			return modelError(set, gpu, mech, fmt.Errorf("the speed of %q is %s; want a finite number in [0, %d]", set[i].ID, what, maxSpeed))
		}
	}
	return nil
}

// modelError names the set for which the model failed.
func modelError(set []*Task, gpu *GPU, mech profile.Mechanism, err error) error {
	names := make([]string, len(set))
	for i, t := range set {
		names[i] = strconv.Quote(t.ID)
	}
	return fmt.Errorf("packer: model: %s on GPU %q (%v): %w", strings.Join(names, " with "), gpu.ID, mech, err)
}

// alone returns the verdict on t by itself on an empty GPU of class c.
func (e *evaluator) alone(c *class, t *Task) (verdict, error) {
	if !c.gpu.hosts(t) {
		return verdict{code: WrongGPU, member: t}, nil
	}
	if t.gpus() > len(c.members) {
		return verdict{code: TooFewGPUs, member: t}, nil
	}
	if t.Memory > c.usable {
		return verdict{code: MemoryLimit, short: t.Memory - c.usable}, nil
	}
	e.one[0] = t
	if err := e.ask(e.one[:], c.gpu, profile.Exclusive, e.out[:]); err != nil {
		return verdict{}, err
	}
	e.best[0] = e.out[0]
	if s := e.out[0]; s < t.MinSpeed || s == 0 {
		return verdict{code: SpeedLimit, member: t, speed: s}, nil
	}
	return verdict{units: e.in.units(t.weight(), e.out[0]), mech: profile.Exclusive}, nil
}

// together returns the verdict on the residents of c with tasks, none of which
// waits. ref is the value to beat: the best member alone, or the residents
// alone. The speeds of an allowed set are left in e.best.
func (e *evaluator) together(c *class, tasks []*Task, ref int64) (verdict, error) {
	e.set = append(append(e.set[:0], c.residents...), tasks...)
	if v := c.room(e.set, e.in.maxSet); v.code != 0 {
		return v, nil
	}
	var best verdict
	for _, mech := range c.mechs {
		dst := e.speeds[:len(e.set)]
		if err := e.ask(e.set, c.gpu, mech, dst); err != nil {
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
func (c *class) room(set []*Task, maxSet int) verdict {
	if len(set) > 1 && (len(set) > maxSet || len(c.mechs) == 0) {
		return verdict{code: SetFull}
	}
	var used profile.Bytes
	for i, t := range set {
		if t.Alone && len(set) > 1 {
			return verdict{code: MustBeAlone, member: t}
		}
		used += t.Memory
		if i < len(c.residents) {
			continue
		}
		if !c.gpu.hosts(t) {
			return verdict{code: WrongGPU, member: t}
		}
		if len(c.residents) == 0 && t.gpus() > len(c.members) {
			return verdict{code: TooFewGPUs, member: t}
		}
		if set[0].gpus() != t.gpus() {
			return verdict{code: GangSize, member: set[0]}
		}
		if o := quarrel(set[:i+1]); o != nil {
			return verdict{code: Incompatible, member: o}
		}
	}
	if used > c.usable {
		return verdict{code: MemoryLimit, short: used - c.usable}
	}
	return verdict{}
}

// judge turns the speeds of a set under one mechanism into a verdict.
func (in *instance) judge(set []*Task, speeds []float64, mech profile.Mechanism, ref int64) verdict {
	v := verdict{mech: mech, ref: ref}
	for i, t := range set {
		s := speeds[i]
		v.total += in.units(t.weight(), s)
		if (s < t.MinSpeed || s == 0) && (v.member == nil || s-t.MinSpeed < v.speed-v.member.MinSpeed) {
			v.code, v.member, v.speed = SpeedLimit, t, s
		}
	}
	switch {
	case v.code != 0:
	case !in.gains(v.total, ref):
		v.code = NoGain
	default:
		v.units = v.total
	}
	return v
}

// gains reports whether a shared set worth total is better than ref by what
// Limits.MinGain asks, and by one unit at least.
func (in *instance) gains(total, ref int64) bool {
	return total > ref && float64(total) >= (1+in.p.Limits.MinGain)*float64(ref)
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
		return a.code == NoGain
	case a.code == NoGain:
		return a.total > b.total
	}
	return a.speed-a.member.MinSpeed > b.speed-b.member.MinSpeed
}

// baseline fills in what the residents of c are worth without company. Limits
// do not apply: they run whether or not they keep to them.
func (e *evaluator) baseline(c *class) error {
	if len(c.residents) == 0 {
		return nil
	}
	mechs := c.mechs
	if len(c.residents) == 1 && len(c.gpu.Instances) == 0 {
		mechs = []profile.Mechanism{profile.Exclusive}
	} else if len(mechs) == 0 {
		mechs = []profile.Mechanism{profile.TimeSlice}
	}
	c.base = -1
	dst := make([]float64, len(c.residents))
	for _, mech := range mechs {
		if err := e.ask(c.residents, c.gpu, mech, dst); err != nil {
			return err
		}
		total := int64(0)
		for i, t := range c.residents {
			total += e.in.units(t.weight(), dst[i])
		}
		if total > c.base {
			c.base, c.baseMech = total, mech
			c.baseSpeed = append(c.baseSpeed[:0], dst...)
		}
	}
	return nil
}
