package colloc

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Preemption says who would have to go so that a task may start, and what that is
// worth. Throughputs are in units of the reference card, see [Planner.Score], each task
// counting by its weight.
type Preemption struct {
	// GPUs are the IDs of the cards that the task would take, one but for a gang. None:
	// whoever of a lower class goes, it fits nowhere.
	GPUs []string `json:"gpus"`
	// Victims are the IDs of the residents that would have to go, in the order of GPUs
	// and of Residents. None where the task fits as it is.
	Victims []string `json:"victims"`
	// Class is the highest Priority among the victims; 0 without any.
	Class int `json:"class"`
	// Gain is what the task would do there, and what those who stay would do more.
	Gain float64 `json:"gain"`
	// Loss is what the victims do now, and what it costs to take each up again: its
	// MoveCost times its weight and pace.
	Loss float64 `json:"loss"`
	// Verdict is that of the task once they are gone; without GPUs it names the limit
	// that binds where it came nearest, see [Planner.Best].
	Verdict Verdict `json:"verdict"`
	// Exact says that no other choice is better. It is false where a card holds more
	// than 12 tasks that may go, or a gang has more than 16 cards to choose from of which
	// one is taken by another gang: the choice is then a good one.
	Exact bool `json:"exact"`
}

// Bounds of what Preempt tries in full.
const (
	maxLeaving = 12 // residents of one GPU
	maxCards   = 16 // for a gang
)

// Preempt finds the best way to start a task where it does not fit: the GPU, or those of
// one product for a gang, and the residents of a lower [Task].Priority that have to go.
// Foreign residents never do, and a gang that goes leaves all its GPUs. A gang takes GPUs to itself, or
// where nobody has to go for it those of [Planner.BestGang]. Of all ways it
// takes the one whose highest victim is of the lowest class (nobody, if the task fits as
// it is), of these the one with the largest Gain less Loss, then that with the fewest
// victims, then the GPU that [Planner.Best] would prefer. Nothing is stopped: that is for
// the scheduler, which may ask for the victims again by their ID.
//
// Errors as for [Planner.Best]. O(GPUs) questions where nobody has to go, and up to
// 2^residents of each GPU where somebody has.
func (p *Planner) Preempt(task Task, gpus []GPU) (Preemption, error) {
	if err := p.ready(); err != nil {
		return Preemption{}, err
	}
	if err := task.Validate(); err != nil {
		return Preemption{}, err
	}
	needed, err := p.needs(&task)
	if err != nil {
		return Preemption{}, err
	}
	e := &eviction{planner: p, task: &task, needed: &needed, exact: true}
	if task.Width() > 1 {
		if err = e.gang(gpus); err == nil && (e.best == nil || len(e.best.Victims) > 0) {
			err = e.beside(gpus)
		}
	} else {
		err = e.single(gpus)
	}
	if err != nil {
		return Preemption{}, err
	}
	if e.best == nil {
		_, v, err := p.Best(task, gpus)
		if err == nil && v.Fits { // a gang that fits on each of too few
			v.Fits, v.Code = false, packer.TooFewGPUs
		}
		return Preemption{Verdict: v, Exact: e.exact}, err
	}
	e.best.Exact = e.exact
	return e.best.Preemption, nil
}

// eviction is one call of Preempt.
type eviction struct {
	planner *Planner
	task    *Task
	needed  *need
	best    *way
	exact   bool
}

// way is one that is possible.
type way struct {
	Preemption
	first *GPU
}

// net is what the way is worth; what differs by rounding alone counts as equal.
func (w *way) net() float64 { return w.Gain - w.Loss }

// better orders ways.
func (w *way) better(o *way) bool {
	const rounding = 1e-9
	if o == nil {
		return true
	}
	none := func(w *way) int { return min(1, len(w.Victims)) }
	if c := cmp.Or(cmp.Compare(none(w), none(o)), cmp.Compare(w.Class, o.Class)); c != 0 {
		return c < 0
	}
	if d := w.net() - o.net(); d > rounding || d < -rounding {
		return d > 0
	}
	if c := cmp.Compare(len(w.Victims), len(o.Victims)); c != 0 {
		return c < 0
	}
	return preferred(w.first, o.first)
}

// take keeps the better way.
func (e *eviction) take(w *way) {
	if w.better(e.best) {
		e.best = w
	}
}

// leaving are the residents that may have to go, by their places.
func (e *eviction) leaving(g *GPU) []int {
	var may []int
	for i := range g.Residents {
		if r := &g.Residents[i]; !r.Foreign && r.Priority < e.task.Priority {
			may = append(may, i)
		}
	}
	return may
}

// without is the GPU without some of its residents.
func without(g *GPU, gone []int) GPU {
	left := *g
	left.Residents = nil
	for i := range g.Residents {
		if !slices.Contains(gone, i) {
			left.Residents = append(left.Residents, g.Residents[i])
		}
	}
	return left
}

// single tries every GPU and, where they are few, every choice of those who may go.
func (e *eviction) single(gpus []GPU) error {
	for i := range gpus {
		g := &gpus[i]
		may := e.leaving(g)
		if e.best != nil && len(e.best.Victims) == 0 {
			may = nil // nobody has to go
		}
		if err := e.each(g, may); err != nil {
			return err
		}
	}
	return nil
}

// each tries the choices on one GPU. Of many who may go it tries, from all on, to let
// one after the other stay, the one that is worth most first.
func (e *eviction) each(g *GPU, may []int) error {
	if len(may) <= maxLeaving {
		for set := range uint(1) << len(may) {
			if _, err := e.one(g, chosen(may, set)); err != nil {
				return err
			}
		}
		return nil
	}
	e.exact = false
	if _, err := e.one(g, nil); err != nil {
		return err
	}
	gone := slices.Clone(may)
	slices.SortStableFunc(may, func(a, b int) int {
		x, y := &g.Residents[a], &g.Residents[b]
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(weight(y), weight(x)))
	})
	for _, stays := range may {
		fewer := slices.DeleteFunc(slices.Clone(gone), func(i int) bool { return i == stays })
		fits, err := e.one(g, fewer)
		if err != nil {
			return err
		}
		if fits {
			gone = fewer
		}
	}
	_, err := e.one(g, gone)
	return err
}

// chosen are the members of a set of bits.
func chosen[T any](all []T, set uint) []T {
	some := make([]T, 0, bits.OnesCount(set))
	for k := range all {
		if set>>k&1 == 1 {
			some = append(some, all[k])
		}
	}
	return some
}

// one notes the way in which some residents of one GPU go, if the task then fits.
func (e *eviction) one(g *GPU, gone []int) (bool, error) {
	left := without(g, gone)
	s := e.planner.acquire()
	defer e.planner.release(s)
	v, err := e.planner.fitNeed(e.task, &left, s, e.planner.scale(), e.needed)
	if err != nil || !v.Fits {
		return false, err
	}
	before, err := e.planner.doing(g)
	if err != nil {
		return false, err
	}
	w := &way{Preemption: Preemption{GPUs: []string{g.ID}, Verdict: v}, first: g}
	e.blame(w, g, before, gone)
	w.Gain = v.Throughput - before.total + before.of(gone)
	if e.task.Home == g.ID {
		w.Gain += e.task.MoveCost * weight(e.task) * v.Pace.Value
	}
	e.take(w)
	return true, nil
}

// beside is the way in which a gang joins others, and nobody has to go.
func (e *eviction) beside(gpus []GPU) error {
	on, v, err := e.planner.BestGang(*e.task, gpus)
	if err != nil || len(on) == 0 {
		return err
	}
	w := &way{Preemption: Preemption{Verdict: v}, first: &gpus[on[0]]}
	slowest := math.Inf(1)
	for _, at := range on {
		g := &gpus[at]
		w.GPUs = append(w.GPUs, g.ID)
		now, err := e.planner.doing(g)
		if err != nil {
			return err
		}
		s := e.planner.acquire()
		here, err := e.planner.fitNeed(e.task, g, s, e.planner.scale(), e.needed)
		e.planner.release(s)
		if err != nil {
			return err
		}
		own := weight(e.task) * here.Pace.Value * here.Speed.Value
		w.Gain += here.Throughput - own - now.total
		slowest = min(slowest, own)
	}
	w.Gain += slowest
	e.exact = true
	e.take(w)
	return nil
}

// blame counts residents of a GPU among the victims.
func (e *eviction) blame(w *way, g *GPU, now doing, gone []int) {
	for _, i := range gone {
		r := &g.Residents[i]
		if slices.Contains(w.Victims, r.ID) {
			continue // a gang, on another of its GPUs
		}
		if len(w.Victims) == 0 || r.Priority > w.Class {
			w.Class = r.Priority
		}
		w.Victims = append(w.Victims, r.ID)
		w.Loss += now.each[i] + r.MoveCost*now.worth[i]
	}
}

// doing is what the residents of a GPU do: weight times pace times speed.
type doing struct {
	each, worth []float64 // worth: at speed 1
	total       float64
}

// of sums up some of them.
func (d *doing) of(some []int) float64 {
	sum := 0.0
	for _, i := range some {
		sum += d.each[i]
	}
	return sum
}

// doing predicts what runs on a GPU, under the best mechanism.
func (p *Planner) doing(g *GPU) (doing, error) {
	n := len(g.Residents)
	d := doing{each: make([]float64, n), worth: make([]float64, n)}
	if n == 0 {
		return d, nil
	}
	s := p.acquire()
	defer p.release(s)
	alone := *g
	alone.Residents = g.Residents[:n-1]
	p.load(s, &g.Residents[n-1], &alone, p.scale())
	for i := range d.worth {
		d.worth[i] = weight(&g.Residents[i]) * s.paces[i]
	}
	best := -1.0
	for _, m := range ways(g, n) {
		speeds, err := p.config.Interference.Values(&s.gpu, m, s.set, s.speeds[:0])
		s.speeds = speeds
		if err != nil {
			return d, err
		}
		sum := 0.0
		for i := range speeds {
			sum += float64(d.worth[i] * speeds[i])
		}
		if sum > best {
			best, d.total = sum, sum
			for i := range speeds {
				d.each[i] = d.worth[i] * speeds[i]
			}
		}
	}
	return d, nil
}

// ways are the mechanisms by which n residents may run on a GPU.
func ways(g *GPU, n int) []profile.Mechanism {
	if n == 1 {
		return []profile.Mechanism{profile.Exclusive}
	}
	if !shareable(g) {
		return timeSlicing // they do run
	}
	return slices.DeleteFunc(slices.Clone(sharing(g)), func(m profile.Mechanism) bool { return m == profile.Exclusive })
}
